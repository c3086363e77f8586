import Geo
import JSONText
import Points

extension Snapshot {
  /// The places that match, one page of them.
  func page(matching query: PointQuery) -> PointPage {
    let found = candidates(for: query)
    let hasDistance = query.proximity != nil
    let count = fittingCount(of: found, limit: query.limit)
    return PointPage(
      points: found.prefix(count).map { candidate in
        FoundPoint(
          point: parts[Int(candidate.part)].segment.point(at: Int(candidate.slot)),
          distanceMetres: hasDistance ? candidate.distance : nil
        )
      },
      hasMore: found.count > count
    )
  }

  /// The same page, as summaries.
  func summaries(matching query: PointQuery) -> SummaryPage {
    let found = candidates(for: query)
    let count = fittingCount(of: found, limit: query.limit)
    let summaries = SnapshotSummaries(
      snapshot: self,
      candidates: found,
      count: count,
      hasDistance: query.proximity != nil
    )
    var next: PointQuery.Position?
    if found.count > count { next = .init(distanceMetres: found[count - 1].distance, id: found[count - 1].id) }
    return SummaryPage(summaries, next: next)
  }

  /// The number of candidates that a page holds.
  private func fittingCount(of candidates: [Candidate], limit: Int) -> Int {
    summaryColumns.withUnsafeBufferPointer { columns in
      PointPage.fittingCount(of: min(candidates.count, limit)) { index in
        columns[Int(candidates[index].part)].textBytes(at: Int(candidates[index].slot))
      }
    }
  }

  /// The ids of the first places that match, as many as a page holds at most, and whether there are more.
  func ids(matching query: PointQuery) -> (ids: [PointID], hasMore: Bool) {
    let found = candidates(for: query)
    let ids = found.prefix(query.limit).map { parts[Int($0.part)].segment.columns.ids[Int($0.slot)] }
    return (ids, found.count > query.limit)
  }

  /// The first places that match: one more than a page holds tells whether there are more.
  private func candidates(for query: PointQuery) -> [Candidate] {
    if let source = query.source, let sourceID = source.sourceID {
      return candidate(from: Place.Origin(source: source.name.text, sourceID: sourceID.text), query)
    }
    let wanted = query.limit + 1
    let box = query.box.map { BoxFilter($0) }
    if let proximity = query.proximity {
      let filter = ProximityFilter(proximity, after: query.after)
      return nearest(wanted, filter, box: box, query)
    }
    var search = IDSearch(box: box, after: query.after?.id, capacity: wanted)
    forEachTree(for: query) { source, slots in search.search(source, byID: slots) }
    let found = search.removeAllSorted()
    prefetch(found)
    return found
  }

  /// The place that came from there, where it matches.
  private func candidate(from origin: Place.Origin, _ query: PointQuery) -> [Candidate] {
    guard let location = location(of: origin) else { return [] }
    let segment = parts[location.part].segment
    guard ExportFilter(query).takes(location.slot, of: segment) else { return [] }
    let columns = segment.columns
    let id = columns.ids[location.slot]
    let distance = query.proximity.map {
      Geodesic.distanceMetres(from: $0.center, to: columns.coordinates[location.slot])
    }
    if let after = query.after, (distance ?? 0, id) <= (distance == nil ? 0 : after.distanceMetres, after.id) {
      return []
    }
    return [
      Candidate(
        distance: distance ?? 0, id: id, part: UInt32(location.part), slot: UInt32(truncatingIfNeeded: location.slot))
    ]
  }

  /// Has the processor fetch what an answer says of the places.
  private func prefetch(_ candidates: [Candidate]) {
    summaryColumns.withUnsafeBufferPointer { columns in
      for candidate in candidates { columns[Int(candidate.part)].prefetchPlace(at: Int(candidate.slot)) }
    }
  }

  // MARK: By distance

  /// How many more places than wanted are found by their chords, so that the geodesics can be seen to put no other among
  /// the first.
  private static let margin = 8

  /// Beyond this many metres the chords of places at one distance differ by more than places usually do, and a page that
  /// starts there is not looked for by chords.
  private static let farStart = 500_000.0

  /// The first matches by distance, then id, as many as are wanted or there are.
  private func nearest(
    _ wanted: Int,
    _ proximity: ProximityFilter,
    box: BoxFilter?,
    _ query: PointQuery
  ) -> [Candidate] {
    var bound = Double.infinity
    if (proximity.after?.distanceMetres ?? 0) < Self.farStart {
      var search = ChordSearch(proximity: proximity, box: box, capacity: wanted + Self.margin)
      forEachTree(for: query) { source, _ in source.walk(&search) }
      // Where there are no others, this is more than any distance.
      let leastOfOthers = Geodesic.leastDistanceMetres(chordMetres: search.chordSquaredOfOthers.squareRoot())
      var found = search.removeAll()
      measure(&found, from: proximity)
      found.sort { $0 < $1 }
      if found.count <= wanted { return found }
      bound = found[wanted - 1].distance
      if bound < leastOfOthers {
        found.removeLast(found.count - wanted)
        return found
      }
    }
    var search = GeodesicSearch(proximity: proximity, box: box, capacity: wanted, bound: bound)
    forEachTree(for: query) { source, _ in source.walk(&search) }
    return search.removeAllSorted()
  }

  /// Puts their geodesic distances into candidates.
  private func measure(_ candidates: inout [Candidate], from proximity: ProximityFilter) {
    prefetch(candidates)
    for index in candidates.indices {
      let columns = parts[Int(candidates[index].part)].segment.columns
      let slot = Int(candidates[index].slot)
      candidates[index].distance = Geodesic.distanceMetres(
        from: proximity.center,
        at: proximity.position,
        to: columns.coordinates[slot],
        at: EarthCentred(x: columns.x[slot], y: columns.y[slot], z: columns.z[slot])
      )
    }
  }

  // MARK: Trees

  /// Calls with a tree over the places of each of the query's categories in each part, or over all places of the part when
  /// there are no categories, and with the slots of the same places by id. Places of other sources than the query's are
  /// left out or count as gone.
  @inline(__always)
  private func forEachTree(
    for query: PointQuery,
    _ search: (TreeSource, UnsafeBufferPointer<UInt32>) -> Void
  ) {
    let categories = query.categories
    for (index, part) in parts.enumerated() {
      let segment = part.segment
      let ofSource = query.source.flatMap { segment.index(ofSource: $0.name.text) }
      if ofSource == nil, query.source != nil { continue }
      let isMasked = ofSource?.tree == nil || !categories.isEmpty
      let tombstones = isMasked ? part.tombstones(besides: ofSource?.others) : part.tombstones
      // What is handed on points into all of these.
      withExtendedLifetime((segment, tombstones, ofSource)) {
        func source(_ tree: PackedTree) -> TreeSource {
          TreeSource(
            part: UInt32(index),
            columns: segment.columns,
            tombstones: tombstones?.pointer,
            tree: tree
          )
        }
        if categories.isEmpty {
          search(source(ofSource?.tree ?? segment.tree), ofSource?.slotsByID ?? segment.slotsByID)
        }
        for category in categories {
          guard let number = segment.categories.number(of: category.text) else { continue }
          search(source(segment.categories.tree(of: number)), segment.categories.slotsByID(of: number))
        }
      }
    }
  }
}

/// The summaries of places that were found in a snapshot, which they keep alive.
private struct SnapshotSummaries: PointSummaries {
  let snapshot: Snapshot
  let candidates: [Candidate]
  let count: Int
  let hasDistance: Bool

  /// So many places' texts are on their way from memory while one's are written.
  private static let prefetched = 32

  func forEach(_ body: (PointSummary) -> Void) {
    snapshot.summaryColumns.withUnsafeBufferPointer { columns in
      for candidate in candidates.prefix(min(count, Self.prefetched)) {
        columns[Int(candidate.part)].prefetchTexts(at: Int(candidate.slot))
      }
      for index in 0..<count {
        if index + Self.prefetched < count {
          let ahead = candidates[index + Self.prefetched]
          columns[Int(ahead.part)].prefetchTexts(at: Int(ahead.slot))
        }
        let candidate = candidates[index]
        body(
          columns[Int(candidate.part)].summary(
            at: Int(candidate.slot), distanceMetres: hasDistance ? candidate.distance : nil))
      }
    }
  }
}
