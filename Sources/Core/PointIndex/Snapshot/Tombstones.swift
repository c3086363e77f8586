/// An immutable bit set of the slots of a segment whose places were removed.
struct Tombstones: Sendable {
  /// The number of marked slots.
  let count: Int

  private let bits: FixedBuffer<UInt64>

  /// Creates a set of bits; `nil` if it does not have the size.
  ///
  /// - Parameters:
  ///   - words: the bits, lowest first.
  ///   - size: the number of slots of the segment.
  init?(_ words: ContiguousArray<UInt64>, size: Int) {
    guard words.count == (size + 63) / 64 else { return nil }
    if let last = words.last, size % 64 != 0, last >> UInt64(size % 64) != 0 { return nil }
    bits = FixedBuffer(words)
    count = words.reduce(0) { $0 + $1.nonzeroBitCount }
  }

  /// The bits, lowest first.
  var words: ContiguousArray<UInt64> { bits.array }

  /// Creates a set of the given slots and those that are marked already. O(n), an eighth of a byte a slot.
  ///
  /// - Parameters:
  ///   - slots: slots that are not marked yet, each once.
  ///   - size: the number of slots of the segment.
  init(adding slots: [Int], to former: Tombstones?, size: Int) {
    count = (former?.count ?? 0) + slots.count
    let wordCount = (size + 63) / 64
    bits = FixedBuffer(count: wordCount) { words in
      if let former {
        words.initialize(from: former.bits.pointer, count: wordCount)
      } else {
        words.initialize(repeating: 0, count: wordCount)
      }
      for slot in slots { words[slot >> 6] |= 1 << UInt64(slot & 63) }
    }
  }

  /// Creates a set of the slots that satisfy a predicate. O(n).
  ///
  /// - Parameter size: the number of slots of the segment.
  init(size: Int, where isMarked: (Int) -> Bool) {
    var count = 0
    bits = FixedBuffer(count: (size + 63) / 64) { words in
      words.initialize(repeating: 0, count: (size + 63) / 64)
      for slot in 0..<size where isMarked(slot) {
        words[slot >> 6] |= 1 << UInt64(slot & 63)
        count += 1
      }
    }
    self.count = count
  }

  /// Creates the union of two sets of the same segment. O(n), an eighth of a byte a slot.
  init(_ left: Tombstones, or right: Tombstones) {
    var count = 0
    bits = FixedBuffer(count: left.bits.count) { words in
      for index in 0..<left.bits.count {
        let word = left.bits.pointer[index] | right.bits.pointer[index]
        (words + index).initialize(to: word)
        count += word.nonzeroBitCount
      }
    }
    self.count = count
  }

  /// Calls the closure with each marked slot, in ascending order.
  func forEach(_ body: (Int) -> Void) {
    for index in 0..<bits.count {
      var word = bits.pointer[index]
      while word != 0 {
        body(index << 6 | word.trailingZeroBitCount)
        word &= word - 1
      }
    }
  }

  var byteCount: Int { bits.byteCount }

  /// The bits, lowest first; valid for the life of this value or a copy of it.
  var pointer: UnsafePointer<UInt64> { bits.pointer }

  /// Returns a Boolean value that indicates whether a slot is marked.
  func contains(_ slot: Int) -> Bool {
    bits.pointer[slot >> 6] & (1 << UInt64(slot & 63)) != 0
  }
}
