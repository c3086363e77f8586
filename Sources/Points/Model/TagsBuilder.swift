import Basics
public import JSONText

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

  /// Creates a builder of no tags.
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
