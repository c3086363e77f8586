/// A Mapbox Vector Tile (specification 2.1) that is written layer by layer.
public struct VectorTile: Sendable {
  /// The media type.
  public static let mediaType = "application/vnd.mapbox-vector-tile"

  /// The number of grid units of a side of a tile.
  public static let extent = 4096

  /// The encoded tile.
  public private(set) var bytes: [UInt8] = []

  /// Creates a tile without layers.
  public init() {}

  /// Appends a layer; one without features is left out. The layers of a tile have different names.
  public mutating func append(_ layer: VectorTileLayer) {
    if layer.count > 0 { bytes.appendField(3, layer.encoded) }
  }
}

/// A layer of points of a ``VectorTile``.
///
/// The attributes of a feature are set one by one, and belong to the point that is appended next.
public struct VectorTileLayer: Sendable {
  /// The number of features.
  public private(set) var count = 0

  private let name: String
  private var features: [UInt8] = []
  private var keys: [UInt8] = []
  private var keyCount: UInt64 = 0
  private var values = ValueTable()

  /// The indexes of the keys and values of the next feature.
  private var tags: [UInt8] = []

  /// The number of the specification's version that layers name.
  private static let version: UInt64 = 2

  /// The type of features that are points.
  private static let pointType: UInt64 = 1

  /// The command to move once, to the position that follows.
  private static let moveOnce: UInt64 = 1 << 3 | 1

  /// Creates a layer without features.
  public init(name: String) {
    self.name = name
  }

  /// A key of attributes.
  public struct Key: Sendable {
    fileprivate let index: UInt64
  }

  /// A value of attributes.
  public struct Value: Sendable {
    fileprivate let index: UInt64
  }

  /// Adds a key, which must be a new one.
  public mutating func addKey(_ name: String) -> Key {
    keys.appendField(3, Array(name.utf8))
    keyCount += 1
    return Key(index: keyCount - 1)
  }

  /// Returns the value that is a text in UTF-8.
  public mutating func value(_ utf8: UnsafeBufferPointer<UInt8>) -> Value { Value(index: values.index(ofText: utf8)) }

  /// Returns the value that is a text.
  public mutating func value(_ text: String) -> Value {
    var text = text
    return text.withUTF8 { value($0) }
  }

  /// Returns the value that is an unsigned number.
  public mutating func value(_ number: UInt64) -> Value { Value(index: values.index(ofNumber: number)) }

  /// Gives the next feature an attribute; it has none of the key yet.
  public mutating func set(_ key: Key, _ value: Value) {
    tags.append(varint: key.index)
    tags.append(varint: value.index)
  }

  /// Appends a feature at a position in grid units from the north-western corner, with the attributes that were set.
  public mutating func appendPoint(x: Int, y: Int) {
    var geometry: [UInt8] = []
    geometry.reserveCapacity(8)
    geometry.append(varint: Self.moveOnce)
    geometry.append(varint: Self.zigzag(x))
    geometry.append(varint: Self.zigzag(y))
    let hasTags = !tags.isEmpty
    let length =
      (hasTags ? 1 + [UInt8].varintLength(tags.count) + tags.count : 0) + 2 + 1 + [UInt8].varintLength(geometry.count)
      + geometry.count
    features.append(key: 2, type: 2)
    features.append(varint: UInt64(length))
    if hasTags { features.appendField(2, tags) }
    features.append(key: 3, type: 0)
    features.append(varint: Self.pointType)
    features.appendField(4, geometry)
    tags.removeAll(keepingCapacity: true)
    count += 1
  }

  /// The layer's message.
  fileprivate var encoded: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(name.utf8.count + features.count + keys.count + values.bytes.count + 16)
    bytes.append(key: 15, type: 0)
    bytes.append(varint: Self.version)
    bytes.appendField(1, Array(name.utf8))
    bytes += features
    bytes += keys
    bytes += values.bytes
    bytes.append(key: 5, type: 0)
    bytes.append(varint: UInt64(VectorTile.extent))
    return bytes
  }

  private static func zigzag(_ number: Int) -> UInt64 { UInt64(bitPattern: Int64(number << 1 ^ number >> 63)) }

}

/// The values of a layer, each once.
private struct ValueTable: Sendable {
  /// The encoded values.
  private(set) var bytes: [UInt8] = []

  /// The start of each value in the bytes, and the end of the last one.
  private var starts: [Int] = [0]

  /// The indexes of the values plus 1 by their hashes; 0 for a vacant entry. The count is a power of two.
  private var entries = [UInt32](repeating: 0, count: 64)

  mutating func index(ofText utf8: UnsafeBufferPointer<UInt8>) -> UInt64 {
    let start = bytes.count
    bytes.append(key: 4, type: 2)
    bytes.append(varint: UInt64(1 + [UInt8].varintLength(utf8.count) + utf8.count))
    bytes.append(key: 1, type: 2)
    bytes.append(varint: UInt64(utf8.count))
    bytes.append(contentsOf: utf8)
    return index(ofValueFrom: start)
  }

  mutating func index(ofNumber number: UInt64) -> UInt64 {
    let start = bytes.count
    bytes.append(key: 4, type: 2)
    bytes.append(varint: UInt64(1 + [UInt8].varintLength(Int(truncatingIfNeeded: number))))
    bytes.append(key: 5, type: 0)
    bytes.append(varint: number)
    return index(ofValueFrom: start)
  }

  /// Returns the index of the value at the end of the bytes, which are removed where the value is there already.
  private mutating func index(ofValueFrom start: Int) -> UInt64 {
    let mask = entries.count - 1
    var position = hash(of: start..<bytes.count) & mask
    while entries[position] != 0 {
      let index = Int(entries[position]) - 1
      if bytes[starts[index]..<starts[index + 1]].elementsEqual(bytes[start...]) {
        bytes.removeLast(bytes.count - start)
        return UInt64(index)
      }
      position = (position + 1) & mask
    }
    starts.append(bytes.count)
    entries[position] = UInt32(starts.count - 1)
    if starts.count * 2 > entries.count { grow() }
    return UInt64(starts.count - 2)
  }

  private mutating func grow() {
    entries = [UInt32](repeating: 0, count: entries.count * 4)
    let mask = entries.count - 1
    for index in 0..<(starts.count - 1) {
      var position = hash(of: starts[index]..<starts[index + 1]) & mask
      while entries[position] != 0 { position = (position + 1) & mask }
      entries[position] = UInt32(index + 1)
    }
  }

  // Seeded, so that no client can choose texts that collide.
  private func hash(of range: Range<Int>) -> Int {
    var hasher = Hasher()
    bytes.withUnsafeBytes { hasher.combine(bytes: UnsafeRawBufferPointer(rebasing: $0[range])) }
    return hasher.finalize()
  }
}

extension [UInt8] {
  /// Appends a number in Protocol Buffers' encoding of variable length.
  fileprivate mutating func append(varint number: UInt64) {
    var number = number
    while number >= 0x80 {
      append(UInt8(truncatingIfNeeded: number) | 0x80)
      number >>= 7
    }
    append(UInt8(truncatingIfNeeded: number))
  }

  /// Returns the number of bytes of a number in that encoding.
  fileprivate static func varintLength(_ number: Int) -> Int { (Swift.max(64 - number.leadingZeroBitCount, 1) + 6) / 7 }

  /// Appends the key of a field.
  fileprivate mutating func append(key field: UInt64, type: UInt64) { append(varint: field << 3 | type) }

  /// Appends a field of bytes with their length.
  fileprivate mutating func appendField(_ field: UInt64, _ bytes: [UInt8]) {
    append(key: field, type: 2)
    append(varint: UInt64(bytes.count))
    append(contentsOf: bytes)
  }
}
