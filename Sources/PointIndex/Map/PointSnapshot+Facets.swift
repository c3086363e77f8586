import JSONText
public import Points

extension PointSnapshot {
  /// Returns the counts of the most frequent values of facets. O(n) for n places in the box of the query.
  ///
  /// - Throws: ``Points/PointStoreError/filterTimeout`` where the time limit is exceeded.
  public func facets(matching query: FacetQuery) throws(PointStoreError) -> Facets {
    let limit = SearchLimit(query.timeLimit)
    let filter = try mapFilter(query.filters, query.text, limit)
    var count = 0
    var counters = query.facets.map { FacetCounter($0, parts: parts.count) }
    try forEachPlace(matching: filter, limit) { part, slot in
      count += 1
      for index in counters.indices { counters[index].count(slot, of: parts[part].segment, part: part) }
      return limit.spend(SearchLimit.stepsPerEvaluation)
    }
    return Facets(count: count, counts: counters.map { $0.counts(of: count, in: self, limit: query.limit) })
  }
}

/// The frequencies of the values of one facet.
private struct FacetCounter {
  private let jsonKey: [UInt8]?
  private var texts: [ExactText: Int] = [:]

  /// The numbers of places by the number of their category in each part.
  private var categories: [[Int]]

  init(_ facet: FacetQuery.Facet, parts: Int) {
    categories = Array(repeating: [], count: parts)
    jsonKey = if case .tag(let key) = facet { JSONString.bytes(of: key.text) } else { nil }
  }

  mutating func count(_ slot: Int, of segment: Segment, part: Int) {
    guard let jsonKey else {
      let category = segment.records.category(at: slot)
      guard category != PointRecord.none else { return }
      if categories[part].isEmpty { categories[part] = Array(repeating: 0, count: segment.categories.names.count) }
      categories[part][Int(category)] += 1
      return
    }
    guard let text = PointRecords.text(ofTag: jsonKey, in: segment.records.tags(at: slot)) else { return }
    texts[ExactText(text), default: 0] += 1
  }

  func counts(of total: Int, in snapshot: PointSnapshot, limit: Int) -> Facets.Counts {
    var sums = texts
    for (part, counts) in categories.enumerated() {
      let names = snapshot.parts[part].segment.categories.names
      for (name, count) in zip(names, counts) where count > 0 { sums[ExactText(name), default: 0] += count }
    }
    let sorted = sums.sorted { left, right in
      left.value != right.value
        ? left.value > right.value : left.key.text.utf8.lexicographicallyPrecedes(right.key.text.utf8)
    }
    return Facets.Counts(
      values: sorted.prefix(limit).map { Facets.Value(text: $0.key.text, count: $0.value) },
      missing: total - sums.reduce(0) { $0 + $1.value })
  }
}
