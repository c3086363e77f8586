import Basics

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

    /// Creates the names of an object of which no member was read.
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
    return JSONError(offset: offset - 1, reason: "\(pointer) stands twice", pointer: pointer)
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
