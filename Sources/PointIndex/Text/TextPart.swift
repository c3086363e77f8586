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

  /// The slots that may match the property filter, where an index has them.
  private let plannedSlots: [UInt32]?

  /// The slots that match the filters, where they are few: computed when first needed.
  private var narrowSlots: [UInt32]??

  init(
    _ part: PointSnapshot.Part, number: Int, terms: ContiguousArray<QueryTerm>, plannedSlots: [UInt32]? = nil
  ) {
    self.plannedSlots = plannedSlots
    self.number = UInt32(number)
    segment = part.segment
    tombstones = part.tombstones
    index = part.segment.textIndex
    columns = index.columns
    positions = part.segment.columns
    setTerms(terms)
  }

  /// Looks up the terms.
  mutating func setTerms(_ terms: ContiguousArray<QueryTerm>) {
    prefixWords = ContiguousArray(terms.map { columns.dictionary.words(beginningWith: $0.bytes) })
    exactWords = ContiguousArray(
      zip(terms, prefixWords).map { term, words in
        // The shortest of the words that begin with the term is the first.
        guard !words.isEmpty, columns.dictionary.word(words.lowerBound).count == term.bytes.count else { return -1 }
        return words.lowerBound
      })
  }

  /// Returns the slots that match the filters, ascending; `nil` where they are not known to be few.
  mutating func slots(matching query: PointQuery, atMost limit: Int) -> [UInt32]? {
    if let narrowSlots { return narrowSlots }
    let slots = gather(query, atMost: limit)
    narrowSlots = .some(slots)
    return slots
  }

  private func gather(_ query: PointQuery, atMost limit: Int) -> [UInt32]? {
    if let plannedSlots, plannedSlots.count <= limit { return plannedSlots }
    if !query.categories.isEmpty {
      let numbers = query.categories.compactMap { segment.categories.number(of: $0.text) }
      if numbers.reduce(0, { $0 + segment.categories.count(of: $1) }) <= limit {
        return numbers.flatMap { Array(segment.categories.slotsByID(of: $0)) }.sorted()
      }
    }
    if let source = query.source {
      guard let index = segment.index(ofSource: source.name.text) else { return [] }
      if index.slotsByID.count <= limit { return index.slotsByID.sorted() }
    }
    let proximity = query.proximity.flatMap { $0.radiusMetres == nil ? nil : ProximityFilter($0, after: nil) }
    let region = RegionFilter(query)
    let route = query.route.map { RouteFilter($0) }
    guard region != nil || proximity != nil || route != nil else { return nil }
    var search = SlotSearch(region: region, proximity: proximity, route: route, capacity: limit)
    withExtendedLifetime(segment) {
      SearchTree(part: 0, columns: positions, tombstones: nil, nodes: segment.tree).walk(&search)
    }
    return search.slots.count > limit ? nil : search.slots.sorted()
  }
}

/// A search for the slots of the places in a region, near a centre and along a route, until they are too many.
private struct SlotSearch: TreeVisitor {
  let region: RegionFilter?
  let proximity: ProximityFilter?
  let route: RouteFilter?
  let capacity: Int
  private(set) var slots: [UInt32] = []

  init(region: RegionFilter?, proximity: ProximityFilter?, route: RouteFilter?, capacity: Int) {
    self.region = region
    self.route = route
    self.proximity = proximity
    self.capacity = capacity
  }

  @inline(__always)
  mutating func key(ofNode node: Int, places: Range<Int>, in tree: SearchTree) -> Double? {
    guard slots.count <= capacity else { return nil }
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
    for place in places where region?.contains(place, tree.columns) ?? true {
      slots.append(UInt32(truncatingIfNeeded: place))
    }
  }
}
