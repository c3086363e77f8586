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
  /// - Throws: ``RequestError/invalidCoordinate`` when an edge is not a finite number in its range, and
  /// ``RequestError/invalidBox`` when south is north of north.
  public init(west: Double, south: Double, east: Double, north: Double) throws(RequestError) {
    guard Coordinate.longitudes.contains(west), Coordinate.latitudes.contains(south),
      Coordinate.longitudes.contains(east), Coordinate.latitudes.contains(north)
    else { throw .invalidCoordinate }
    guard south <= north else { throw .invalidBox }
    self.west = west
    self.south = south
    self.east = east
    self.north = north
  }

  /// Creates a box from its center and extent in degrees, as of a map. Latitudes end at the poles; longitudes continue
  /// at the antimeridian, and a box of 360 degrees or more has all of them.
  ///
  /// - Throws: ``RequestError/invalidCoordinate`` when the center is none, and ``RequestError/invalidBox`` when an extent
  /// is negative or not finite.
  init(
    centerLatitude: Double, centerLongitude: Double, latitudeDelta: Double, longitudeDelta: Double
  ) throws(RequestError) {
    guard Coordinate.latitudes.contains(centerLatitude), Coordinate.longitudes.contains(centerLongitude) else {
      throw .invalidCoordinate
    }
    guard latitudeDelta >= 0, latitudeDelta.isFinite, longitudeDelta >= 0, longitudeDelta.isFinite else {
      throw .invalidBox
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
