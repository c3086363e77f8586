import Geo
public import Points
import Synchronization

extension PointSnapshot {
  /// Returns one page of the places that match a text and the conditions of the query.
  ///
  /// - Throws: ``Points/PointStoreError/filterTimeout`` where the time limit of the query, or of a property filter, an
  ///   area or a route is exceeded, and ``Points/PointStoreError/stepLimit`` where the step limit is.
  public func page(matching query: TextQuery) throws(PointStoreError) -> TextPage {
    let limit = SearchLimit(
      query.timeLimit, maximumSteps: query.stepLimit)
    var found = try search(for: query, limit) { page(of: $0, of: $1) } ?? TextPage(matches: [], next: nil)
    found.expiry = expiry(of: query.filters)
    return found
  }

  /// Returns one page of the places that match a text. The query has no property filter, area or route, and its limits
  /// of time and steps have no effect.
  public func matches(of query: TextQuery) -> TextPage {
    page(of: TextSearch(query, in: self), of: query)
  }

  /// Returns the number of steps of the search for a page, each a few nanoseconds, for measurements.
  package func steps(of query: TextQuery) -> Int {
    let limit = SearchLimit(nil)
    _ = page(of: TextSearch(query, in: self, nil, nil, limit), of: query)
    return limit.steps
  }

  /// Returns the places of all pages of a query, and those that are on no page because too many have the words: O(n)
  /// for n places that have a word. The places of the last few queries are kept.
  ///
  /// - Throws: ``Points/PointStoreError/filterTimeout``.
  func textMatches(of query: TextQuery, _ limit: SearchLimit) throws(PointStoreError) -> TextMatches {
    if let known = textMatchesCache.withLock({ $0[query] }) { return known }
    // Not under the lock: others would wait for it longer than their own time limits.
    let found = try search(for: query, limit) { search, _ in search.allMatches() }
    let matches = found ?? TextMatches(slots: parts.map { _ in [] })
    textMatchesCache.withLock { $0.insert(matches, for: query) }
    return matches
  }

  /// Returns the result of a search, whose query has no property filter; `nil` where nothing can match.
  ///
  /// - Throws: ``Points/PointStoreError/filterTimeout`` or ``Points/PointStoreError/stepLimit``.
  private func search<Result>(
    for query: TextQuery, _ limit: SearchLimit, _ body: (TextSearch, TextQuery) -> Result
  ) throws(PointStoreError) -> Result? {
    limit.check()
    if limit.isExpired { throw limit.error }
    guard let narrowed = query.filters.narrowedByFilter else { return nil }
    if query.stepLimit != nil, Self.isLong(stepsToIndex: stepsToIndex(openingOf: query.filters)) { throw .stepLimit }
    let plan = IndexPlan(narrowed, in: self)
    let slotFilter = SlotFilter(query.filters, in: self, limit)
    var query = query
    query.filters = narrowed
    query.filters.filter = nil
    query.filters.opening = nil
    let result = body(TextSearch(query, in: self, slotFilter, plan, limit), query)
    if limit.isExpired { throw limit.error }
    return result
  }

  private func page(of search: TextSearch, of query: TextQuery) -> TextPage {
    let found = search.run()
    let count = PointPage.fittingCount(of: min(found.count, query.limit)) { index in
      placeColumns[Int(found[index].part)].records.textBytes(at: Int(found[index].slot))
    }
    var names =
      query.includesMatchedNames
      ? MatchedName(search.terms + search.variantTerms, search.scoring, textConfiguration, search.limit) : nil
    let center = query.center.map { ($0, EarthCentred($0)) }
    let matches = found.prefix(count).map { candidate in
      let (segment, slot) = (parts[Int(candidate.part)].segment, Int(candidate.slot))
      let point = segment.point(at: slot)
      return TextMatch(
        point: point,
        distanceMetres: center.map { center, position in
          Geodesic.distanceMetres(
            from: center, at: position, to: point.draft.coordinate, at: segment.columns.positions[slot])
        },
        score: candidate.score, tier: candidate.tier, name: names?.name(of: point))
    }
    let isRelevance = search.query.order == .relevance || search.query.center == nil
    let next = found.count > count ? found.prefix(count).last : nil
    return TextPage(
      matches: matches,
      next: next.map {
        .init(value: isRelevance ? $0.score : -$0.value, id: $0.id, stage: search.stage)
      })
  }
}

/// All places of a snapshot that match a text.
struct TextMatches: Sendable {
  /// The slots in ascending order, by part.
  let slots: [[UInt32]]

  fileprivate var count: Int { slots.reduce(0) { $0 + $1.count } }
}

/// The matches of the last few texts in a snapshot.
struct TextMatchesCache: Sendable {
  private var entries: [(query: TextQuery, matches: TextMatches)] = []

  /// The maximum numbers of queries, and of places of all of them.
  private static let maximumCount = 8
  private static let maximumPlaces = 2_000_000

  subscript(query: TextQuery) -> TextMatches? { entries.first { $0.query == query }?.matches }

  /// Adds matches, and removes the oldest where there are too many.
  mutating func insert(_ matches: TextMatches, for query: TextQuery) {
    entries.removeAll { $0.query == query }
    entries.append((query, matches))
    while entries.count > Self.maximumCount
      || entries.count > 1 && entries.reduce(0, { $0 + $1.matches.count }) > Self.maximumPlaces
    {
      entries.removeFirst()
    }
  }
}

/// A candidate of a search for a text.
struct TextCandidate {
  /// The value of the order, greater is better: the score, or the distance with the opposite sign.
  var value: Double
  let id: PointID
  let score: Double
  let part: UInt32
  let slot: UInt32
  let tier: TextMatch.Tier

  /// Returns a Boolean value that indicates whether the left candidate comes first.
  @inline(__always)
  static func < (left: TextCandidate, right: TextCandidate) -> Bool {
    left.value != right.value ? left.value > right.value : left.id < right.id
  }
}

/// The first candidates of those that were offered: a binary heap with the last of them on top.
struct TopMatches {
  private let capacity: Int
  private var items: ContiguousArray<TextCandidate> = []

  init(capacity: Int) {
    self.capacity = capacity
    items.reserveCapacity(min(capacity, 64))
  }

  /// A Boolean value that indicates whether a candidate only enters in place of another.
  @inline(__always)
  var isFull: Bool { items.count == capacity }

  /// The last candidate; there must be one.
  @inline(__always)
  var last: TextCandidate { items[0] }

  /// Adds a candidate where it is among the first.
  mutating func offer(_ candidate: TextCandidate) {
    if items.count < capacity {
      items.append(candidate)
      var index = items.count - 1
      while index > 0, items[(index - 1) / 2] < items[index] {
        items.swapAt(index, (index - 1) / 2)
        index = (index - 1) / 2
      }
    } else if candidate < items[0] {
      items[0] = candidate
      sink()
    }
  }

  private mutating func sink() {
    var index = 0
    while true {
      var last = index
      for child in [2 * index + 1, 2 * index + 2] where child < items.count && items[last] < items[child] {
        last = child
      }
      if last == index { return }
      items.swapAt(index, last)
      index = last
    }
  }

  /// Returns the candidates in order.
  func sorted() -> ContiguousArray<TextCandidate> { ContiguousArray(items.sorted { $0 < $1 }) }
}
