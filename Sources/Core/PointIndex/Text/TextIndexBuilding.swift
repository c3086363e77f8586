import Basics
import Points

/// The words of places by slot, name by name, while a ``TextIndex`` is built.
struct TextEntries {
  /// The maximum number of words of a place; further ones are not found.
  static let maximumWords = 1_000

  /// The distinct words.
  private(set) var words: WordCollector

  /// The start of each place's entries, and the end of the last one's.
  private(set) var starts: ContiguousArray<UInt32> = [0]

  /// The numbers of the words, with the flags of ``TextColumns``.
  private(set) var numbers: ContiguousArray<UInt32> = []

  /// The bounds of each place.
  private(set) var bounds: ContiguousArray<StaticBounds> = []

  private var text = NormalizedText()

  /// The names of the place that is appended, with hashes of their words.
  private var names: ContiguousArray<(hash: UInt64, entries: Range<Int>)> = []

  /// The numbers of the words of the address of the place that is appended.
  private var addressWords: ContiguousArray<UInt32> = []

  private var categoryWords: [(words: [UInt32], importance: Double)?]

  /// Collects the words of the places in a range of slots. O(n).
  init(records: PointRecords, slots: Range<Int>, categories: [String], fields: TextFields) {
    words = WordCollector(capacity: slots.count)
    categoryWords = Array(repeating: nil, count: categories.count)
    starts.reserveCapacity(slots.count + 1)
    numbers.reserveCapacity(slots.count * 6)
    bounds.reserveCapacity(slots.count)
    let columns = records.columns
    for slot in slots {
      let (name, number) = (columns.texts(at: slot).name, columns.category(at: slot))
      let category = number == PointRecord.none ? nil : Int(number)
      columns.withTags(at: slot) { append(name: name, tags: $0, category: category, of: categories, fields) }
    }
  }

  /// Adds the words of the places that follow, and returns their numbers here.
  mutating func addWords(of others: TextEntries) -> ContiguousArray<UInt32> {
    var translation = ContiguousArray<UInt32>()
    translation.reserveCapacity(others.words.count)
    others.words.bytes.withUnsafeBufferPointer { bytes in
      for number in 0..<others.words.count {
        let word = UnsafeBufferPointer(
          rebasing: bytes[Int(others.words.starts[number])..<Int(others.words.starts[number + 1])])
        translation.append(words.number(of: word, flaggedLetters: others.words.letters[number]))
      }
    }
    return translation
  }

  private mutating func append(
    name: UnsafeBufferPointer<UInt8>, tags: UnsafeBufferPointer<UInt8>, category: Int?, of categories: [String],
    _ fields: TextFields
  ) {
    let start = numbers.count
    var importance = Importance()
    var place = StaticBounds()
    names.removeAll(keepingCapacity: true)
    addressWords.removeAll(keepingCapacity: true)
    append(name: name, .whole, from: start, &place)
    TextFields.forEachTag(in: tags) { key, value in
      switch fields.kind(of: key) {
      case .name: NameKind.forEachName(in: value) { append(name: $0, $1, from: start, &place) }
      case .address:
        text.fill(with: value)
        for word in text.words.prefix(Self.maximumWords - addressWords.count) { addressWords.append(number(of: word)) }
      case .other: break
      }
      importance.add(key, value)
    }
    let contextStart = numbers.count
    if let category { appendWords(ofCategory: category, categories, from: start, contextStart, &importance) }
    for word in addressWords { appendContext(word, from: start, contextStart) }
    place.importance = importance.steps
    bounds.append(place)
    starts.append(UInt32(numbers.count))
  }

  /// Appends the words of a name, unless the place has a name of the same words already: that has the better kind.
  private mutating func append(
    name: UnsafeBufferPointer<UInt8>, _ kind: NameKind, from start: Int, _ place: inout StaticBounds
  ) {
    let nameStart = numbers.count
    guard nameStart < start + Self.maximumWords else { return }
    text.fill(with: name)
    let words = text.words.prefix(start + Self.maximumWords - nameStart)
    guard !words.isEmpty else { return }
    var letters = 0
    var hash = FNV1a()
    for word in words {
      numbers.append(number(of: word))
      letters += Int(min(word.letters, 127))
      hash.combine(UInt64(numbers[numbers.count - 1]))
    }
    place.letters = min(place.letters, UInt8(clamping: kind == .abbreviation ? 2 * letters : letters))
    let count = numbers.count - nameStart
    let earlier = names.first { name in
      name.hash == hash.value && name.entries.count == count
        && zip(numbers[name.entries], numbers[nameStart...]).allSatisfy { $0 & TextColumns.wordMask == $1 }
    }
    if let end = earlier.map({ $0.entries.upperBound - 1 }) {
      numbers.removeLast(count)
      if TextColumns.kind(ofNameEndingWith: numbers[end]).rawValue > kind.rawValue {
        numbers[end] = numbers[end] & ~(3 << TextColumns.kindShift) | kind.rawValue << TextColumns.kindShift
      }
      return
    }
    numbers[numbers.count - 1] |= TextColumns.nameEnd | kind.rawValue << TextColumns.kindShift
    names.append((hash.value, nameStart..<numbers.count))
  }

  private mutating func appendWords(
    ofCategory category: Int, _ categories: [String], from start: Int, _ contextStart: Int,
    _ importance: inout Importance
  ) {
    if categoryWords[category] == nil {
      let normalized = NormalizedText(categories[category])
      text = normalized
      var value = Importance()
      for word in normalized.words { value.add(categoryWord: normalized.text(of: word)) }
      categoryWords[category] = (normalized.words.map { number(of: $0) }, value.categoryValue)
    }
    guard let known = categoryWords[category] else { return }
    for word in known.words { appendContext(word, from: start, contextStart) }
    importance.add(category: known.importance)
  }

  private mutating func appendContext(_ number: UInt32, from start: Int, _ contextStart: Int) {
    let entry = number | TextColumns.context
    guard numbers.count < start + Self.maximumWords, !numbers[contextStart...].contains(entry) else { return }
    numbers.append(entry)
  }

  /// Returns the number of a word of ``text``.
  @inline(__always)
  private mutating func number(of word: NormalizedText.Word) -> UInt32 {
    text.bytes.withUnsafeBufferPointer { bytes in
      words.number(
        of: UnsafeBufferPointer(rebasing: bytes[Int(word.start)..<Int(word.end)]), letters: word.letters,
        isUnspaced: word.isUnspaced)
    }
  }
}

/// The words of all places of a segment, numbered in the order of their bytes.
struct SortedEntries {
  let wordStarts: FixedBuffer<UInt32>
  let wordBytes: FixedBuffer<UInt8>
  let wordLetters: FixedBuffer<UInt8>

  /// The start of each place's entries, and the end of the last one's.
  let starts: FixedBuffer<UInt32>

  /// The numbers of the words, with the flags of ``TextColumns``.
  let numbers: FixedBuffer<UInt32>

  /// The bounds of each place.
  let bounds: FixedBuffer<StaticBounds>

  /// Collects the words of all places, on two processors where they are many. O(n log n).
  init(of records: PointRecords, categories: [String], fields: TextFields) {
    let isLarge = records.count > Parallel.maximumUndivided
    let middle = isLarge ? records.count / 2 : records.count
    var (first, second) = Parallel.both(where: isLarge) {
      TextEntries(records: records, slots: 0..<middle, categories: categories, fields: fields)
    } and: {
      TextEntries(records: records, slots: middle..<records.count, categories: categories, fields: fields)
    }
    let added = first.addWords(of: second)
    let words = first.words
    let order = words.sorted()
    var positions = ContiguousArray<UInt32>(repeating: 0, count: order.count)
    for (position, number) in order.enumerated() { positions[Int(number)] = UInt32(position) }
    let positionsOfSecond = ContiguousArray(added.lazy.map { positions[Int($0)] })
    let (firstNumbers, secondNumbers) = (first.numbers, second.numbers)
    let firstCount = firstNumbers.count
    numbers = FixedBuffer(count: firstCount + secondNumbers.count) { memory in
      // Unsafe: the halves have no numbers in common.
      nonisolated(unsafe) let memory = memory
      _ = Parallel.both(where: isLarge) { [positions] in
        Self.write(firstNumbers, translatedBy: positions, to: memory)
      } and: {
        Self.write(secondNumbers, translatedBy: positionsOfSecond, to: memory + firstCount)
      }
    }
    starts = FixedBuffer(count: records.count + 1) { memory in
      for (slot, start) in first.starts.enumerated() { (memory + slot).initialize(to: start) }
      for (index, end) in second.starts.dropFirst().enumerated() {
        (memory + middle + 1 + index).initialize(to: UInt32(firstCount) + end)
      }
    }
    bounds = FixedBuffer(first.bounds + second.bounds)
    (wordStarts, wordBytes) = Self.sortedWords(words, order)
    wordLetters = FixedBuffer(order.lazy.map { words.letters[Int($0)] })
  }

  private static func write(
    _ entries: ContiguousArray<UInt32>, translatedBy positions: ContiguousArray<UInt32>,
    to memory: UnsafeMutablePointer<UInt32>
  ) {
    for (index, entry) in entries.enumerated() {
      let position = positions[Int(entry & TextColumns.wordMask)]
      (memory + index).initialize(to: entry & ~TextColumns.wordMask | position)
    }
  }

  private static func sortedWords(
    _ words: WordCollector, _ order: ContiguousArray<UInt32>
  ) -> (FixedBuffer<UInt32>, FixedBuffer<UInt8>) {
    var end: UInt32 = 0
    let starts = FixedBuffer<UInt32>(count: words.count + 1) { starts in
      for position in 0..<words.count {
        let number = Int(order[position])
        (starts + position).initialize(to: end)
        end += words.starts[number + 1] - words.starts[number]
      }
      (starts + words.count).initialize(to: end)
    }
    let bytes = words.bytes.withUnsafeBufferPointer { source in
      FixedBuffer<UInt8>(count: Int(end)) { memory in
        guard let source = source.baseAddress else { return }
        for position in 0..<words.count {
          let number = Int(order[position])
          let length = Int(words.starts[number + 1] - words.starts[number])
          (memory + Int(starts.pointer[position])).initialize(
            from: source + Int(words.starts[number]), count: length)
        }
      }
    }
    return (starts, bytes)
  }
}

/// The postings of all words.
struct Postings {
  /// The start of each word's postings, and the end of the last one's.
  let starts: FixedBuffer<UInt32>
  let slots: FixedBuffer<UInt32>

  /// The union of the bounds of each word's places.
  let wordBounds: FixedBuffer<StaticBounds>
  let blocks: BlocksOfWords

  /// Creates the postings, on two processors where they are many. O(n log n).
  init(_ entries: SortedEntries, positions: SegmentColumns) {
    let (wordCount, places) = (entries.wordLetters.count, entries.bounds)
    let isLarge = places.count > Parallel.maximumUndivided
    let middle = isLarge ? places.count / 2 : places.count
    let (entryStarts, numbers) = (entries.starts, entries.numbers)
    let (first, second) = Parallel.both(where: isLarge) {
      Self.counts(ofWords: wordCount, 0..<middle, entryStarts, numbers)
    } and: {
      Self.counts(ofWords: wordCount, middle..<places.count, entryStarts, numbers)
    }
    // Of each word, the postings of the second half follow those of the first.
    var (firstStarts, secondStarts) = (first, second)
    var end: UInt32 = 0
    let starts = FixedBuffer<UInt32>(count: wordCount + 1) { memory in
      for word in 0..<wordCount {
        (memory + word).initialize(to: end)
        (firstStarts[word], secondStarts[word]) = (end, end + first[word])
        end += first[word] + second[word]
      }
      (memory + wordCount).initialize(to: end)
    }
    slots = FixedBuffer(count: Int(end)) { memory in
      // Unsafe: the halves have no postings in common.
      nonisolated(unsafe) let postings = UnsafeMutableBufferPointer(start: memory, count: Int(end))
      _ = Parallel.both(where: isLarge) { [firstStarts] in
        Self.fill(postings, from: firstStarts, 0..<middle, entryStarts, numbers)
      } and: { [secondStarts] in
        Self.fill(postings, from: secondStarts, middle..<places.count, entryStarts, numbers)
      }
      PostingOrder.sort(postings, starts: starts, places: places)
    }
    self.starts = starts
    let middleWord = PostingOrder.middleWord(starts)
    let (firstBounds, secondBounds) = Parallel.both(where: isLarge) { [slots] in
      (
        Self.wordBounds(ofWords: 0..<middleWord, starts, slots, places),
        BlocksOfWords(0..<middleWord, starts: starts, slots: slots, places: places, positions: positions)
      )
    } and: { [slots] in
      (
        Self.wordBounds(ofWords: middleWord..<wordCount, starts, slots, places),
        BlocksOfWords(middleWord..<wordCount, starts: starts, slots: slots, places: places, positions: positions)
      )
    }
    wordBounds = FixedBuffer(firstBounds.0 + secondBounds.0)
    var blocks = firstBounds.1
    blocks.append(secondBounds.1)
    self.blocks = blocks
  }

  /// Calls the body with each word of each place, once.
  @inline(__always)
  private static func forEachPosting(
    of slots: Range<Int>, wordCount: Int, _ entryStarts: FixedBuffer<UInt32>, _ numbers: FixedBuffer<UInt32>,
    _ body: (_ word: Int, _ slot: UInt32) -> Void
  ) {
    // The slot that a word was counted for last.
    var last = ContiguousArray<UInt32>(repeating: .max, count: wordCount)
    for slot in slots {
      for index in Int(entryStarts.pointer[slot])..<Int(entryStarts.pointer[slot + 1]) {
        let word = Int(numbers.pointer[index] & TextColumns.wordMask)
        if last[word] == UInt32(slot) { continue }
        last[word] = UInt32(slot)
        body(word, UInt32(slot))
      }
    }
  }

  private static func counts(
    ofWords wordCount: Int, _ slots: Range<Int>, _ entryStarts: FixedBuffer<UInt32>, _ numbers: FixedBuffer<UInt32>
  ) -> ContiguousArray<UInt32> {
    var counts = ContiguousArray<UInt32>(repeating: 0, count: wordCount)
    forEachPosting(of: slots, wordCount: wordCount, entryStarts, numbers) { word, _ in counts[word] += 1 }
    return counts
  }

  private static func fill(
    _ postings: UnsafeMutableBufferPointer<UInt32>, from starts: ContiguousArray<UInt32>, _ slots: Range<Int>,
    _ entryStarts: FixedBuffer<UInt32>, _ numbers: FixedBuffer<UInt32>
  ) {
    var ends = starts
    forEachPosting(of: slots, wordCount: starts.count, entryStarts, numbers) { word, slot in
      postings.initializeElement(at: Int(ends[word]), to: slot)
      ends[word] += 1
    }
  }

  private static func wordBounds(
    ofWords words: Range<Int>, _ starts: FixedBuffer<UInt32>, _ slots: FixedBuffer<UInt32>,
    _ places: FixedBuffer<StaticBounds>
  ) -> ContiguousArray<StaticBounds> {
    var bounds = ContiguousArray<StaticBounds>()
    bounds.reserveCapacity(words.count)
    for word in words {
      var union = StaticBounds()
      for index in Int(starts.pointer[word])..<Int(starts.pointer[word + 1]) {
        union.include(places.pointer[Int(slots.pointer[index])])
      }
      bounds.append(union)
    }
    return bounds
  }
}

/// The blocks of the frequent words.
struct BlocksOfWords: Sendable {
  private(set) var words: ContiguousArray<UInt32> = []

  /// The first block of each of these words.
  private(set) var starts: ContiguousArray<UInt32> = []
  private(set) var blocks: ContiguousArray<PostingBlock> = []

  init(
    _ range: Range<Int>, starts wordStarts: FixedBuffer<UInt32>, slots: FixedBuffer<UInt32>,
    places: FixedBuffer<StaticBounds>, positions: SegmentColumns
  ) {
    for word in range {
      let (first, end) = (Int(wordStarts.pointer[word]), Int(wordStarts.pointer[word + 1]))
      guard end - first >= PostingBlock.minimumPostings else { continue }
      words.append(UInt32(word))
      starts.append(UInt32(blocks.count))
      for start in stride(from: first, to: end, by: PostingBlock.capacity) {
        let slots = UnsafeBufferPointer(
          start: slots.pointer + start, count: min(PostingBlock.capacity, end - start))
        blocks.append(PostingBlock(slots, positions: positions, places: places.pointer))
      }
    }
  }

  /// Appends the blocks of the words that follow.
  mutating func append(_ others: BlocksOfWords) {
    let first = UInt32(blocks.count)
    words.append(contentsOf: others.words)
    for start in others.starts { starts.append(first + start) }
    blocks.append(contentsOf: others.blocks)
  }
}

/// The order of the postings of a word: important places first, then by the least number of letters of a name.
///
/// A prefix of one word, or few blocks of it, are then enough for most searches. Frequent words have few classes of
/// lengths, in each of which places are in the spatial order of their slots.
enum PostingOrder {
  /// The importance, in steps of 1/255, from which a place comes first.
  static let highImportance: UInt8 = 40

  /// The upper bounds of the numbers of letters of the classes of frequent words.
  private static let classes: [UInt8] = [4, 6, 8, 11, 16, 255]

  /// Returns the word in the middle of the postings.
  static func middleWord(_ starts: FixedBuffer<UInt32>) -> Int {
    let starting = UnsafeBufferPointer(start: starts.pointer, count: starts.count)
    let half = starting[starts.count - 1] / 2
    return min(starts.count - 1, starting.firstPosition { $0 >= half })
  }

  /// Sorts the postings of each word, which are ascending. O(n log n), on two processors where they are many.
  static func sort(
    _ postings: UnsafeMutableBufferPointer<UInt32>, starts: FixedBuffer<UInt32>, places: FixedBuffer<StaticBounds>
  ) {
    let (wordCount, middle) = (starts.count - 1, middleWord(starts))
    // Unsafe: the words have no postings in common.
    nonisolated(unsafe) let postings = postings
    _ = Parallel.both(where: postings.count > 100_000) {
      sort(postings, words: 0..<middle, starts, places)
    } and: {
      sort(postings, words: middle..<wordCount, starts, places)
    }
  }

  private static func sort(
    _ postings: UnsafeMutableBufferPointer<UInt32>, words: Range<Int>, _ starts: FixedBuffer<UInt32>,
    _ places: FixedBuffer<StaticBounds>
  ) {
    let classes = ContiguousArray((UInt8.min...UInt8.max).map(classOfFrequent))
    var keys: ContiguousArray<UInt64> = []
    var (former, ends) = (ContiguousArray<UInt32>(), ContiguousArray(repeating: 0, count: Self.classes.count + 1))
    for word in words {
      let slots = UnsafeMutableBufferPointer(
        rebasing: postings[Int(starts.pointer[word])..<Int(starts.pointer[word + 1])])
      if slots.count >= PostingBlock.minimumPostings {
        func rank(_ slot: UInt32) -> Int {
          let bounds = places.pointer[Int(slot)]
          return bounds.importance >= highImportance ? 0 : Int(classes[Int(bounds.letters)])
        }
        // They stay ascending in each class.
        for index in ends.indices { ends[index] = 0 }
        for slot in slots { ends[rank(slot)] += 1 }
        var sum = 0
        for index in ends.indices { (ends[index], sum) = (sum, sum + ends[index]) }
        former.removeAll(keepingCapacity: true)
        former.append(contentsOf: slots)
        for slot in former {
          let rank = rank(slot)
          slots[ends[rank]] = slot
          ends[rank] += 1
        }
      } else if slots.count > 1 {
        keys.removeAll(keepingCapacity: true)
        for slot in slots {
          let bounds = places.pointer[Int(slot)]
          let rank = bounds.importance >= highImportance ? 0 : max(1, bounds.letters)
          keys.append(UInt64(rank) << 32 | UInt64(slot))
        }
        keys.sort()
        for (index, key) in keys.enumerated() { slots[index] = UInt32(truncatingIfNeeded: key) }
      }
    }
  }

  /// Returns the class of a number of letters among the postings of a frequent word, from 1 on.
  private static func classOfFrequent(letters: UInt8) -> UInt8 {
    UInt8(classes.firstIndex { letters <= $0 } ?? 0) + 1
  }
}
