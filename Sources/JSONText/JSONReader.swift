/// Reads one JSON text (RFC 8259) from bytes in memory, value by value, without building what is not asked for.
///
/// It is strict: UTF-8 only, no byte-order mark, no trailing commas, nothing after the value but white space, no lone
/// surrogates in escapes. Time is linear in the length, the stack is bounded by the depth allowed.
///
/// A caller asks what comes next and takes it: ``enterObject()`` and then ``nextMember()`` until it gives `nil`, each
/// followed by one call that takes the member's value; likewise for arrays; ``finish()`` at the end. The bytes must
/// outlive the reader and every ``Text`` it gives.
public struct JSONReader {
  /// How many arrays and objects may be open at once where nothing is said.
  public static let defaultMaximumDepth = 64

  let bytes: UnsafeBufferPointer<UInt8>
  let maximumDepth: Int

  /// How many bytes have been read.
  public internal(set) var position = 0

  /// How many arrays and objects are open.
  private var depth = 0

  /// Whether the innermost array or object was entered and nothing of it was read yet.
  private var isAtStart = false

  /// Creates a reader of bytes that outlive it.
  ///
  /// - Parameter maximumDepth: how many arrays and objects may be open at once.
  public init(_ bytes: UnsafeBufferPointer<UInt8>, maximumDepth: Int = defaultMaximumDepth) {
    self.bytes = bytes
    self.maximumDepth = maximumDepth
  }

  func error(_ reason: String) -> JSONError { JSONError(offset: position, reason: reason) }
}

// MARK: What comes next

extension JSONReader {
  /// What a value is, as its first byte tells.
  public enum Kind: Hashable, Sendable {
    case null, boolean, number, string, array, object
  }

  /// What the value that stands next is; it is not read.
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
  /// - Throws: ``JSONError`` when there is something.
  public mutating func finish() throws(JSONError) {
    skipWhiteSpace()
    guard position == bytes.count else { throw error("something follows the value") }
  }
}

// MARK: Objects and arrays

extension JSONReader {
  /// Enters the object that stands next.
  ///
  /// - Throws: ``JSONError`` when none does, or it is nested too deeply.
  public mutating func enterObject() throws(JSONError) {
    skipWhiteSpace()
    guard position < bytes.count, bytes[position] == UInt8(ascii: "{") else { throw error("an object must stand here") }
    try open()
  }

  /// Reads the next member's name, so that its value stands next; `nil` when the object has ended and is left.
  ///
  /// - Throws: ``JSONError`` at the first byte that breaks the grammar.
  public mutating func nextMember() throws(JSONError) -> Text? {
    skipWhiteSpace()
    if isAtStart {
      isAtStart = false
      if take(UInt8(ascii: "}")) {
        depth -= 1
        return nil
      }
    } else {
      guard take(UInt8(ascii: ",")) else {
        guard take(UInt8(ascii: "}")) else { throw error("an object must go on with a comma or end") }
        depth -= 1
        return nil
      }
      skipWhiteSpace()
    }
    guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") else {
      throw error("a member's name must be a string")
    }
    let name = try readString()
    skipWhiteSpace()
    guard take(UInt8(ascii: ":")) else { throw error("a colon must follow a member's name") }
    skipWhiteSpace()
    return name
  }

  /// Enters the array that stands next.
  ///
  /// - Throws: ``JSONError`` when none does, or it is nested too deeply.
  public mutating func enterArray() throws(JSONError) {
    skipWhiteSpace()
    guard position < bytes.count, bytes[position] == UInt8(ascii: "[") else { throw error("an array must stand here") }
    try open()
  }

  /// Whether an element stands next; `false` when the array has ended and is left.
  ///
  /// - Throws: ``JSONError`` when neither is so.
  public mutating func nextElement() throws(JSONError) -> Bool {
    skipWhiteSpace()
    if isAtStart {
      isAtStart = false
      if take(UInt8(ascii: "]")) {
        depth -= 1
        return false
      }
    } else {
      guard take(UInt8(ascii: ",")) else {
        guard take(UInt8(ascii: "]")) else { throw error("an array must go on with a comma or end") }
        depth -= 1
        return false
      }
      skipWhiteSpace()
    }
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
  /// Reads the number that stands next and gives its text; ``DecimalText/value(of:)`` tells how much it is.
  ///
  /// - Throws: ``JSONError`` when what stands next is not a number.
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

  /// Reads `true` or `false`, which stands next.
  ///
  /// - Throws: ``JSONError`` when neither does.
  public mutating func readBoolean() throws(JSONError) -> Bool {
    skipWhiteSpace()
    if position < bytes.count, bytes[position] == UInt8(ascii: "t") {
      try read(literal: "true")
      return true
    }
    try read(literal: "false")
    return false
  }

  /// Reads `null`, which stands next.
  ///
  /// - Throws: ``JSONError`` when it does not.
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
