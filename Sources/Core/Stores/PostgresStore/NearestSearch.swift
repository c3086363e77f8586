import Geo
import Points
import PostgresClient

/// The SQL of a page of nearest places. Its rows are ranked again by the geodesic, which decides, so SQL only needs to
/// order by chord, and ties at a limit may be broken arbitrarily.
enum NearestStatements {
  /// Returns the statement for the nearest places by chord.
  ///
  /// - Parameter ids: the places whose long tags are included.
  static func nearest(
    including ids: [PointID] = [],
    _ center: EarthCentred,
    _ filter: PointFilter,
    count: Int
  ) -> (Statement, Parameters) {
    var values = BoundValues(planning: filter.planning)
    let point = values.bind(center)
    let sql = """
      SELECT \(PointColumns.list(including: ids, &values))
      FROM (
        SELECT \(PointColumns.all)
        FROM points
        \(filter.conditions(&values, center: point).asWhereClause)
        ORDER BY position <<->> \(point)
        LIMIT \(count)
      ) AS found
      """
    let name = "\(PointColumns.prefix(including: ids))nearest_\(count)\(filter.shape)"
    return (Statement(name, planning: filter.planning, sql), values.parameters)
  }

  /// Returns the statement that takes the nearest places by chord and drops those nearer than a minimum chord. Each row
  /// has the number of dropped places; if no other place is left, there is one row of nulls with that number.
  static func nearest(
    including ids: [PointID] = [],
    _ center: EarthCentred,
    _ filter: PointFilter,
    notNearerThan chord: Double,
    amongFirst depth: Int,
    count: Int
  ) -> (Statement, Parameters) {
    var values = BoundValues(planning: filter.planning)
    let point = values.bind(center)
    let conditions = filter.conditions(&values, center: point).asWhereClause
    let sql = """
      WITH first AS MATERIALIZED (
        SELECT \(PointColumns.all), position <<->> \(point) AS chord
        FROM points
        \(conditions)
        ORDER BY chord
        LIMIT \(depth)
      )
      SELECT \(PointColumns.list(including: ids, &values)), total
      FROM (SELECT count(*) AS total FROM first) AS counted
      LEFT JOIN (
        SELECT * FROM first WHERE chord >= \(values.bind(chord)) ORDER BY chord, id LIMIT \(count)
      ) AS rest ON true
      ORDER BY chord, id
      """
    let name = "\(PointColumns.prefix(including: ids))next_\(depth)_\(count)\(filter.shape)"
    return (Statement(name, planning: filter.planning, sql), values.parameters)
  }

  /// Returns the statement for all matches in no particular order, up to a limit.
  static func few(
    including ids: [PointID] = [],
    _ center: EarthCentred,
    _ filter: PointFilter,
    atMost count: Int
  ) -> (Statement, Parameters) {
    var values = BoundValues()
    let point = filter.greatestChord == nil ? nil : values.bind(center)
    let sql = """
      SELECT \(PointColumns.list(including: ids, &values))
      FROM points
      \(filter.conditions(&values, center: point).asWhereClause)
      LIMIT \(count)
      """
    return (Statement("\(PointColumns.prefix(including: ids))few", planning: .eachTime, sql), values.parameters)
  }

  /// Returns the statement for the nearest places in a ring by PostGIS's geodesic, whose error is below a thousandth of
  /// the tolerance. It returns at most one page of places for each spot. Spots within the tolerance of the position
  /// count twice, once for the places up to the position's id and once for those after it.
  static func ring(
    including ids: [PointID] = [],
    _ center: (coordinate: Coordinate, position: EarthCentred),
    _ filter: PointFilter,
    chords: ClosedRange<Double>,
    cover: [SpatialBox],
    after position: PointQuery.Position,
    toleranceMetres: Double,
    perSpot: Int,
    count: Int
  ) -> (Statement, Parameters) {
    var values = BoundValues()
    let point = values.bind(center.position)
    let ring = inRing(point, filter, chords: chords, cover: cover, &values)
    let origin = values.bind([center.coordinate.longitude, center.coordinate.latitude])
    let (least, greatest) = (
      values.bind(position.distanceMetres - toleranceMetres), values.bind(position.distanceMetres + toleranceMetres)
    )
    let sql = """
      SELECT \(PointColumns.list(including: ids, &values))
      FROM (
        SELECT \(PointColumns.all)
        FROM (
          SELECT *, row_number() OVER (
            PARTITION BY lat, long, distance <= \(greatest) AND id > \(values.bind(position.id)) ORDER BY id
          ) AS place
          FROM (
            SELECT DISTINCT ON (id) \(PointColumns.all), ST_Distance(
              ST_SetSRID(ST_MakePoint(long, lat), 4326)::geography,
              ST_SetSRID(ST_MakePoint((\(origin))[1], (\(origin))[2]), 4326)::geography
            ) AS distance
            FROM (\(ring)) AS ring
            ORDER BY id
          ) AS measured
          WHERE distance >= \(least)
        ) AS ranked
        WHERE place <= \(values.bind(Int64(perSpot)))
        ORDER BY distance, id
        LIMIT \(values.bind(Int64(count)))
      ) AS found
      """
    return (Statement("\(PointColumns.prefix(including: ids))ring_\(filter.shape)", sql), values.parameters)
  }

  /// Returns a subquery for the places in the boxes and between the chords. A place on the common face of two boxes
  /// occurs twice.
  private static func inRing(
    _ point: String,
    _ filter: PointFilter,
    chords: ClosedRange<Double>,
    cover: [SpatialBox],
    _ values: inout BoundValues
  ) -> String {
    let edges = (0..<6).map { edge in
      values.bind(cover.map { edge < 3 ? $0.least[edge] : $0.greatest[edge - 3] })
    }
    let bounds = "\(values.bind(chords.lowerBound)) AND \(values.bind(chords.upperBound))"
    let conditions =
      ["position <<->> \(point) BETWEEN \(bounds)"]
      + filter.conditions(&values, center: point, skippingRegion: true)
    return """
      SELECT \(PointColumns.all), position <<->> \(point) AS chord
      FROM (
        SELECT ST_SetSRID(ST_MakeLine(ST_MakePoint(x1, y1, z1), ST_MakePoint(x2, y2, z2)), 4978) AS bounds
        FROM unnest(\(edges.joined(separator: ", "))) AS edges (x1, y1, z1, x2, y2, z2)
      ) AS boxes
      JOIN points ON position &&& bounds
      \(conditions.asWhereClause)
      """
  }
}

/// A search for one page of nearest places, ordered exactly by geodesic distance and then by id.
///
/// PostgreSQL finds candidates by the chord, the straight line through the earth, which an index can rank; this type
/// computes the geodesic, which decides. Chord and geodesic bound each other, so a statement's rows prove up to which
/// distance they are complete: places beyond the last chord can't be nearer than the least geodesic of that chord.
///
/// All places of a page come from one statement, and so from one snapshot: a place that moves between two statements
/// would be found by both or by neither. If the rows of the first statement prove too little, the next statement
/// searches for the whole page again, in a ring wide enough to hold it.
struct NearestSearch {
  /// A place that may be on the page.
  struct Candidate: BitwiseCopyable {
    let distanceMetres: Double
    let id: PointID
    let coordinate: Coordinate
    /// The number of its row in the result.
    let row: Int32

    var position: PointQuery.Position { .init(distanceMetres: distanceMetres, id: id) }
  }

  /// The completeness that a statement's rows prove.
  private enum Proof {
    case page(FoundRows)
    /// The rows do not contain the page, which is probably within this distance in metres; `nil` where that is unknown.
    case insufficient(probableReach: Double?)
  }

  /// The maximum number of matches of a box or of categories that are all fetched and sorted here for a later page.
  static let fewCount = 1000

  /// The depth, in page lengths, up to which a page is taken from the first places.
  static let shallowPages = 8

  /// The maximum number of boxes that cover a ring. Each costs an index scan, but more boxes cover less area outside
  /// the ring.
  static let maximumSectors = 128

  /// The divisor of the distance reached so far that gives the width of the first ring.
  static let ringsWithinReach = 256.0

  /// An upper bound of the difference between PostGIS's geodesic and this program's, in metres.
  static let toleranceMetres = 0.001

  /// The position before all places.
  private static let start = PointQuery.Position(distanceMetres: -1, id: PointID(high: 0, low: 0))

  private let store: PostgresStore
  private let query: PointQuery
  private let included: [PointID]
  private let center: Coordinate
  private let position: EarthCentred
  private let radiusMetres: Double
  private let filter: PointFilter

  /// The number of places to find: one more than the page length, to detect a next page.
  private var wanted: Int { query.limit + 1 }

  /// Creates a search.
  ///
  /// - Parameters:
  ///   - included: the places whose long tags are included.
  init(
    store: PostgresStore,
    query: PointQuery,
    proximity: PointQuery.Proximity,
    including included: [PointID]
  ) {
    self.store = store
    self.query = query
    self.included = included
    center = proximity.center
    position = EarthCentred(center)
    radiusMetres = min(proximity.radiusMetres ?? .infinity, Geodesic.greatestDistanceMetres + 1)
    filter = PointFilter(query, center: position)
  }

  /// Returns the places of the page, and the first one of the next page if there is one.
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

  /// Searches among the nearest places.
  private func nearest() async throws(PointStoreError) -> Proof {
    let count = Self.fetchCount(for: wanted)
    let result = try await store.read(
      NearestStatements.nearest(including: included, position, filter, count: count))
    let ranked = try rank(result, after: Self.start)
    let proof = proof(by: ranked, of: result, isComplete: result.count < count)
    // There are too few places within the radius, or the missing ones are close to it.
    if case .insufficient(probableReach: nil) = proof { return .insufficient(probableReach: radiusMetres) }
    return proof
  }

  /// Searches after a position that is near the start, or where there are few matches in total.
  private func next(after end: PointQuery.Position) async throws(PointStoreError) -> Proof {
    if filter.mayBeSelective {
      let result = try await store.read(
        NearestStatements.few(including: included, position, filter, atMost: Self.fewCount + 1))
      if result.count <= Self.fewCount {
        return .page(FoundRows(try rank(result, after: end).candidates, in: result, limit: query.limit))
      }
    }
    let count = Self.fetchCount(for: wanted)
    let depth = Self.shallowPages * count
    let result = try await store.read(
      NearestStatements.nearest(
        including: included, position, filter, notNearerThan: leastChord(at: end), amongFirst: depth,
        count: count)
    )
    guard let total = try result.rows.first?.integer(result.columnCount - 1) else {
      throw .unexpected(reason: "a count returned no row")
    }
    let ranked = try rank(result, after: end)
    return proof(by: ranked, of: result, isComplete: total < depth && result.count < count)
  }

  /// Searches the ring behind a position, each time from the position and with a wider ring, until one statement's rows
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
      // The width follows from the density so far, within bounds.
      let growth = min(64, max(2, 2 * Double(wanted) / Double(found.candidates.count)))
      reach = start + max(1, reach - start) * growth
    }
  }

  /// Returns the first places after a position up to a distance, including many places at one spot, and whether they
  /// complete the page.
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
      // At most `wanted` places were fetched for each spot, so at most that many are proven.
      let proven = Array(ranked.candidates.prefix { $0.distanceMetres < complete }.prefix(wanted))
      if proven.count == wanted || !isCut {
        return (FoundRows(proven, in: result, limit: query.limit), proven.count == wanted)
      }
      // That many places are within the tolerance of each other.
      count *= 4
    }
  }

  // MARK: Proofs

  /// The rows of a result with their distances.
  private struct Ranked {
    /// The candidates within the radius and after the position, in order.
    var candidates: [Candidate] = []
    var greatestChord = 0.0
    var greatestDistance = 0.0
  }

  /// Returns the completeness that the nearest rows by chord prove.
  ///
  /// - Parameter isComplete: a Boolean value that indicates whether the result contains all matching rows.
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
      // A count without rows comes with a row of nulls.
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

  /// Returns a lower bound of the chords to all places after the position, in metres.
  private func leastChord(at end: PointQuery.Position) -> Double {
    max(0, Geodesic.leastChordMetres(distanceMetres: end.distanceMetres) - SpatialBox.slackMetres)
  }

  /// Returns the number of candidates to fetch for a number of places: some more, so that the last place is proven, and
  /// rounded so that few different statements are prepared.
  static func fetchCount(for count: Int) -> Int {
    let least = count + max(3, count / 16)
    var size = 8
    while size < least { size *= 2 }
    let step = size / 8
    return (least + step - 1) / step * step
  }
}
