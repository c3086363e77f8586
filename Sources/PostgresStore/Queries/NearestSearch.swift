import Geo
import Points

/// The search for one page of nearest places, exactly in the order of the geodesic and then of the id.
///
/// PostgreSQL finds candidates by the chord, the straight line through the earth, which an index can rank; the geodesic
/// is computed here and decides. Chord and geodesic bound each other, so that a statement's rows prove how far they are
/// complete: what lies beyond the last chord can't be nearer than the least geodesic of such a chord.
///
/// All places of a page come from one statement, and so from one snapshot: a place that moves between two statements
/// would be found by both of them, or by neither. Where the rows of the first statement prove too little, what is asked
/// next is not the rest but the whole page once more, in a ring wide enough to hold it.
struct NearestSearch {
  /// A place that may be on the page.
  struct Candidate: BitwiseCopyable {
    let distanceMetres: Double
    let id: PointID
    let coordinate: Coordinate
    /// The number of its row.
    let row: Int32

    var position: PointQuery.Position { .init(distanceMetres: distanceMetres, id: id) }
  }

  /// The proof that a statement's rows give.
  private enum Proof {
    /// The rows hold the page, which these candidates begin with.
    case page(FoundRows)
    /// The rows do not. The page was probably within this distance, metres; `nil` where nothing is known of it.
    case insufficient(probableReach: Double?)
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
  private let included: [PointID]
  private let center: Coordinate
  private let position: EarthCentred
  private let radiusMetres: Double
  private let filter: PointFilter

  /// How many places are looked for: one more than the page has, to know whether there is a next page.
  private var wanted: Int { query.limit + 1 }

  /// Creates a search.
  ///
  /// - Parameters:
  ///   - columns: what is read of each place.
  ///   - included: the places whose long tags are included.
  init(
    store: PostgresStore,
    query: PointQuery,
    proximity: PointQuery.Proximity,
    columns: PointColumns,
    including included: [PointID]
  ) {
    self.store = store
    self.query = query
    self.columns = columns
    self.included = included
    center = proximity.center
    position = EarthCentred(center)
    radiusMetres = min(proximity.radiusMetres ?? .infinity, Geodesic.greatestDistanceMetres + 1)
    filter = PointFilter(query, center: position)
  }

  /// Returns the places of the page, and one more where there is one.
  ///
  /// - Throws: ``PointStoreError``.
  func found() async throws(PointStoreError) -> FoundRows {
    guard !filter.isEmpty else { return FoundRows() }
    let proof = if let after = query.after { try await next(after: after) } else { try await nearest() }
    switch proof {
    case .page(let found): return found
    case .insufficient(let reach): return try await ring(after: query.after ?? Self.start, probableReach: reach)
    }
  }

  // MARK: Statements

  /// Looks at the first places of all.
  private func nearest() async throws(PointStoreError) -> Proof {
    let count = Self.fetchCount(for: wanted)
    let result =
      // Callers that are asked for together can't each have the tags of their own places included.
      if filter.mayBeSelective || !included.isEmpty {
        try await store.read(NearestStatements.nearest(columns, including: included, position, filter, count: count))
      } else {
        try await store.pool.run(NearestStatements.sharedNearest(columns, position, filter, count: count))
      }
    let ranked = try rank(result, after: Self.start)
    let proof = proof(by: ranked, of: result, isComplete: result.count < count)
    // There are too few places up to the radius, or those that are missing are just about there.
    if case .insufficient(probableReach: nil) = proof { return .insufficient(probableReach: radiusMetres) }
    return proof
  }

  /// Looks at the first places after a position, where that is not far from the start or there are few matches in all.
  private func next(after end: PointQuery.Position) async throws(PointStoreError) -> Proof {
    if filter.mayBeSelective {
      let result = try await store.read(
        NearestStatements.few(columns, including: included, position, filter, atMost: Self.fewCount + 1))
      if result.count <= Self.fewCount {
        return .page(FoundRows(try rank(result, after: end).candidates, in: result, limit: query.limit))
      }
    }
    let count = Self.fetchCount(for: wanted)
    let depth = Self.shallowPages * count
    let result = try await store.read(
      NearestStatements.nearest(
        columns, including: included, position, filter, notNearerThan: leastChord(at: end), amongFirst: depth,
        count: count)
    )
    guard let total = try result.rows.first?.integer(result.columnCount - 1) else {
      throw .unexpected(reason: "a count gave no row")
    }
    let ranked = try rank(result, after: end)
    return proof(by: ranked, of: result, isComplete: total < depth && result.count < count)
  }

  /// Searches the ring behind a position, each time from the position on and in a wider ring, until one statement's rows
  /// prove the page.
  private func ring(
    after end: PointQuery.Position,
    probableReach: Double?
  ) async throws(PointStoreError) -> FoundRows {
    let start = max(0, end.distanceMetres)
    var reach = probableReach ?? start + max(1, start / Self.ringsWithinReach)
    while true {
      reach = min(reach, radiusMetres)
      let (found, isComplete) = try await places(after: end, upTo: reach)
      if isComplete || reach >= radiusMetres { return found }
      // As wide as the density that was met asks for, within bounds.
      let growth = min(64, max(2, 2 * Double(wanted) / Double(found.candidates.count)))
      reach = start + max(1, reach - start) * growth
    }
  }

  /// Returns the first places after a position up to a distance, however many are on one spot, and whether they fill the
  /// page.
  private func places(
    after end: PointQuery.Position,
    upTo reach: Double
  ) async throws(PointStoreError) -> (FoundRows, isComplete: Bool) {
    let outerChord = Geodesic.greatestChordMetres(distanceMetres: reach) + SpatialBox.slackMetres
    let chords = min(leastChord(at: end), outerChord)...outerChord
    let cover = RingCover(around: center, chords: chords).boxes(
      atMost: Self.maximumSectors,
      within: filter.region
    )
    var count = 2 * wanted + 32
    while true {
      let result = try await store.read(
        NearestStatements.ring(
          columns,
          including: included,
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
      if proven.count == wanted || !isCut {
        return (FoundRows(proven, in: result, limit: query.limit), proven.count == wanted)
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
    var greatestChord = 0.0
    var greatestDistance = 0.0
  }

  /// Returns what the nearest rows by chord prove.
  ///
  /// - Parameter isComplete: a Boolean value that indicates whether these are all rows there are.
  private func proof(by ranked: Ranked, of result: QueryResult, isComplete: Bool) -> Proof {
    let chord = ranked.greatestChord - SpatialBox.slackMetres
    let complete = isComplete ? .infinity : Geodesic.leastDistanceMetres(chordMetres: chord)
    let proven =
      complete > radiusMetres
      ? ranked.candidates : Array(ranked.candidates.prefix { $0.distanceMetres < complete })
    if complete > radiusMetres || proven.count >= wanted {
      return .page(FoundRows(proven, in: result, limit: query.limit))
    }
    let reach = ranked.candidates.count >= wanted ? ranked.candidates[wanted - 1].distanceMetres : nil
    return .insufficient(probableReach: reach)
  }

  private func rank(_ result: QueryResult, after end: PointQuery.Position) throws(PointStoreError) -> Ranked {
    var ranked = Ranked()
    ranked.candidates.reserveCapacity(result.count)
    var greatestSquare = 0.0
    for row in result.rows {
      // A count of nothing comes with a row of nulls.
      if row.isNull(0) { continue }
      let coordinate = try row.coordinate()
      let place = EarthCentred(coordinate)
      greatestSquare = max(greatestSquare, position.chordSquared(to: place))
      let distance = Geodesic.distanceMetres(from: center, at: position, to: coordinate, at: place)
      ranked.greatestDistance = max(ranked.greatestDistance, distance)
      let id = try row.pointID()
      if distance <= radiusMetres, (distance, id) > (end.distanceMetres, end.id) {
        ranked.candidates.append(
          Candidate(distanceMetres: distance, id: id, coordinate: coordinate, row: row.index)
        )
      }
    }
    ranked.greatestChord = greatestSquare.squareRoot()
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
