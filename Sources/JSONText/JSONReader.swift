/// A pull parser of one JSON text (RFC 8259) in memory, which builds only the values that its caller takes.
///
/// It is strict: UTF-8 only, no byte-order mark, no trailing commas, nothing after the value but white space, no lone
/// surrogates in escapes, no name twice in an object (RFC 7493, sections 2.1 and 2.3). Time is linear in the length,
/// the stack is bounded by the maximum depth.
///
/// A caller enters an object with ``enterObject()`` and calls ``nextMember(_:)`` until it returns `nil`; one call that
/// reads the member's value follows each. Arrays are alike; ``finish()`` ends the text. The bytes must outlive the
/// reader and every ``Text`` that it returns.
public struct JSONReader {
  /// The default maximum of nested arrays and objects.
  public static let defaultMaximumDepth = 64

  let bytes: UnsafeBufferPointer<UInt8>
  let maximumDepth: Int

  /// The number of bytes that have been read.
  public internal(set) var position = 0

  /// The number of open arrays and objects.
  private var depth = 0

  /// A Boolean value that indicates whether the innermost array or object was entered and nothing of it was read yet.
  private var isAtStart = false

  /// Creates a reader of bytes that outlive it.
  ///
  /// - Parameter maximumDepth: the maximum of nested arrays and objects.
  public init(_ bytes: UnsafeBufferPointer<UInt8>, maximumDepth: Int = defaultMaximumDepth) {
    self.bytes = bytes
    self.maximumDepth = maximumDepth
  }

  func error(_ reason: String) -> JSONError { JSONError(offset: position, reason: reason) }
}

// MARK: The next value

extension JSONReader {
  /// The kind of a value, determined by its first byte.
  public enum Kind: Hashable, Sendable {
    case null, boolean, number, string, array, object
  }

  /// Returns the kind of the next value without reading it.
  ///
  /// - Throws: ``JSONError`` when no value can start here.
  public mutating func nextKind() throws(JSONError) -> Kind {
    skipWhiteSpace()
    guard position < bytes.count else { throw error("the text ends where a value should stand") }
    switch bytes[position] {
    case UInt8(ascii: "{"): return .object
    case UInt8(ascii: "["): return .array
    case UInt8(ascii: "\""): return .string
    case UInt8(ascii: "t"), UInt8(ascii: "f"): return .boolean
    case UInt8(ascii: "n"): return .null
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number
    default: throw error("a value cannot start here")
    }
  }

  /// Checks that nothing but white space is left.
  ///
  /// - Throws: ``JSONError`` when anything else is.
  public mutating func finish() throws(JSONError) {
    skipWhiteSpace()
    guard position == bytes.count else { throw error("something follows the value") }
  }
}

// MARK: Objects and arrays

extension JSONReader {
  /// Enters the next value, an object.
  ///
  /// - Throws: ``JSONError`` when it is not an object, or is nested too deeply.
  public mutating func enterObject() throws(JSONError) {
    skipWhiteSpace()
    guard position < bytes.count, bytes[position] == UInt8(ascii: "{") else { throw error("an object must stand here") }
    try open()
  }

  /// Reads the next member's name as ``nextMember(_:)`` does, of an object in which a name may stand twice.
  ///
  /// - Throws: ``JSONError`` at the first byte that breaks the grammar.
  public mutating func nextMember() throws(JSONError) -> Text? {
    guard try nextItem(closing: UInt8(ascii: "}"), of: "an object") else { return nil }
    guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") else {
      throw error("a member's name must be a string")
    }
    let name = try readString()
    skipWhiteSpace()
    guard take(UInt8(ascii: ":")) else { throw error("a colon must follow a member's name") }
    skipWhiteSpace()
    return name
  }

  /// Enters the next value, an array.
  ///
  /// - Throws: ``JSONError`` when it is not an array, or is nested too deeply.
  public mutating func enterArray() throws(JSONError) {
    skipWhiteSpace()
    guard position < bytes.count, bytes[position] == UInt8(ascii: "[") else { throw error("an array must stand here") }
    try open()
  }

  /// Returns a Boolean value that indicates whether an element is next; leaves the array at its end.
  ///
  /// - Throws: ``JSONError`` at the first byte that breaks the grammar.
  public mutating func nextElement() throws(JSONError) -> Bool {
    try nextItem(closing: UInt8(ascii: "]"), of: "an array")
  }

  /// Skips to the next member or element; leaves the innermost object or array at its end and returns `false`.
  @inline(__always)
  private mutating func nextItem(closing bracket: UInt8, of kind: StaticString) throws(JSONError) -> Bool {
    skipWhiteSpace()
    let isFirst = isAtStart
    isAtStart = false
    if take(bracket) {
      depth -= 1
      return false
    }
    guard !isFirst else { return true }
    guard take(UInt8(ascii: ",")) else { throw error("\(kind) must go on with a comma or end") }
    skipWhiteSpace()
    return true
  }

  private mutating func open() throws(JSONError) {
    guard depth < maximumDepth else { throw error("nested more than \(maximumDepth) deep") }
    depth += 1
    position += 1
    isAtStart = true
  }
}

// MARK: Numbers, literals and bytes

extension JSONReader {
  /// Reads the next value, a number, and returns its text, which ``DecimalText/value(of:)`` parses.
  ///
  /// - Throws: ``JSONError`` when it is not a number.
  public mutating func readNumber() throws(JSONError) -> UnsafeBufferPointer<UInt8> {
    skipWhiteSpace()
    let start = position
    _ = take(UInt8(ascii: "-"))
    if !take(UInt8(ascii: "0")) { try readDigits() }
    if take(UInt8(ascii: ".")) { try readDigits() }
    if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
      if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
      try readDigits()
    }
    return UnsafeBufferPointer(rebasing: bytes[start..<position])
  }

  private mutating func readDigits() throws(JSONError) {
    let start = position
    while position < bytes.count, bytes[position] &- UInt8(ascii: "0") < 10 { position += 1 }
    guard position > start else { throw error("a digit is missing") }
  }

  /// Reads the next value, `true` or `false`.
  ///
  /// - Throws: ``JSONError`` when it is neither.
  public mutating func readBoolean() throws(JSONError) -> Bool {
    skipWhiteSpace()
    if position < bytes.count, bytes[position] == UInt8(ascii: "t") {
      try read(literal: "true")
      return true
    }
    try read(literal: "false")
    return false
  }

  /// Reads the next value, `null`.
  ///
  /// - Throws: ``JSONError`` when it is another.
  public mutating func readNull() throws(JSONError) {
    skipWhiteSpace()
    try read(literal: "null")
  }

  private mutating func read(literal: StaticString) throws(JSONError) {
    for offset in 0..<literal.utf8CodeUnitCount {
      guard position < bytes.count, bytes[position] == literal.utf8Start[offset] else {
        throw error("only true, false and null may stand without quotes")
      }
      position += 1
    }
  }

  mutating func skipWhiteSpace() {
    while position < bytes.count {
      switch bytes[position] {
      case 0x20, 0x09, 0x0A, 0x0D: position += 1
      default: return
      }
    }
  }

  mutating func take(_ byte: UInt8) -> Bool {
    guard position < bytes.count, bytes[position] == byte else { return false }
    position += 1
    return true
  }
}

/// The reason why bytes are not a JSON text.
public struct JSONError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The number of bytes before the one that breaks the grammar.
  public let offset: Int

  /// The rule that is broken, for a user.
  public let reason: String

  /// The JSON pointer to a member whose name stands twice; `nil` for another error.
  public let pointer: String?

  public init(offset: Int, reason: String, pointer: String? = nil) {
    self.offset = offset
    self.reason = reason
    self.pointer = pointer
  }

  /// The message for a user.
  public var description: String { "not valid JSON at byte \(offset): \(reason)" }
}
