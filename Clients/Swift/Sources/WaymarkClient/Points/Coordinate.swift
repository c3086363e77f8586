public import Foundation

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
  /// - Throws: ``CoordinateError`` when a number is not finite or out of range; the latitude is checked first.
  public init(latitude: Double, longitude: Double) throws(CoordinateError) {
    guard Self.latitudes.contains(latitude) else { throw .latitude(latitude) }
    guard Self.longitudes.contains(longitude) else { throw .longitude(longitude) }
    self.latitude = latitude
    self.longitude = longitude
  }

  static let latitudes = -90.0...90.0
  static let longitudes = -180.0...180.0
}

/// The reason that two numbers are not a ``Coordinate``.
///
/// ```swift
/// do {
///   _ = try Coordinate(latitude: 91, longitude: 0)
/// } catch CoordinateError.latitude(let degrees) {
///   print(degrees)
/// }
/// ```
public enum CoordinateError: Error, Hashable, Sendable {
  /// The latitude is not a finite number from -90 to 90.
  case latitude(Double)

  /// The longitude is not a finite number from -180 to 180.
  case longitude(Double)
}

extension CoordinateError: CustomStringConvertible {
  /// The technical description.
  public var description: String {
    switch self {
    case .latitude(let value): "latitude must be a number from -90 to 90 degrees, got \(value)"
    case .longitude(let value): "longitude must be a number from -180 to 180 degrees, got \(value)"
    }
  }
}

extension CoordinateError: LocalizedError {
  /// The message for the user, in the language of the app.
  public var errorDescription: String? { message.text }

  /// The technical description for logs.
  public var failureReason: String? { description.sentence() }

  /// The message for the user.
  var message: Message { .invalidPosition }
}
