import JSONText
import Points

/// Writes text into memory that was reserved for it, without looking whether there is room.
///
/// Whoever makes one has reserved as many bytes as the values to be written can take at most; every method says how
/// many that is. It is made and used within one `writeWithUnsafeMutableBytes` of a buffer and does not leave it.
struct ByteWriter {
  private(set) var position: UnsafeMutablePointer<UInt8>

  init(at start: UnsafeMutablePointer<UInt8>) {
    position = start
  }

  /// Writes a literal: as many bytes as it has.
  mutating func write(_ literal: StaticString) {
    position.update(from: literal.utf8Start, count: literal.utf8CodeUnitCount)
    position += literal.utf8CodeUnitCount
  }

  /// Writes one byte.
  mutating func write(byte: UInt8) {
    position.pointee = byte
    position += 1
  }

  /// Copies text as it is: as many bytes as its UTF-8 has.
  mutating func copy(_ text: String) {
    var text = text
    text.withUTF8 { copy($0) }
  }

  /// Copies bytes as they are.
  mutating func copy(_ bytes: UnsafeBufferPointer<UInt8>) {
    guard let start = bytes.baseAddress else { return }
    position.update(from: start, count: bytes.count)
    position += bytes.count
  }

  /// Writes text as a JSON string: at most ``JSONString/maximumLength(utf8Count:)`` bytes.
  mutating func write(string text: String) {
    position += JSONString.write(text, to: position)
  }

  /// Writes the text whose UTF-8 these bytes are as a JSON string: at most ``JSONString/maximumLength(utf8Count:)``
  /// bytes.
  mutating func write(string utf8: UnsafeBufferPointer<UInt8>) {
    position += JSONString.write(utf8, to: position)
  }

  /// Writes an id: 36 bytes.
  mutating func write(_ id: PointID) {
    id.write(to: position)
    position += PointID.textLength
  }

  /// Writes degrees in full precision: at most ``DecimalText/maximumLength`` bytes.
  mutating func write(degrees: Double) {
    position += DecimalText.write(degrees, to: position)
  }

  /// Writes metres with one decimal: at most ``DecimalText/maximumLength`` bytes.
  mutating func write(metres: Double) {
    position += DecimalText.writeTenths(metres, to: position)
  }

  /// Writes a number that is not negative: at most 19 bytes.
  mutating func write(integer: Int64) {
    precondition(integer >= 0, "a negative number")
    var length = 1
    var rest = integer
    while rest >= 10 {
      length += 1
      rest /= 10
    }
    rest = integer
    for index in (0..<length).reversed() {
      position[index] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
      rest /= 10
    }
    position += length
  }

  /// Writes a time as a JSON string: at most ``Timestamp/maximumTextLength`` bytes and two.
  mutating func write(_ time: Timestamp) {
    write("\"")
    position += time.write(to: position)
    write("\"")
  }
}
