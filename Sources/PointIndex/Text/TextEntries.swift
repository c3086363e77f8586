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

  /// The collected numbers of the words in the order of their bytes.
  private(set) var order: ContiguousArray<UInt32> = []

  private var text = NormalizedText()
  private var categoryWords: [(words: [UInt32], importance: Double)?]

  /// Collects the words of all places, on two processors where they are many. O(n).
  static func all(of records: PointRecords, categories: [String], fields: TextFields) -> TextEntries {
    let count = records.count
    guard count > 20_000 else {
      return TextEntries(records: records, slots: 0..<count, categories: categories, fields: fields)
    }
    var (entries, others) = Parallel.both(where: true) {
      TextEntries(records: records, slots: 0..<count / 2, categories: categories, fields: fields)
    } and: {
      TextEntries(records: records, slots: count / 2..<count, categories: categories, fields: fields)
    }
    entries.append(others)
    return entries
  }

  private init(records: PointRecords, slots: Range<Int>, categories: [String], fields: TextFields) {
    words = WordCollector(capacity: slots.count)
    categoryWords = Array(repeating: nil, count: categories.count)
    starts.reserveCapacity(records.count + 1)
    numbers.reserveCapacity(slots.count * 6)
    bounds.reserveCapacity(slots.count)
    let texts = records.texts
    for slot in slots {
      let record = records.record(at: slot)
      let name = UnsafeBufferPointer(rebasing: texts[record.start..<record.start + Int(record.nameLength)])
      let tagsStart = record.start + Int(record.nameLength)
      let tags = UnsafeBufferPointer(rebasing: texts[tagsStart..<tagsStart + Int(record.tagsLength)])
      let category = PointRecord.none == record.category ? nil : Int(record.category)
      append(name: name, tags: tags, category: category, of: categories, fields)
    }
  }

  /// Appends the entries of the places that follow.
  private mutating func append(_ others: TextEntries) {
    var translation = ContiguousArray<UInt32>()
    translation.reserveCapacity(others.words.count)
    others.words.bytes.withUnsafeBufferPointer { bytes in
      for number in 0..<others.words.count {
        let word = UnsafeBufferPointer(
          rebasing: bytes[Int(others.words.starts[number])..<Int(others.words.starts[number + 1])])
        translation.append(words.number(of: word, flaggedLetters: others.words.letters[number]))
      }
    }
    let start = UInt32(numbers.count)
    numbers.reserveCapacity(numbers.count + others.numbers.count)
    for number in others.numbers {
      numbers.append(number & ~TextColumns.wordMask | translation[Int(number & TextColumns.wordMask)])
    }
    for end in others.starts.dropFirst() { starts.append(start + end) }
    bounds.append(contentsOf: others.bounds)
  }

  /// Numbers the words in the order of their bytes. O(n log n).
  mutating func sortWords() {
    order = words.sorted()
    var positions = ContiguousArray<UInt32>(repeating: 0, count: order.count)
    for (position, number) in order.enumerated() { positions[Int(number)] = UInt32(position) }
    numbers.withUnsafeMutableBufferPointer { numbers in
      for index in numbers.indices {
        let number = numbers[index]
        numbers[index] = number & ~TextColumns.wordMask | positions[Int(number & TextColumns.wordMask)]
      }
    }
  }

  private mutating func append(
    name: UnsafeBufferPointer<UInt8>, tags: UnsafeBufferPointer<UInt8>, category: Int?, of categories: [String],
    _ fields: TextFields
  ) {
    let start = numbers.count
    var importance = Importance()
    var place = StaticBounds()
    append(name: name, from: start, &place)
    if tags.count > 2 {
      TextFields.forEachTag(in: tags) { key, value in
        if fields.kind(of: key) == .name { append(name: value, from: start, &place) }
        importance.add(key, value, isChosen: fields.isImportance(key))
      }
    }
    let contextStart = numbers.count
    if let category { appendWords(ofCategory: category, categories, from: start, contextStart, &importance) }
    if tags.count > 2 {
      TextFields.forEachTag(in: tags) { key, value in
        guard fields.kind(of: key) == .address else { return }
        text.fill(with: value)
        for word in text.words { appendContext(number(of: word), from: start, contextStart) }
      }
    }
    place.importance = importance.steps
    bounds.append(place)
    starts.append(UInt32(numbers.count))
  }

  /// Appends the words of a name, unless the place has a name of the same words already.
  private mutating func append(name: UnsafeBufferPointer<UInt8>, from start: Int, _ place: inout StaticBounds) {
    text.fill(with: name)
    let nameStart = numbers.count
    let words = text.words.prefix(start + Self.maximumWords - nameStart)
    guard !words.isEmpty else { return }
    var letters = 0
    for word in words {
      numbers.append(number(of: word))
      letters += Int(min(word.letters, 127))
    }
    numbers[numbers.count - 1] |= TextColumns.nameEnd
    if isRepeated(nameStart, from: start) {
      numbers.removeLast(numbers.count - nameStart)
    } else {
      place.letters = min(place.letters, UInt8(clamping: letters))
    }
  }

  /// Returns a Boolean value that indicates whether the last name's words are those of an earlier one.
  private func isRepeated(_ nameStart: Int, from start: Int) -> Bool {
    let count = numbers.count - nameStart
    var index = start
    while index + count <= nameStart {
      let isEqual = numbers[index..<index + count].elementsEqual(numbers[nameStart...])
      if isEqual { return true }
      while numbers[index] & TextColumns.nameEnd == 0 { index += 1 }
      index += 1
    }
    return false
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
