import Basics

extension JSONReader {
  /// A string in a JSON text, not copied: valid as long as the bytes that are read.
  public struct Text {
    /// The bytes between the quotation marks. Escapes are well formed; UTF-8 is not validated.
    public let bytes: UnsafeBufferPointer<UInt8>

    /// A Boolean value that indicates whether the bytes have escapes; without any, they are the string.
    public let hasEscapes: Bool

    /// The string, its escapes decoded; `nil` when it is not UTF-8.
    public var string: String? {
      guard hasEscapes else { return UTF8Bytes.string(of: bytes) }
      var unescaped: [UInt8] = []
      append(to: &unescaped)
      return unescaped.withUnsafeBufferPointer(UTF8Bytes.string)
    }

    /// Appends the string's bytes, its escapes decoded; they are UTF-8 if the text is.
    public func append(to unescaped: inout [UInt8]) {
      guard hasEscapes else {
        unescaped.append(contentsOf: bytes)
        return
      }
      var reader = JSONReader(bytes)
      while reader.position < bytes.count {
        let end = JSONString.endOfPlainText(in: bytes, from: reader.position)
        unescaped.append(contentsOf: bytes[reader.position..<end])
        reader.position = end + 1
        // The escapes were validated when the text was read.
        guard end < bytes.count, let scalar = try? reader.readEscape() else { return }
        unescaped.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
      }
    }

    /// Returns a Boolean value that indicates whether the string is this ASCII text.
    public func isEqual(to ascii: StaticString) -> Bool {
      if hasEscapes { return string?.hasSameBytes(as: ascii.description) == true }
      guard bytes.count == ascii.utf8CodeUnitCount else { return false }
      for index in 0..<bytes.count where bytes[index] != ascii.utf8Start[index] { return false }
      return true
    }
  }

  /// Reads the next value, a string.
  ///
  /// - Throws: ``JSONError`` when the next value is not a string, or has an invalid escape or a control character.
  ///   UTF-8 is validated when the string is taken.
  public mutating func readString() throws(JSONError) -> Text {
    skipWhiteSpace()
    guard take(UInt8(ascii: "\"")) else { throw error("a string must stand here") }
    let start = position
    var hasEscapes = false
    while true {
      position = JSONString.endOfPlainText(in: bytes, from: position)
      guard position < bytes.count else { throw error("a string does not end") }
      switch bytes[position] {
      case UInt8(ascii: "\""):
        position += 1
        return Text(bytes: UnsafeBufferPointer(rebasing: bytes[start..<(position - 1)]), hasEscapes: hasEscapes)
      case UInt8(ascii: "\\"):
        position += 1
        hasEscapes = true
        _ = try readEscape()
      default:
        throw error("a control character must be escaped")
      }
    }
  }

  /// Reads an escape whose reverse solidus has been read.
  private mutating func readEscape() throws(JSONError) -> Unicode.Scalar {
    guard position < bytes.count else { throw error("a string does not end") }
    let byte = bytes[position]
    position += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{C}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"): return try readUnicodeEscape()
    default:
      position -= 1
      throw error("no such escape in a string")
    }
  }

  private mutating func readUnicodeEscape() throws(JSONError) -> Unicode.Scalar {
    let first = try readHexadecimalUnit()
    if let scalar = Unicode.Scalar(first) { return scalar }
    guard UTF16.isLeadSurrogate(first), take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) else {
      throw error("half of a surrogate pair stands alone")
    }
    let second = try readHexadecimalUnit()
    guard UTF16.isTrailSurrogate(second),
      let scalar = Unicode.Scalar(0x10000 + UInt32(first - 0xD800) << 10 + UInt32(second - 0xDC00))
    else { throw error("half of a surrogate pair stands alone") }
    return scalar
  }

  private mutating func readHexadecimalUnit() throws(JSONError) -> UInt16 {
    var unit: UInt16 = 0
    for _ in 0..<4 {
      guard position < bytes.count, let digit = Hexadecimal.value(ofDigit: bytes[position]) else {
        throw error("four hexadecimal digits must follow \\u")
      }
      unit = unit << 4 | UInt16(digit)
      position += 1
    }
    return unit
  }
}
