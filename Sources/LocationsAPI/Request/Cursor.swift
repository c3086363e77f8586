import Geo
import JSONText
import Points

/// Where a page ended, as an opaque text for the `cursor` parameter.
///
/// It carries the position and a fingerprint of the conditions it belongs to, so that a cursor which is used with other
/// conditions is refused instead of skipping places. It holds no secret and needs none: whoever makes one up gets a
/// page that starts elsewhere.
enum Cursor {
  private static let version: UInt8 = 1
  private static let byteCount = 1 + 8 + 8 + 8 + 4

  /// The text for a position in the answer to a query.
  static func text(for position: PointQuery.Position, in query: PointQuery) -> String {
    var bytes: [UInt8] = [version]
    bytes.reserveCapacity(byteCount)
    func append(_ number: some FixedWidthInteger) {
      withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
    }
    append(position.distanceMetres.bitPattern)
    append(position.id.high)
    append(position.id.low)
    append(fingerprint(of: query))
    return Base64URL.encode(bytes)
  }

  /// The position that a text stands for; `nil` when it is no cursor, or one for other conditions.
  static func position(from text: some StringProtocol, in query: PointQuery) -> PointQuery.Position? {
    guard let bytes = Base64URL.decode(text, count: byteCount), bytes[0] == version else { return nil }
    func number(at offset: Int) -> UInt64 {
      bytes[offset..<offset + 8].reduce(0) { $0 << 8 | UInt64($1) }
    }
    let check = bytes[25...].reduce(0) { $0 << 8 | UInt32($1) }
    let distance = Double(bitPattern: number(at: 1))
    guard check == fingerprint(of: query), distance.isFinite, distance >= 0 else { return nil }
    return .init(distanceMetres: distance, id: PointID(high: number(at: 9), low: number(at: 17)))
  }

  /// A hash (FNV-1a) of what decides which places match and in which order.
  private static func fingerprint(of query: PointQuery) -> UInt32 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    func mix(_ number: UInt64) { hash = (hash ^ number) &* 0x100_0000_01B3 }
    func mix(numbers: Double...) {
      for number in numbers {
        mix(number.bitPattern >> 32)
        mix(number.bitPattern & 0xFFFF_FFFF)
      }
    }
    if let proximity = query.proximity {
      mix(1)
      mix(numbers: proximity.center.latitude, proximity.center.longitude)
      if let radius = proximity.radiusMetres { mix(numbers: radius) }
    }
    if let box = query.box {
      mix(2)
      mix(numbers: box.west, box.south, box.east, box.north)
    }
    for category in query.categories.sorted() {
      mix(3)
      for byte in category.text.utf8 { mix(UInt64(byte)) }
    }
    if let source = query.source {
      mix(4)
      for byte in source.name.text.utf8 { mix(UInt64(byte)) }
      if let sourceID = source.sourceID {
        mix(5)
        for byte in sourceID.text.utf8 { mix(UInt64(byte)) }
      }
    }
    return UInt32(truncatingIfNeeded: hash ^ hash >> 32)
  }
}
