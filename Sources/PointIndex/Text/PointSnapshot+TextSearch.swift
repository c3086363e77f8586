import Geo
public import Points

extension PointSnapshot {
  /// Returns one page of the places that match a text and the conditions of the query.
  ///
  /// - Throws: ``Points/PointStoreError/filterTimeout`` where the time limit of a property filter, an area or a route is exceeded.
  public func page(matching query: TextQuery) throws(PointStoreError) -> TextPage {
    guard let timeLimit = query.filters.timeLimit else { return matches(of: query) }
    guard let narrowed = query.filters.narrowedByFilter else { return TextPage(matches: [], next: nil) }
    let plan = IndexPlan(narrowed, in: self)
    let limit = SearchLimit(timeLimit)
    let slotFilter = query.filters.filter.map { SlotFilter($0, in: self, limit) }
    var query = query
    query.filters = narrowed
    query.filters.filter = nil
    let page = matches(of: query, slotFilter, plan, limit)
    if limit.isExpired { throw .filterTimeout }
    return page
  }

  /// Returns one page of the places that match a text. The query has no property filter, area or route.
  ///
  /// The work is bounded by ``TextSearch/maximumPostings`` postings and ``WordExpansion/maximumSteps`` steps for each of
  /// the words that are searched with typos, whatever the text is.
  public func matches(of query: TextQuery) -> TextPage { matches(of: query, nil, nil, nil) }

  private func matches(
    of query: TextQuery, _ propertyFilter: SlotFilter?, _ plan: IndexPlan?, _ limit: SearchLimit?
  ) -> TextPage {
    let search = TextSearch(query, in: self, propertyFilter, plan, limit)
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
