#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#endif

/// Bytes of a message of Protocol Buffers, which grow at their end.
struct MessageBytes: Sendable {
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

  /// Writes the key of a field.
  @inline(__always)
  mutating func write(key field: UInt64, type: UInt64) { write(varint: field << 3 | type) }

  /// Writes bytes.
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
