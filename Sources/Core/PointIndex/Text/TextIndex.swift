import Basics
import Geo
import JSONText
import Points
import SearchWords

/// An index of the words of a segment's places, immutable.
///
/// Each word has the slots of the places that have it (its postings), important places and short names first (see
/// ``PostingOrder``). Each place has the numbers of its words, name by name, so that a candidate is judged without its
/// text. Frequent words have their postings in blocks with
/// bounds of position, length and importance, so that a search skips the blocks that can't be among the first matches.
final class TextIndex: Sendable {
  private let buffers: TextBuffers

  /// The parts of the index as plain pointers; valid for the life of the index.
  let columns: TextColumns

  /// The names of the categories.
  let categoryNames: CategoryNames

  /// The words that begin with Greek and Cyrillic letters.
  let wordsOfOtherLetters: Range<Int>

  /// The number of bytes.
  var byteCount: Int { buffers.byteCount }

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
    let entries = SortedEntries(of: records, categories: categories, fields: TextFields(configuration))
    let postings = Postings(entries, positions: positions)
    buffers = TextBuffers(
      wordStarts: entries.wordStarts, wordBytes: entries.wordBytes, wordLetters: entries.wordLetters,
      postingStarts: postings.starts, postings: postings.slots, wordBounds: postings.wordBounds,
      frequentWords: FixedBuffer(postings.blocks.words), blockStarts: FixedBuffer(postings.blocks.starts),
      blocks: FixedBuffer(postings.blocks.blocks), entryStarts: entries.starts, entries: entries.numbers,
      places: entries.bounds)
    columns = buffers.columns
    categoryNames = CategoryNames(categories, in: columns.dictionary)
    wordsOfOtherLetters = LatinLetters.words(in: columns.dictionary)
  }

  /// Creates the index of a segment in a file.
  ///
  /// - Parameter categories: the categories by their numbers.
  init(_ file: SegmentFile, categories: [String]) throws(IndexFileError) {
    buffers = try TextBuffers(file)
    columns = buffers.columns
    categoryNames = CategoryNames(categories, in: columns.dictionary)
    wordsOfOtherLetters = LatinLetters.words(in: columns.dictionary)
  }

  func write(to file: inout SegmentFileWriter) throws(IndexFileError) { try buffers.write(to: &file) }
}

/// The memory of a text index; ``TextColumns`` describes the values.
private struct TextBuffers: Sendable {
  let wordStarts: FixedBuffer<UInt32>
  let wordBytes: FixedBuffer<UInt8>
  let wordLetters: FixedBuffer<UInt8>
  let postingStarts: FixedBuffer<UInt32>
  let postings: FixedBuffer<UInt32>
  let wordBounds: FixedBuffer<StaticBounds>
  let frequentWords: FixedBuffer<UInt32>
  let blockStarts: FixedBuffer<UInt32>
  let blocks: FixedBuffer<PostingBlock>
  let entryStarts: FixedBuffer<UInt32>
  let entries: FixedBuffer<UInt32>
  let places: FixedBuffer<StaticBounds>

  var columns: TextColumns {
    TextColumns(
      dictionary: WordDictionary(
        count: wordLetters.count, starts: wordStarts.pointer, bytes: wordBytes.pointer, byteCount: wordBytes.count,
        letters: wordLetters.pointer),
      postingStarts: postingStarts.pointer, postings: postings.pointer, wordBounds: wordBounds.pointer,
      frequentWords: frequentWords.pointer, frequentCount: frequentWords.count, blockStarts: blockStarts.pointer,
      blocks: blocks.pointer, entryStarts: entryStarts.pointer, entries: entries.pointer, places: places.pointer)
  }

  var byteCount: Int {
    wordStarts.byteCount + wordBytes.byteCount + wordLetters.byteCount + postingStarts.byteCount + postings.byteCount
      + wordBounds.byteCount + frequentWords.byteCount + blockStarts.byteCount + blocks.byteCount
      + entryStarts.byteCount + entries.byteCount + places.byteCount
  }
}

extension TextBuffers {
  init(_ file: SegmentFile) throws(IndexFileError) {
    wordLetters = try file.column(.wordLetters)
    let wordCount = wordLetters.count
    wordStarts = try file.column(.wordStarts, count: wordCount + 1)
    wordBytes = try file.column(.wordBytes)
    postingStarts = try file.column(.postingStarts, count: wordCount + 1)
    postings = try file.column(.postings)
    wordBounds = try file.column(.wordBounds, count: wordCount)
    frequentWords = try file.column(.frequentWords)
    blockStarts = try file.column(.blockStarts, count: frequentWords.count)
    blocks = try file.column(.blocks)
    entryStarts = try file.column(.entryStarts, count: file.placeCount + 1)
    entries = try file.column(.entries)
    places = try file.column(.placeBounds, count: file.placeCount)
  }

  func write(to file: inout SegmentFileWriter) throws(IndexFileError) {
    try file.append(.wordStarts, wordStarts)
    try file.append(.wordBytes, wordBytes)
    try file.append(.wordLetters, wordLetters)
    try file.append(.postingStarts, postingStarts)
    try file.append(.postings, postings)
    try file.append(.wordBounds, wordBounds)
    try file.append(.frequentWords, frequentWords)
    try file.append(.blockStarts, blockStarts)
    try file.append(.blocks, blocks)
    try file.append(.entryStarts, entryStarts)
    try file.append(.entries, entries)
    try file.append(.placeBounds, places)
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

  /// The words of the whole names, by the numbers of the categories.
  private var wholeNames: ContiguousArray<ContiguousArray<Int>> = []

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
        if wholeNames.count == number { wholeNames.append(words.contains(-1) ? [] : words) }
        guard let last = words.last, !words.contains(-1) else { continue }
        names[last, default: []].append(Name(words: words, category: UInt32(number)))
      }
    }
  }

  /// Returns the words of a category's name.
  func words(of category: Int) -> ContiguousArray<Int> { wholeNames[category] }

  /// Returns the categories whose name is a text.
  func categories(named words: ContiguousArray<Int>) -> Set<UInt32> {
    guard let last = words.last, let names = names[last] else { return [] }
    return Set(names.filter { $0.words.elementsEqual(words) }.map(\.category))
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

  /// The position of the bits of the last entry of a name that are its ``NameKind``, and of those of an entry with
  /// ``context`` that are its ``AddressPart``. Those of another entry of a name are ``wordVariant`` or ``joinedVariant``
  /// if it is another form of the words that follow.
  static let kindShift: UInt32 = 28

  /// The entry is another form of the next word: the part behind an elision, or with `oe` for `ö`.
  static let wordVariant: UInt32 = 1 << kindShift

  /// The entry is the next words, joined: as many as have its letters.
  static let joinedVariant: UInt32 = 2 << kindShift

  /// Returns a Boolean value that indicates whether an entry of a name is another form of words that follow.
  @inline(__always)
  static func isVariant(_ entry: UInt32) -> Bool { entry >> kindShift &- 1 < 3 }

  /// Returns a Boolean value that indicates whether a variant is of several words, joined.
  @inline(__always)
  static func isJoined(_ entry: UInt32) -> Bool { entry & joinedVariant != 0 }

  /// The number of the word of an entry.
  static let wordMask: UInt32 = 1 << kindShift - 1

  /// Returns the kind of the name whose last entry is given.
  @inline(__always)
  static func kind(ofNameEndingWith entry: UInt32) -> NameKind {
    NameKind(rawValue: entry >> kindShift & 3).unsafelyUnwrapped
  }

  /// Returns the part of the address that an entry with ``context`` is of.
  @inline(__always)
  static func addressPart(of entry: UInt32) -> AddressPart {
    AddressPart(rawValue: entry >> kindShift & 3) ?? .other
  }

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
  let places: UnsafePointer<StaticBounds>

  /// Returns the number of postings of a range of words.
  @inline(__always)
  func postingCount(of words: Range<Int>) -> Int {
    Int(postingStarts[words.upperBound]) - Int(postingStarts[words.lowerBound])
  }

  /// Returns the number of postings of words, of those in several ranges each time.
  func postingCount(of words: [Range<Int>]) -> Int { words.reduce(0) { $0 + postingCount(of: $1) } }

  /// Returns the postings of a word.
  @inline(__always)
  func postings(of word: Int) -> UnsafeBufferPointer<UInt32> {
    UnsafeBufferPointer(start: postings + Int(postingStarts[word]), count: postingCount(of: word..<word + 1))
  }

  /// Returns the blocks of a word; `nil` if it has none.
  func blocks(of word: Int) -> UnsafePointer<PostingBlock>? {
    let words = UnsafeBufferPointer(start: frequentWords, count: frequentCount)
    let position = words.firstPosition { Int($0) >= word }
    guard position < frequentCount, Int(words[position]) == word else { return nil }
    return blocks + Int(blockStarts[position])
  }
}

/// The parts of a category and an address, by which places of an address are found.
enum AddressPart: UInt32 {
  /// The category, or a part of the address behind the street and the number.
  case other
  case street
  /// The whole house number, a letter behind the digits included.
  case number
  /// A part of the house number, or one of the numbers of a range.
  case partOfNumber
}

/// The bounds of what raises the score of a place whatever the query is.
struct StaticBounds: BitwiseCopyable {
  /// The least number of letters of a name or a street, at most 255; that of an abbreviation counts twice, as it covers
  /// half.
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
    _ slots: UnsafeBufferPointer<UInt32>, positions: SegmentColumns, places: UnsafePointer<StaticBounds>
  ) {
    var box = SpaceBounds()
    var union = StaticBounds()
    for slot in slots { prefetch(positions.positions + Int(slot)) }
    for slot in slots {
      let slot = Int(slot)
      box.include(positions.positions[slot])
      union.include(places[slot])
    }
    bounds = union
    (x, y, z) = ((box.minX + box.maxX) / 2, (box.minY + box.maxY) / 2, (box.minZ + box.maxZ) / 2)
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

/// The texts of a place that are searched: its names, and the context in which a name may be searched.
struct TextFields: Sendable {
  /// The kinds of texts.
  enum Kind {
    case name
    case street
    case houseNumber
    case address
    case other
  }

  private let keys: [ContiguousArray<UInt8>]
  private let prefixes: [ContiguousArray<UInt8>]
  private let addressPrefix = ContiguousArray("addr:".utf8)
  private let streetKeys = ["addr:street", "addr:place"].map { ContiguousArray($0.utf8) }
  private let houseNumberKey = ContiguousArray("addr:housenumber".utf8)

  /// The Boolean values, by the first byte of a key, that indicate whether it may be one of these.
  private let mayBegin: ContiguousArray<Bool>

  init(_ configuration: TextIndexConfiguration) {
    keys = configuration.nameTags.filter { !$0.hasSuffix("*") }.map { ContiguousArray($0.utf8) }
    prefixes = configuration.nameTags.filter { $0.hasSuffix("*") }.map { ContiguousArray($0.utf8.dropLast()) }
    let beginnings = keys + prefixes + [addressPrefix]
    mayBegin = ContiguousArray(
      (UInt8.min...UInt8.max).map { byte in beginnings.contains { $0.isEmpty || $0[0] == byte } })
  }

  /// Returns the kind of the value of a key.
  func kind(of key: UnsafeBufferPointer<UInt8>) -> Kind {
    guard let first = key.first, mayBegin[Int(first)] else { return .other }
    if key.starts(with: addressPrefix) {
      if streetKeys.contains(where: { key.elementsEqual($0) }) { return .street }
      return key.elementsEqual(houseNumberKey) ? .houseNumber : .address
    }
    if keys.contains(where: { key.count == $0.count && key.elementsEqual($0) }) { return .name }
    return prefixes.contains { key.count > $0.count && key.starts(with: $0) } ? .name : .other
  }

  /// Calls the closure with each tag, in the order of the keys. A key with an escaped character is left out.
  ///
  /// - Parameter tags: stored JSON of tags.
  @inline(__always)
  static func forEachTag(
    in tags: UnsafeBufferPointer<UInt8>,
    _ body: (_ key: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) -> Void
  ) {
    let escape = UInt8(ascii: "\\")
    let hasEscapes = tags.firstIndex(of: escape, from: 0) != nil
    JSONString.forEachMember(ofStrings: tags) { key, value in
      let name = UnsafeBufferPointer(rebasing: tags[key.lowerBound + 1..<key.upperBound - 1])
      let text = UnsafeBufferPointer(rebasing: tags[value.lowerBound + 1..<value.upperBound - 1])
      if !hasEscapes || !(name.contains(escape) || text.contains(escape)) {
        body(name, text)
      } else if !name.contains(escape),
        case .string(var text)? = try? JSONReader.value(of: UnsafeBufferPointer(rebasing: tags[value]))
      {
        text.withUTF8 { body(name, $0) }
      }
      return true
    }
  }
}

/// The kinds of a place's names, the best first.
enum NameKind: UInt32 {
  /// The name, or the whole value of a tag.
  case whole
  /// One of a list of names in a tag, with semicolons between as in OpenStreetMap, or with commas as in GeoNames.
  case listed
  /// A code among the names of a list: up to four capital letters and digits, such as the airport's among the names of
  /// a city.
  case abbreviation
  /// A code of the place: the whole value of a tag such as `iata`, or one of a list of codes.
  case code

  /// The number of names from which a list with semicolons is long. Shorter ones have the codes of the place itself, as
  /// have those of codes alone.
  private static let longList = 5

  /// Calls the closure with each name of a tag's value.
  @inline(__always)
  static func forEachName(
    in value: UnsafeBufferPointer<UInt8>, _ body: (_ name: UnsafeBufferPointer<UInt8>, _ kind: NameKind) -> Void
  ) {
    var (count, hasNames) = (0, false)
    forEachPart(of: value) {
      count += 1
      if !hasNames { hasNames = !isAbbreviation($0) }
    }
    if count == 1 { return body(value, isAbbreviation(value) && value.count > 1 ? .code : .whole) }
    let hasForeignCodes = count >= longList || (hasNames && !value.contains(UInt8(ascii: ";")))
    forEachPart(of: value) { part in
      let isCode = isAbbreviation(part)
      body(part, isCode && hasForeignCodes ? .abbreviation : isCode && !hasNames ? .code : .listed)
    }
  }

  @inline(__always)
  private static func forEachPart(of value: UnsafeBufferPointer<UInt8>, _ body: (UnsafeBufferPointer<UInt8>) -> Void) {
    var start = 0
    for end in 0...value.count where end == value.count || isSeparator(end, in: value) {
      var (first, last) = (start, end)
      while first < last, value[first] == UInt8(ascii: " ") { first += 1 }
      while first < last, value[last - 1] == UInt8(ascii: " ") { last -= 1 }
      body(UnsafeBufferPointer(rebasing: value[first..<last]))
      start = end + 1
    }
  }

  /// Returns a Boolean value that indicates whether a byte separates names. A comma before a space is one of a name, as
  /// in "Washington, D.C.", and one between digits of a number.
  @inline(__always)
  private static func isSeparator(_ index: Int, in value: UnsafeBufferPointer<UInt8>) -> Bool {
    switch value[index] {
    case UInt8(ascii: ";"): return true
    case UInt8(ascii: ","):
      guard index > 0, index + 1 < value.count, value[index + 1] != UInt8(ascii: " ") else { return false }
      return !(isDigit(value[index - 1]) && isDigit(value[index + 1]))
    default: return false
    }
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

  private static func isAbbreviation(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
    (1...4).contains(name.count)
      && name.allSatisfy { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) || isDigit($0) }
  }
}

/// The importance of a place, 0…1, as a sum of what its tags say.
///
/// - `wikidata` or `wikipedia`: 0.35.
/// - `population`: a tenth of its decimal logarithm, up to 0.7: 0.6 for a million people.
/// - The category: up to 0.3, see ``categories``.
struct Importance {
  private var isKnown = false
  private var population = 0.0
  private var category = 0.0

  /// The parts that words of a category add.
  static let categories: [ExactText: Double] = [
    "country": 0.3, "continent": 0.3, "capital": 0.3, "state": 0.25, "province": 0.25, "city": 0.25, "region": 0.2,
    "island": 0.15, "town": 0.2, "airport": 0.5, "aerodrome": 0.1, "village": 0.1, "suburb": 0.1, "station": 0.1,
    "attraction": 0.1, "museum": 0.1, "university": 0.1, "cathedral": 0.1, "castle": 0.1, "stadium": 0.1,
    "hospital": 0.05, "park": 0.05, "peak": 0.05,
  ]

  /// Adds a word of the category.
  mutating func add(categoryWord word: String) { category = max(category, Self.categories[ExactText(word)] ?? 0) }

  /// Adds what a category was computed to add.
  mutating func add(category value: Double) { category = max(category, value) }

  /// The part of the category.
  var categoryValue: Double { category }

  /// Adds a tag.
  @inline(__always)
  mutating func add(_ key: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) {
    guard let first = key.first else { return }
    if first == UInt8(ascii: "w") {
      if key.elementsEqual("wikidata".utf8) || key.elementsEqual("wikipedia".utf8) { isKnown = true }
    } else if first == UInt8(ascii: "p"), key.elementsEqual("population".utf8) {
      population = max(0, Self.number(value))
    }
  }

  /// The importance in steps of 1/255.
  var steps: UInt8 {
    let sum = (isKnown ? 0.35 : 0) + min(0.7, population > 1 ? Self.logarithm(population) / 10 : 0) + category
    return UInt8((max(0, min(1, sum)) * 255).rounded())
  }

  private static func number(_ text: UnsafeBufferPointer<UInt8>) -> Double {
    guard text.count <= 40, let number = Double(String(decoding: text, as: UTF8.self)), number.isFinite else {
      return 0
    }
    return number
  }

  /// Returns the decimal logarithm of a number above 1, linear between powers of 10, exact at them.
  private static func logarithm(_ number: Double) -> Double {
    var (power, rest) = (0.0, number)
    while rest >= 10 {
      rest /= 10
      power += 1
    }
    return power + (rest - 1) / 9
  }
}
