/// A position on the WGS 84 ellipsoid, in decimal degrees.
///
/// A value is always valid. Longitudes -180 and 180 name the same meridian and are kept as given.
///
/// ```swift
/// let here = try Coordinate(latitude: 37.3293, longitude: -121.8893)
/// ```
public struct Coordinate: Hashable, Sendable {
  /// Degrees north of the equator, -90…90.
  public let latitude: Double

  /// Degrees east of Greenwich, -180…180.
  public let longitude: Double

  /// Creates a coordinate from degrees.
  ///
  /// - Throws: ``RequestError/invalidCoordinate`` when a number is not finite or out of range.
  public init(latitude: Double, longitude: Double) throws(RequestError) {
    guard Self.latitudes.contains(latitude), Self.longitudes.contains(longitude) else { throw .invalidCoordinate }
    self.latitude = latitude
    self.longitude = longitude
  }

  static let latitudes = -90.0...90.0
  static let longitudes = -180.0...180.0
}
