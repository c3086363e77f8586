import Basics
import Points

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#endif

/// The distinct words of a text index in the order of their bytes; a word's number is its position.
///
/// The memory it points to belongs to its ``TextIndex``.
struct WordDictionary: BitwiseCopyable {
  /// The number of words.
  let count: Int

  /// The start of each word, and the end of the last one.
  let starts: UnsafePointer<UInt32>

  /// The words in UTF-8, one after another.
  let bytes: UnsafePointer<UInt8>

  /// The number of bytes of all words.
  let byteCount: Int

  /// The number of letters of each word, with ``unspacedFlag`` where it is of a script without spaces.
  let letters: UnsafePointer<UInt8>

  /// The flag of words of a script without spaces.
  static let unspacedFlag: UInt8 = 0x80

  /// Returns the bytes of a word.
  @inline(__always)
  func word(_ number: Int) -> UnsafeBufferPointer<UInt8> {
    let start = Int(starts[number])
    return UnsafeBufferPointer(start: bytes + start, count: Int(starts[number + 1]) - start)
  }

  /// Returns the number of letters of a word, at most 127.
  @inline(__always)
  func letterCount(_ number: Int) -> Int { Int(letters[number] & ~Self.unspacedFlag) }

  /// Returns a Boolean value that indicates whether a word is of a script without spaces.
  @inline(__always)
  func isUnspaced(_ number: Int) -> Bool { letters[number] & Self.unspacedFlag != 0 }

  /// Returns the words of a range that begin with a prefix; all in the range begin with its first bytes. O(log n).
  ///
  /// - Parameters:
  ///   - range: the words to search.
  ///   - depth: the number of bytes that the words of the range begin with.
  ///   - rest: the following bytes of the prefix.
  func words(in range: Range<Int>, after depth: Int, beginningWith rest: Prefix) -> Range<Int> {
    if rest.isEmpty { return range }
    let start = first(in: range) { compare($0, after: depth, rest) >= 0 }
    guard start < range.upperBound, compare(start, after: depth, rest) == 0 else { return start..<start }
    return start..<end(of: start..<range.upperBound) { compare($0, after: depth, rest) == 0 }
  }

  /// Returns the word of a range that is a prefix of its first bytes, and some more; `nil` if there is none. O(log n).
  ///
  /// - Parameters:
  ///   - range: the words to search.
  ///   - depth: the number of bytes that the words of the range begin with.
  ///   - rest: the following bytes of the word.
  func number(in range: Range<Int>, after depth: Int, endingWith rest: Prefix) -> Int? {
    // The shortest of the words that begin with the word is the first.
    let start =
      rest.isEmpty || range.count == 1
      ? range.lowerBound : first(in: range) { compare($0, after: depth, rest) >= 0 }
    guard start < range.upperBound, word(start).count == depth + rest.count, compare(start, after: depth, rest) == 0
    else { return nil }
    return start
  }

  /// Returns the end of the words that have a scalar in common with the first one of a range. O(log n) for n such words.
  ///
  /// - Parameters:
  ///   - range: the words, of which all are longer than `depth`.
  ///   - depth: the number of bytes that the words of the range begin with.
  ///   - length: the number of bytes of the first word's scalar behind these.
  @inline(__always)
  func end(ofScalarIn range: Range<Int>, after depth: Int, length: Int) -> Int {
    let scalar = bytes + (Int(starts[range.lowerBound]) &+ depth)
    return end(of: range) { number in
      let other = bytes + (Int(starts[number]) &+ depth)
      // A word that has the first byte has as many as the scalar.
      var index = 0
      while index < length, scalar[index] == other[index] { index &+= 1 }
      return index == length
    }
  }

  /// Returns the words that begin with a prefix. O(log n).
  func words(beginningWith prefix: ContiguousArray<UInt8>) -> Range<Int> {
    prefix.withUnsafeBufferPointer { words(in: 0..<count, after: 0, beginningWith: Prefix($0)) }
  }

  /// Returns the number of a word, where `range` has the words that begin with it; `nil` if it is none.
  func number(of word: ContiguousArray<UInt8>, in range: Range<Int>) -> Int? {
    // The shortest of the words that begin with the word is the first.
    guard !range.isEmpty, self.word(range.lowerBound).count == word.count else { return nil }
    return range.lowerBound
  }

  /// A text that words begin with.
  struct Prefix: BitwiseCopyable {
    private let bytes: UnsafeBufferPointer<UInt8>

    /// The first 8 bytes, the first one highest, with zeros behind the end.
    fileprivate let key: UInt64

    /// The bits of these bytes.
    fileprivate let mask: UInt64

    /// Creates the prefix of bytes that outlive it.
    init(_ bytes: UnsafeBufferPointer<UInt8>) {
      self.bytes = bytes
      var key: UInt64 = 0
      for index in 0..<8 { key = key << 8 | (index < bytes.count ? UInt64(bytes[index]) : 0) }
      self.key = key
      mask = bytes.count < 8 ? ~(.max >> UInt64(8 * bytes.count)) : .max
    }

    @inline(__always)
    var count: Int { bytes.count }

    @inline(__always)
    var isEmpty: Bool { bytes.isEmpty }

    /// Returns the prefix of the first bytes.
    func prefix(_ count: Int) -> Prefix { Prefix(UnsafeBufferPointer(rebasing: bytes[..<count])) }

    /// Returns the byte at an index.
    @inline(__always)
    fileprivate subscript(index: Int) -> UInt8 { bytes[index] }
  }

  /// Returns a negative number where the word precedes all that begin with the bytes after `depth`, zero where it
  /// begins with them, otherwise a positive one.
  @inline(__always)
  private func compare(_ number: Int, after depth: Int, _ rest: Prefix) -> Int {
    let start = Int(starts[number]) &+ depth
    guard start &+ 8 <= byteCount else { return compareLast(number, after: depth, rest) }
    // No word has a byte 0. Behind the end of a word, these are bytes of the next.
    let key = UInt64(bigEndian: UnsafeRawPointer(bytes + start).loadUnaligned(as: UInt64.self)) & rest.mask
    if key < rest.key { return -1 }
    let length = Int(starts[number &+ 1]) &- start
    if length < 8, length < rest.count {
      return key & ~(UInt64.max &>> UInt64(truncatingIfNeeded: 8 &* length)) < rest.key ? -1 : 1
    }
    if key != rest.key { return 1 }
    return rest.count <= 8 ? 0 : compare(number, after: depth, rest, from: 8)
  }

  /// Returns the same for one of the last words, behind which no memory is read.
  @inline(never)
  private func compareLast(_ number: Int, after depth: Int, _ rest: Prefix) -> Int {
    compare(number, after: depth, rest, from: 0)
  }

  /// Returns the same for a word that has the first bytes of the rest.
  private func compare(_ number: Int, after depth: Int, _ rest: Prefix, from first: Int) -> Int {
    let word = word(number)
    let common = min(word.count - depth, rest.count)
    var index = first
    while index < common {
      let (left, right) = (word[depth + index], rest[index])
      if left != right { return Int(left) - Int(right) }
      index += 1
    }
    return common == rest.count ? 0 : -1
  }

  @inline(__always)
  private func first(in range: Range<Int>, where predicate: (Int) -> Bool) -> Int {
    var (low, high) = (range.lowerBound, range.upperBound)
    while low < high {
      let middle = low &+ (high &- low) &>> 1
      if predicate(middle) { high = middle } else { low = middle &+ 1 }
    }
    return low
  }

  /// Returns the end of the elements at the beginning of a range for which a closure returns `true`. It does for the
  /// first, and for none behind one for which it does not. O(log n) for n such elements, of which there are mostly few.
  @inline(__always)
  private func end(of range: Range<Int>, where predicate: (Int) -> Bool) -> Int {
    var (low, step) = (range.lowerBound + 1, 1)
    while low < range.upperBound, predicate(low) {
      step &*= 2
      low &+= step
    }
    return first(in: low - step + 1..<min(low, range.upperBound)) { !predicate($0) }
  }

  /// Returns the scalar of a word at an offset in bytes, with its length.
  @inline(__always)
  static func scalar(_ word: UnsafeBufferPointer<UInt8>, at offset: Int) -> (value: UInt32, length: Int) {
    let first = UInt32(word[offset])
    if first < 0x80 { return (first, 1) }
    if first < 0xE0 { return ((first & 0x1F) << 6 | UInt32(word[offset + 1] & 0x3F), 2) }
    let second = UInt32(word[offset + 1] & 0x3F)
    let third = UInt32(word[offset + 2] & 0x3F)
    if first < 0xF0 { return ((first & 0xF) << 12 | second << 6 | third, 3) }
    return ((first & 7) << 18 | second << 12 | third << 6 | UInt32(word[offset + 3] & 0x3F), 4)
  }
}

/// The distinct words of a text index while it is built, numbered in the order in which they come.
struct WordCollector {
  /// A word in the table. Most words are found without reading ``bytes``.
  private struct Entry: BitwiseCopyable {
    /// The number of the word, and in the highest 32 bits those of its hash.
    let hashAndNumber: UInt64

    /// The word, if it has fewer than 8 bytes, or else its first 8: see ``WordCollector/beginning(of:)``.
    let beginning: UInt64

    static let vacant = Entry(hashAndNumber: .max, beginning: 0)

    var isVacant: Bool { hashAndNumber == .max }
  }

  /// A hash table with linear probing.
  private var table: ContiguousArray<Entry>
  private(set) var starts: ContiguousArray<UInt32> = [0]
  private(set) var bytes: ContiguousArray<UInt8> = []
  private(set) var letters: ContiguousArray<UInt8> = []

  private static let numberMask: UInt64 = 0xFFFF_FFFF

  /// The hash without any bytes, from which that of each word begins.
  private let emptyHash = FoldedHash()

  init(capacity: Int) {
    table = ContiguousArray(repeating: Entry.vacant, count: max(1 << 8, capacity.nextPowerOfTwo))
  }

  /// The number of words.
  var count: Int { letters.count }

  /// Returns the number of a word, a new one where it comes for the first time. O(1) on average.
  mutating func number(of word: UnsafeBufferPointer<UInt8>, letters count: UInt16, isUnspaced: Bool) -> UInt32 {
    number(of: word, flaggedLetters: UInt8(min(count, 127)) | (isUnspaced ? WordDictionary.unspacedFlag : 0))
  }

  /// Returns the number of a word, a new one where it comes for the first time. O(1) on average.
  ///
  /// - Parameter flaggedLetters: the number of its letters, with ``WordDictionary/unspacedFlag``.
  mutating func number(of word: UnsafeBufferPointer<UInt8>, flaggedLetters: UInt8) -> UInt32 {
    let (hash, beginning) = (hash(of: word), Self.beginning(of: word))
    let mask = table.count - 1
    var position = Int(truncatingIfNeeded: hash) & mask
    while !table[position].isVacant {
      let entry = table[position]
      let number = UInt32(truncatingIfNeeded: entry.hashAndNumber)
      if entry.hashAndNumber ^ hash <= Self.numberMask, entry.beginning == beginning,
        word.count < 8 || isEqual(Int(number), word)
      {
        return number
      }
      position = (position + 1) & mask
    }
    let number = UInt32(count)
    table[position] = Entry(hashAndNumber: hash & ~Self.numberMask | UInt64(number), beginning: beginning)
    bytes.append(contentsOf: word)
    starts.append(UInt32(bytes.count))
    letters.append(flaggedLetters)
    if count * 2 > table.count { grow() }
    return number
  }

  /// Returns the numbers of the words in the order of their bytes. O(n log n).
  func sorted() -> ContiguousArray<UInt32> {
    struct Item {
      let start: UInt64
      let number: UInt32
    }
    return bytes.withUnsafeBufferPointer { bytes in
      starts.withUnsafeBufferPointer { starts in
        var items = ContiguousArray<Item>()
        items.reserveCapacity(count)
        for number in 0..<count {
          let (start, end) = (Int(starts[number]), Int(starts[number + 1]))
          var key: UInt64 = 0
          for offset in 0..<8 { key = key << 8 | (start + offset < end ? UInt64(bytes[start + offset]) : 0) }
          items.append(Item(start: key, number: UInt32(number)))
        }
        items.sort { left, right in
          if left.start != right.start { return left.start < right.start }
          let (first, second) = (Int(left.number), Int(right.number))
          return bytes[Int(starts[first])..<Int(starts[first + 1])].lexicographicallyPrecedes(
            bytes[Int(starts[second])..<Int(starts[second + 1])])
        }
        return ContiguousArray(items.lazy.map(\.number))
      }
    }
  }

  /// Returns the first 8 bytes of a word; of a shorter one its bytes and their number, in a form that no 8 bytes of UTF-8
  /// have.
  @inline(__always)
  private static func beginning(of word: UnsafeBufferPointer<UInt8>) -> UInt64 {
    if word.count >= 8, let start = word.baseAddress {
      return UnsafeRawPointer(start).loadUnaligned(as: UInt64.self)
    }
    // 0xF8 and the bytes above are in no UTF-8.
    var beginning = 0xF8 | UInt64(word.count)
    for byte in word { beginning = beginning << 8 | UInt64(byte) }
    return beginning << UInt64(8 * (7 - word.count))
  }

  private func isEqual(_ number: Int, _ word: UnsafeBufferPointer<UInt8>) -> Bool {
    let (start, end) = (Int(starts[number]), Int(starts[number + 1]))
    guard end - start == word.count, let other = word.baseAddress else { return false }
    return bytes.withUnsafeBufferPointer { memcmp($0.baseAddress.unsafelyUnwrapped + start, other, word.count) == 0 }
  }

  private func hash(of word: UnsafeBufferPointer<UInt8>) -> UInt64 {
    var hash = emptyHash
    hash.combine(bytes: word)
    return hash.value
  }

  private mutating func grow() {
    table = ContiguousArray(repeating: Entry.vacant, count: table.count * 2)
    let mask = table.count - 1
    for number in 0..<count {
      let (hash, beginning) = bytes.withUnsafeBufferPointer { bytes in
        let word = UnsafeBufferPointer(rebasing: bytes[Int(starts[number])..<Int(starts[number + 1])])
        return (self.hash(of: word), Self.beginning(of: word))
      }
      var position = Int(truncatingIfNeeded: hash) & mask
      while !table[position].isVacant { position = (position + 1) & mask }
      table[position] = Entry(hashAndNumber: hash & ~Self.numberMask | UInt64(number), beginning: beginning)
    }
  }
}

extension Int {
  fileprivate var nextPowerOfTwo: Int { self <= 1 ? 1 : 1 << (Int.bitWidth - (self - 1).leadingZeroBitCount) }
}
