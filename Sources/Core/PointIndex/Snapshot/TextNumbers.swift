import Basics

/// A numbering of texts in the order of their first use, by their bytes.
struct TextNumbers: Sendable {
  /// The texts by their numbers.
  private(set) var texts: [String] = []

  /// An estimate of the number of bytes of memory: beside each text its two heads of 16 and 32 bytes, and its entry in
  /// the index.
  private(set) var byteCount = 0

  /// The numbers by the texts; `nil` while there are so few that a search through all of them is faster.
  private var index: HashIndex?
  private var capacity = Self.maximumUnindexed

  /// The number that was returned last: texts often repeat.
  private var last = 0

  private static let maximumUnindexed = 8

  init() {}

  /// Creates the numbering of different texts by their positions.
  init(_ texts: [String]) {
    for text in texts { _ = append(text) }
  }

  /// Returns the number of a text in UTF-8, a new one for a new text. O(1) on average; it allocates memory for a new
  /// text only.
  mutating func number(of utf8: UnsafeBufferPointer<UInt8>) -> UInt32 {
    existingNumber(of: utf8) ?? append(String(decoding: utf8, as: UTF8.self))
  }

  /// Returns the number of a text, a new one for a new text.
  mutating func number(of text: String) -> UInt32 {
    existingNumber(of: text) ?? append(text)
  }

  /// Returns the number of a text, or `nil` if it has none.
  func existingNumber(of text: String) -> UInt32? {
    var text = text
    return text.withUTF8 { position(of: $0) }
  }

  private mutating func existingNumber(of utf8: UnsafeBufferPointer<UInt8>) -> UInt32? {
    if last < texts.count, texts[last].hasSameBytes(as: utf8) { return UInt32(last) }
    guard let number = position(of: utf8) else { return nil }
    last = Int(number)
    return number
  }

  private func position(of utf8: UnsafeBufferPointer<UInt8>) -> UInt32? {
    guard let index else { return texts.firstIndex { $0.hasSameBytes(as: utf8) }.map { UInt32($0) } }
    return index.first(hash: Self.hash(of: utf8)) { texts[Int($0)].hasSameBytes(as: utf8) }
  }

  private mutating func append(_ text: String) -> UInt32 {
    let number = UInt32(texts.count)
    texts.append(text)
    byteCount += text.utf8.count + 64
    if texts.count > capacity {
      capacity *= 2
      var larger = HashIndex(capacity: capacity)
      for (number, text) in texts.enumerated() { larger.insert(UInt32(number), hash: Self.hash(of: text)) }
      index = larger
    } else {
      index?.insert(number, hash: Self.hash(of: text))
    }
    return number
  }

  private static func hash(of text: String) -> Int {
    var text = text
    return text.withUTF8 { hash(of: $0) }
  }

  // Seeded, so that no client can choose texts that collide.
  private static func hash(of utf8: UnsafeBufferPointer<UInt8>) -> Int {
    var hasher = Hasher()
    hasher.combine(bytes: UnsafeRawBufferPointer(utf8))
    return hasher.finalize()
  }
}

/// Texts in UTF-8, one after another, by their numbers.
struct PackedTexts: Sendable {
  private let starts: FixedBuffer<Int>
  private let bytes: FixedBuffer<UInt8>

  init(_ texts: [String]) { self.init(bytes: texts.map(\.utf8)) }

  init(bytes texts: some Collection<some Collection<UInt8>>) {
    var end = 0
    starts = FixedBuffer(count: texts.count + 1) { starts in
      starts.initialize(to: 0)
      for (number, text) in texts.enumerated() {
        end += text.count
        (starts + number + 1).initialize(to: end)
      }
    }
    bytes = FixedBuffer(count: end) { bytes in
      var next = bytes
      for text in texts {
        for byte in text {
          next.initialize(to: byte)
          next += 1
        }
      }
    }
  }

  /// Creates the texts of a segment's file.
  init(_ file: SegmentFile, starts: FileColumn, bytes: FileColumn) throws(IndexFileError) {
    self.starts = try file.column(starts)
    self.bytes = try file.column(bytes)
  }

  func write(to file: inout SegmentFileWriter, starts: FileColumn, bytes: FileColumn) throws(IndexFileError) {
    try file.append(starts, self.starts)
    try file.append(bytes, self.bytes)
  }

  var byteCount: Int { starts.byteCount + bytes.byteCount }

  /// The texts by their numbers.
  var texts: [String] { (0..<starts.count - 1).map { String(decoding: pointers[$0], as: UTF8.self) } }

  /// The texts as plain pointers, which are valid for the life of these.
  var pointers: Pointers { Pointers(starts: starts.pointer, bytes: bytes.pointer) }

  struct Pointers: BitwiseCopyable, @unchecked Sendable {
    // Sendable: the memory behind the pointers is never written after the initialization.

    fileprivate let starts: UnsafePointer<Int>
    fileprivate let bytes: UnsafePointer<UInt8>

    @inline(__always)
    subscript(number: Int) -> UnsafeBufferPointer<UInt8> {
      let start = starts[number]
      return UnsafeBufferPointer(start: bytes + start, count: starts[number &+ 1] &- start)
    }
  }
}

extension String {
  /// Returns a Boolean value that indicates whether the text is the given UTF-8.
  fileprivate func hasSameBytes(as other: UnsafeBufferPointer<UInt8>) -> Bool {
    guard utf8.count == other.count else { return false }
    return utf8.withContiguousStorageIfAvailable { $0.elementsEqual(other) } ?? utf8.elementsEqual(other)
  }
}

/// A hash table of numbers that stand for keys stored elsewhere, in 8 bytes an entry.
///
/// Open addressing with linear probing; the caller compares the keys.
package struct HashIndex: Sendable {
  private static let vacant = UInt32.max

  private var entries: ContiguousArray<UInt32>

  /// Creates an empty table.
  ///
  /// - Parameter capacity: the maximum number of entries.
  package init(capacity: Int) {
    entries = ContiguousArray(repeating: Self.vacant, count: 2 * max(capacity, 2))
  }

  /// Returns the entry with a matching key, or `nil`. O(1) on average.
  package func first(hash: Int, where isMatch: (UInt32) -> Bool) -> UInt32? {
    entries.withUnsafeBufferPointer { Self.first(in: $0, hash: hash, where: isMatch) }
  }

  /// Adds an entry, whose key must not be in the table; there must be room.
  package mutating func insert(_ entry: UInt32, hash: Int) {
    entries.withUnsafeMutableBufferPointer { Self.insert(entry, hash: hash, into: $0) }
  }

  /// Returns the entries of a table that a closure fills, for ``first(in:hash:where:)``.
  ///
  /// - Parameter capacity: the maximum number of entries.
  static func entries(
    capacity: Int, _ fill: (_ insert: (_ entry: UInt32, _ hash: Int) -> Void) -> Void
  ) -> FixedBuffer<UInt32> {
    let count = 2 * max(capacity, 2)
    return FixedBuffer(count: count) { memory in
      memory.initialize(repeating: vacant, count: count)
      fill { insert($0, hash: $1, into: UnsafeMutableBufferPointer(start: memory, count: count)) }
    }
  }

  /// Returns the entry of a table with a matching key, or `nil`. O(1) on average.
  static func first(
    in entries: UnsafeBufferPointer<UInt32>, hash: Int, where isMatch: (UInt32) -> Bool
  ) -> UInt32? {
    var position = position(of: hash, count: entries.count)
    while entries[position] != Self.vacant {
      if isMatch(entries[position]) { return entries[position] }
      position = next(position, count: entries.count)
    }
    return nil
  }

  private static func insert(_ entry: UInt32, hash: Int, into entries: UnsafeMutableBufferPointer<UInt32>) {
    var position = position(of: hash, count: entries.count)
    while entries[position] != vacant { position = next(position, count: entries.count) }
    entries[position] = entry
  }

  /// Returns the position that the lowest 32 bits of a hash, as a fraction of 2³², are of the table.
  @inline(__always)
  private static func position(of hash: Int, count: Int) -> Int {
    Int(truncatingIfNeeded: (UInt64(UInt32(truncatingIfNeeded: hash)) &* UInt64(count)) >> 32)
  }

  @inline(__always)
  private static func next(_ position: Int, count: Int) -> Int { position + 1 == count ? 0 : position + 1 }
}
