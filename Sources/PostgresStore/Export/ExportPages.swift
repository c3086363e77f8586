import Points

/// How an export reads its rows by id, a page at a time: what to ask for next.
enum ExportPages {
  /// All places, each page behind the last id of the one before. An index leads to them, and PostgreSQL sends the rows as
  /// it finds them; for a cursor it would put each page aside first, which takes it half as long again.
  case keyset

  /// Those of the cursor `exported`, which are found and sorted once.
  case cursor

  /// So many places are a page; one with fewer is the last.
  static let length = 1000

  /// A statement and its values.
  typealias Question = (sql: String, parameters: Parameters)

  /// What gives the first page.
  var first: Question {
    switch self {
    case .keyset: (Self.page(condition: ""), Parameters())
    case .cursor: (Self.fetch, Parameters())
    }
  }

  /// What gives the page after this one; `nil` after the last.
  ///
  /// - Throws: ``Points/PointStoreError``.
  func following(_ page: QueryResult) throws(PointStoreError) -> Question? {
    guard page.count == Self.length, let last = page.rows.last else { return nil }
    switch self {
    case .keyset:
      let id = try last.pointID()
      return (Self.page(condition: "WHERE id > $1::uuid"), Parameters { $0.add(id) })
    case .cursor:
      return (Self.fetch, Parameters())
    }
  }

  private static let fetch = "FETCH \(length) FROM exported"

  private static func page(condition: String) -> String {
    """
    SELECT \(PointColumns.all)
    FROM points
    \(condition)
    ORDER BY id
    LIMIT \(length)
    """
  }
}
