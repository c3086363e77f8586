import Basics

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
