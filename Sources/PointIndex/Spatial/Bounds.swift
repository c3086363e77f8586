import Geo

/// The bounds of some places in the earth-centred frame, in metres.
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

  /// Returns the square of the distance from a position to the nearest part of the bounds.
  @inline(__always)
  func leastChordSquared(to position: EarthCentred) -> Double {
    let dx = max(max(minX - position.x, position.x - maxX), 0)
    let dy = max(max(minY - position.y, position.y - maxY), 0)
    let dz = max(max(minZ - position.z, position.z - maxZ), 0)
    return dx * dx + dy * dy + dz * dz
  }

  /// Returns the square of the distance from a position to the farthest corner of the bounds.
  @inline(__always)
  func greatestChordSquared(to position: EarthCentred) -> Double {
    let dx = max(position.x - minX, maxX - position.x)
    let dy = max(position.y - minY, maxY - position.y)
    let dz = max(position.z - minZ, maxZ - position.z)
    return dx * dx + dy * dy + dz * dz
  }

  /// The square of the length of the diagonal.
  var diagonalSquared: Double {
    let (dx, dy, dz) = (maxX - minX, maxY - minY, maxZ - minZ)
    return dx * dx + dy * dy + dz * dz
  }
}

/// The bounds of some places in degrees, as plain numbers: no range wraps.
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
