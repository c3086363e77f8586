/// Writes text as a JSON string (RFC 8259, section 7), quotes included.
///
/// Only what must be escaped is: the quotation mark, the reverse solidus and the characters below U+0020.
public enum JSONString {
  /// Appends the string to the bytes. Linear in its length; a string that needs no escape is copied whole.
  @inlinable
  public static func append(_ text: String, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\""))
    for byte in text.utf8 {
      if byte >= 0x20, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") {
        bytes.append(byte)
      } else {
        appendEscape(of: byte, to: &bytes)
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }

  @usableFromInline
  static func appendEscape(of byte: UInt8, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\\"))
    switch byte {
    case UInt8(ascii: "\n"): bytes.append(UInt8(ascii: "n"))
    case UInt8(ascii: "\r"): bytes.append(UInt8(ascii: "r"))
    case UInt8(ascii: "\t"): bytes.append(UInt8(ascii: "t"))
    case 0..<0x20:
      let digits: StaticString = "0123456789abcdef"
      bytes.append(contentsOf: [UInt8(ascii: "u"), UInt8(ascii: "0"), UInt8(ascii: "0")])
      bytes.append(digits.utf8Start[Int(byte >> 4)])
      bytes.append(digits.utf8Start[Int(byte & 15)])
    default: bytes.append(byte)
    }
  }
}
