public import Points

extension PostgresStore {
  private static let byID = Statement(
    "point",
    """
    SELECT \(PointColumns.all)
    FROM points
    WHERE id = $1::uuid
    """
  )

  private static let shuffledAtOrAfter = Statement(
    "shuffled",
    """
    SELECT \(PointColumns.all)
    FROM points
    WHERE uuid_hash_extended(id, 0) >= $1::int8
    ORDER BY uuid_hash_extended(id, 0), id
    LIMIT 1
    """
  )

  private static let categoryCounts = Statement(
    "categories",
    """
    SELECT category, count(*)
    FROM points
    WHERE category IS NOT NULL
    GROUP BY category
    ORDER BY count(*) DESC, category
    """
  )

  /// A look-up by the primary key; see `PointStore`.
  public func point(id: PointID) async throws(PointStoreError) -> PointOfInterest? {
    let result = try await read(Self.byID, Parameters { $0.add(id) })
    guard let row = result.rows.first else { return nil }
    return try row.point()
  }

  /// A look-up in the index over the ids' hashes; see `PointStore`.
  public func point(shuffledAtOrAfter pivot: UInt64) async throws(PointStoreError) -> PointOfInterest? {
    let found = try await point(shuffleKeyNotBelow: pivot)
    return if found == nil, pivot > 0 { try await point(shuffleKeyNotBelow: 0) } else { found }
  }

  /// PostgreSQL's keys are signed, and the order of all 64-bit numbers is kept when the first bit is turned over.
  private func point(shuffleKeyNotBelow pivot: UInt64) async throws(PointStoreError) -> PointOfInterest? {
    let key = Int64(bitPattern: pivot ^ 1 << 63)
    let result = try await read(Self.shuffledAtOrAfter, Parameters { $0.add(key) })
    guard let row = result.rows.first else { return nil }
    return try row.point()
  }

  /// One grouped scan of the categories' index; see `PointStore`.
  public func categoryCounts() async throws(PointStoreError) -> [CategoryCount] {
    var counts: [CategoryCount] = []
    for row in try await read(Self.categoryCounts, Parameters()).rows {
      counts.append(CategoryCount(category: try row.text(0), count: Int(try row.integer(1))))
    }
    return counts
  }
}
