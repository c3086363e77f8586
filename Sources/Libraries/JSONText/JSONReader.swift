import Basics

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

// MARK: Whole values

extension JSONReader {
  /// Returns the value of a whole JSON text.
  ///
  /// - Parameter maximumDepth: the maximum of nested arrays and objects.
  /// - Throws: ``JSONError`` at the first byte that breaks the grammar.
  public static func value(
    of bytes: some Collection<UInt8>,
    maximumDepth: Int = defaultMaximumDepth
  ) throws(JSONError) -> JSONValue {
    try bytes.withContiguousBytes { bytes throws(JSONError) in
      var reader = JSONReader(bytes, maximumDepth: maximumDepth)
      let value = try reader.readValue()
      try reader.finish()
      return value
    }
  }

  /// Reads the next value.
  ///
  /// - Throws: ``JSONError`` at the first byte that breaks the grammar.
  public mutating func readValue() throws(JSONError) -> JSONValue {
    switch try nextKind() {
    case .object:
      try enterObject()
      var members: [JSONValue.Member] = []
      var names = MemberNames()
      while let name = try nextMember(&names) {
        members.append(.init(name: try string(of: name), value: try readValue()))
      }
      return .object(members)
    case .array:
      try enterArray()
      var elements: [JSONValue] = []
      while try nextElement() { elements.append(try readValue()) }
      return .array(elements)
    case .string: return .string(try string(of: try readString()))
    case .number: return .number(String(decoding: try readNumber(), as: UTF8.self))
    case .boolean: return .bool(try readBoolean())
    case .null:
      try readNull()
      return .null
    }
  }

  /// Skips the next value and returns its bytes, which are as valid as those that ``readValue()`` accepts.
  ///
  /// - Throws: ``JSONError`` at the first byte that breaks the grammar.
  @discardableResult
  public mutating func skipValue() throws(JSONError) -> UnsafeBufferPointer<UInt8> {
    skipWhiteSpace()
    let start = position
    switch try nextKind() {
    case .object:
      try enterObject()
      var names = MemberNames()
      while let name = try nextMember(&names) {
        try checkEncoding(of: name)
        try skipValue()
      }
    case .array:
      try enterArray()
      while try nextElement() { try skipValue() }
    case .string: try checkEncoding(of: try readString())
    case .number: _ = try readNumber()
    case .boolean: _ = try readBoolean()
    case .null: try readNull()
    }
    return UnsafeBufferPointer(rebasing: bytes[start..<position])
  }

  /// Returns a text as a string.
  ///
  /// - Throws: ``JSONError`` when it is not UTF-8.
  public func string(of text: Text) throws(JSONError) -> String {
    guard let string = text.string else { throw encodingError(in: text) }
    return string
  }

  private func checkEncoding(of text: Text) throws(JSONError) {
    guard UTF8Bytes.areValid(text.bytes) else { throw encodingError(in: text) }
  }

  private func encodingError(in text: Text) -> JSONError {
    guard let start = bytes.baseAddress, let textStart = text.bytes.baseAddress else {
      return error("a string is not UTF-8")
    }
    return JSONError(offset: textStart - start, reason: "a string is not UTF-8")
  }
}

extension JSONReader {
  /// The names of an object's members so far, which find a name that stands twice.
  ///
  /// Up to ``capacity`` names without escapes are compared with each other in the text, which takes no memory; more are
  /// in a set, so that the time is linear in their number.
  public struct MemberNames {
    private static let capacity = 16

    /// The offsets of the names in the text, behind their quotation marks.
    private var offsets = InlineArray<16, Int>(repeating: 0)
    private var count = 0

    /// A bit for each name, by which most names are known to be new without a comparison.
    private var bits: UInt64 = 0

    /// The names where there are more, or where one has escapes.
    private var set: Set<ExactText>?

    public init() {}

    /// Inserts a name. Returns `false` where it is there already.
    ///
    /// - Throws: ``JSONError`` where names are compared and one is not UTF-8.
    fileprivate mutating func insert(_ name: Text, of reader: JSONReader) throws(JSONError) -> Bool {
      guard set == nil, !name.hasEscapes, count < Self.capacity else { return try insertIntoSet(name, of: reader) }
      let offset = reader.offset(of: name)
      let ends = UInt64(name.bytes.first ?? 0) &* 5 ^ UInt64(name.bytes.last ?? 0)
      let bit = 1 << ((ends &+ UInt64(truncatingIfNeeded: name.bytes.count) &* 11) & 63) as UInt64
      if bits & bit != 0 {
        for index in 0..<count where reader.hasName(name.bytes, at: offsets[index]) { return false }
      }
      bits |= bit
      offsets[count] = offset
      count += 1
      return true
    }

    @inline(never)
    private mutating func insertIntoSet(_ name: Text, of reader: JSONReader) throws(JSONError) -> Bool {
      if set == nil {
        var names: Set<ExactText> = []
        for index in 0..<count { names.insert(ExactText(try reader.string(of: reader.name(at: offsets[index])))) }
        set = names
      }
      return set?.insert(ExactText(try reader.string(of: name))).inserted == true
    }
  }

  /// Reads the next member's name, behind which its value is next; leaves the object and returns `nil` at its end.
  ///
  /// - Parameter names: the names of the object so far.
  /// - Throws: ``JSONError`` at the first byte that breaks the grammar, or at a name that stands twice.
  public mutating func nextMember(_ names: inout MemberNames) throws(JSONError) -> Text? {
    guard let name = try nextMember() else { return nil }
    guard try names.insert(name, of: self) else { throw duplicateError(of: name) }
    return name
  }

  /// Returns the offset of a name's first byte in the text.
  fileprivate func offset(of name: Text) -> Int {
    guard let start = bytes.baseAddress, let first = name.bytes.baseAddress else { return 0 }
    return first - start
  }

  /// Returns a Boolean value that indicates whether a name without escapes stands at an offset, where another one does.
  @inline(__always)
  fileprivate func hasName(_ name: UnsafeBufferPointer<UInt8>, at offset: Int) -> Bool {
    let end = offset + name.count
    guard end < bytes.count, bytes[end] == UInt8(ascii: "\"") else { return false }
    for index in 0..<name.count where bytes[offset + index] != name[index] { return false }
    return true
  }

  /// Returns the name without escapes that stands at an offset.
  fileprivate func name(at offset: Int) -> Text {
    let end = bytes[offset...].firstIndex(of: UInt8(ascii: "\"")) ?? offset
    return Text(bytes: UnsafeBufferPointer(rebasing: bytes[offset..<end]), hasEscapes: false)
  }

  /// Returns the error of a name that stands twice, with the JSON pointer to its member.
  @inline(never)
  fileprivate func duplicateError(of name: Text) -> JSONError {
    var reader = JSONReader(bytes, maximumDepth: maximumDepth)
    let offset = offset(of: name)
    var tokens: [String] = []
    _ = try? reader.findMember(at: offset, &tokens)
    let pointer = tokens.map { "/" + $0 }.joined()
    return JSONError(offset: offset - 1, reason: "duplicate member \(pointer)", pointer: pointer)
  }

  /// The number of characters of a name that a pointer shows.
  private static let maximumTokenLength = 40

  /// Reads values up to the member whose name is at an offset, and adds the tokens of the pointer to it.
  private mutating func findMember(at offset: Int, _ tokens: inout [String]) throws(JSONError) -> Bool {
    switch try nextKind() {
    case .object:
      try enterObject()
      while let name = try nextMember() {
        let text = try string(of: name)
        let isLong = text.utf8.count > Self.maximumTokenLength
        tokens.append(JSONPointer.escape(isLong ? "\(text.prefix(Self.maximumTokenLength))…" : text))
        if self.offset(of: name) == offset { return true }
        if try findMember(at: offset, &tokens) { return true }
        tokens.removeLast()
      }
    case .array:
      try enterArray()
      var index = 0
      while try nextElement() {
        tokens.append("\(index)")
        if try findMember(at: offset, &tokens) { return true }
        tokens.removeLast()
        index += 1
      }
    case .string, .number, .boolean, .null: try skipValue()
    }
    return false
  }
}
