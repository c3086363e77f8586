/// A box between two parallels and two meridians, edges included, in decimal degrees.
///
/// As in RFC 7946, section 5, a box whose west is greater than its east crosses the antimeridian. Latitude and
/// longitude are compared as plain numbers, so a pole is in a box only where the longitude it was given is; -180 and
/// 180 count as the same meridian.
public struct BoundingBox: Hashable, Sendable {
  /// The western edge, degrees, -180…180.
  public let west: Double

  /// The southern edge, degrees, -90…90.
  public let south: Double

  /// The eastern edge, degrees, -180…180; less than ``west`` when the box crosses the antimeridian.
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

  /// A Boolean value that indicates whether the box spans the meridian of 180 degrees.
  public var crossesAntimeridian: Bool { west > east }

  /// The middle of the box, in degrees.
  package var center: Coordinate? {
    var longitude = (west + (crossesAntimeridian ? east + 360 : east)) / 2
    if longitude > 180 { longitude -= 360 }
    return try? Coordinate(latitude: (south + north) / 2, longitude: longitude)
  }

  /// The box's longitudes as one or two ranges of plain numbers, none of which wraps.
  ///
  /// A box with an edge on the antimeridian gets the meridian's other name as a range of its own, so that a store
  /// only compares numbers.
  public var longitudeRanges: [ClosedRange<Double>] {
    if crossesAntimeridian { return [west...180, -180...east] }
    if east == 180, west != -180 { return [west...east, -180...(-180)] }
    if west == -180, east != 180 { return [west...east, 180...180] }
    return [west...east]
  }

  /// Returns a Boolean value that indicates whether the coordinate is in the box or on its edge.
  public func contains(_ coordinate: Coordinate) -> Bool {
    guard coordinate.latitude >= south, coordinate.latitude <= north else { return false }
    let longitude = coordinate.longitude
    if crossesAntimeridian { return longitude >= west || longitude <= east }
    if longitude >= west && longitude <= east { return true }
    return (longitude == -180 && east == 180) || (longitude == 180 && west == -180)
  }
}

/// The reason why four numbers are not a ``BoundingBox``.
public enum BoundingBoxError: Error, Hashable, Sendable {
  /// The western or eastern edge is not a finite number from -180 to 180.
  case longitude(Double)

  /// The southern or northern edge is not a finite number from -90 to 90.
  case latitude(Double)

  /// The southern edge is north of the northern one.
  case upsideDown(south: Double, north: Double)
}

extension BoundingBoxError: CustomStringConvertible {
  /// A message for users, with the accepted range.
  public var description: String {
    switch self {
    case .longitude(let value): "west and east must be numbers from -180 to 180 degrees, got \(value)"
    case .latitude(let value): "south and north must be numbers from -90 to 90 degrees, got \(value)"
    case .upsideDown(let south, let north): "south must not be greater than north, got \(south) and \(north)"
    }
  }
}
