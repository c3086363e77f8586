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

  /// One page of a query without proximity.
  func listing(_ query: PointQuery) async throws(PointStoreError) -> PointPage {
    let result = try await read(Self.listing(.all, query, PointFilter(query, center: nil)))
    var points: [FoundPoint] = []
    points.reserveCapacity(query.limit)
    for row in result.rows.prefix(query.limit) {
      points.append(FoundPoint(point: try row.point(), distanceMetres: nil))
    }
    return PointPage(points: points, hasMore: result.count > query.limit)
  }

  /// The same page, as summaries.
  func listedSummaries(_ query: PointQuery) async throws(PointStoreError) -> SummaryPage {
    let result = try await read(Self.listing(.summary, query, PointFilter(query, center: nil)))
    var rows: [ListedRows.Entry] = []
    rows.reserveCapacity(query.limit)
    for row in result.rows.prefix(query.limit) {
      rows.append(.init(id: try row.pointID(), coordinate: try row.coordinate(), row: row.index))
    }
    let next = result.count > query.limit ? rows.last.map { PointQuery.Position(id: $0.id) } : nil
    return SummaryPage(ListedRows(result: result, rows: rows), next: next)
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

  func withSummary(at index: Int, _ body: (PointSummary) -> Void) {
    let entry = rows[index]
    result.row(entry.row).withSummary(id: entry.id, at: entry.coordinate, distanceMetres: nil, body)
  }
}
