import CQL2
import Basics
import JSONText
public import Points

extension PointSnapshot {
  /// Returns the counts of the most frequent values of facets. O(n) for n places in the box of the query.
  ///
  /// - Throws: ``Points/PointStoreError/filterTimeout`` where the time limit is exceeded.
  public func facets(matching query: FacetQuery) throws(PointStoreError) -> Facets {
    try facets(matching: query, SearchLimit(query.timeLimit))
  }

  /// Returns the same counts within a limit.
  func facets(matching query: FacetQuery, _ limit: SearchLimit) throws(PointStoreError) -> Facets {
    let filter = try mapFilter(query.filters, query.text, limit)
    var count = 0
    var counters = query.facets.map { FacetCounter($0, parts: parts.count) }
    try forEachPlace(matching: filter, limit) { part, slot in
      count += 1
      for index in counters.indices { counters[index].count(slot, of: parts[part].segment, part: part) }
      return limit.spend(SearchLimit.stepsPerEvaluation)
    }
    var counts: [Facets.Counts] = []
    for counter in counters {
      guard let values = counter.counts(of: count, in: self, limit: query.limit, limit) else { throw limit.error }
      counts.append(values)
    }
    return Facets(count: count, counts: counts)
  }
}

/// The frequencies of the values of one facet.
private struct FacetCounter {
  private let jsonKey: [UInt8]?

  /// A Boolean value that indicates whether the elements of lists are counted.
  private let countsElements: Bool

  private var texts: [ExactText: Int] = [:]

  /// The number of places that have a value.
  private var placesWithValue = 0

  /// The numbers of places by the number of their category in each part.
  private var categories: [[Int]]

  init(_ facet: FacetQuery.Facet, parts: Int) {
    categories = Array(repeating: [], count: parts)
    switch facet {
    case .category: (jsonKey, countsElements) = (nil, false)
    case .tag(let key): (jsonKey, countsElements) = (JSONString.bytes(of: key.text), false)
    case .elements(let key): (jsonKey, countsElements) = (JSONString.bytes(of: key.text), true)
    }
  }

  mutating func count(_ slot: Int, of segment: Segment, part: Int) {
    guard let jsonKey else {
      let category = segment.records.category(at: slot)
      guard category != PointRecord.none else { return }
      placesWithValue += 1
      if categories[part].isEmpty { categories[part] = Array(repeating: 0, count: segment.categories.names.count) }
      categories[part][Int(category)] += 1
      return
    }
    guard let text = PointRecords.text(ofTag: jsonKey, in: segment.records.tags(at: slot)) else { return }
    guard countsElements else {
      placesWithValue += 1
      texts[ExactText(text), default: 0] += 1
      return
    }
    guard case .array(let elements)? = FilterValue(text, as: .stringArray) else { return }
    // A place counts once for an element that its list has twice.
    let different = Set(
      elements.compactMap { element -> ExactText? in
        guard case .string(let text) = element, !text.text.isEmpty else { return nil }
        return text
      })
    if !different.isEmpty { placesWithValue += 1 }
    for text in different { texts[text, default: 0] += 1 }
  }

  /// The number of steps to add up, or to compare, the counts of a value.
  private static let stepsPerValue = 64

  /// Returns the most frequent values; `nil` where the search has expired.
  func counts(of total: Int, in snapshot: PointSnapshot, limit: Int, _ search: SearchLimit) -> Facets.Counts? {
    var sums = texts
    for (part, counts) in categories.enumerated() {
      let names = snapshot.parts[part].segment.categories.names
      for (name, count) in zip(names, counts) where count > 0 {
        guard search.spend(Self.stepsPerValue) else { return nil }
        sums[ExactText(name), default: 0] += count
      }
    }
    // Sorted whenever there are twice as many as are wanted, so that few of many values are sorted.
    var values: [Facets.Value] = []
    var last: Facets.Value?
    for (text, count) in sums {
      guard search.spend(Self.stepsPerValue) else { return nil }
      let value = Facets.Value(text: text.text, count: count)
      if let last, !Self.isBefore(value, last) { continue }
      values.append(value)
      if values.count == 2 * limit {
        values.sort(by: Self.isBefore)
        values.removeLast(limit)
        last = values.last
      }
    }
    values.sort(by: Self.isBefore)
    return Facets.Counts(values: Array(values.prefix(limit)), missing: total - placesWithValue)
  }

  /// Returns a Boolean value that indicates whether a value is more frequent than another, or as frequent and before it
  /// in the order of UTF-8.
  private static func isBefore(_ left: Facets.Value, _ right: Facets.Value) -> Bool {
    left.count != right.count ? left.count > right.count : left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
  }
}
