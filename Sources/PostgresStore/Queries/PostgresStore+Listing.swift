import Geo
import Points

extension PostgresStore {
  /// Places by id.
  static func listing(
    _ columns: PointColumns,
    _ query: PointQuery,
    _ filter: PointFilter
  ) -> (Statement, Parameters) {
    var values = BoundValues()
    var conditions = filter.conditions(&values)
    if let after = query.after { conditions.append("id > \(values.bind(after.id))") }
    let sql = """
      SELECT \(columns)
      FROM points
      \(conditions.asWhereClause)
      ORDER BY id
      LIMIT \(values.bind(Int64(query.limit + 1)))
      """
    // A small box is best looked up and then sorted, a large one walked in the order of ids.
    return (
      Statement("\(columns.prefix)list\(query.after == nil ? "" : "_on")", planning: filter.planning, sql),
      values.parameters
    )
  }

  /// Up to so many places in a small box are sorted; where there are more, PostgreSQL thinks about a way.
  private static let fewCount = 1000

  /// The first places of a small box by id, for several callers at a time, each with how many there are in the box, or
  /// one more than are sorted.
  static func sharedListing(_ columns: PointColumns, _ filter: PointFilter, count: Int) -> SharedRead {
    var values = SharedNumbers()
    let conditions = filter.spatialConditions(&values, center: nil) + [filter.boxCondition(&values)].compactMap(\.self)
    let sql = """
      SELECT \(columns), total, caller
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
    let statement = Statement("\(columns.prefix)within_\(count)\(filter.shape)", sql)
    return SharedRead(statement: statement, values: .numbers(values.numbers))
  }

  /// The rows of one page, and at least one more where there is a next page.
  private func listedRows(
    _ columns: PointColumns,
    _ query: PointQuery
  ) async throws(PointStoreError) -> QueryResult {
    let filter = PointFilter(query, center: nil)
    if filter.isSmallBox, query.after == nil {
      let count = NearestSearch.fetchCount(for: query.limit + 1)
      let result = try await pool.run(Self.sharedListing(columns, filter, count: count))
      let total = try result.rows.first?.integer(result.columnCount - 2) ?? 0
      if total <= Self.fewCount { return result }
    }
    return try await read(Self.listing(columns, query, filter))
  }

  /// One page of a query without proximity.
  func listing(_ query: PointQuery) async throws(PointStoreError) -> PointPage {
    let result = try await listedRows(.all, query)
    let count = Self.fittingCount(of: result, limit: query.limit)
    var points: [FoundPoint] = []
    points.reserveCapacity(count)
    for row in result.rows.prefix(count) {
      points.append(FoundPoint(point: try row.point(), distanceMetres: nil))
    }
    return PointPage(points: points, hasMore: result.count > count)
  }

  /// The same page, as summaries.
  func listedSummaries(_ query: PointQuery) async throws(PointStoreError) -> SummaryPage {
    let result = try await listedRows(.summary, query)
    let count = Self.fittingCount(of: result, limit: query.limit)
    var rows: [ListedRows.Entry] = []
    rows.reserveCapacity(count)
    for row in result.rows.prefix(count) {
      rows.append(.init(id: try row.pointID(), coordinate: try row.coordinate(), row: row.index))
    }
    let next = result.count > count ? rows.last.map { PointQuery.Position(id: $0.id) } : nil
    return SummaryPage(ListedRows(result: result, rows: rows), next: next)
  }

  /// The number of rows that a page holds.
  private static func fittingCount(of result: QueryResult, limit: Int) -> Int {
    let rows = result.rows
    return PointPage.fittingCount(of: min(result.count, limit)) { rows[$0].textBytes }
  }
}

/// Rows without distances, still in their answer.
private struct ListedRows: PointSummaries {
  struct Entry: BitwiseCopyable {
    let id: PointID
    let coordinate: Coordinate
    let row: Int32
  }

  let result: QueryResult
  let rows: [Entry]

  var count: Int { rows.count }

  func forEach(_ body: (PointSummary) -> Void) {
    for entry in rows {
      result.row(entry.row).withSummary(id: entry.id, at: entry.coordinate, distanceMetres: nil, body)
    }
  }
}
