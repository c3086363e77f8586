import CQL2
import Basics
import JSONText
public import Points
import SearchWords

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
    var counters = query.facets.map { FacetCounter($0, areas: query.areas, parts: parts.count) }
    try forEachPlace(matching: filter, limit) { part, slot in
      count += 1
      for index in counters.indices { counters[index].count(slot, of: parts[part].segment, part: part, limit) }
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
///
/// A text is counted by its hash and found again in a place that has it: texts that differ in each place, such as
/// descriptions, would take as much memory as all places.
private struct FacetCounter {
  /// A hash of 128 bits, of which no two texts have the same. It is seeded, so that no client can find such texts.
  private struct TextHash: Hashable {
    let first: Int
    let second: Int

    init(_ text: String) {
      var hasher = Hasher()
      text.hashBytes(into: &hasher)
      first = hasher.finalize()
      hasher = Hasher()
      hasher.combine(1 as UInt8)
      text.hashBytes(into: &hasher)
      second = hasher.finalize()
    }

    func hash(into hasher: inout Hasher) { hasher.combine(first) }
  }

  /// The number of places that have a text, and one of them.
  private struct Tally {
    var count: UInt32
    let part: UInt32
    let slot: UInt32
  }

  private let jsonKey: [UInt8]?

  /// A Boolean value that indicates whether the elements of lists are counted.
  private let countsElements: Bool

  private var texts: [TextHash: Tally] = [:]

  /// The kind of the areas that places are counted by; `nil` for another facet.
  private let areaKind: AreaKind?
  private let areas: Areas

  /// The numbers of places by the indexes of their areas.
  private var areaCounts: [Int: Int] = [:]

  /// The number of places that have a value.
  private var placesWithValue = 0

  /// The numbers of places by the number of their category in each part.
  private var categories: [[Int]]

  /// A Boolean value that indicates whether the categories are counted by their groups.
  private let countsGroups: Bool

  init(_ facet: FacetQuery.Facet, areas: Areas, parts: Int) {
    self.areas = areas
    areaKind = if case .area(let kind) = facet { kind } else { nil }
    categories = Array(repeating: [], count: parts)
    countsGroups = facet == .group
    switch facet {
    case .category, .group, .area: (jsonKey, countsElements) = (nil, false)
    case .tag(let key): (jsonKey, countsElements) = (JSONString.bytes(of: key.text), false)
    case .elements(let key): (jsonKey, countsElements) = (JSONString.bytes(of: key.text), true)
    }
  }

  /// Counts a place; the steps to find its areas are added to those of the limit.
  mutating func count(_ slot: Int, of segment: Segment, part: Int, _ limit: SearchLimit) {
    if let areaKind {
      var steps = AreaSteps(atMost: .max)
      let coordinate = segment.columns.coordinates[slot]
      let found = (try? areas.indexes(containing: coordinate, kind: areaKind, within: &steps)) ?? []
      limit.spend(steps.count)
      for index in found { areaCounts[index, default: 0] += 1 }
      if !found.isEmpty { placesWithValue += 1 }
      return
    }
    guard let jsonKey else {
      let category = segment.records.category(at: slot)
      guard category != PointRecord.none else { return }
      placesWithValue += 1
      if categories[part].isEmpty { categories[part] = Array(repeating: 0, count: segment.categories.names.count) }
      categories[part][Int(category)] += 1
      return
    }
    var hasValue = false
    Self.forEachText(ofTag: jsonKey, isList: countsElements, at: slot, of: segment) { text in
      hasValue = true
      texts[TextHash(text), default: Tally(count: 0, part: UInt32(part), slot: UInt32(slot))].count += 1
    }
    if hasValue { placesWithValue += 1 }
  }

  /// Calls a closure with the text of a tag, or with the different elements of its list.
  private static func forEachText(
    ofTag jsonKey: [UInt8], isList: Bool, at slot: Int, of segment: Segment, _ body: (String) -> Void
  ) {
    guard let text = segment.records.withTags(at: slot, { PointRecords.text(ofTag: jsonKey, in: $0) }) else { return }
    guard isList else { return body(text) }
    guard case .array(let elements)? = FilterValue(text, as: .stringArray) else { return }
    // A place counts once for an element that its list has twice.
    let different = Set(
      elements.compactMap { element -> ExactText? in
        guard case .string(let text) = element, !text.text.isEmpty else { return nil }
        return text
      })
    for element in different { body(element.text) }
  }

  /// Returns the text of a hash, from a place that has it.
  private func text(of hash: TextHash, _ tally: Tally, in snapshot: PointSnapshot) -> String? {
    guard let jsonKey else { return nil }
    var found: String?
    Self.forEachText(
      ofTag: jsonKey, isList: countsElements, at: Int(tally.slot), of: snapshot.parts[Int(tally.part)].segment
    ) { text in
      if found == nil, TextHash(text) == hash { found = text }
    }
    return found
  }

  /// The number of steps to add up, or to compare, the counts of a value.
  private static let stepsPerValue = 64

  /// Returns the most frequent values; `nil` where the search has expired.
  func counts(of total: Int, in snapshot: PointSnapshot, limit: Int, _ search: SearchLimit) -> Facets.Counts? {
    var best = MostFrequent(limit: limit)
    var sums: [ExactText: Int] = [:]
    for (part, counts) in categories.enumerated() {
      let names = snapshot.parts[part].segment.categories.names
      for (name, count) in zip(names, counts) where count > 0 {
        guard search.spend(Self.stepsPerValue) else { return nil }
        sums[ExactText(name), default: 0] += count
      }
    }
    var missing = total - placesWithValue
    if countsGroups {
      let tree = snapshot.textConfiguration.categories
      var groups: [ExactText: Int] = [:]
      for (name, count) in sums {
        if let number = tree.number(ofNameInData: name) {
          groups[tree.categories[tree.group(of: number)].name, default: 0] += count
        } else {
          missing += count
        }
      }
      sums = groups
    }
    for (text, count) in sums {
      guard search.spend(Self.stepsPerValue) else { return nil }
      best.add(.init(text: text.text, count: count))
    }
    for (index, count) in areaCounts {
      guard search.spend(Self.stepsPerValue) else { return nil }
      best.add(.init(text: areas.all[index].id.description, count: count))
    }
    for (hash, tally) in texts {
      guard search.spend(Self.stepsPerValue) else { return nil }
      guard best.mayContain(count: Int(tally.count)) else { continue }
      guard search.spend(SearchLimit.stepsPerEvaluation) else { return nil }
      if let text = text(of: hash, tally, in: snapshot) { best.add(.init(text: text, count: Int(tally.count))) }
    }
    return Facets.Counts(values: best.inOrder(), missing: missing)
  }
}

/// The most frequent of some values, of which few are kept.
private struct MostFrequent {
  private let limit: Int
  private var values: [Facets.Value] = []

  /// The last of the values that were kept when they were sorted.
  private var last: Facets.Value?

  init(limit: Int) {
    self.limit = limit
  }

  /// Returns a Boolean value that indicates whether a value of that frequency may be among them.
  func mayContain(count: Int) -> Bool { last.map { count >= $0.count } ?? true }

  /// Adds a value. The values are sorted whenever there are twice as many as are wanted.
  mutating func add(_ value: Facets.Value) {
    if let last, !Self.isBefore(value, last) { return }
    values.append(value)
    guard values.count == 2 * limit else { return }
    values.sort(by: Self.isBefore)
    values.removeLast(limit)
    last = values.last
  }

  /// Returns the most frequent values in order.
  func inOrder() -> [Facets.Value] { Array(values.sorted(by: Self.isBefore).prefix(limit)) }

  /// Returns a Boolean value that indicates whether a value is more frequent than another, or as frequent and before it
  /// in the order of UTF-8.
  private static func isBefore(_ left: Facets.Value, _ right: Facets.Value) -> Bool {
    left.count != right.count ? left.count > right.count : left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
  }
}
