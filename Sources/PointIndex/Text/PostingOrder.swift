/// The order of the postings of a word: important places first, then by the least number of letters of a name.
///
/// A prefix of one word, or few blocks of it, are then enough for most searches. Frequent words have few classes of
/// lengths, in each of which places are in the spatial order of their slots.
enum PostingOrder {
  /// The importance, in steps of 1/255, from which a place comes first.
  static let highImportance: UInt8 = 40

  /// The upper bounds of the numbers of letters of the classes of frequent words.
  private static let classes: [UInt8] = [4, 6, 8, 11, 16, 255]

  /// Returns the postings in order. O(n log n), on two processors where they are many.
  static func sorted(
    _ slots: consuming ContiguousArray<UInt32>, starts: FixedBuffer<UInt32>, places: FixedBuffer<PlaceBounds>
  ) -> FixedBuffer<UInt32> {
    let wordCount = starts.count - 1
    let source = FixedBuffer(slots)
    let count = source.count
    // The word in the middle of the postings.
    let starting = UnsafeBufferPointer(start: starts.pointer, count: starts.count)
    let middle = min(wordCount, starting.firstPosition { Int($0) >= count / 2 })
    let (first, second) = Parallel.both(where: count > 100_000) {
      sorted(source, words: 0..<middle, starts, places)
    } and: {
      sorted(source, words: middle..<wordCount, starts, places)
    }
    return FixedBuffer(count: count) { memory in
      memory.initialize(from: first.pointer, count: first.count)
      (memory + first.count).initialize(from: second.pointer, count: second.count)
    }
  }

  private static func sorted(
    _ source: FixedBuffer<UInt32>, words: Range<Int>, _ starts: FixedBuffer<UInt32>, _ places: FixedBuffer<PlaceBounds>
  ) -> FixedBuffer<UInt32> {
    let offset = Int(starts.pointer[words.lowerBound])
    var keys: ContiguousArray<UInt64> = []
    return FixedBuffer(count: Int(starts.pointer[words.upperBound]) - offset) { memory in
      for word in words {
        let (start, end) = (Int(starts.pointer[word]), Int(starts.pointer[word + 1]))
        let isFrequent = end - start >= PostingBlock.minimumPostings
        keys.removeAll(keepingCapacity: true)
        for index in start..<end {
          let slot = source.pointer[index]
          keys.append(UInt64(rank(places.pointer[Int(slot)].bounds, isFrequent: isFrequent)) << 32 | UInt64(slot))
        }
        if keys.count > 1 { keys.sort() }
        for (index, key) in keys.enumerated() {
          (memory + start - offset + index).initialize(to: UInt32(truncatingIfNeeded: key))
        }
      }
    }
  }

  private static func rank(_ bounds: StaticBounds, isFrequent: Bool) -> UInt8 {
    if bounds.importance >= highImportance { return 0 }
    guard isFrequent else { return max(1, bounds.letters) }
    return UInt8(classes.firstIndex { bounds.letters <= $0 } ?? 0) + 1
  }
}
