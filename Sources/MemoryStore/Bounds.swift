import Geo

/// The box in space that some places are in, in metres of the earth-centred frame.
struct SpaceBounds: BitwiseCopyable {
  var minX = Double.infinity
  var minY = Double.infinity
  var minZ = Double.infinity
  var maxX = -Double.infinity
  var maxY = -Double.infinity
  var maxZ = -Double.infinity

  mutating func include(x: Double, y: Double, z: Double) {
    minX = min(minX, x)
    minY = min(minY, y)
    minZ = min(minZ, z)
    maxX = max(maxX, x)
    maxY = max(maxY, y)
    maxZ = max(maxZ, z)
  }

  mutating func include(_ other: SpaceBounds) {
    include(x: other.minX, y: other.minY, z: other.minZ)
    include(x: other.maxX, y: other.maxY, z: other.maxZ)
  }

  /// The square of the distance from a position to the nearest part of the box.
  @inline(__always)
  func leastChordSquared(to position: EarthCentred) -> Double {
    let dx = max(max(minX - position.x, position.x - maxX), 0)
    let dy = max(max(minY - position.y, position.y - maxY), 0)
    let dz = max(max(minZ - position.z, position.z - maxZ), 0)
    return dx * dx + dy * dy + dz * dz
  }

  /// The square of the distance from a position to the farthest corner of the box.
  @inline(__always)
  func greatestChordSquared(to position: EarthCentred) -> Double {
    let dx = max(position.x - minX, maxX - position.x)
    let dy = max(position.y - minY, maxY - position.y)
    let dz = max(position.z - minZ, maxZ - position.z)
    return dx * dx + dy * dy + dz * dz
  }

  /// The square of the box's diagonal.
  var diagonalSquared: Double {
    let (dx, dy, dz) = (maxX - minX, maxY - minY, maxZ - minZ)
    return dx * dx + dy * dy + dz * dz
  }
}

/// The latitudes and longitudes that some places have, as plain numbers: no range wraps.
struct GeographicBounds: BitwiseCopyable {
  var south = Double.infinity
  var west = Double.infinity
  var north = -Double.infinity
  var east = -Double.infinity

  mutating func include(_ coordinate: Coordinate) {
    south = min(south, coordinate.latitude)
    north = max(north, coordinate.latitude)
    west = min(west, coordinate.longitude)
    east = max(east, coordinate.longitude)
  }

  mutating func include(_ other: GeographicBounds) {
    south = min(south, other.south)
    north = max(north, other.north)
    west = min(west, other.west)
    east = max(east, other.east)
  }
}

/// A bounding box made ready to be compared with bounds.
struct BoxFilter: BitwiseCopyable {
  private let south: Double
  private let north: Double
  // A box that wraps, or has an edge on the antimeridian, has two ranges; any other has the first twice.
  private let west: (Double, Double)
  private let east: (Double, Double)

  init(_ box: BoundingBox) {
    south = box.south
    north = box.north
    let ranges = box.longitudeRanges
    let (first, second) = (ranges[0], ranges[ranges.count - 1])
    west = (first.lowerBound, second.lowerBound)
    east = (first.upperBound, second.upperBound)
  }

  /// Whether the place is in the box.
  @inline(__always)
  func contains(_ coordinate: Coordinate) -> Bool {
    let longitude = coordinate.longitude
    return coordinate.latitude >= south && coordinate.latitude <= north
      && ((longitude >= west.0 && longitude <= east.0) || (longitude >= west.1 && longitude <= east.1))
  }

  /// Whether a place within the bounds can be in the box.
  @inline(__always)
  func meets(_ bounds: GeographicBounds) -> Bool {
    bounds.south <= north && bounds.north >= south
      && ((bounds.west <= east.0 && bounds.east >= west.0) || (bounds.west <= east.1 && bounds.east >= west.1))
  }

  /// Whether every place within the bounds is in the box.
  @inline(__always)
  func covers(_ bounds: GeographicBounds) -> Bool {
    bounds.south >= south && bounds.north <= north
      && ((bounds.west >= west.0 && bounds.east <= east.0) || (bounds.west >= west.1 && bounds.east <= east.1))
  }
}
