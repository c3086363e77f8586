import Geo
import Points

extension PostgresStore {
  /// Returns the statement for a page of places ordered by id.
  static func listing(
    _ columns: PointColumns,
    including ids: [PointID] = [],
    _ query: PointQuery,
    _ filter: PointFilter
  ) -> (Statement, Parameters) {
    var values = BoundValues()
    var conditions = filter.conditions(&values)
    if let after = query.after { conditions.append("id > \(values.bind(after.id))") }
    let sql = """
      SELECT \(columns.list(including: ids, &values))
      FROM (
        SELECT \(columns)
        FROM points
        \(conditions.asWhereClause)
        ORDER BY id
        LIMIT \(values.bind(Int64(query.limit + 1)))
      ) AS found
      ORDER BY id
      """
    let name = "\(columns.prefix(including: ids))list\(query.after == nil ? "" : "_on")"
    // The places in a small box are best fetched and then sorted, those in a large one read in order of id.
    return (Statement(name, planning: filter.planning, sql), values.parameters)
  }

  /// The maximum number of places in a small box that are sorted; for more the planner chooses.
  private static let fewCount = 1000

  /// Returns the statement for the first places by id in small boxes of several callers, each with the number of places
  /// in its box, up to one more than are sorted.
  static func sharedListing(_ columns: PointColumns, _ filter: PointFilter, count: Int) -> SharedRead {
    var values = SharedNumbers()
    let conditions = filter.spatialConditions(&values, center: nil) + [filter.boxCondition(&values)].compactMap(\.self)
    let sql = """
      SELECT \(columns.boundedList), total, caller
      FROM \(values.source)
      CROSS JOIN LATERAL (
        SELECT \(columns), total
        FROM (
          SELECT \(columns), count(*) OVER () AS total
          FROM (SELECT \(columns) FROM points \(conditions.asWhereClause) LIMIT \(fewCount + 1)) AS matches
        ) AS counted
        ORDER BY id
        LIMIT \(count)
      ) AS found
      """
    let statement = Statement("\(columns.prefix())within_\(count)\(filter.shape)", sql)
    return SharedRead(statement: statement, values: .numbers(values.numbers), rowsEach: count)
  }

  /// Returns the rows of one page, and at least one more if there is a next page.
  private func listedRows(
    _ columns: PointColumns,
    including included: [PointID],
    _ query: PointQuery
  ) async throws(PointStoreError) -> QueryResult {
    let filter = PointFilter(query, center: nil)
    if filter.isSmallBox, query.after == nil, included.isEmpty {
      let count = NearestSearch.fetchCount(for: query.limit + 1)
      let result = try await pool.run(Self.sharedListing(columns, filter, count: count))
      let total = try result.rows.first?.integer(result.columnCount - 2) ?? 0
      if total <= Self.fewCount { return result }
    }
    return try await read(Self.listing(columns, including: included, query, filter))
  }

  /// Returns the places of one page of a query without proximity, and one more if there is a next page.
  func listed(
    _ columns: PointColumns,
    including included: [PointID],
    _ query: PointQuery
  ) async throws(PointStoreError) -> FoundRows {
    try FoundRows(listed: try await listedRows(columns, including: included, query), limit: query.limit)
  }
}
