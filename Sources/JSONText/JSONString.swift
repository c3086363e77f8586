/// Writes text as a JSON string (RFC 8259, section 7), quotes included.
///
/// Only what must be escaped is: the quotation mark, the reverse solidus and the characters below U+0020. Linear in
/// the text's length; text that needs no escape is copied whole.
public enum JSONString {
  /// How many bytes are written at most for a text of that many bytes of UTF-8.
  @inlinable
  public static func maximumLength(utf8Count: Int) -> Int { 6 * utf8Count + 2 }

  /// The index of the first byte from `start` on that a string does not hold as it is, a quotation mark, a reverse
  /// solidus or a control character below U+0020; the count when there is none. Linear.
  @inlinable
  public static func endOfPlainText(in utf8: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
    JSONBytes.endOfPlainText(in: utf8, from: start)
  }

  /// Appends the string to the bytes.
  @inlinable
  public static func append(_ text: String, to bytes: inout [UInt8]) {
    var text = text
    text.withUTF8 { append($0, to: &bytes) }
  }

  /// Appends the string whose UTF-8 these bytes are.
  @inlinable
  public static func append(_ utf8: UnsafeBufferPointer<UInt8>, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\""))
    var position = 0
    while true {
      let end = JSONBytes.endOfPlainText(in: utf8, from: position)
      bytes.append(contentsOf: UnsafeBufferPointer(rebasing: utf8[position..<end]))
      guard end < utf8.count else { break }
      withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 6) { escape in
        let length = writeEscape(of: utf8[end], to: escape.baseAddress.unsafelyUnwrapped)
        bytes.append(contentsOf: UnsafeBufferPointer(rebasing: UnsafeBufferPointer(escape)[..<length]))
      }
      position = end + 1
    }
    bytes.append(UInt8(ascii: "\""))
  }

  /// Writes the string and answers how many bytes it took; there must be room for
  /// ``maximumLength(utf8Count:)`` bytes.
  @inlinable
  public static func write(_ text: String, to bytes: UnsafeMutablePointer<UInt8>) -> Int {
    var text = text
    return text.withUTF8 { write($0, to: bytes) }
  }

  /// Writes the string whose UTF-8 these bytes are and answers how many bytes it took; there must be room for
  /// ``maximumLength(utf8Count:)`` bytes, apart from those that are read.
  @inlinable
  public static func write(_ utf8: UnsafeBufferPointer<UInt8>, to bytes: UnsafeMutablePointer<UInt8>) -> Int {
    bytes[0] = UInt8(ascii: "\"")
    var written = 1
    var position = 0
    if let source = utf8.baseAddress {
      while true {
        let end = JSONBytes.endOfPlainText(in: utf8, from: position)
        (bytes + written).update(from: source + position, count: end &- position)
        written &+= end &- position
        guard end < utf8.count else { break }
        written &+= writeEscape(of: source[end], to: bytes + written)
        position = end &+ 1
      }
    }
    bytes[written] = UInt8(ascii: "\"")
    return written &+ 1
  }

  @usableFromInline
  static func writeEscape(of byte: UInt8, to bytes: UnsafeMutablePointer<UInt8>) -> Int {
    bytes[0] = UInt8(ascii: "\\")
    switch byte {
    case UInt8(ascii: "\n"): bytes[1] = UInt8(ascii: "n")
    case UInt8(ascii: "\r"): bytes[1] = UInt8(ascii: "r")
    case UInt8(ascii: "\t"): bytes[1] = UInt8(ascii: "t")
    case 0..<0x20:
      let digits: StaticString = "0123456789abcdef"
      bytes[1] = UInt8(ascii: "u")
      bytes[2] = UInt8(ascii: "0")
      bytes[3] = UInt8(ascii: "0")
      bytes[4] = digits.utf8Start[Int(byte >> 4)]
      bytes[5] = digits.utf8Start[Int(byte & 15)]
      return 6
    default: bytes[1] = byte
    }
    return 2
  }
}
