import Basics
import Points
import SearchWords

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
  private var variants = NameVariants()

  /// The names of the place that is appended, with hashes of their words.
  private var names: ContiguousArray<(hash: UInt64, entries: Range<Int>)> = []

  /// The numbers of the words of the address of the place that is appended, each with its ``AddressPart``.
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
      case .street: addStreet(value)
      case .houseNumber: addHouseNumber(value)
      case .address:
        text.fill(with: value)
        for word in text.words { addAddressWord(number(of: word), .other) }
      case .other: break
      }
      importance.add(key, value)
    }
    let contextStart = numbers.count
    if let category { appendWords(ofCategory: category, categories, from: start, contextStart, &importance) }
    for word in addressWords where word & ~TextColumns.wordMask != 0 { appendContext(word, from: start, contextStart) }
    for word in addressWords where !hasWord(word & TextColumns.wordMask, from: contextStart) {
      appendContext(word, from: start, contextStart)
    }
    let streetLetters = lettersOfStreet(from: contextStart)
    if streetLetters > 0 { place.letters = min(place.letters, UInt8(clamping: streetLetters)) }
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
      name.hash == hash.value
        && numbers[name.entries].lazy.filter { !TextColumns.isVariant($0) }.map { $0 & TextColumns.wordMask }
          .elementsEqual(numbers[nameStart...])
    }
    if let earlier, !addsVariants(name, kind, to: earlier.entries) {
      let end = earlier.entries.upperBound - 1
      numbers.removeLast(count)
      if TextColumns.kind(ofNameEndingWith: numbers[end]).rawValue > kind.rawValue {
        numbers[end] = numbers[end] & ~(3 << TextColumns.kindShift) | kind.rawValue << TextColumns.kindShift
      }
      return
    }
    numbers[numbers.count - 1] |= TextColumns.nameEnd | kind.rawValue << TextColumns.kindShift
    if kind == .whole, NameVariants.mayBe(in: name) { insertVariants(of: name, at: nameStart) }
    names.append((hash.value, nameStart..<numbers.count))
  }

  /// Returns a Boolean value that indicates whether a name has variants that an earlier one of the same words has not:
  /// `Köln` beside `Koln`.
  private mutating func addsVariants(
    _ name: UnsafeBufferPointer<UInt8>, _ kind: NameKind, to earlier: Range<Int>
  ) -> Bool {
    kind == .whole && NameVariants.mayBe(in: name) && !numbers[earlier].contains(where: TextColumns.isVariant)
      && !variants.variants(of: name, text.words).isEmpty
  }

  /// Inserts the variants of the words of a name before them.
  private mutating func insertVariants(of name: UnsafeBufferPointer<UInt8>, at nameStart: Int) {
    // From the last one on, so that the positions of the words stay.
    for variant in variants.variants(of: name, text.words).reversed() where nameStart + variant.word < numbers.count {
      let number = variant.bytes.withUnsafeBufferPointer {
        words.number(of: $0, letters: variant.letters, isUnspaced: false)
      }
      let flag = variant.isJoined ? TextColumns.joinedVariant : TextColumns.wordVariant
      numbers.insert(number | flag, at: nameStart + variant.word)
    }
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

  private func hasWord(_ number: UInt32, from contextStart: Int) -> Bool {
    numbers[contextStart...].contains { $0 & TextColumns.wordMask == number }
  }

  private mutating func addAddressWord(_ number: UInt32, _ part: AddressPart) {
    if addressWords.count < Self.maximumWords { addressWords.append(number | part.rawValue << TextColumns.kindShift) }
  }

  /// Adds the words of a street. Of a place that has two, the first one is another part of the address.
  private mutating func addStreet(_ value: UnsafeBufferPointer<UInt8>) {
    text.fill(with: value)
    if text.isEmpty { return }
    for index in addressWords.indices where TextColumns.addressPart(of: addressWords[index]) == .street {
      addressWords[index] &= TextColumns.wordMask
    }
    for word in text.words { addAddressWord(number(of: word), .street) }
  }

  /// Returns the number of letters of the street of the place that is appended.
  private func lettersOfStreet(from contextStart: Int) -> Int {
    numbers[contextStart...].reduce(0) { sum, entry in
      guard TextColumns.addressPart(of: entry) == .street else { return sum }
      return sum + Int(words.letters[Int(entry & TextColumns.wordMask)] & ~WordDictionary.unspacedFlag)
    }
  }

  /// Adds the words of a house number, and those of its other forms.
  private mutating func addHouseNumber(_ value: UnsafeBufferPointer<UInt8>) {
    text.fill(with: value)
    if text.words.contains(where: \.isUnspaced) {
      for word in text.words { addAddressWord(number(of: word), .partOfNumber) }
      return
    }
    let forms = HouseNumber(text, isRange: HouseNumber.hasDash(value))
    for word in forms.whole { addAddressWord(number(of: word), .number) }
    for word in forms.parts { addAddressWord(number(of: word), .partOfNumber) }
  }

  private mutating func number(of word: ContiguousArray<UInt8>) -> UInt32 {
    word.withUnsafeBufferPointer { bytes in
      let letters = bytes.count { $0 & 0xC0 != 0x80 }
      return words.number(of: bytes, letters: UInt16(clamping: letters), isUnspaced: false)
    }
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

/// The words by which a house number is found.
///
/// A letter behind digits is found with and without a space: of `10 e` the whole number is `10e`, and the parts are `10`
/// and `e`. A range has the numbers between its ends too, on the same side of the street if both ends are.
struct HouseNumber {
  private(set) var whole: ContiguousArray<ContiguousArray<UInt8>> = []
  private(set) var parts: ContiguousArray<ContiguousArray<UInt8>> = []

  /// The maximum number of letters behind the digits: `bis`, `quater`.
  private static let maximumLetters = 6

  /// The maximum difference of the ends of a range of which the numbers between are found.
  private static let maximumRange = 20

  /// Creates the words of a number in its normal form.
  init(_ text: NormalizedText, isRange: Bool) {
    let words = ContiguousArray(
      text.words.map { ContiguousArray(text.bytes[Int($0.start)..<Int($0.end)]) })
    for (index, word) in words.enumerated() {
      let digits = word.prefix(while: Self.isDigit).count
      let next = index + 1 < words.count ? words[index + 1] : []
      if digits > 0, digits < word.count, Self.isSuffix(word[digits...]) {
        whole.append(word)
        parts += [ContiguousArray(word[..<digits]), ContiguousArray(word[digits...])]
      } else if digits > 0, digits == word.count, !next.isEmpty, Self.isSuffix(next[...]) {
        whole.append(word + next)
        parts.append(word)
      } else if digits == 0, index > 0, Self.isSuffix(word[...]) {
        parts.append(word)
      } else {
        whole.append(word)
      }
    }
    guard whole.count > 1 || whole.isEmpty else { return }
    (parts, whole) = (whole + parts, [])
    if isRange, words.count == 2, let low = Self.value(words[0]), let high = Self.value(words[1]), low < high,
      high - low <= Self.maximumRange
    {
      for number in stride(from: low, to: high, by: (high - low) % 2 == 0 ? 2 : 1).dropFirst() {
        parts.append(ContiguousArray("\(number)".utf8))
      }
    }
  }

  /// Returns a Boolean value that indicates whether a text has a hyphen or a dash (U+2010 to U+2015).
  static func hasDash(_ value: UnsafeBufferPointer<UInt8>) -> Bool {
    value.contains(UInt8(ascii: "-"))
      || zip(zip(value, value.dropFirst()), value.dropFirst(2)).contains { bytes, last in
        bytes.0 == 0xE2 && bytes.1 == 0x80 && 0x90...0x95 ~= last
      }
  }

  private static func isDigit(_ byte: UInt8) -> Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte }

  private static func isSuffix(_ word: ContiguousArray<UInt8>.SubSequence) -> Bool {
    word.count { $0 & 0xC0 != 0x80 } <= maximumLetters && !word.contains(where: isDigit)
  }

  private static func value(_ word: ContiguousArray<UInt8>) -> Int? {
    word.allSatisfy(isDigit) ? Int(String(decoding: word, as: UTF8.self)) : nil
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
