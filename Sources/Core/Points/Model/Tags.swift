public import Basics
public import JSONText

/// Further properties of a place: texts by key, at most ``maximumCount`` of them.
///
/// They are stored as the JSON object of responses (sorted by key, without white space), so that a response copies them
/// as a whole; looking one up by its key parses that text.
public struct Tags: Hashable, Sendable {
  /// The tags as a JSON object, keys in the order of their Unicode scalars, no white space.
  @ComparedByBytes public private(set) var json: String

  /// No tags.
  public static let none = Tags(json: "{}")

  /// The maximum number of tags of a place.
  public static let maximumCount = 500

  /// The maximum length of a key, in Unicode scalars.
  public static let maximumKeyLength = 200

  /// The maximum length of a value, in Unicode scalars.
  public static let maximumValueLength = 2000

  /// Creates tags from keys and their values; of a key that occurs twice, byte for byte, the last value counts.
  ///
  /// - Throws: ``InvalidPoint`` with a violation for each invalid tag.
  public init(_ tags: some Sequence<(key: String, value: String)>) throws(InvalidPoint) {
    var builder = TagsBuilder()
    for (key, value) in tags { builder.append(key: key, value: value) }
    self = try builder.build()
  }

  /// Creates tags from a JSON object of strings; of a name that occurs twice the last one counts.
  ///
  /// - Throws: ``InvalidPoint`` when the value is not an object of strings, or a tag is invalid.
  public init(_ value: JSONValue) throws(InvalidPoint) {
    guard case .object(let members) = value else {
      throw InvalidPoint([.init(pointer: "/tags", detail: "must be an object of strings, got \(value.kind)")])
    }
    var violations: [PointViolation] = []
    var builder = TagsBuilder()
    for member in members {
      if case .string(let text) = member.value {
        builder.append(key: member.name, value: text)
      } else {
        violations.append(
          .init(pointer: Self.pointer(to: member.name), detail: "must be a string, got \(member.value.kind)")
        )
      }
    }
    guard violations.isEmpty else { throw InvalidPoint(violations) }
    self = try builder.build()
  }

  /// Creates tags from stored ``json``, without validation.
  public init(storedJSON json: String) {
    self.init(json: json)
  }

  init(json: String) {
    self.json = json
  }

  /// Returns the JSON pointer to the tag of a key, which is cut at the maximum length of a key.
  static func pointer(to key: String) -> String {
    "/tags/" + JSONPointer.escape(String(String.UnicodeScalarView(key.unicodeScalars.prefix(maximumKeyLength))))
  }
}

extension Tags {
  /// A Boolean value that indicates whether there are no tags.
  @inlinable
  public var isEmpty: Bool { json.utf8.count == 2 }

  /// The tags by key. Linear in their length.
  public var dictionary: [ExactText: String] {
    Dictionary(pairs.map { (ExactText($0.key), $0.value) }, uniquingKeysWith: { _, last in last })
  }

  /// The tags, sorted by key. Linear in their length.
  public var pairs: [(key: String, value: String)] {
    guard !isEmpty, case .object(let members)? = try? JSONReader.value(of: json.utf8) else { return [] }
    return members.compactMap { member in
      if case .string(let text) = member.value { (member.name, text) } else { nil }
    }
  }

  /// The value of a key. Linear in the length of the tags.
  public subscript(key: String) -> String? { pairs.first { $0.key.hasSameBytes(as: key) }?.value }
}

extension Tags {
  /// Creates the tags of a stored JSON object, without validation; members that are not strings are left out, of a name
  /// that stands twice the last member counts, and a value that is not an object is no tags.
  ///
  /// An object in canonical form is copied after one pass over its bytes; any other, with white space or in another
  /// order, is parsed and written anew.
  ///
  /// - Parameter bytes: UTF-8.
  public init(stored bytes: UnsafeBufferPointer<UInt8>) {
    if Self.isCanonical(bytes) {
      self.init(json: String(decoding: bytes, as: UTF8.self))
      return
    }
    self = (try? Self.parse(bytes)) ?? .none
  }

  /// Returns the tags of a stored JSON object that is not in canonical form.
  private static func parse(_ bytes: UnsafeBufferPointer<UInt8>) throws(JSONError) -> Tags {
    var builder = TagsBuilder()
    var reader = JSONReader(bytes)
    guard try reader.nextKind() == .object else { return .none }
    try reader.enterObject()
    while let name = try reader.nextMember() {
      if try reader.nextKind() == .string {
        builder.append(key: try reader.string(of: name), value: try reader.string(of: reader.readString()))
      } else {
        try reader.skipValue()
      }
    }
    try reader.finish()
    return builder.buildStored()
  }

  /// Creates the tags of a stored JSON object that must be equal to ``json`` byte for byte; `nil` if it was damaged.
  ///
  /// One pass over the bytes is enough for nearly all; only one with rare escapes is parsed and written anew.
  ///
  /// - Parameter bytes: the stored bytes, of UTF-8 unless they are damaged.
  public init?(verifying bytes: UnsafeBufferPointer<UInt8>) {
    guard let json = UTF8Bytes.string(of: bytes) else { return nil }
    if !Self.isCanonical(bytes) {
      guard let value = try? JSONReader.value(of: bytes), let tags = try? Tags(value),
        tags.json.utf8.elementsEqual(bytes)
      else { return nil }
    }
    self.init(json: json)
  }

  /// Calls the body with ``json`` of a stored object, as ``init(stored:)`` would create it; the bytes are valid until
  /// the body returns. They are those of the object itself where it is in canonical form.
  public static func withJSON(
    stored bytes: UnsafeBufferPointer<UInt8>,
    _ body: (UnsafeBufferPointer<UInt8>) -> Void
  ) {
    if isCanonical(bytes) { return body(bytes) }
    var json = Tags(stored: bytes).json
    json.withUTF8(body)
  }

  /// Returns a Boolean value that indicates whether the bytes certainly are in the canonical form that ``TagsBuilder``
  /// writes: strings by ascending keys, without white space. Of the escapes it accepts only the short ones, and none in
  /// a key, whose bytes would then not determine its order.
  private static func isCanonical(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    guard bytes.count >= 2, bytes[0] == UInt8(ascii: "{") else { return false }
    if bytes.count == 2 { return bytes[1] == UInt8(ascii: "}") }
    var position = 1
    var last = 0..<0
    while true {
      guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") else { return false }
      let key = position + 1..<JSONString.endOfPlainText(in: bytes, from: position + 1)
      guard key.upperBound + 2 < bytes.count,
        bytes[key.upperBound] == UInt8(ascii: "\""),
        bytes[key.upperBound + 1] == UInt8(ascii: ":"),
        bytes[key.upperBound + 2] == UInt8(ascii: "\""),
        last.isEmpty || isAscending(last, key, bytes),
        let end = endOfString(in: bytes, from: key.upperBound + 3),
        end < bytes.count
      else { return false }
      if bytes[end] == UInt8(ascii: "}") { return end + 1 == bytes.count }
      guard bytes[end] == UInt8(ascii: ",") else { return false }
      // The opening quotation mark stands with it, so that an empty first key is not taken for none.
      last = key.lowerBound - 1..<key.upperBound
      position = end + 1
    }
  }

  /// Returns a Boolean value that indicates whether a key, whose range includes its opening quotation mark, is less
  /// than the next.
  private static func isAscending(_ first: Range<Int>, _ next: Range<Int>, _ bytes: UnsafeBufferPointer<UInt8>) -> Bool
  {
    let first = first.dropFirst()
    for offset in 0..<min(first.count, next.count) {
      let (left, right) = (bytes[first.lowerBound &+ offset], bytes[next.lowerBound &+ offset])
      if left != right { return left < right }
    }
    return first.count < next.count
  }

  /// Returns the index after the closing quotation mark of a string; `nil` if it has none, or has an escape that is
  /// not one of the short ones.
  private static func endOfString(in bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int? {
    var position = start
    while true {
      position = JSONString.endOfPlainText(in: bytes, from: position)
      guard position < bytes.count else { return nil }
      switch bytes[position] {
      case UInt8(ascii: "\""): return position + 1
      case UInt8(ascii: "\\"):
        guard position + 1 < bytes.count else { return nil }
        switch bytes[position + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"): break
        default: return nil
        }
        position += 2
      default: return nil
      }
    }
  }
}

/// A builder of ``Tags`` from single ones; it keeps its memory, so that one builder serves many places.
///
/// Of a key that is given twice the last value counts. Keys are compared by their bytes.
public struct TagsBuilder: Sendable {
  /// The ranges of an entry's key and value in ``bytes``.
  private struct Entry: Sendable {
    let key: Range<Int>
    let value: Range<Int>
  }

  private var bytes: [UInt8] = []
  private var entries: [Entry] = []
  private var json: [UInt8] = []

  public init() {}

  /// Removes all tags.
  public mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    entries.removeAll(keepingCapacity: true)
  }

  /// Adds a tag of two strings of a JSON text.
  public mutating func append(key: JSONReader.Text, value: JSONReader.Text) {
    append({ key.append(to: &$0) }, { value.append(to: &$0) })
  }

  /// Adds a tag whose key is a string of a JSON text and whose value is the given bytes.
  public mutating func append(key: JSONReader.Text, value: UnsafeBufferPointer<UInt8>) {
    append({ key.append(to: &$0) }, { $0.append(contentsOf: value) })
  }

  /// Adds a tag.
  public mutating func append(key: String, value: UnsafeBufferPointer<UInt8>) {
    append({ $0.append(contentsOf: key.utf8) }, { $0.append(contentsOf: value) })
  }

  /// Adds a tag.
  public mutating func append(key: String, value: String) {
    append({ $0.append(contentsOf: key.utf8) }, { $0.append(contentsOf: value.utf8) })
  }

  @inline(__always)
  private mutating func append(_ key: (inout [UInt8]) -> Void, _ value: (inout [UInt8]) -> Void) {
    let start = bytes.count
    key(&bytes)
    let middle = bytes.count
    value(&bytes)
    entries.append(Entry(key: start..<middle, value: middle..<bytes.count))
  }

  /// Returns a Boolean value that indicates whether a tag has been added. Linear in the number of tags.
  public func contains(key: String) -> Bool {
    entries.contains { bytes[$0.key].elementsEqual(key.utf8) }
  }

  /// Returns the tags that were added since the last ``removeAll()``. Linear in their length where they come sorted.
  ///
  /// - Throws: ``InvalidPoint`` with a violation for each invalid tag.
  public mutating func build() throws(InvalidPoint) -> Tags {
    guard !entries.isEmpty else { return .none }
    sort()
    guard entries.count <= Tags.maximumCount else {
      throw InvalidPoint([
        .init(pointer: "/tags", detail: "must have at most \(Tags.maximumCount) members, got \(entries.count)")
      ])
    }
    var violations: [PointViolation] = []
    for entry in entries { check(entry, &violations) }
    guard violations.isEmpty else { throw InvalidPoint(violations) }
    writeJSON()
    guard let text = json.withUnsafeBufferPointer(UTF8Bytes.string) else { throw InvalidPoint(encodingViolations()) }
    return Tags(json: text)
  }

  /// Returns the stored tags that were added since the last ``removeAll()``, without validation.
  mutating func buildStored() -> Tags {
    guard !entries.isEmpty else { return .none }
    sort()
    writeJSON()
    return Tags(json: String(decoding: json, as: UTF8.self))
  }

  private mutating func writeJSON() {
    var writer = JSONWriter(json)
    // The writer alone holds the memory, so that it is used again and not copied.
    json = []
    writer.sink.removeAll(keepingCapacity: true)
    writer.beginObject()
    bytes.withUnsafeBufferPointer { bytes in
      for entry in entries {
        writer.write(escapedName: UnsafeBufferPointer(rebasing: bytes[entry.key]))
        writer.write(string: UnsafeBufferPointer(rebasing: bytes[entry.value]))
      }
    }
    writer.endObject()
    json = writer.sink
  }

  // MARK: Order

  /// Sorts by key, as bytes, which is also the order of the Unicode scalars; of equal keys only the last stays.
  private mutating func sort() {
    bytes.withUnsafeBufferPointer { bytes in
      var isSorted = true
      for index in entries.indices.dropFirst() where isSorted {
        isSorted = Self.compare(bytes[entries[index - 1].key], bytes[entries[index].key]) < 0
      }
      guard !isSorted else { return }
      // Entries come in the order of their places in the bytes, which makes the sort stable.
      entries.sort { left, right in
        let order = Self.compare(bytes[left.key], bytes[right.key])
        return order != 0 ? order < 0 : left.key.lowerBound < right.key.lowerBound
      }
      var kept = 0
      for index in entries.indices {
        let isLast = index + 1 == entries.count
        if isLast || Self.compare(bytes[entries[index].key], bytes[entries[index + 1].key]) != 0 {
          entries[kept] = entries[index]
          kept += 1
        }
      }
      entries.removeSubrange(kept...)
    }
  }

  private static func compare(_ left: Slice<UnsafeBufferPointer<UInt8>>, _ right: Slice<UnsafeBufferPointer<UInt8>>)
    -> Int
  {
    let (leftBytes, rightBytes) = (left.base, right.base)
    for offset in 0..<min(left.count, right.count) {
      let (leftByte, rightByte) = (leftBytes[left.startIndex &+ offset], rightBytes[right.startIndex &+ offset])
      if leftByte != rightByte { return leftByte < rightByte ? -1 : 1 }
    }
    return left.count - right.count
  }

  // MARK: Rules

  private func check(_ entry: Entry, _ violations: inout [PointViolation]) {
    if let detail = violation(about: entry.key, maximumLength: Tags.maximumKeyLength) {
      violations.append(.init(pointer: pointer(to: entry), detail: "the key \(detail)"))
    }
    if let detail = violation(about: entry.value, maximumLength: Tags.maximumValueLength) {
      violations.append(.init(pointer: pointer(to: entry), detail: detail))
    }
  }

  private func violation(about range: Range<Int>, maximumLength: Int) -> String? {
    if range.count > maximumLength {
      // Each scalar has one byte that does not continue another.
      let length = bytes[range].count { $0 & 0xC0 != 0x80 }
      if length > maximumLength { return "must have at most \(maximumLength) characters, got \(length)" }
    }
    // PostgreSQL has no text with U+0000 in it.
    return bytes[range].contains(0) ? "must not contain U+0000" : nil
  }

  private func encodingViolations() -> [PointViolation] {
    entries.filter { entry in
      ![entry.key, entry.value].allSatisfy { bytes[$0].withUnsafeBufferPointer(UTF8Bytes.areValid) }
    }.map { .init(pointer: pointer(to: $0), detail: "must be UTF-8") }
  }

  private func pointer(to entry: Entry) -> String {
    Tags.pointer(to: String(decoding: bytes[entry.key], as: UTF8.self))
  }
}
