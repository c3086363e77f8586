/// Why bytes are not a JSON text.
public struct JSONError: Error, Hashable, Sendable, CustomStringConvertible {
  /// How many bytes stand before the place where reading stopped.
  public let offset: Int

  /// What was wrong there, for a user.
  public let reason: String

  /// What a user is told.
  public var description: String { "not valid JSON at byte \(offset): \(reason)" }
}

/// Reads one JSON text (RFC 8259) from bytes in memory.
///
/// It is strict: UTF-8 only, no byte-order mark, no trailing commas, nothing after the value but white space, no lone
/// surrogates in escapes. Time is linear in the length, the stack is bounded by `maximumDepth`.
public struct JSONReader {
  private let bytes: UnsafeBufferPointer<UInt8>
  private let maximumDepth: Int
  private var position = 0

  private init(_ bytes: UnsafeBufferPointer<UInt8>, maximumDepth: Int) {
    self.bytes = bytes
    self.maximumDepth = maximumDepth
  }

  /// Reads the value that the bytes are.
  ///
  /// - Parameter maximumDepth: how many arrays and objects may be open at once.
  /// - Throws: ``JSONError`` at the first byte that breaks the grammar.
  public static func value(
    of bytes: UnsafeBufferPointer<UInt8>, maximumDepth: Int = 64
  ) throws(JSONError) -> JSONValue {
    var reader = JSONReader(bytes, maximumDepth: maximumDepth)
    reader.skipWhiteSpace()
    let value = try reader.readValue(depth: 0)
    reader.skipWhiteSpace()
    guard reader.position == bytes.count else { throw reader.error("something follows the value") }
    return value
  }

  /// Reads the value that the bytes are.
  ///
  /// - Throws: ``JSONError`` at the first byte that breaks the grammar.
  public static func value(of bytes: some Collection<UInt8>, maximumDepth: Int = 64) throws(JSONError) -> JSONValue {
    let result = bytes.withContiguousStorageIfAvailable { buffer in
      Result { () throws(JSONError) in try value(of: buffer, maximumDepth: maximumDepth) }
    }
    return try (result ?? Array(bytes).withUnsafeBufferPointer { buffer in
      Result { () throws(JSONError) in try value(of: buffer, maximumDepth: maximumDepth) }
    }).get()
  }

  // MARK: Values

  private mutating func readValue(depth: Int) throws(JSONError) -> JSONValue {
    guard position < bytes.count else { throw error("the text ends where a value should stand") }
    switch bytes[position] {
    case UInt8(ascii: "{"):
      return try readObject(depth: depth)
    case UInt8(ascii: "["):
      return try readArray(depth: depth)
    case UInt8(ascii: "\""):
      return .string(try readString())
    case UInt8(ascii: "t"):
      try read(literal: "true")
      return .bool(true)
    case UInt8(ascii: "f"):
      try read(literal: "false")
      return .bool(false)
    case UInt8(ascii: "n"):
      try read(literal: "null")
      return .null
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
      return .number(try readNumber())
    default:
      throw error("a value cannot start here")
    }
  }

  private mutating func readObject(depth: Int) throws(JSONError) -> JSONValue {
    guard depth < maximumDepth else { throw error("nested more than \(maximumDepth) deep") }
    position += 1
    var members: [JSONValue.Member] = []
    skipWhiteSpace()
    if take("}") { return .object(members) }
    repeat {
      skipWhiteSpace()
      guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") else {
        throw error("a member's name must be a string")
      }
      let name = try readString()
      skipWhiteSpace()
      guard take(":") else { throw error("a colon must follow a member's name") }
      skipWhiteSpace()
      members.append(.init(name: name, value: try readValue(depth: depth + 1)))
      skipWhiteSpace()
    } while take(",")
    guard take("}") else { throw error("an object must go on with a comma or end") }
    return .object(members)
  }

  private mutating func readArray(depth: Int) throws(JSONError) -> JSONValue {
    guard depth < maximumDepth else { throw error("nested more than \(maximumDepth) deep") }
    position += 1
    var elements: [JSONValue] = []
    skipWhiteSpace()
    if take("]") { return .array(elements) }
    repeat {
      skipWhiteSpace()
      elements.append(try readValue(depth: depth + 1))
      skipWhiteSpace()
    } while take(",")
    guard take("]") else { throw error("an array must go on with a comma or end") }
    return .array(elements)
  }

  private mutating func readNumber() throws(JSONError) -> String {
    let start = position
    _ = take("-")
    if !take("0") { try readDigits() }
    if take(".") { try readDigits() }
    if take("e") || take("E") {
      if !take("+") { _ = take("-") }
      try readDigits()
    }
    return String(decoding: bytes[start..<position], as: UTF8.self)
  }

  private mutating func readDigits() throws(JSONError) {
    let start = position
    while position < bytes.count, bytes[position] &- UInt8(ascii: "0") < 10 { position += 1 }
    guard position > start else { throw error("a digit is missing") }
  }

  private mutating func read(literal: StaticString) throws(JSONError) {
    for offset in 0..<literal.utf8CodeUnitCount {
      guard position < bytes.count, bytes[position] == literal.utf8Start[offset] else {
        throw error("only true, false and null may stand without quotes")
      }
      position += 1
    }
  }

  // MARK: Strings

  private mutating func readString() throws(JSONError) -> String {
    let start = position + 1
    position = start
    while position < bytes.count {
      switch bytes[position] {
      case UInt8(ascii: "\""):
        let text = try string(in: start..<position)
        position += 1
        return text
      case UInt8(ascii: "\\"):
        return try readEscapedString(from: start)
      case 0..<0x20:
        throw error("a control character must be escaped")
      default:
        position += 1
      }
    }
    throw error("a string does not end")
  }

  private mutating func readEscapedString(from start: Int) throws(JSONError) -> String {
    var text: [UInt8] = Array(bytes[start..<position])
    while position < bytes.count {
      let byte = bytes[position]
      position += 1
      switch byte {
      case UInt8(ascii: "\""):
        guard let string = String(validating: text, as: UTF8.self) else { throw error("a string is not UTF-8") }
        return string
      case UInt8(ascii: "\\"):
        text.append(contentsOf: Unicode.UTF8.encode(try readEscape()) ?? Unicode.UTF8.encodedReplacementCharacter)
      case 0..<0x20:
        position -= 1
        throw error("a control character must be escaped")
      default:
        text.append(byte)
      }
    }
    throw error("a string does not end")
  }

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
    default: throw error("no such escape in a string")
    }
  }

  private mutating func readUnicodeEscape() throws(JSONError) -> Unicode.Scalar {
    let first = try readHexadecimalUnit()
    if let scalar = Unicode.Scalar(first) { return scalar }
    guard UTF16.isLeadSurrogate(UInt16(first)), take("\\"), take("u") else {
      throw error("half of a surrogate pair stands alone")
    }
    let second = try readHexadecimalUnit()
    guard UTF16.isTrailSurrogate(UInt16(second)),
      let scalar = Unicode.Scalar(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00))
    else { throw error("half of a surrogate pair stands alone") }
    return scalar
  }

  private mutating func readHexadecimalUnit() throws(JSONError) -> UInt32 {
    var unit: UInt32 = 0
    for _ in 0..<4 {
      guard position < bytes.count, let digit = Character(Unicode.Scalar(bytes[position])).hexDigitValue else {
        throw error("four hexadecimal digits must follow \\u")
      }
      unit = unit << 4 | UInt32(digit)
      position += 1
    }
    return unit
  }

  private func string(in range: Range<Int>) throws(JSONError) -> String {
    guard let text = String(validating: bytes[range], as: UTF8.self) else { throw error("a string is not UTF-8") }
    return text
  }

  // MARK: Bytes

  private mutating func skipWhiteSpace() {
    while position < bytes.count {
      switch bytes[position] {
      case 0x20, 0x09, 0x0A, 0x0D: position += 1
      default: return
      }
    }
  }

  private mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard position < bytes.count, bytes[position] == UInt8(ascii: character) else { return false }
    position += 1
    return true
  }

  private func error(_ reason: String) -> JSONError { JSONError(offset: position, reason: reason) }
}
