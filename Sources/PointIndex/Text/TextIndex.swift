import Geo
import Points

/// An index of the words of a segment's places, immutable.
///
/// Each word has the slots of the places that have it (its postings), important places and short names first (see
/// ``PostingOrder``). Each place has the numbers of its words, name by name, so that a candidate is judged without its
/// text. Frequent words have their postings in blocks with
/// bounds of position, length and importance, so that a search skips the blocks that can't be among the first matches.
final class TextIndex: Sendable {
  private let wordStarts: FixedBuffer<UInt32>
  private let wordBytes: FixedBuffer<UInt8>
  private let wordLetters: FixedBuffer<UInt8>
  private let postingStarts: FixedBuffer<UInt32>
  private let postings: FixedBuffer<UInt32>
  private let wordBounds: FixedBuffer<StaticBounds>
  private let frequentWords: FixedBuffer<UInt32>
  private let blockStarts: FixedBuffer<UInt32>
  private let blocks: FixedBuffer<PostingBlock>
  private let entryStarts: FixedBuffer<UInt32>
  private let entries: FixedBuffer<UInt32>
  private let places: FixedBuffer<PlaceBounds>

  /// The parts of the index as plain pointers; valid for the life of the index.
  let columns: TextColumns

  /// The names of the categories.
  let categoryNames: CategoryNames

  /// The number of bytes.
  var byteCount: Int {
    wordStarts.byteCount + wordBytes.byteCount + wordLetters.byteCount + postingStarts.byteCount + postings.byteCount
      + wordBounds.byteCount + frequentWords.byteCount + blockStarts.byteCount + blocks.byteCount
      + entryStarts.byteCount + entries.byteCount + places.byteCount
  }

  /// The number of distinct words.
  var wordCount: Int { columns.dictionary.count }

  /// Creates the index. O(n log n).
  ///
  /// - Parameters:
  ///   - records: the records of the places.
  ///   - categories: the categories by their numbers.
  ///   - positions: the columns of the places' segment.
  ///   - configuration: the fields that are indexed.
  init(
    records: PointRecords, categories: [String], positions: SegmentColumns, configuration: TextIndexConfiguration
  ) {
    var entries = TextEntries.all(of: records, categories: categories, fields: TextFields(configuration))
    entries.sortWords()
    let words = entries.words
    let wordCount = words.count
    let order = entries.order
    (wordStarts, wordBytes) = Self.sortedWords(words, order)
    wordLetters = FixedBuffer(count: wordCount) { letters in
      for position in 0..<wordCount { (letters + position).initialize(to: words.letters[Int(order[position])]) }
    }
    let (starts, slotsInOrder) = Self.postings(entries, wordCount: wordCount)
    postingStarts = starts
    let places = FixedBuffer<PlaceBounds>(count: records.count) { places in
      for slot in 0..<records.count {
        (places + slot).initialize(
          to: PlaceBounds(
            x: Float(positions.x[slot]), y: Float(positions.y[slot]), z: Float(positions.z[slot]),
            bounds: entries.bounds[slot]))
      }
    }
    self.places = places
    let slots = PostingOrder.sorted(slotsInOrder, starts: starts, places: places)
    postings = slots
    wordBounds = FixedBuffer(count: wordCount) { memory in
      for word in 0..<wordCount {
        var union = StaticBounds()
        for index in Int(starts.pointer[word])..<Int(starts.pointer[word + 1]) {
          union.include(places.pointer[Int(slots.pointer[index])].bounds)
        }
        (memory + word).initialize(to: union)
      }
    }
    let frequent = (0..<wordCount).filter {
      starts.pointer[$0 + 1] - starts.pointer[$0] >= UInt32(PostingBlock.minimumPostings)
    }
    var (blocks, blockStarts) = (ContiguousArray<PostingBlock>(), ContiguousArray<UInt32>())
    for word in frequent {
      blockStarts.append(UInt32(blocks.count))
      let end = Int(starts.pointer[word + 1])
      for start in stride(from: Int(starts.pointer[word]), to: end, by: PostingBlock.capacity) {
        let slots = UnsafeBufferPointer(
          start: slots.pointer + start, count: min(PostingBlock.capacity, end - start))
        blocks.append(PostingBlock(slots, positions: positions, places: places.pointer))
      }
    }
    frequentWords = FixedBuffer(frequent.map { UInt32($0) })
    self.blockStarts = FixedBuffer(blockStarts)
    self.blocks = FixedBuffer(blocks)
    entryStarts = FixedBuffer(entries.starts)
    self.entries = FixedBuffer(entries.numbers)
    columns = TextColumns(
      dictionary: WordDictionary(
        count: wordCount, starts: wordStarts.pointer, bytes: wordBytes.pointer, letters: wordLetters.pointer),
      postingStarts: postingStarts.pointer, postings: postings.pointer, wordBounds: wordBounds.pointer,
      frequentWords: frequentWords.pointer, frequentCount: frequent.count, blockStarts: self.blockStarts.pointer,
      blocks: self.blocks.pointer, entryStarts: entryStarts.pointer, entries: self.entries.pointer,
      places: places.pointer)
    categoryNames = CategoryNames(categories, in: columns.dictionary)
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

  private static func postings(
    _ entries: TextEntries, wordCount: Int
  ) -> (starts: FixedBuffer<UInt32>, slots: ContiguousArray<UInt32>) {
    // The slot that a word was counted for last, so that a place counts once.
    var last = ContiguousArray<UInt32>(repeating: .max, count: wordCount)
    var ends = ContiguousArray<UInt32>(repeating: 0, count: wordCount + 1)
    func forEachPosting(_ body: (_ word: Int, _ slot: UInt32) -> Void) {
      for index in last.indices { last[index] = .max }
      for slot in 0..<entries.starts.count - 1 {
        for index in Int(entries.starts[slot])..<Int(entries.starts[slot + 1]) {
          let word = Int(entries.numbers[index] & TextColumns.wordMask)
          if last[word] == UInt32(slot) { continue }
          last[word] = UInt32(slot)
          body(word, UInt32(slot))
        }
      }
    }
    forEachPosting { word, _ in ends[word + 1] += 1 }
    for word in 0..<wordCount { ends[word + 1] += ends[word] }
    let starts = FixedBuffer(ends)
    let slots = ContiguousArray<UInt32>(unsafeUninitializedCapacity: Int(ends[wordCount])) { memory, count in
      forEachPosting { word, slot in
        memory.initializeElement(at: Int(ends[word]), to: slot)
        ends[word] += 1
      }
      count = memory.count
    }
    return (starts, slots)
  }
}

/// The words of the names of categories: those of the category, and those behind its last colon, `peak` of
/// `natural:peak`.
struct CategoryNames: Sendable {
  private struct Name: Sendable {
    let words: ContiguousArray<Int>
    let category: UInt32
  }

  /// The names by their last words.
  private var names: [Int: [Name]] = [:]

  /// Creates the names of categories, which are numbered by their positions.
  init(_ categories: [String], in dictionary: WordDictionary) {
    var text = NormalizedText()
    for (number, category) in categories.enumerated() {
      var forms = [category[...]]
      if let colon = category.utf8.lastIndex(of: UInt8(ascii: ":")) {
        forms.append(category[category.utf8.index(after: colon)...])
      }
      for form in forms {
        var form = String(form)
        form.withUTF8 { text.fill(with: $0) }
        let words = ContiguousArray(
          text.words.map { word in
            let bytes = ContiguousArray(text.bytes[Int(word.start)..<Int(word.end)])
            return dictionary.number(of: bytes, in: dictionary.words(beginningWith: bytes)) ?? -1
          })
        guard let last = words.last, !words.contains(-1) else { continue }
        names[last, default: []].append(Name(words: words, category: UInt32(number)))
      }
    }
  }

  /// Returns the categories whose name is the end of a text, and the least number of words of these names.
  func categories(endingText words: ContiguousArray<Int>) -> (numbers: Set<UInt32>, wordCount: Int)? {
    guard let last = words.last, let names = names[last] else { return nil }
    let found = names.filter { words.count >= $0.words.count && words.suffix($0.words.count).elementsEqual($0.words) }
    guard let wordCount = found.lazy.map(\.words.count).min() else { return nil }
    return (Set(found.map(\.category)), wordCount)
  }
}

/// The parts of a text index as plain pointers, which searches read without counting references.
struct TextColumns: BitwiseCopyable, @unchecked Sendable {
  // Sendable: the memory behind the pointers is never written after the index's initialization.

  /// The flag of an entry that is the last word of a name.
  static let nameEnd: UInt32 = 1 << 31

  /// The flag of an entry that is a word of the category or the address.
  static let context: UInt32 = 1 << 30

  /// The number of the word of an entry.
  static let wordMask: UInt32 = context - 1

  let dictionary: WordDictionary

  /// The start of each word's postings, and the end of the last one's.
  let postingStarts: UnsafePointer<UInt32>
  let postings: UnsafePointer<UInt32>

  /// The union of the bounds of each word's places.
  let wordBounds: UnsafePointer<StaticBounds>

  /// The words that have blocks, ascending, and the first block of each.
  let frequentWords: UnsafePointer<UInt32>
  let frequentCount: Int
  let blockStarts: UnsafePointer<UInt32>
  let blocks: UnsafePointer<PostingBlock>

  /// The start of each place's entries, and the end of the last one's.
  let entryStarts: UnsafePointer<UInt32>
  let entries: UnsafePointer<UInt32>

  /// The bounds of each place, by slot.
  let places: UnsafePointer<PlaceBounds>

  /// Returns the number of postings of a range of words.
  @inline(__always)
  func postingCount(of words: Range<Int>) -> Int {
    Int(postingStarts[words.upperBound]) - Int(postingStarts[words.lowerBound])
  }

  /// Returns the postings of a word.
  @inline(__always)
  func postings(of word: Int) -> UnsafeBufferPointer<UInt32> {
    UnsafeBufferPointer(start: postings + Int(postingStarts[word]), count: postingCount(of: word..<word + 1))
  }

  /// Returns the blocks of a word; `nil` where it has none.
  func blocks(of word: Int) -> UnsafePointer<PostingBlock>? {
    let words = UnsafeBufferPointer(start: frequentWords, count: frequentCount)
    let position = words.firstPosition { Int($0) >= word }
    guard position < frequentCount, Int(words[position]) == word else { return nil }
    return blocks + Int(blockStarts[position])
  }
}

/// The bounds of what raises the score of a place whatever the query is.
struct StaticBounds: BitwiseCopyable {
  /// The least number of letters of a name, at most 255.
  var letters: UInt8 = .max

  /// The greatest importance in steps of 1/255.
  var importance: UInt8 = 0

  /// Includes other bounds.
  @inline(__always)
  mutating func include(_ other: StaticBounds) {
    letters = min(letters, other.letters)
    importance = max(importance, other.importance)
  }
}

/// The bounds of the score of a place, in one cache line: its position, to a metre, and its static bounds.
struct PlaceBounds: BitwiseCopyable {
  let x: Float
  let y: Float
  let z: Float
  let bounds: StaticBounds

  /// The maximum error of a position by rounding, in metres.
  private static let slack = 2.0

  /// Returns a lower bound of the chord to a position, in metres.
  @inline(__always)
  func leastChord(to position: EarthCentred) -> Double {
    let own = EarthCentred(x: Double(x), y: Double(y), z: Double(z))
    return max(0, own.chordSquared(to: position).squareRoot() - Self.slack)
  }
}

/// Consecutive postings of a frequent word: neighbours, because slots are in a spatial order.
struct PostingBlock: BitwiseCopyable {
  /// The maximum number of postings of a block.
  static let capacity = 128

  /// The number of postings from which a word has blocks.
  static let minimumPostings = 256

  private let x: Float
  private let y: Float
  private let z: Float
  private let radius: Float

  /// The union of the bounds of the places.
  let bounds: StaticBounds

  init(
    _ slots: UnsafeBufferPointer<UInt32>, positions: SegmentColumns, places: UnsafePointer<PlaceBounds>
  ) {
    var box = SpaceBounds()
    var union = StaticBounds()
    for slot in slots {
      let slot = Int(slot)
      box.include(x: positions.x[slot], y: positions.y[slot], z: positions.z[slot])
      union.include(places[slot].bounds)
    }
    bounds = union
    (x, y, z) = (Float((box.minX + box.maxX) / 2), Float((box.minY + box.maxY) / 2), Float((box.minZ + box.maxZ) / 2))
    // A number of this size is rounded by up to half a metre, in each of three directions.
    radius = Float(box.diagonalSquared.squareRoot() / 2) + 4
  }

  /// Returns a lower bound of the chords of the places to a position, in metres.
  @inline(__always)
  func leastChord(to position: EarthCentred) -> Double {
    let center = EarthCentred(x: Double(x), y: Double(y), z: Double(z))
    return max(0, center.chordSquared(to: position).squareRoot() - Double(radius))
  }
}
