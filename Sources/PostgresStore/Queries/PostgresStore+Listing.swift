import Points

extension PostgresStore {
  /// Places by id.
  static func listing(_ query: PointQuery, _ filter: PointFilter) -> (Statement, Parameters) {
    var values = BoundValues()
    var conditions = filter.conditions(&values)
    if let after = query.after { conditions.append("id > \(values.bind(after.id))") }
    let sql = """
      SELECT \(PointColumns.all)
      FROM points
      \(conditions.asWhereClause)
      ORDER BY id
      LIMIT \(values.bind(Int64(query.limit + 1)))
      """
    // A small box is best looked up and then sorted, a large one walked in the order of ids.
    return (
      Statement("list\(query.after == nil ? "" : "_on")", planning: filter.planning, sql),
      values.parameters
    )
  }

  /// One page of a query without proximity.
  func listing(_ query: PointQuery) async throws(PointStoreError) -> PointPage {
    let result = try await read(Self.listing(query, PointFilter(query, center: nil)))
    var points: [FoundPoint] = []
    points.reserveCapacity(query.limit)
    for row in result.rows.prefix(query.limit) {
      points.append(FoundPoint(point: try row.point(), distanceMetres: nil))
    }
    return PointPage(points: points, hasMore: result.count > query.limit)
  }
}
