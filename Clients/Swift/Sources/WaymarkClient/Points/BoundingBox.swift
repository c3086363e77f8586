public import Foundation

/// A box between two parallels and two meridians, edges included, in decimal degrees.
///
/// A box whose west is greater than its east crosses the antimeridian (RFC 7946, section 5).
///
/// ```swift
/// let fiji = try BoundingBox(west: 177, south: -19, east: -178, north: -16)
/// print(fiji.contains(here))
/// ```
public struct BoundingBox: Hashable, Sendable {
  /// The western edge, degrees, -180…180.
  public let west: Double

  /// The southern edge, degrees, -90…90.
  public let south: Double

  /// The eastern edge, degrees, -180…180.
  public let east: Double

  /// The northern edge, degrees, -90…90, never less than ``south``.
  public let north: Double

  /// Creates a box from its edges, in the order of RFC 7946.
  ///
  /// - Throws: ``BoundingBoxError`` when an edge is not a finite number in its range, or south is north of north.
  public init(west: Double, south: Double, east: Double, north: Double) throws(BoundingBoxError) {
    guard Coordinate.longitudes.contains(west) else { throw .longitude(west) }
    guard Coordinate.latitudes.contains(south) else { throw .latitude(south) }
    guard Coordinate.longitudes.contains(east) else { throw .longitude(east) }
    guard Coordinate.latitudes.contains(north) else { throw .latitude(north) }
    guard south <= north else { throw .upsideDown(south: south, north: north) }
    self.west = west
    self.south = south
    self.east = east
    self.north = north
  }

  /// Creates a box from its center and extent in degrees, as of a map. Latitudes end at the poles; longitudes continue
  /// at the antimeridian, and a box of 360 degrees or more has all of them.
  ///
  /// - Throws: ``BoundingBoxError`` when the center is not a coordinate, or an extent is negative or not finite.
  init(
    centerLatitude: Double, centerLongitude: Double, latitudeDelta: Double, longitudeDelta: Double
  ) throws(BoundingBoxError) {
    guard Coordinate.latitudes.contains(centerLatitude), latitudeDelta >= 0, latitudeDelta.isFinite else {
      throw .latitude(latitudeDelta.isFinite && latitudeDelta >= 0 ? centerLatitude : latitudeDelta)
    }
    guard Coordinate.longitudes.contains(centerLongitude), longitudeDelta >= 0, longitudeDelta.isFinite else {
      throw .longitude(longitudeDelta.isFinite && longitudeDelta >= 0 ? centerLongitude : longitudeDelta)
    }
    func wrapped(_ longitude: Double) -> Double {
      longitude < -180 ? longitude + 360 : longitude > 180 ? longitude - 360 : longitude
    }
    let hasAllLongitudes = longitudeDelta >= 360
    try self.init(
      west: hasAllLongitudes ? -180 : wrapped(centerLongitude - longitudeDelta / 2),
      south: max(-90, centerLatitude - latitudeDelta / 2),
      east: hasAllLongitudes ? 180 : wrapped(centerLongitude + longitudeDelta / 2),
      north: min(90, centerLatitude + latitudeDelta / 2))
  }

  /// Returns a Boolean value that indicates whether a coordinate is in the box or on its edge.
  ///
  /// Longitudes -180 and 180 count as the same meridian.
  public func contains(_ coordinate: Coordinate) -> Bool {
    guard (south...north).contains(coordinate.latitude) else { return false }
    let longitude = coordinate.longitude
    if west > east { return longitude >= west || longitude <= east }
    if (west...east).contains(longitude) { return true }
    return abs(longitude) == 180 && (abs(west) == 180 || abs(east) == 180)
  }
}

/// The reason that four numbers are not a ``BoundingBox``.
///
/// ```swift
/// do {
///   _ = try BoundingBox(west: 0, south: 2, east: 1, north: 1)
/// } catch BoundingBoxError.upsideDown(let south, let north) {
///   print(south, north)
/// }
/// ```
public enum BoundingBoxError: Error, Hashable, Sendable {
  /// The western or eastern edge is not a finite number from -180 to 180.
  case longitude(Double)

  /// The southern or northern edge is not a finite number from -90 to 90.
  case latitude(Double)

  /// The southern edge is north of the northern one.
  case upsideDown(south: Double, north: Double)
}

extension BoundingBoxError: CustomStringConvertible {
  /// The technical description.
  public var description: String {
    switch self {
    case .longitude(let value): "west and east must be numbers from -180 to 180 degrees, got \(value)"
    case .latitude(let value): "south and north must be numbers from -90 to 90 degrees, got \(value)"
    case .upsideDown(let south, let north): "south must not be north of north, got \(south) and \(north)"
    }
  }
}

extension BoundingBoxError: LocalizedError {
  /// The message for the user, in the language of the app.
  public var errorDescription: String? { message.text }

  /// The technical description for logs.
  public var failureReason: String? { description.sentence() }

  /// The message for the user.
  var message: Message { .invalidPosition }
}
