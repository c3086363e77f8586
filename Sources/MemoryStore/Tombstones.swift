/// Which slots of a segment hold places that are no longer there: a bit for each, never changed once made.
struct Tombstones: Sendable {
  /// How many slots are marked.
  let count: Int

  private let words: Memory<UInt64>

  /// Marks slots beside those that are marked already. In the order of the segment's size, an eighth of a byte each.
  ///
  /// - Parameters:
  ///   - slots: slots that are not marked yet, each once.
  ///   - size: how many slots the segment has.
  init(adding slots: [Int], to former: Tombstones?, size: Int) {
    count = (former?.count ?? 0) + slots.count
    let wordCount = (size + 63) / 64
    words = Memory(count: wordCount) { words in
      if let former {
        words.initialize(from: former.words.pointer, count: wordCount)
      } else {
        words.initialize(repeating: 0, count: wordCount)
      }
      for slot in slots { words[slot >> 6] |= 1 << UInt64(slot & 63) }
    }
  }

  /// Marks the slots that a predicate holds of. In the order of the segment's size.
  ///
  /// - Parameter size: the number of slots of the segment.
  init(size: Int, where isMarked: (Int) -> Bool) {
    var count = 0
    words = Memory(count: (size + 63) / 64) { words in
      words.initialize(repeating: 0, count: (size + 63) / 64)
      for slot in 0..<size where isMarked(slot) {
        words[slot >> 6] |= 1 << UInt64(slot & 63)
        count += 1
      }
    }
    self.count = count
  }

  /// Marks the slots that are marked in one of two of the same segment. In the order of an eighth of its size.
  init(_ left: Tombstones, or right: Tombstones) {
    var count = 0
    words = Memory(count: left.words.count) { words in
      for index in 0..<left.words.count {
        let word = left.words.pointer[index] | right.words.pointer[index]
        (words + index).initialize(to: word)
        count += word.nonzeroBitCount
      }
    }
    self.count = count
  }

  /// Calls with each slot that is marked, in their order.
  func forEach(_ body: (Int) -> Void) {
    for index in 0..<words.count {
      var word = words.pointer[index]
      while word != 0 {
        body(index << 6 | word.trailingZeroBitCount)
        word &= word - 1
      }
    }
  }

  /// The bits, lowest first; they live as long as this value or a copy of it.
  var pointer: UnsafePointer<UInt64> { words.pointer }

  /// Whether a slot is marked.
  func contains(_ slot: Int) -> Bool {
    words.pointer[slot >> 6] & (1 << UInt64(slot & 63)) != 0
  }
}
