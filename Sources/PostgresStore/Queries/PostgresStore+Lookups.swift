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
    if let box { return try await categoryCounts(Self.categoryCounts(in: box)) }
    return try await sharedCount.counts { [self] () async throws(PointStoreError) in
      try await categoryCounts((Self.categoryCounts, Parameters()))
    }
  }

  private func categoryCounts(_ query: (Statement, Parameters)) async throws(PointStoreError) -> [CategoryCount] {
    var counts: [CategoryCount] = []
    for row in try await read(query).rows {
      counts.append(CategoryCount(category: try row.text(0), count: Int(try row.integer(1))))
    }
    return counts
  }
}
