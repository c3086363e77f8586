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
  func words(in range: Range<Int>, after depth: Int, beginningWith rest: UnsafeBufferPointer<UInt8>) -> Range<Int> {
    if rest.isEmpty { return range }
    let start = first(in: range) { compare($0, after: depth, rest) >= 0 }
    // Prefixes of few words are far more frequent than others.
    var (low, step) = (start, 1)
    while low < range.upperBound, compare(low, after: depth, rest) == 0 {
      low += step
      step *= 2
    }
    if low == start { return start..<start }
    return start..<first(in: low - step / 2 + 1..<min(low, range.upperBound)) { compare($0, after: depth, rest) > 0 }
  }

  /// Returns the words that begin with a prefix. O(log n).
  func words(beginningWith prefix: ContiguousArray<UInt8>) -> Range<Int> {
    prefix.withUnsafeBufferPointer { words(in: 0..<count, after: 0, beginningWith: $0) }
  }

  /// Returns the number of a word, where `range` has the words that begin with it; `nil` if it is none.
  func number(of word: ContiguousArray<UInt8>, in range: Range<Int>) -> Int? {
    // The shortest of the words that begin with the word is the first.
    guard !range.isEmpty, self.word(range.lowerBound).count == word.count else { return nil }
    return range.lowerBound
  }

  /// Returns a negative number where the word precedes all that begin with the bytes after `depth`, zero where it
  /// begins with them, otherwise a positive one.
  @inline(__always)
  private func compare(_ number: Int, after depth: Int, _ rest: UnsafeBufferPointer<UInt8>) -> Int {
    let word = word(number)
    let common = min(word.count - depth, rest.count)
    var index = 0
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
      let middle = low + (high - low) / 2
      if predicate(middle) { high = middle } else { low = middle + 1 }
    }
    return low
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
