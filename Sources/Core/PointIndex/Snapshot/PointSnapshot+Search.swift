import Basics
import Geo
import JSONText
public import Points

extension PointSnapshot {
  /// Returns one page of the matching places, whose texts are not copied.
  ///
  /// O(log n) and the length of the page, wherever in the result it is. The exceptions are conditions that no index
  /// narrows down: many places at one distance from the centre, or a box with few of many places at its edge; and a
  /// property filter that few places match.
  ///
  /// - Throws: ``Points/PointStoreError/filterTimeout`` where the search took longer than the time limit of a property
  ///   filter, an area or a route.
  public func page(matching query: PointQuery) throws(PointStoreError) -> PointPage {
    let found = try filteredCandidates(for: query)
    let count = fittingCount(of: found, limit: query.limit)
    let places = SnapshotPoints(snapshot: self, candidates: found, count: count, distances: DistanceColumns(query))
    let next = found.count > count ? found[count - 1] : nil
    return PointPage(
      places, next: next.map { .init(distanceMetres: $0.distance, id: $0.id) }, expiry: expiry(of: query))
  }

  /// Returns the number of candidates that fit into a page.
  private func fittingCount(of candidates: [Candidate], limit: Int) -> Int {
    placeColumns.withUnsafeBufferPointer { columns in
      PointPage.fittingCount(of: min(candidates.count, limit)) { index in
        columns[Int(candidates[index].part)].records.textBytes(at: Int(candidates[index].slot))
      }
    }
  }

  /// Returns the ids of the first matching places, up to the limit of the query, and whether there are more. The
  /// query has no property filter.
  public func ids(matching query: PointQuery) -> (ids: [PointID], hasMore: Bool) {
    let found = candidates(for: query, SlotFilter(query, in: self, SearchLimit(nil)))
    let ids = found.prefix(query.limit).map { parts[Int($0.part)].segment.columns.ids[Int($0.slot)] }
    return (ids, found.count > query.limit)
  }

  /// Returns the first matching places, in order, and one more than the limit where there is one.
  private func filteredCandidates(for query: PointQuery) throws(PointStoreError) -> [Candidate] {
    if !query.ids.isEmpty { return try namedCandidates(for: query) }
    guard query.needsIndex else {
      if query.needsBuiltIndexes, stepsToIndex(sourceOf: query) > Self.stepsToIndexAtOnce { throw .stepLimit }
      guard !query.excludedCategories.isEmpty else { return candidates(for: query) }
      let limit = SearchLimit(nil, maximumSteps: query.needsBuiltIndexes ? Self.stepsOfConditions : nil)
      let found = candidates(for: query, SlotFilter(query, in: self, limit), limit)
      if limit.isExpired { throw limit.error }
      return found
    }
    guard let narrowed = query.narrowedByFilter else { return [] }
    let plan = IndexPlan(narrowed, in: self)
    // Beside the event loop, opening hours are examined without a limit of steps.
    let isBounded = query.needsBuiltIndexes && !query.hasLongCondition
    if isBounded, stepsToIndex(sourceOf: query) + stepsToIndex(openingOf: query) > Self.stepsToIndexAtOnce {
      throw .stepLimit
    }
    let limit = SearchLimit(query.timeLimit, maximumSteps: isBounded ? Self.stepsOfConditions : nil)
    let slotFilter = SlotFilter(query, in: self, limit)
    let found =
      plan.map { candidates(of: $0, for: narrowed, slotFilter, limit) } ?? candidates(for: narrowed, slotFilter, limit)
    if limit.isExpired { throw limit.error }
    return found
  }

  /// Returns the first matching places of the ids of a query, in their order, and one more than the limit where there is
  /// one.
  private func namedCandidates(for query: PointQuery) throws(PointStoreError) -> [Candidate] {
    let limit = SearchLimit(query)
    let filter = QueryFilter(query, limit)
    let ids = query.after.map { after in query.ids.drop { $0 != after.id }.dropFirst() } ?? query.ids[...]
    var found: [Candidate] = []
    for id in ids where found.count <= query.limit {
      guard let location = location(of: id),
        filter.matches(Int(location.slot), of: parts[Int(location.part)].segment)
      else { continue }
      found.append(Candidate(distance: 0, id: id, part: location.part, slot: location.slot))
    }
    if limit.isExpired { throw limit.error }
    return found
  }

  /// The number of steps of examining opening hours, or excluded categories, within a search that ends with a limit of
  /// them, about a millisecond.
  private static let stepsOfConditions = 400_000

  /// The number of steps of indexing the places of a source within a search that needs a built index, about 0.1 ms.
  private static let stepsToIndexAtOnce = 40_000

  private func stepsToIndex(sourceOf query: PointQuery) -> Int {
    guard let source = query.source, source.sourceID == nil else { return 0 }
    return parts.reduce(0) { $0 + $1.segment.stepsToIndex(source: source.name.text) }
  }

  /// Returns the number of steps to index the opening hours, if the query reads them and they are not indexed yet.
  func stepsToIndex(openingOf query: PointQuery) -> Int {
    query.opening == nil ? 0 : parts.reduce(0) { $0 + $1.segment.stepsToIndexHours }
  }

  /// A Boolean value that indicates whether so many steps of indexing are too many for an event loop.
  static func isLong(stepsToIndex steps: Int) -> Bool { steps > stepsToIndexAtOnce }

  /// Returns the first matches among the places of a plan.
  private func candidates(
    of plan: IndexPlan, for query: PointQuery, _ slotFilter: SlotFilter?, _ limit: SearchLimit
  ) -> [Candidate] {
    var conditions = query
    conditions.filter = nil
    conditions.opening = nil
    let filter = QueryFilter(conditions, limit)
    let center = query.proximity.map { ($0.center, EarthCentred($0.center)) }
    let route = query.route.map { RouteFilter($0, limit) }
    var heap = CandidateHeap(capacity: query.limit + 1)
    for (index, part) in parts.enumerated() {
      let (segment, columns) = (part.segment, part.segment.columns)
      for slot in plan.slots[index] {
        let (number, slot) = (slot, Int(slot))
        if part.isDead(slot) { continue }
        guard filter.matches(slot, of: segment), slotFilter?.matches(slot, ofPart: index) ?? true else { continue }
        var distance = 0.0
        if let center {
          distance = Geodesic.distanceMetres(
            from: center.0, at: center.1, to: columns.coordinates[slot],
            at: columns.positions[slot])
        } else if let route {
          guard let nearest = route.nearest(to: slot, columns) else { continue }
          distance = nearest.alongMetres
        }
        let id = columns.ids[slot]
        if let after = query.after {
          guard (center == nil && route == nil ? 0 : after.distanceMetres, after.id) < (distance, id) else { continue }
        }
        heap.offer(Candidate(distance: distance, id: id, part: UInt32(index), slot: number))
      }
    }
    return heap.removeAllSorted()
  }

  /// Returns the same places without a time limit, or up to the one that is given.
  private func candidates(
    for query: PointQuery, _ slotFilter: SlotFilter? = nil, _ limit: SearchLimit? = nil
  ) -> [Candidate] {
    if let source = query.source, let sourceID = source.sourceID {
      return candidate(of: SourceReference(source: source.name.text, sourceID: sourceID.text), query)
    }
    let maximumCount = query.limit + 1
    let region = RegionFilter(query, limit)
    if let route = query.route {
      let filter = RouteFilter(route, limit)
      var search = RouteSearch(
        route: filter, after: query.after, region: region, filter: slotFilter, capacity: maximumCount)
      while search.advance() { forEachTree(for: query, slotFilter) { tree, _ in tree.walk(&search) } }
      return search.removeAllSorted()
    }
    if let proximity = query.proximity {
      let filter = ProximityFilter(proximity, after: query.after)
      return nearest(maximumCount, filter, region, query, slotFilter)
    }
    var search = IDSearch(region: region, after: query.after?.id, filter: slotFilter, capacity: maximumCount)
    forEachTree(for: query, slotFilter) { tree, slotsByID in search.search(tree, byID: slotsByID) }
    let found = search.removeAllSorted()
    prefetch(found)
    return found
  }

  /// Returns the place with a source reference, where it matches the whole query.
  func candidate(of source: SourceReference, _ query: PointQuery) -> [Candidate] {
    guard let location = location(of: source) else { return [] }
    let (segment, slot) = (parts[Int(location.part)].segment, Int(location.slot))
    guard QueryFilter(query).matches(slot, of: segment) else { return [] }
    let id = segment.columns.ids[slot]
    let distance =
      query.proximity.map { Geodesic.distanceMetres(from: $0.center, to: segment.columns.coordinates[slot]) }
      ?? query.route.flatMap { RouteFilter($0).nearest(to: slot, segment.columns)?.alongMetres }
    if let after = query.after, (distance ?? 0, id) <= (distance == nil ? 0 : after.distanceMetres, after.id) {
      return []
    }
    return [Candidate(distance: distance ?? 0, id: id, part: location.part, slot: location.slot)]
  }

  /// Prefetches the columns that a response is made of.
  private func prefetch(_ candidates: [Candidate]) {
    placeColumns.withUnsafeBufferPointer { columns in
      for candidate in candidates { columns[Int(candidate.part)].prefetchPlace(at: Int(candidate.slot)) }
    }
  }

  // MARK: By distance

  /// The number of places found by their chords beyond those needed, so that their geodesics can prove that no other
  /// place is among the first.
  private static let margin = 4

  /// The distance in metres beyond which a page is not searched by chords: the chords of places at one distance differ
  /// there by more than the places usually do.
  private static let farStart = 500_000.0

  /// Returns the first matches by distance, then id.
  private func nearest(
    _ maximumCount: Int,
    _ proximity: ProximityFilter,
    _ region: RegionFilter?,
    _ query: PointQuery,
    _ filter: SlotFilter?
  ) -> [Candidate] {
    var bound = Double.infinity
    if (proximity.after?.distanceMetres ?? 0) < Self.farStart {
      var search = ChordSearch(
        proximity: proximity, region: region, filter: filter, capacity: maximumCount + Self.margin)
      forEachTree(for: query, filter) { tree, _ in tree.walk(&search) }
      let count = search.matches.count
      var found = measured(0..<min(count, maximumCount), of: search, proximity)
      if count <= maximumCount { return found }
      // The rest is measured only if one of it may be among the first.
      var chordSquaredOfOthers = search.matches[maximumCount].chordSquared
      var leastOfOthers = Geodesic.leastDistanceMetres(chordMetres: chordSquaredOfOthers.squareRoot())
      if found[maximumCount - 1].distance >= leastOfOthers {
        found += measured(maximumCount..<count, of: search, proximity)
        found.sort { $0 < $1 }
        // Without others the chord is infinite, and this is more than any distance.
        chordSquaredOfOthers = search.chordSquaredOfOthers
        leastOfOthers = Geodesic.leastDistanceMetres(chordMetres: chordSquaredOfOthers.squareRoot())
      }
      bound = found[maximumCount - 1].distance
      if bound < leastOfOthers {
        found.removeLast(found.count - maximumCount)
        return found
      }
    }
    var search = GeodesicSearch(
      proximity: proximity, region: region, filter: filter, capacity: maximumCount, bound: bound)
    forEachTree(for: query, filter) { tree, _ in tree.walk(&search) }
    return search.removeAllSorted()
  }

  /// Returns some of the matches of a search with their geodesic distances, in order by these.
  private func measured(
    _ range: Range<Int>, of search: borrowing ChordSearch, _ proximity: ProximityFilter
  ) -> [Candidate] {
    let matches = UnsafeBufferPointer(rebasing: search.matches[range])
    var candidates = placeColumns.withUnsafeBufferPointer { columns in
      for match in matches { columns[Int(match.part)].prefetchPlace(at: Int(match.slot)) }
      return [Candidate](unsafeUninitializedCapacity: matches.count) { candidates, count in
        for match in matches {
          let (part, slot) = (Int(match.part), Int(match.slot))
          let distance = Geodesic.distanceMetres(
            from: proximity.center,
            at: proximity.position,
            to: columns[part].coordinates[slot],
            at: columns[part].positions[slot]
          )
          candidates[count] = Candidate(
            distance: distance, id: columns[part].ids[slot], part: match.part, slot: match.slot)
          count += 1
        }
      }
    }
    // Few change their places, which costs a sort nearly nothing.
    candidates.sort { $0 < $1 }
    return candidates
  }

  // MARK: Trees

  /// Calls the closure with each tree that has to be searched, and with the slots of the same places in the order of
  /// their ids.
  ///
  /// Each part has a tree over the places of each category of the query, or over all its places where the query has no
  /// categories. Places of other sources than the query's are left out or count as dead.
  ///
  /// - Parameter filter: the filter of the search; nodes without an open place are skipped by its condition on opening
  ///   hours.
  @inline(__always)
  func forEachTree(
    for query: PointQuery,
    _ filter: SlotFilter? = nil,
    _ search: (SearchTree, UnsafeBufferPointer<UInt32>) -> Void
  ) {
    let categories = query.categories
    let source = query.source == nil ? nil : query.source?.name.text
    for (index, part) in parts.enumerated() {
      let segment = part.segment
      let ofSource = source.flatMap { segment.index(ofSource: $0) }
      if ofSource == nil, source != nil { continue }
      let isMasked = ofSource?.tree == nil || !categories.isEmpty
      let tombstones = isMasked ? part.tombstones(besides: ofSource?.others) : part.tombstones
      let opening = filter?.opening(ofPart: index)
      // The trees point into all of these.
      withExtendedLifetime((segment, tombstones, ofSource, opening)) {
        func tree(_ nodes: PackedTree) -> SearchTree {
          SearchTree(
            part: UInt32(index),
            columns: segment.columns,
            tombstones: tombstones?.pointer,
            nodes: nodes,
            opening: opening.map { .passUnretained($0) }
          )
        }
        if categories.isEmpty {
          search(tree(ofSource?.tree ?? segment.tree), ofSource?.slotsByID ?? segment.slotsByID)
        }
        for category in categories {
          guard let number = segment.categories.number(of: category.text) else { continue }
          search(tree(segment.categories.tree(of: number)), segment.categories.slotsByID(of: number))
        }
      }
    }
  }
}

/// The distances of the places of a page.
private struct DistanceColumns: Sendable {
  private let hasProximity: Bool
  private let route: PointQuery.Route?

  init(_ query: PointQuery) {
    hasProximity = query.proximity != nil
    route = query.route
  }

  /// Returns the distance of a place from the query's centre or route, and the length of the route up to it, in metres.
  @inline(__always)
  func values(of candidate: Candidate, _ columns: () -> SegmentColumns) -> (distance: Double?, along: Double?) {
    if route == nil { return (hasProximity ? candidate.distance : nil, nil) }
    return alongRoute(candidate, columns())
  }

  @inline(never)
  private func alongRoute(_ candidate: Candidate, _ columns: SegmentColumns) -> (distance: Double?, along: Double?) {
    guard let route else { return (nil, nil) }
    return (RouteFilter(route).nearest(to: Int(candidate.slot), columns)?.distanceMetres, candidate.distance)
  }
}

/// The places of a page in a snapshot, which they keep alive.
private struct SnapshotPoints: PagePoints {
  let snapshot: PointSnapshot
  let candidates: [Candidate]
  let count: Int
  let distances: DistanceColumns

  /// The number of places whose texts are prefetched ahead of the one being written.
  private static let prefetched = 32

  func forEach(_ body: (BorrowedPoint) -> Void) {
    snapshot.placeColumns.withUnsafeBufferPointer { columns in
      for candidate in candidates.prefix(min(count, Self.prefetched)) {
        columns[Int(candidate.part)].records.prefetchTexts(at: Int(candidate.slot))
      }
      for index in 0..<count {
        if index + Self.prefetched < count {
          let ahead = candidates[index + Self.prefetched]
          columns[Int(ahead.part)].records.prefetchTexts(at: Int(ahead.slot))
        }
        let candidate = candidates[index]
        let (distance, along) = distances.values(of: candidate) {
          snapshot.parts[Int(candidate.part)].segment.columns
        }
        body(
          columns[Int(candidate.part)].place(
            at: Int(candidate.slot), distanceMetres: distance, alongMetres: along))
      }
    }
  }

  var points: [FoundPoint] {
    candidates.prefix(count).map { candidate in
      let segment = snapshot.parts[Int(candidate.part)].segment
      let (distance, along) = distances.values(of: candidate) { segment.columns }
      return FoundPoint(point: segment.point(at: Int(candidate.slot)), distanceMetres: distance, alongMetres: along)
    }
  }
}

extension PointSnapshot {
  /// Returns the number of matching places. The query's order, limit and position are ignored.
  ///
  /// O(e) for e places in tree leaves at the edge of the box, and the tombstones; a condition on the distance or on
  /// properties is evaluated on each place that the others leave.
  ///
  /// - Throws: ``Points/PointStoreError/filterTimeout`` where the count took longer than the time limit of a property
  ///   filter, an area or a route.
  public func count(matching query: PointQuery) throws(PointStoreError) -> Int {
    guard var query = query.narrowedByFilter else { return 0 }
    query.after = nil
    if !query.ids.isEmpty {
      query.limit = query.ids.count
      return try namedCandidates(for: query).count
    }
    if let source = query.source, let sourceID = source.sourceID {
      return candidate(of: SourceReference(source: source.name.text, sourceID: sourceID.text), query).count
    }
    let limit = SearchLimit(query)
    let filter = SlotFilter(query, in: self, limit)
    let proximity = query.proximity.flatMap { $0.radiusMetres == nil ? nil : ProximityFilter($0, after: nil) }
    var count = MatchCount(
      region: RegionFilter(query, limit), route: query.route.map { RouteFilter($0, limit) }, proximity: proximity,
      filter: filter)
    forEachTree(for: query, filter) { tree, _ in tree.walk(&count) }
    if limit.isExpired { throw .filterTimeout }
    return count.places
  }
}
