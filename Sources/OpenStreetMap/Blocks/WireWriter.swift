/// A writer of the wire format of protocol buffers.
struct WireWriter {
  private(set) var bytes: [UInt8] = []

  mutating func varint(_ value: UInt64) {
    var value = value
    while value >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: value) | 0x80)
      value >>= 7
    }
    bytes.append(UInt8(value))
  }

  /// Appends a number in zigzag encoding (`sint64`).
  mutating func signed(_ value: Int64) { varint(UInt64(bitPattern: value << 1 ^ value >> 63)) }

  /// Appends a number field.
  mutating func field(_ number: UInt64, _ value: UInt64) {
    varint(number << 3)
    varint(value)
  }

  /// Appends a field of bytes.
  mutating func field(_ number: UInt64, bytes value: some Collection<UInt8>) {
    varint(number << 3 | 2)
    varint(UInt64(value.count))
    bytes.append(contentsOf: value)
  }

  /// Appends a field that is a message or a packed array.
  mutating func field(_ number: UInt64, _ message: WireWriter) { field(number, bytes: message.bytes) }
}
