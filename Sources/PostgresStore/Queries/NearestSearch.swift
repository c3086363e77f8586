import Geo
import Points

/// Finds one page of nearest places, exactly in the order of the geodesic and then of the id.
///
/// PostgreSQL finds candidates by the chord, the straight line through the earth, which an index can rank; the geodesic is
/// computed here and decides. Chord and geodesic bound each other, so that a batch of candidates proves how far it is
/// complete: what lies beyond its last chord can't be nearer than the least geodesic of such a chord. What is proven is
/// taken, and the search goes on from there until the page is full.
struct NearestSearch {
  /// A place that may be on the page.
  struct Candidate {
    let distanceMetres: Double
    let id: PointID
    let row: QueryResult.Row

    var position: PointQuery.Position { .init(distanceMetres: distanceMetres, id: id) }
  }

  /// What one question to the database has proven.
  struct Batch {
    /// The next places, in order, none left out.
    var proven: [Candidate]
    /// From where the search goes on; `nil` when there is nothing after these.
    var end: PointQuery.Position?
  }

  /// Up to so many matches of a box, a radius or categories are all fetched and sorted here when a page goes on.
  static let fewCount = 1000

  /// A page that goes on within so many times its own length from the start is cut from the start.
  static let shallowPages = 16

  /// How many boxes may cover a ring.
  static let coverCount = 1024

  /// More than what PostGIS's geodesic differs by from the one here, metres.
  static let toleranceMetres = 0.001

  private let store: PostgresStore
  private let query: PointQuery
  private let center: Coordinate
  private let position: EarthCentred
  private let radiusMetres: Double
  private let filter: PointFilter

  /// Makes a search.
  init(store: PostgresStore, query: PointQuery, proximity: PointQuery.Proximity) {
    self.store = store
    self.query = query
    center = proximity.center
    position = EarthCentred(center)
    radiusMetres = proximity.radiusMetres ?? .infinity
    filter = PointFilter(query, center: position)
  }

  /// The page.
  func page() async throws(PointStoreError) -> PointPage {
    var found: [Candidate] = []
    if !filter.isEmpty {
      let first = query.after == nil ? try await nearest() : try await next(after: query.after)
      found = first.proven
      var end = first.end
      while found.count <= query.limit, let position = end {
        let batch = try await ring(after: position)
        found += batch.proven
        end = batch.end
      }
    }
    var points: [FoundPoint] = []
    points.reserveCapacity(query.limit)
    for candidate in found.prefix(query.limit) {
      points.append(FoundPoint(point: try candidate.row.point(), distanceMetres: candidate.distanceMetres))
    }
    return PointPage(points: points, hasMore: found.count > query.limit)
  }

  // MARK: Ways to ask

  /// The first places of all.
  private func nearest() async throws(PointStoreError) -> Batch {
    let count = Self.fetchCount(for: query.limit + 1)
    let result = try await store.read(NearestStatements.nearest(position, filter, count: count))
    return try await proven(result, after: nil, isComplete: result.count < count)
  }

  /// The first places after a position, where that is not far from the start or there are few matches in all.
  private func next(after end: PointQuery.Position?) async throws(PointStoreError) -> Batch {
    guard let end else { return try await nearest() }
    if filter.mayBeSelective {
      let result = try await store.read(NearestStatements.few(position, filter, atMost: Self.fewCount + 1))
      if result.count <= Self.fewCount { return try await proven(result, after: end, isComplete: true) }
    }
    let count = Self.fetchCount(for: query.limit + 1)
    let depth = Self.shallowPages * count
    let result = try await store.read(
      NearestStatements.nearest(
        position, filter, notNearerThan: leastChord(end), amongFirst: depth, count: count))
    guard let first = result.rows.first else { throw .unexpected(reason: "a count gave no row") }
    let total = try first.integer(11)
    if first.isNull(0) { return Batch(proven: [], end: total < depth ? nil : end) }
    return try await proven(result, after: end, isComplete: total < depth && result.count < count)
  }

  /// The first places after a position, from rings about the centre: each wider than the one before, until there are some.
  private func ring(after end: PointQuery.Position) async throws(PointStoreError) -> Batch {
    let count = Self.fetchCount(for: query.limit + 1)
    let inner = leastChord(end)
    let limit = min(filter.greatestChord ?? .infinity, Self.greatestChord)
    var thickness = max(1, inner / 128)
    while inner <= limit {
      let outer = min(inner + thickness, limit)
      let cover = ShellCover.boxes(
        around: position, chords: inner...outer, within: filter.region ?? .earth, maximumCount: Self.coverCount)
      let result = try await store.read(
        NearestStatements.ring(position, filter, chords: inner...outer, cover: cover, count: count))
      let isComplete = result.count < count
      let batch = try await proven(
        result, after: end, isComplete: isComplete && outer == limit, completeChord: isComplete ? outer : nil)
      if batch.end == nil || batch.end != end { return batch }
      thickness *= 4
    }
    return Batch(proven: [], end: nil)
  }

  /// The first places after a position up to a distance, however many are at one spot or nearly as far as each other.
  private func band(
    after end: PointQuery.Position?, from innerChord: Double, to leastReach: Double
  ) async throws(PointStoreError) -> Batch {
    let after = end ?? PointQuery.Position(distanceMetres: -1, id: PointID(high: 0, low: 0))
    // At least a metre beyond the position, so that the search gets on.
    let reach = min(radiusMetres, max(leastReach, after.distanceMetres + 1))
    let outerChord = Geodesic.greatestChordMetres(distanceMetres: reach) + SpatialBox.slackMetres
    let chords = min(innerChord, outerChord)...outerChord
    let cover = ShellCover.boxes(
      around: position, chords: chords, within: filter.region ?? .earth, maximumCount: Self.coverCount)
    let wanted = query.limit + 1
    var count = 4 * wanted + 64
    while true {
      let result = try await store.read(
        NearestStatements.band(
          (center, position), filter, chords: chords, cover: cover, after: after,
          toleranceMetres: Self.toleranceMetres, perSpot: wanted, count: count))
      let isCut = result.count == count
      let ranked = try rank(result, after: end)
      let complete = isCut ? ranked.greatestDistance - 2 * Self.toleranceMetres : reach.nextUp
      let proven = ranked.candidates.prefix { $0.distanceMetres < complete }.prefix(wanted)
      if proven.count == wanted || isCut, let last = proven.last {
        return Batch(proven: Array(proven), end: last.position)
      }
      if !isCut {
        return Batch(
          proven: Array(proven), end: reach >= radiusMetres ? nil : .init(distanceMetres: reach, id: .greatest))
      }
      count *= 4
    }
  }

  // MARK: What is proven

  /// What an answer proves.
  ///
  /// - Parameters:
  ///   - end: where the search stands.
  ///   - isComplete: whether the answer has every match after that.
  ///   - completeChord: the chord up to which the answer has every match; `nil` for that of its farthest row.
  private func proven(
    _ result: QueryResult, after end: PointQuery.Position?, isComplete: Bool, completeChord: Double? = nil
  ) async throws(PointStoreError) -> Batch {
    let ranked = try rank(result, after: end)
    if isComplete { return Batch(proven: ranked.candidates, end: nil) }
    let chord = (completeChord ?? ranked.greatestChord) - SpatialBox.slackMetres
    let complete = Geodesic.leastDistanceMetres(chordMetres: chord)
    if complete > radiusMetres { return Batch(proven: ranked.candidates, end: nil) }
    let proven = ranked.candidates.prefix { $0.distanceMetres < complete }
    if let last = proven.last { return Batch(proven: Array(proven), end: last.position) }
    if completeChord != nil { return Batch(proven: [], end: end) }
    // All of these may be as near as places that were not fetched: fetch those too.
    return try await band(
      after: end,
      from: max(0, ranked.leastChord - SpatialBox.slackMetres),
      to: ranked.candidates.first?.distanceMetres ?? ranked.greatestDistance)
  }

  /// The rows of an answer, measured.
  private struct Ranked {
    /// Those that are within the radius and after the position, in order.
    var candidates: [Candidate] = []
    var leastChord = Double.infinity
    var greatestChord = 0.0
    var greatestDistance = 0.0
  }

  private func rank(
    _ result: QueryResult, after end: PointQuery.Position?
  ) throws(PointStoreError) -> Ranked {
    var ranked = Ranked()
    ranked.candidates.reserveCapacity(result.count)
    var squares = (least: Double.infinity, greatest: 0.0)
    for row in result.rows {
      let coordinate = try row.coordinate()
      let place = EarthCentred(coordinate)
      let square = position.chordSquared(to: place)
      squares = (min(squares.least, square), max(squares.greatest, square))
      let distance = Geodesic.distanceMetres(from: center, at: position, to: coordinate, at: place)
      ranked.greatestDistance = max(ranked.greatestDistance, distance)
      let id = try row.pointID()
      guard distance <= radiusMetres else { continue }
      if let end, (distance, id) <= (end.distanceMetres, end.id) { continue }
      ranked.candidates.append(Candidate(distanceMetres: distance, id: id, row: row))
    }
    ranked.leastChord = squares.least.squareRoot()
    ranked.greatestChord = squares.greatest.squareRoot()
    ranked.candidates.sort { ($0.distanceMetres, $0.id) < ($1.distanceMetres, $1.id) }
    return ranked
  }

  private func leastChord(_ end: PointQuery.Position) -> Double {
    max(0, Geodesic.leastChordMetres(distanceMetres: end.distanceMetres) - SpatialBox.slackMetres)
  }

  /// Longer than any chord there is, metres.
  private static let greatestChord = 2 * WGS84.equatorialRadius + 1

  /// How many candidates are fetched for so many places: some more, so that the last place is proven, and one of few
  /// numbers, so that few statements are prepared.
  static func fetchCount(for count: Int) -> Int {
    let least = count + max(3, count / 16)
    var size = 8
    while size < least { size *= 2 }
    let step = size / 8
    return (least + step - 1) / step * step
  }
}

extension PointID {
  /// The id that no other comes after.
  fileprivate static let greatest = PointID(high: .max, low: .max)
}
