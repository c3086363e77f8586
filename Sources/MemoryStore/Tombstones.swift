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

  /// The bits, lowest first; they live as long as this value or a copy of it.
  var pointer: UnsafePointer<UInt64> { words.pointer }

  /// Whether a slot is marked.
  func contains(_ slot: Int) -> Bool {
    words.pointer[slot >> 6] & (1 << UInt64(slot & 63)) != 0
  }
}
