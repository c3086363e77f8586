import Geo
import Points
import PostgresClient

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

  /// Returns the places of one page of a query without proximity, and one more if there is a next page.
  func listed(
    _ columns: PointColumns,
    including included: [PointID],
    _ query: PointQuery
  ) async throws(PointStoreError) -> FoundRows {
    let filter = PointFilter(query, center: nil)
    let result = try await read(Self.listing(columns, including: included, query, filter))
    return try FoundRows(listed: result, limit: query.limit)
  }
}
