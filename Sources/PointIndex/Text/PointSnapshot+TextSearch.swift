import Geo
public import Points
import Synchronization

extension PointSnapshot {
  /// Returns one page of the places that match a text and the conditions of the query.
  ///
  /// - Throws: ``Points/PointStoreError/filterTimeout`` where the time limit of a property filter, an area or a route is exceeded.
  public func page(matching query: TextQuery) throws(PointStoreError) -> TextPage {
    let limit = SearchLimit(query.filters.timeLimit)
    return try search(for: query, limit) { page(of: $0, of: $1) } ?? TextPage(matches: [], next: nil)
  }

  /// Returns one page of the places that match a text. The query has no property filter, area or route.
  ///
  /// The work is bounded by ``TextSearch/maximumPostings`` postings and ``WordExpansion/maximumSteps`` steps for each of
  /// the words that are searched with typos, whatever the text is.
  public func matches(of query: TextQuery) -> TextPage { page(of: TextSearch(query, in: self), of: query) }

  /// Returns the places of all pages of a query, and those that are on no page because too many have the words: O(n) for
  /// n places that have a word. The places of the last few queries are kept.
  ///
  /// - Throws: ``Points/PointStoreError/filterTimeout``.
  func textMatches(of query: TextQuery, _ limit: SearchLimit) throws(PointStoreError) -> TextMatches {
    // Under the lock: the tiles of a view are requested at the same time, and one of them searches.
    let result: Result<TextMatches, PointStoreError> = textMatchesCache.withLock { cache in
      if let known = cache[query] { return .success(known) }
      do throws(PointStoreError) {
        let found = try search(for: query, limit) { search, _ in search.allMatches() }
        let matches = found ?? TextMatches(slots: parts.map { _ in [] })
        cache.insert(matches, for: query)
        return .success(matches)
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  /// Returns the result of a search, whose query has no property filter; `nil` where nothing can match.
  ///
  /// - Throws: ``Points/PointStoreError/filterTimeout``.
  private func search<Result>(
    for query: TextQuery, _ limit: SearchLimit, _ body: (TextSearch, TextQuery) -> Result
  ) throws(PointStoreError) -> Result? {
    guard let narrowed = query.filters.narrowedByFilter else { return nil }
    let plan = IndexPlan(narrowed, in: self)
    let slotFilter = query.filters.filter.map { SlotFilter($0, in: self, limit) }
    var query = query
    query.filters = narrowed
    query.filters.filter = nil
    let result = body(TextSearch(query, in: self, slotFilter, plan, limit), query)
    if limit.isExpired { throw .filterTimeout }
    return result
  }

  private func page(of search: TextSearch, of query: TextQuery) -> TextPage {
    let found = search.run()
    let count = PointPage.fittingCount(of: min(found.count, query.limit)) { index in
      summaryColumns[Int(found[index].part)].textBytes(at: Int(found[index].slot))
    }
    var names = query.includesMatchedNames ? MatchedName(search.terms, textConfiguration) : nil
    let matches = found.prefix(count).map { candidate in
      let point = parts[Int(candidate.part)].segment.point(at: Int(candidate.slot))
      return TextMatch(
        point: point,
        distanceMetres: query.center.map { Geodesic.distanceMetres(from: $0, to: point.draft.coordinate) },
        score: candidate.score, tier: candidate.tier, name: names?.name(of: point))
    }
    let isRelevance = query.order == .relevance || query.center == nil
    let next = found.count > count ? found.prefix(count).last : nil
    return TextPage(
      matches: matches, next: next.map { .init(value: isRelevance ? $0.score : -$0.value, id: $0.id) })
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
