import Basics
import Geo
import JSONText
import Points

/// A part of a snapshot with the words of a query in its dictionary.
struct TextPart {
  let number: UInt32
  let segment: Segment
  let index: TextIndex
  let tombstones: Tombstones?

  /// The columns of the index and of the segment.
  let columns: TextColumns
  let positions: SegmentColumns

  /// The number of the word that each term is; -1 where it is none.
  private(set) var exactWords: ContiguousArray<Int> = []

  /// The words that begin with each term.
  private(set) var prefixWords: ContiguousArray<Range<Int>> = []

  /// The words that stand for each term.
  private(set) var equivalentWords: ContiguousArray<ContiguousArray<Range<Int>>> = []

  private var terms: ContiguousArray<QueryTerm> = []

  /// The different terms, by which the part's places are judged.
  private(set) var judgedTerms = JudgedTerms(
    [], at: [], exactWords: [], prefixWords: [], equivalentWords: [], wordsOfOtherLetters: 0..<0)

  /// The terms of the whole text while places are judged by a part of it.
  private(set) var wholeTerms: JudgedTerms?

  /// The numbers of the categories that the text names; `nil` if places of any match.
  var namedCategories: Set<UInt32>? = []

  /// The slots that may match the property filter, where an index has them.
  private let plannedSlots: [UInt32]?

  private let limit: SearchLimit

  /// A Boolean value that indicates whether the words of places outside of the query's restriction must not decide.
  private let isRestricted: Bool

  /// The slots that match the filters, where they are few: computed when first needed.
  private var narrowSlots: [UInt32]??

  /// The number of steps to look up a term.
  static let stepsPerTerm = 250

  /// The same of a word that stands for a term, of which no longer words are searched.
  private static let stepsPerEquivalent = 125

  /// The number of steps to gather a slot, and to sort it among many.
  private static let stepsPerGatheredSlot = 24

  init(
    _ part: PointSnapshot.Part, number: Int, terms: ContiguousArray<QueryTerm>, plannedSlots: [UInt32]? = nil,
    isRestricted: Bool, _ limit: SearchLimit
  ) {
    self.isRestricted = isRestricted
    self.plannedSlots = plannedSlots
    self.limit = limit
    self.number = UInt32(number)
    segment = part.segment
    tombstones = part.tombstones
    index = part.segment.textIndex
    columns = index.columns
    positions = part.segment.columns
    setTerms(terms)
  }

  /// Looks up the terms. Those that the present ones begin and end with are known.
  mutating func setTerms(_ terms: ContiguousArray<QueryTerm>) {
    let first = zip(terms, self.terms).prefix { $0.isSame(as: $1) }.count
    let last = min(
      zip(terms.reversed(), self.terms.reversed()).prefix { $0.isSame(as: $1) }.count,
      min(terms.count, self.terms.count) - first)
    let others = terms[first..<terms.count - last]
    limit.spend(Self.stepsPerTerm * others.count)
    let prefixes = others.map { columns.dictionary.words(beginningWith: $0.bytes) }
    let words = zip(others, prefixes).map { columns.dictionary.number(of: $0.bytes, in: $1) ?? -1 }
    let equivalents = others.map { lookedUpEquivalents(of: $0) }
    equivalentWords.replaceSubrange(first..<self.terms.count - last, with: equivalents)
    prefixWords.replaceSubrange(first..<self.terms.count - last, with: prefixes)
    exactWords.replaceSubrange(first..<self.terms.count - last, with: words)
    self.terms = terms
  }

  /// Returns the words that stand for a term: those of other letters, and those of the table.
  private func lookedUpEquivalents(of term: QueryTerm) -> ContiguousArray<Range<Int>> {
    var found = LatinLetters.shared.words(
      for: term.bytes, isBeginning: term.isIncomplete, in: index.wordsOfOtherLetters, of: columns.dictionary,
      isRestricted: isRestricted, limit)
    if term.equivalents.isEmpty { return found }
    limit.spend(Self.stepsPerEquivalent * term.equivalents.count)
    let all = 0..<columns.dictionary.count
    for word in term.equivalents {
      let number = word.withUnsafeBufferPointer {
        columns.dictionary.number(in: all, after: 0, endingWith: WordDictionary.Prefix($0))
      }
      if let number { found.append(number..<number + 1) }
    }
    return found
  }

  /// Returns the words that stand for one of the terms.
  func equivalentWords(of term: QueryTerm) -> ContiguousArray<Range<Int>> {
    terms.firstIndex { $0.isSame(as: term) }.map { equivalentWords[$0] } ?? []
  }

  /// Returns the words that are a term or stand for it; none if there is no such word.
  func wholeWords(ofTerm index: Int) -> [Range<Int>] {
    let word = exactWords[index]
    return (word < 0 ? [] : [word..<word + 1]) + equivalentWords[index]
  }

  /// Returns the words that begin with a term or stand for it.
  func words(ofTerm index: Int) -> [Range<Int>] {
    (prefixWords[index].isEmpty ? [] : [prefixWords[index]]) + equivalentWords[index]
  }

  /// Sets the terms by which places are judged.
  ///
  /// - Parameter indices: the indices of the different terms.
  mutating func setJudgedTerms(
    _ terms: ContiguousArray<QueryTerm>, at indices: ContiguousArray<Int>, _ rules: TypoRules
  ) {
    judgedTerms = JudgedTerms(
      terms, at: indices, exactWords: exactWords, prefixWords: prefixWords, equivalentWords: equivalentWords,
      wordsOfOtherLetters: index.wordsOfOtherLetters)
    judgedTerms.setRules(rules)
  }

  mutating func keepWholeTerms() { wholeTerms = judgedTerms }

  mutating func dropWholeTerms() { wholeTerms = nil }

  /// Returns a Boolean value that indicates whether each term that a place needs has a word that is it, begins with it or stands
  /// for it.
  func hasWords(of terms: ContiguousArray<QueryTerm>) -> Bool {
    terms.indices.allSatisfy { index in
      terms[index].isSmall || !prefixWords[index].isEmpty || !equivalentWords[index].isEmpty
    }
  }

  /// Notes that the next ``slots(matching:atMost:)`` is for other filters.
  mutating func resetFilters() { narrowSlots = nil }

  /// Returns the slots that match the filters, ascending; `nil` if they are not known to be few.
  mutating func slots(matching query: PointQuery, atMost limit: Int) -> [UInt32]? {
    if let narrowSlots { return narrowSlots }
    let slots = gather(query, atMost: limit)
    narrowSlots = .some(slots)
    return slots
  }

  private func gather(_ query: PointQuery, atMost capacity: Int) -> [UInt32]? {
    if let plannedSlots, plannedSlots.count <= capacity { return plannedSlots }
    if !query.categories.isEmpty {
      let numbers = query.categories.compactMap { segment.categories.number(of: $0.text) }
      let count = numbers.reduce(0) { $0 + segment.categories.count(of: $1) }
      if count <= capacity {
        guard limit.spend(Self.stepsPerGatheredSlot * count) else { return [] }
        return numbers.flatMap { Array(segment.categories.slotsByID(of: $0)) }.sorted()
      }
    }
    if let source = query.source {
      guard limit.spend(segment.stepsToIndex(source: source.name.text)) else { return [] }
      guard let index = segment.index(ofSource: source.name.text) else { return [] }
      if index.slotsByID.count <= capacity {
        return limit.spend(Self.stepsPerGatheredSlot * index.slotsByID.count) ? index.slotsByID.sorted() : []
      }
    }
    let proximity = query.proximity.flatMap { $0.radiusMetres == nil ? nil : ProximityFilter($0, after: nil) }
    let region = RegionFilter(query, limit)
    let route = query.route.map { RouteFilter($0, limit) }
    guard region != nil || proximity != nil || route != nil else { return nil }
    var search = SlotSearch(region: region, proximity: proximity, route: route, capacity: capacity, limit)
    withExtendedLifetime(segment) {
      SearchTree(part: 0, columns: positions, tombstones: nil, nodes: segment.tree).walk(&search)
    }
    if limit.isExpired { return [] }
    if search.slots.count > capacity { return nil }
    return limit.spend(Self.stepsPerGatheredSlot * search.slots.count) ? search.slots.sorted() : []
  }
}

/// A search for the slots of the places in a region, near a centre and along a route, until they are too many.
private struct SlotSearch: TreeVisitor {
  let region: RegionFilter?
  let proximity: ProximityFilter?
  let route: RouteFilter?
  let capacity: Int
  private let limit: SearchLimit
  private(set) var slots: [UInt32] = []

  /// The number of steps to compare a node or the place of a leaf with the conditions.
  private static let stepsPerComparison = 4

  init(
    region: RegionFilter?, proximity: ProximityFilter?, route: RouteFilter?, capacity: Int, _ limit: SearchLimit
  ) {
    self.region = region
    self.route = route
    self.proximity = proximity
    self.capacity = capacity
    self.limit = limit
  }

  @inline(__always)
  mutating func key(ofNode node: Int, places: Range<Int>, in tree: SearchTree) -> Double? {
    guard slots.count <= capacity, limit.spend(Self.stepsPerComparison) else { return nil }
    if let region, !region.meets(tree.nodes.geographic[node]) { return nil }
    if let route, !route.meets(tree.nodes.space[node], pieces: 0..<route.line.pieceCount) { return nil }
    if let proximity,
      tree.nodes.space[node].leastChordSquared(to: proximity.position) > proximity.outerChordSquared
    {
      return nil
    }
    return 0
  }

  @inline(__always)
  func wants(_ key: Double) -> Bool { slots.count <= capacity }

  @inline(__always)
  mutating func visit(places: Range<Int>, in tree: SearchTree) {
    guard limit.spend(Self.stepsPerComparison * places.count) else { return }
    for place in places where region?.contains(place, tree.columns) ?? true {
      slots.append(UInt32(truncatingIfNeeded: place))
    }
  }
}
