import Geo
import Points

/// Finds one page of nearest places, exactly in the order of the geodesic and then of the id.
///
/// PostgreSQL finds candidates by the chord, the straight line through the earth, which an index can rank; the geodesic
/// is computed here and decides. Chord and geodesic bound each other, so that an answer proves how far it is complete:
/// what lies beyond its last chord can't be nearer than the least geodesic of such a chord. What is proven is taken,
/// and the search goes on from there, ring by ring, until the page is full.
struct NearestSearch {
  /// A place that may be on the page.
  struct Candidate: BitwiseCopyable {
    let distanceMetres: Double
    let id: PointID
    let coordinate: Coordinate
    /// Which of the search's answers it is in, and where there.
    var answer: Int32 = 0
    let row: Int32

    var position: PointQuery.Position { .init(distanceMetres: distanceMetres, id: id) }
  }

  /// What an answer proves.
  struct Batch {
    /// The answer.
    let answer: QueryResult
    /// The next places, in order, none left out.
    var proven: [Candidate] = []
    /// Where the search stands; `nil` when there is nothing more.
    var end: PointQuery.Position?
    /// Whatever is left has no shorter chord than this, metres.
    var leastChord = 0.0
    /// Within this distance there is certainly enough to fill the page, metres.
    var sufficientReach: Double?
  }

  /// Up to so many matches of a box or categories are all fetched and sorted here when a page goes on.
  static let fewCount = 1000

  /// A page that goes on within so many times its own length from the start is cut from the start.
  static let shallowPages = 8

  /// How many boxes cover a ring at most: each costs a look-up, and the more there are, the less they cover beside it.
  static let maximumSectors = 128

  /// The first ring is the distance that was reached, divided by this, wide.
  static let ringsWithinReach = 256.0

  /// More than what PostGIS's geodesic differs by from the one here, metres.
  static let toleranceMetres = 0.001

  /// Before all places.
  private static let start = PointQuery.Position(distanceMetres: -1, id: PointID(high: 0, low: 0))

  private let store: PostgresStore
  private let query: PointQuery
  private let columns: PointColumns
  private let center: Coordinate
  private let position: EarthCentred
  private let radiusMetres: Double
  private let filter: PointFilter

  /// How many places are looked for: one more than the page has, to know whether there is a next page.
  private var wanted: Int { query.limit + 1 }

  /// Makes a search.
  ///
  /// - Parameter columns: what is read of each place.
  init(store: PostgresStore, query: PointQuery, proximity: PointQuery.Proximity, columns: PointColumns) {
    self.store = store
    self.query = query
    self.columns = columns
    center = proximity.center
    position = EarthCentred(center)
    radiusMetres = min(proximity.radiusMetres ?? .infinity, Geodesic.greatestDistanceMetres + 1)
    filter = PointFilter(query, center: position)
  }

  /// The places of the page, and one more where there is one.
  func found() async throws(PointStoreError) -> FoundRows {
    guard !filter.isEmpty else { return FoundRows(limit: query.limit) }
    var batch = if let after = query.after { try await next(after: after) } else { try await nearest() }
    var found = FoundRows(limit: query.limit)
    found.append(batch)
    var width: Double?
    while found.candidates.count < wanted, let end = batch.end {
      let step = width ?? max(1, end.distanceMetres / Self.ringsWithinReach)
      let reach = batch.sufficientReach ?? end.distanceMetres + step
      batch = try await ring(after: end, from: batch.leastChord, to: min(reach, radiusMetres))
      found.append(batch)
      // As wide as the density that was met asks for, within bounds.
      width = step * min(64, max(4, 2 * Double(wanted) / Double(batch.proven.count)))
    }
    return found
  }

  // MARK: Ways to ask

  /// The first places of all.
  private func nearest() async throws(PointStoreError) -> Batch {
    let count = Self.fetchCount(for: wanted)
    let result =
      if filter.mayBeSelective {
        try await store.read(NearestStatements.nearest(columns, position, filter, count: count))
      } else {
        try await store.pool.run(NearestStatements.sharedNearest(columns, position, filter, count: count))
      }
    let ranked = try rank(result, after: Self.start)
    return batch(ranked, of: result, after: Self.start, isComplete: result.count < count, leastChord: ranked.leastChord)
  }

  /// The first places after a position, where that is not far from the start or there are few matches in all.
  private func next(after end: PointQuery.Position) async throws(PointStoreError) -> Batch {
    if filter.mayBeSelective {
      let result = try await store.read(NearestStatements.few(columns, position, filter, atMost: Self.fewCount + 1))
      if result.count <= Self.fewCount { return Batch(answer: result, proven: try rank(result, after: end).candidates) }
    }
    let count = Self.fetchCount(for: wanted)
    let depth = Self.shallowPages * count
    let chord = leastChord(at: end)
    let result = try await store.read(
      NearestStatements.nearest(columns, position, filter, notNearerThan: chord, amongFirst: depth, count: count)
    )
    guard let total = try result.rows.first?.integer(result.columnCount - 1) else {
      throw .unexpected(reason: "a count gave no row")
    }
    let ranked = try rank(result, after: end)
    return batch(ranked, of: result, after: end, isComplete: total < depth && result.count < count, leastChord: chord)
  }

  /// The first places after a position up to a distance, however many are on one spot.
  private func ring(
    after end: PointQuery.Position,
    from leastChord: Double,
    to reach: Double
  ) async throws(PointStoreError) -> Batch {
    let outerChord = Geodesic.greatestChordMetres(distanceMetres: reach) + SpatialBox.slackMetres
    let chords = min(leastChord, outerChord)...outerChord
    let cover = RingCover(around: center, chords: chords).boxes(
      atMost: Self.maximumSectors,
      within: filter.region
    )
    var count = 2 * wanted + 32
    while true {
      let result = try await store.read(
        NearestStatements.ring(
          columns,
          (center, position),
          filter,
          chords: chords,
          cover: cover,
          after: end,
          toleranceMetres: Self.toleranceMetres,
          perSpot: wanted,
          count: count
        )
      )
      let isCut = result.count == count
      let ranked = try rank(result, after: end)
      let complete = isCut ? ranked.greatestDistance - 2 * Self.toleranceMetres : reach.nextUp
      // Of a spot no more than are wanted have been fetched, so no more may be taken.
      let proven = Array(ranked.candidates.prefix { $0.distanceMetres < complete }.prefix(wanted))
      if proven.count == wanted || isCut, let last = proven.last {
        return Batch(answer: result, proven: proven, end: last.position, leastChord: self.leastChord(at: last.position))
      }
      if !isCut {
        if reach >= radiusMetres { return Batch(answer: result, proven: proven) }
        let end = PointQuery.Position(distanceMetres: reach, id: PointID(high: .max, low: .max))
        return Batch(answer: result, proven: proven, end: end, leastChord: self.leastChord(at: end))
      }
      // So many places are within a hair's breadth of each other.
      count *= 4
    }
  }

  // MARK: What is proven

  /// The rows of an answer, measured.
  private struct Ranked {
    /// Those that are within the radius and after the position, in order.
    var candidates: [Candidate] = []
    var leastChord = 0.0
    var greatestChord = 0.0
    var greatestDistance = 0.0
  }

  /// What the nearest rows by chord prove.
  ///
  /// - Parameters:
  ///   - end: where the search stood.
  ///   - isComplete: whether these are all rows there are.
  ///   - leastChord: what is known of the chords of all that is after the position.
  private func batch(
    _ ranked: Ranked,
    of answer: QueryResult,
    after end: PointQuery.Position,
    isComplete: Bool,
    leastChord: Double
  ) -> Batch {
    let chord = ranked.greatestChord - SpatialBox.slackMetres
    let complete = isComplete ? .infinity : Geodesic.leastDistanceMetres(chordMetres: chord)
    if complete > radiusMetres { return Batch(answer: answer, proven: ranked.candidates) }
    let proven = Array(ranked.candidates.prefix { $0.distanceMetres < complete })
    let reach = ranked.candidates.count >= wanted ? ranked.candidates[wanted - 1].distanceMetres : nil
    return Batch(
      answer: answer,
      proven: proven,
      end: proven.last?.position ?? end,
      leastChord: max(leastChord - SpatialBox.slackMetres, proven.last.map { self.leastChord(at: $0.position) } ?? 0),
      sufficientReach: reach
    )
  }

  private func rank(_ result: QueryResult, after end: PointQuery.Position) throws(PointStoreError) -> Ranked {
    var ranked = Ranked()
    ranked.candidates.reserveCapacity(result.count)
    var squares = (least: Double.infinity, greatest: 0.0)
    for row in result.rows {
      // A count of nothing comes with a row of nulls.
      if row.isNull(0) { continue }
      let coordinate = try row.coordinate()
      let place = EarthCentred(coordinate)
      let square = position.chordSquared(to: place)
      squares = (min(squares.least, square), max(squares.greatest, square))
      let distance = Geodesic.distanceMetres(from: center, at: position, to: coordinate, at: place)
      ranked.greatestDistance = max(ranked.greatestDistance, distance)
      let id = try row.pointID()
      if distance <= radiusMetres, (distance, id) > (end.distanceMetres, end.id) {
        ranked.candidates.append(
          Candidate(distanceMetres: distance, id: id, coordinate: coordinate, row: row.index)
        )
      }
    }
    ranked.leastChord = squares.least.squareRoot()
    ranked.greatestChord = squares.greatest.squareRoot()
    ranked.candidates.sort { ($0.distanceMetres, $0.id) < ($1.distanceMetres, $1.id) }
    return ranked
  }

  /// What no chord of a place after the position is shorter than, metres.
  private func leastChord(at end: PointQuery.Position) -> Double {
    max(0, Geodesic.leastChordMetres(distanceMetres: end.distanceMetres) - SpatialBox.slackMetres)
  }

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
