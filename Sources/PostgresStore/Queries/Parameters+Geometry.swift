import Geo
import PostgresClient

/// The encoding of geometries as EWKB, PostGIS's binary format: the byte order, a type with flags, the reference
/// system, the coordinates.
extension Parameters {
  private static let hasZ: UInt32 = 0x8000_0000
  private static let hasReferenceSystem: UInt32 = 0x2000_0000
  /// The EPSG code of earth-centred x, y, z on WGS 84.
  private static let referenceSystem: UInt32 = 4978

  /// Adds a `geometry`: a point.
  mutating func add(_ position: EarthCentred) {
    var bytes = Self.header(type: 1)
    Self.append(SIMD3(position.x, position.y, position.z), to: &bytes)
    add(bytes: bytes)
  }

  /// Adds a `geometry` whose bounds are the box: the line between two opposite corners.
  mutating func add(_ box: SpatialBox) {
    var bytes = Self.header(type: 2)
    withUnsafeBytes(of: UInt32(2).littleEndian) { bytes.append(contentsOf: $0) }
    Self.append(box.least, to: &bytes)
    Self.append(box.greatest, to: &bytes)
    add(bytes: bytes)
  }

  private static func header(type: UInt32) -> [UInt8] {
    var bytes: [UInt8] = [1]  // least significant byte first
    withUnsafeBytes(of: (type | hasZ | hasReferenceSystem).littleEndian) { bytes.append(contentsOf: $0) }
    withUnsafeBytes(of: referenceSystem.littleEndian) { bytes.append(contentsOf: $0) }
    return bytes
  }

  private static func append(_ position: SIMD3<Double>, to bytes: inout [UInt8]) {
    for axis in 0..<3 {
      withUnsafeBytes(of: position[axis].bitPattern.littleEndian) { bytes.append(contentsOf: $0) }
    }
  }
}
