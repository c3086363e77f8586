/// A position on the WGS 84 ellipsoid, in decimal degrees.
///
/// A value of this type is always valid: both numbers are finite, the latitude is within -90…90 and the longitude
/// within -180…180. Nothing past its construction checks them again. -180 and 180 name the same meridian and are both
/// kept as given.
public struct Coordinate: Hashable, Sendable, BitwiseCopyable {
  /// Degrees north of the equator, -90…90.
  public let latitude: Double

  /// Degrees east of Greenwich, -180…180.
  public let longitude: Double

  /// Creates a coordinate from degrees.
  ///
  /// - Throws: ``CoordinateError`` when a number is not finite or out of its range; the latitude is checked first.
  public init(latitude: Double, longitude: Double) throws(CoordinateError) {
    guard Self.latitudes.contains(latitude) else { throw .latitude(latitude) }
    guard Self.longitudes.contains(longitude) else { throw .longitude(longitude) }
    self.latitude = latitude
    self.longitude = longitude
  }

  /// The valid latitudes, in degrees. The range contains neither NaN nor the infinities.
  public static let latitudes = -90.0...90.0

  /// The valid longitudes, in degrees. The range contains neither NaN nor the infinities.
  public static let longitudes = -180.0...180.0
}

/// The reason why two numbers are not a ``Coordinate``.
public enum CoordinateError: Error, Hashable, Sendable {
  /// The latitude is not a finite number from -90 to 90.
  case latitude(Double)

  /// The longitude is not a finite number from -180 to 180.
  case longitude(Double)
}

extension CoordinateError: CustomStringConvertible {
  /// A message for users, with the accepted range.
  public var description: String {
    switch self {
    case .latitude(let value): "latitude must be a number from -90 to 90 degrees, got \(value)"
    case .longitude(let value): "longitude must be a number from -180 to 180 degrees, got \(value)"
    }
  }
}
