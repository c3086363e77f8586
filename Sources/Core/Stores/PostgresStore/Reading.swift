package import Geo
package import Points
import PostgresClient

extension PostgresStore {
  static let byID = Statement(
    "by_id",
    """
    SELECT \(PointColumns.all)
    FROM points
    WHERE id = $1::uuid
    """
  )

  static let shuffledAtOrAfter = Statement(
    "shuffled",
    """
    SELECT \(PointColumns.all)
    FROM points
    WHERE uuid_hash_extended(id, 0) >= $1::int8
    ORDER BY uuid_hash_extended(id, 0), id
    LIMIT 1
    """
  )

  static let categoryCounts = Statement(
    "categories",
    """
    SELECT category, count(*)
    FROM points
    WHERE category IS NOT NULL
    GROUP BY category
    ORDER BY count(*) DESC, category
    """
  )

  /// Returns the statement for the number of places of each category in a box.
  static func categoryCounts(in box: BoundingBox) -> (Statement, Parameters) {
    var values = BoundValues()
    let filter = PointFilter(PointQuery(box: box), center: nil)
    let sql = """
      SELECT category, count(*)
      FROM points
      \((filter.conditions(&values) + ["category IS NOT NULL"]).asWhereClause)
      GROUP BY category
      ORDER BY count(*) DESC, category
      """
    return (Statement("categories_in", planning: .eachTime, sql), values.parameters)
  }

  /// Returns the place with an id; `nil` where there is none.
  package func point(id: PointID) async throws(PointStoreError) -> PointOfInterest? {
    try await read(Self.byID, Parameters { $0.add(id) }).rows.first?.point()
  }

  /// Returns the place with the least shuffle key at or after the pivot, or else the place with the least key of all.
  /// The key is PostgreSQL's hash of the id.
  package func point(shuffledAtOrAfter pivot: UInt64) async throws(PointStoreError) -> PointOfInterest? {
    let found = try await point(shuffleKeyNotBelow: pivot)
    return if found == nil, pivot > 0 { try await point(shuffleKeyNotBelow: 0) } else { found }
  }

  /// PostgreSQL's keys are signed; flipping the sign bit preserves the order of unsigned numbers.
  private func point(shuffleKeyNotBelow pivot: UInt64) async throws(PointStoreError) -> PointOfInterest? {
    let key = Int64(bitPattern: pivot ^ 1 << 63)
    let result = try await read(Self.shuffledAtOrAfter, Parameters { $0.add(key) })
    guard let row = result.rows.first else { return nil }
    return try row.point()
  }

  /// Returns the number of places of each category, in descending order. It scans the index of categories, or reads the
  /// places in the box.
  package func categoryCounts(in box: BoundingBox?) async throws(PointStoreError) -> [CategoryCount] {
    let query = box.map { Self.categoryCounts(in: $0) } ?? (Self.categoryCounts, Parameters())
    var counts: [CategoryCount] = []
    for row in try await readCount(query).rows {
      counts.append(CategoryCount(category: try row.text(0), count: Int(try row.integer(1))))
    }
    return counts
  }
}

extension PostgresStore {
  /// Returns the statement for a page of places in the order of the query's ids, or else by id.
  static func listing(
    including ids: [PointID] = [],
    _ query: PointQuery,
    _ filter: PointFilter
  ) -> (Statement, Parameters) {
    var values = BoundValues()
    var conditions = filter.conditions(&values)
    let rank = query.ids.isEmpty ? nil : "array_position(\(values.bind(query.ids)), "
    func position(_ id: String) -> String { rank.map { "\($0)\(id))" } ?? id }
    if let after = query.after { conditions.append("\(position("id")) > \(position(values.bind(after.id)))") }
    let sql = """
      SELECT \(PointColumns.list(including: ids, &values))
      FROM (
        SELECT \(PointColumns.all)
        FROM points
        \(conditions.asWhereClause)
        ORDER BY \(position("id"))
        LIMIT \(values.bind(Int64(query.limit + 1)))
      ) AS found
      ORDER BY \(position("id"))
      """
    let name =
      "\(PointColumns.prefix(including: ids))list\(rank == nil ? "" : "_named")\(query.after == nil ? "" : "_on")"
    // The places in a small box are best fetched and then sorted, those in a large one read in order of id.
    return (Statement(name, planning: filter.planning, sql), values.parameters)
  }

  /// Returns the places of one page of a query without proximity, and one more if there is a next page.
  func listed(
    including included: [PointID],
    _ query: PointQuery
  ) async throws(PointStoreError) -> FoundRows {
    let filter = PointFilter(query, center: nil)
    let result = try await read(Self.listing(including: included, query, filter))
    return try FoundRows(listed: result, limit: query.limit)
  }
}

extension PostgresStore {
  /// Returns the statement for the number of places that match certainly.
  ///
  /// - Parameter chord: the chord in metres up to which a place is within the radius, whatever its exact distance;
  ///   `nil` without a radius.
  static func count(_ filter: PointFilter, center: EarthCentred?, chord: Double?) -> (Statement, Parameters) {
    var values = BoundValues()
    let conditions = conditions(filter, center: center, &values) { point, values in
      chord.map { "position <<->> \(point) <= \(values.bind($0))" }
    }
    let sql = """
      SELECT count(*)
      FROM points
      \(conditions.asWhereClause)
      """
    return (Statement("count\(filter.shape)", planning: .eachTime, sql), values.parameters)
  }

  /// Returns the statement for the positions of places so near the edge of the radius that their distance decides.
  static func edge(_ filter: PointFilter, center: EarthCentred, chord: Double) -> (Statement, Parameters) {
    var values = BoundValues()
    let conditions = conditions(filter, center: center, &values) { point, values in
      "position <<->> \(point) > \(values.bind(chord))"
    }
    let sql = """
      SELECT lat, long
      FROM points
      \(conditions.asWhereClause)
      """
    return (Statement("edge\(filter.shape)", planning: .eachTime, sql), values.parameters)
  }

  private static func conditions(
    _ filter: PointFilter, center: EarthCentred?, _ values: inout BoundValues,
    onChord condition: (String, inout BoundValues) -> String?
  ) -> [String] {
    guard let center else { return filter.conditions(&values) }
    let point = values.bind(center)
    return filter.conditions(&values, center: point) + [condition(point, &values)].compactMap(\.self)
  }

  /// Returns the number of places that match. It reads all of them.
  package func count(matching query: PointQuery) async throws(PointStoreError) -> Int {
    guard !query.needsIndex else { throw .indexRequired }
    guard let proximity = query.proximity, let radius = proximity.radiusMetres,
      radius < Geodesic.greatestDistanceMetres
    else {
      var query = query
      query.proximity = nil
      return try await number(Self.count(PointFilter(query, center: nil), center: nil, chord: nil))
    }
    let center = EarthCentred(proximity.center)
    let filter = PointFilter(query, center: center)
    if filter.isEmpty { return 0 }
    let chord = max(0, Geodesic.leastChordMetres(distanceMetres: radius) - SpatialBox.slackMetres)
    let inside = chord > 0 ? try await number(Self.count(filter, center: center, chord: chord)) : 0
    var count = inside
    for row in try await readCount(Self.edge(filter, center: center, chord: chord > 0 ? chord : -1)).rows {
      let position: Coordinate
      do {
        position = try Coordinate(latitude: try row.double(0), longitude: try row.double(1))
      } catch {
        throw .unexpected(reason: "a place has an invalid position")
      }
      if Geodesic.distanceMetres(from: proximity.center, to: position) <= radius { count += 1 }
    }
    return count
  }

  private func number(_ query: (Statement, Parameters)) async throws(PointStoreError) -> Int {
    guard let row = try await readCount(query).rows.first else { throw .unexpected(reason: "a count has no row") }
    return Int(try row.integer(0))
  }
}
