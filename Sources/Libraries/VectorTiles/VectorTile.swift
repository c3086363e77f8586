import Basics

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#endif

/// A Mapbox Vector Tile (specification 2.1) that is written layer by layer.
public struct VectorTile: Sendable {
  /// The media type.
  public static let mediaType = "application/vnd.mapbox-vector-tile"

  /// The number of grid units of a side of a tile.
  public static let extent = 4096

  /// The encoded tile.
  public private(set) var bytes: [UInt8] = []

  public init() {}

  /// Appends a layer; one without features is left out. The layers of a tile have different names.
  public mutating func append(_ layer: VectorTileLayer) {
    guard layer.count > 0 else { return }
    let length = layer.encodedLength
    let tile = [UInt8](unsafeUninitializedCapacity: bytes.count + 2 * MessageBytes.keyAndNumberLength + length) {
      buffer, count in
      guard var end = buffer.baseAddress else { return }
      let start = end
      bytes.withUnsafeBufferPointer { end.copy($0) }
      end.write(key: 3, type: 2)
      end.write(varint: UInt64(length))
      layer.encode(to: &end)
      count = end - start
    }
    bytes = tile
  }
}

/// A layer of points of a ``VectorTile``.
///
/// The attributes of a feature are set one by one, and belong to the point that is appended next.
public struct VectorTileLayer: Sendable {
  /// The number of features.
  public private(set) var count = 0

  private let name: String
  private var features: MessageBytes
  /// The encoded keys of the attributes of features.
  private var keys = MessageBytes(capacity: 64)
  private var keyCount: UInt32 = 0

  /// The names of all added keys, and their indexes among the encoded ones; ``unused`` until a feature has the key.
  private var addedKeys: ContiguousArray<(name: String, index: UInt32)> = []

  private static let unused = UInt32.max

  private var values: ValueTable

  /// The indexes of the keys and values of the next feature.
  private var tags: ContiguousArray<UInt32> = []

  /// The number of bytes of those indexes.
  private var tagsLength = 0

  /// The number of the specification's version that layers name.
  private static let version: UInt64 = 2

  /// The type of features that are points.
  private static let pointType: UInt64 = 1

  /// The command to move once, to the position that follows.
  private static let moveOnce: UInt64 = 1 << 3 | 1

  /// Creates a layer without features.
  ///
  /// - Parameters:
  ///   - capacity: the number of features that memory is reserved for.
  ///   - textBytes: the number of bytes of values that memory is reserved for.
  public init(name: String, capacity: Int = 0, textBytes: Int = 0) {
    self.name = name
    features = MessageBytes(capacity: capacity * Self.usualFeatureLength)
    values = ValueTable(capacity: capacity, textBytes: textBytes)
  }

  /// The number of bytes of a feature with three attributes.
  private static let usualFeatureLength = 22

  /// A key of attributes.
  public struct Key: Sendable {
    /// The number among the added keys.
    fileprivate let number: Int
  }

  /// A value of attributes.
  public struct Value: Sendable {
    fileprivate let index: UInt32
  }

  /// Adds a key, which must be a new one. A key that no feature has is left out of the layer.
  public mutating func addKey(_ name: String) -> Key {
    addedKeys.append((name, Self.unused))
    return Key(number: addedKeys.count - 1)
  }

  @inline(__always)
  private mutating func index(of key: Key) -> UInt32 {
    let index = addedKeys[key.number].index
    return index == Self.unused ? encode(key) : index
  }

  private mutating func encode(_ key: Key) -> UInt32 {
    addedKeys[key.number].name.withUTF8 { keys.append(field: 3, $0) }
    addedKeys[key.number].index = keyCount
    keyCount += 1
    return keyCount - 1
  }

  /// Returns the value that is a text in UTF-8.
  public mutating func value(_ utf8: UnsafeBufferPointer<UInt8>) -> Value { Value(index: values.index(ofText: utf8)) }

  /// Returns the value that is a text.
  public mutating func value(_ text: String) -> Value {
    var text = text
    return text.withUTF8 { value($0) }
  }

  /// Returns a new value that is a text in UTF-8, which no other value is equal to.
  ///
  /// - Parameters:
  ///   - byteCount: the number of bytes of the text.
  ///   - body: writes them.
  public mutating func uniqueValue(byteCount: Int, _ body: (UnsafeMutablePointer<UInt8>) -> Void) -> Value {
    Value(index: values.appendUnique(byteCount: byteCount, body))
  }

  /// Returns the value that is an unsigned number.
  public mutating func value(_ number: UInt64) -> Value { Value(index: values.index(ofNumber: number)) }

  /// Gives the next feature an attribute; it has none of the key yet.
  public mutating func set(_ key: Key, _ value: Value) {
    let key = index(of: key)
    tags.append(key)
    tags.append(value.index)
    tagsLength += MessageBytes.length(ofVarint: key) + MessageBytes.length(ofVarint: value.index)
  }

  /// Appends a feature at a position in grid units from the north-western corner, with the attributes that were set.
  public mutating func appendPoint(x: Int, y: Int) {
    let (x, y) = (Self.zigzag(x), Self.zigzag(y))
    let geometryLength = 1 + MessageBytes.length(ofVarint: x) + MessageBytes.length(ofVarint: y)
    let tagsField = tagsLength == 0 ? 0 : 1 + MessageBytes.length(ofVarint: tagsLength) + tagsLength
    let length = tagsField + 2 + 2 + geometryLength
    features.append(atMost: 2 * MessageBytes.keyAndNumberLength + length) { end in
      end.write(key: 2, type: 2)
      end.write(varint: UInt64(length))
      if tagsLength > 0 {
        end.write(key: 2, type: 2)
        end.write(varint: UInt64(tagsLength))
        for index in tags { end.write(varint: UInt64(index)) }
      }
      end.write(key: 3, type: 0)
      end.write(varint: Self.pointType)
      end.write(key: 4, type: 2)
      end.write(varint: UInt64(geometryLength))
      end.write(varint: Self.moveOnce)
      end.write(varint: UInt64(x))
      end.write(varint: UInt64(y))
    }
    tags.removeAll(keepingCapacity: true)
    tagsLength = 0
    count += 1
  }

  /// The number of bytes of the layer's message.
  fileprivate var encodedLength: Int {
    let nameLength = name.utf8.count
    return 2 + 1 + MessageBytes.length(ofVarint: nameLength) + nameLength + features.count + keys.count
      + values.bytes.count + 1 + MessageBytes.length(ofVarint: VectorTile.extent)
  }

  /// Writes the layer's message.
  fileprivate func encode(to end: inout UnsafeMutablePointer<UInt8>) {
    end.write(key: 15, type: 0)
    end.write(varint: Self.version)
    var name = name
    end.write(key: 1, type: 2)
    end.write(varint: UInt64(name.utf8.count))
    name.withUTF8 { end.copy($0) }
    for bytes in [features, keys, values.bytes] { bytes.withUnsafeBytes { end.copy($0) } }
    end.write(key: 5, type: 0)
    end.write(varint: UInt64(VectorTile.extent))
  }

  private static func zigzag(_ number: Int) -> UInt { UInt(bitPattern: number << 1 ^ number >> (Int.bitWidth - 1)) }
}

/// The values of a layer, each once.
private struct ValueTable: Sendable {
  /// The encoded values.
  private(set) var bytes: MessageBytes

  private var count: UInt32 = 0

  /// The texts that are looked up: their numbers among the values, and where they are in the bytes.
  private var texts: ContiguousArray<(index: UInt32, start: UInt32, length: UInt32)> = []

  /// The upper halves of their hashes, and in the lower halves their positions plus 1, by hash; 0 for a vacant entry.
  /// The count is a power of two.
  private var entries: ContiguousArray<UInt64>

  private var numbers: [UInt64: UInt32] = [:]

  init(capacity: Int, textBytes: Int) {
    bytes = MessageBytes(capacity: textBytes)
    var entryCount = 16
    while entryCount < 2 * capacity { entryCount *= 2 }
    entries = ContiguousArray(repeating: 0, count: entryCount)
    texts.reserveCapacity(capacity)
  }

  mutating func appendUnique(byteCount: Int, _ body: (UnsafeMutablePointer<UInt8>) -> Void) -> UInt32 {
    bytes.append(atMost: 2 * MessageBytes.keyAndNumberLength + byteCount) { end in
      end.writeTextHead(byteCount)
      body(end)
      end += byteCount
    }
    count += 1
    return count - 1
  }

  mutating func index(ofText utf8: UnsafeBufferPointer<UInt8>) -> UInt32 {
    let hash = Self.hash(utf8)
    let mask = entries.count - 1
    var position = Int(truncatingIfNeeded: hash) & mask
    while entries[position] != 0 {
      let entry = entries[position]
      if entry >> 32 == hash >> 32 {
        let text = texts[Int(UInt32(truncatingIfNeeded: entry)) - 1]
        if text.length == utf8.count, bytes.hasBytes(of: utf8, at: Int(text.start)) { return text.index }
      }
      position = (position + 1) & mask
    }
    let index = appendUnique(byteCount: utf8.count) { end in
      if let start = utf8.baseAddress { end.update(from: start, count: utf8.count) }
    }
    texts.append((index, UInt32(bytes.count - utf8.count), UInt32(utf8.count)))
    entries[position] = (hash >> 32) << 32 | UInt64(texts.count)
    if texts.count * 4 > entries.count * 3 { grow() }
    return index
  }

  mutating func index(ofNumber number: UInt64) -> UInt32 {
    if let index = numbers[number] { return index }
    bytes.append(atMost: 2 * MessageBytes.keyAndNumberLength) { end in
      end.write(key: 4, type: 2)
      end.write(varint: UInt64(1 + MessageBytes.length(ofVarint: number)))
      end.write(key: 5, type: 0)
      end.write(varint: number)
    }
    numbers[number] = count
    count += 1
    return count - 1
  }

  private mutating func grow() {
    entries = ContiguousArray(repeating: 0, count: entries.count * 4)
    let mask = entries.count - 1
    for (number, text) in texts.enumerated() {
      let hash = bytes.withUnsafeBytes { bytes in
        Self.hash(UnsafeBufferPointer(rebasing: bytes[Int(text.start)..<Int(text.start + text.length)]))
      }
      var position = Int(truncatingIfNeeded: hash) & mask
      while entries[position] != 0 { position = (position + 1) & mask }
      entries[position] = (hash >> 32) << 32 | UInt64(number + 1)
    }
  }

  private static func hash(_ text: UnsafeBufferPointer<UInt8>) -> UInt64 {
    var hash = FoldedHash()
    hash.combine(bytes: text)
    return hash.value
  }
}

/// Bytes of a message of Protocol Buffers, which grow at their end.
private struct MessageBytes: Sendable {
  /// The number of bytes.
  private(set) var count = 0

  private var storage: [UInt8]

  /// The maximum number of bytes of the key of a field and a number or a length.
  static let keyAndNumberLength = 12

  init(capacity: Int) {
    storage = [UInt8](repeating: 0, count: capacity)
  }

  /// Appends the bytes that a closure writes, and behind which it leaves the pointer.
  @inline(__always)
  mutating func append(atMost maximumCount: Int, _ body: (inout UnsafeMutablePointer<UInt8>) -> Void) {
    if storage.count - count < maximumCount { grow(by: maximumCount) }
    count = storage.withUnsafeMutableBufferPointer { storage in
      let start = storage.baseAddress.unsafelyUnwrapped
      var end = start + count
      body(&end)
      return end - start
    }
  }

  /// Appends a field of bytes with their length.
  mutating func append(field: UInt64, _ bytes: UnsafeBufferPointer<UInt8>) {
    append(atMost: Self.keyAndNumberLength + bytes.count) { end in
      end.write(key: field, type: 2)
      end.write(varint: UInt64(bytes.count))
      end.copy(bytes)
    }
  }

  func withUnsafeBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
    storage.withUnsafeBufferPointer { body(UnsafeBufferPointer(rebasing: $0[..<count])) }
  }

  /// Returns a Boolean value that indicates whether there are the same bytes from a position on.
  func hasBytes(of others: UnsafeBufferPointer<UInt8>, at start: Int) -> Bool {
    guard let other = others.baseAddress else { return true }
    return storage.withUnsafeBufferPointer {
      memcmp($0.baseAddress.unsafelyUnwrapped + start, other, others.count) == 0
    }
  }

  @inline(never)
  private mutating func grow(by minimum: Int) {
    storage.append(contentsOf: repeatElement(0, count: max(storage.count, minimum, 64)))
  }

  /// Returns the number of bytes of a number in the encoding of variable length.
  @inline(__always)
  static func length(ofVarint number: some FixedWidthInteger) -> Int {
    (max(number.bitWidth - number.leadingZeroBitCount, 1) + 6) / 7
  }
}

// The callers reserve the room.
extension UnsafeMutablePointer<UInt8> {
  /// Writes a number in Protocol Buffers' encoding of variable length.
  @inline(__always)
  mutating func write(varint number: UInt64) {
    var number = number
    while number >= 0x80 {
      pointee = UInt8(truncatingIfNeeded: number) | 0x80
      self += 1
      number >>= 7
    }
    pointee = UInt8(truncatingIfNeeded: number)
    self += 1
  }

  @inline(__always)
  mutating func write(key field: UInt64, type: UInt64) { write(varint: field << 3 | type) }

  @inline(__always)
  mutating func copy(_ bytes: UnsafeBufferPointer<UInt8>) {
    guard let start = bytes.baseAddress else { return }
    update(from: start, count: bytes.count)
    self += bytes.count
  }

  /// Writes what precedes a text as a value of a layer.
  @inline(__always)
  mutating func writeTextHead(_ length: Int) {
    write(key: 4, type: 2)
    write(varint: UInt64(1 + MessageBytes.length(ofVarint: length) + length))
    write(key: 1, type: 2)
    write(varint: UInt64(length))
  }
}
