import Points

/// How an export reads its rows by id, a page at a time: what to ask for next.
///
/// libpq holds the whole page, so that each ends before its names and tags exceed ``maximumTextBytes``; a longer place is a
/// page by itself.
enum ExportPages {
  /// All places, each page behind the last id of the one before. An index leads to them, and PostgreSQL sends the rows as
  /// it finds them; for a cursor it would put each page aside first, which takes it half as long again.
  case keyset

  /// Those of the cursor `exported`, which are found and sorted once.
  case cursor

  /// The maximum number of places of a page.
  static let length = 1000

  /// The maximum number of bytes that the names and tags of a page of several places have.
  static let maximumTextBytes = PointPage.maximumTextBytes

  /// The numbers of places of which each row of the cursor tells how long those that follow it are, most first.
  private static let foreseenCounts = [length, 100, 10]

  /// A statement and its values.
  typealias Question = (sql: String, parameters: Parameters)

  /// What gives the first page.
  var first: Question {
    switch self {
    case .keyset: (Self.page(condition: "", count: Self.firstCount), Parameters())
    case .cursor: (Self.fetch(1), Parameters())
    }
  }

  /// What gives the page after this one; `nil` after the last, which has no rows.
  ///
  /// - Throws: ``Points/PointStoreError``.
  func following(_ page: QueryResult) throws(PointStoreError) -> Question? {
    guard let last = page.rows.last else { return nil }
    switch self {
    case .keyset:
      let id = try last.pointID()
      let count = Self.count(after: page.count)
      return (Self.page(condition: "WHERE id > $1::uuid", count: count), Parameters { $0.add(id) })
    case .cursor:
      var count = 1
      for (index, foreseen) in Self.foreseenCounts.enumerated() where count == 1 {
        let bytes = try last.integer(PointColumns.count + Int32(index))
        if bytes <= Int64(Self.maximumTextBytes) { count = foreseen }
      }
      return (Self.fetch(count), Parameters())
    }
  }

  private static func fetch(_ count: Int) -> String { "FETCH \(count) FROM exported" }

  /// The number of places of which the first page is.
  private static let firstCount = 125

  /// Returns the number of places that the page after one of so many is made of. PostgreSQL reads all of them to measure
  /// them, so that where places are long and pages short there are few.
  static func count(after count: Int) -> Int { min(length, max(8, 2 * count)) }

  /// The number of bytes of a row's name and tags. PostgreSQL reads the tags as a whole to measure them, also those that it
  /// stores apart.
  private static let textBytes = "octet_length(name) + octet_length(tags::text) AS text_bytes"

  private static func page(condition: String, count: Int) -> String {
    """
    SELECT \(PointColumns.all)
    FROM (
      SELECT *, sum(text_bytes) OVER preceding AS bytes, row_number() OVER preceding AS number
      FROM (
        SELECT \(PointColumns.all), \(textBytes)
        FROM points
        \(condition)
        ORDER BY id
        LIMIT \(count)
      ) AS next
      WINDOW preceding AS (ORDER BY id ROWS UNBOUNDED PRECEDING)
    ) AS measured
    WHERE number = 1 OR bytes <= \(maximumTextBytes)
    ORDER BY id
    """
  }

  /// What declares the cursor `exported` of the rows that fulfil a condition. Behind a place's columns stand the numbers of
  /// bytes that the next places have.
  static func cursor(whereClause: String) -> String {
    let sums = foreseenCounts.map { count in
      "coalesce(sum(text_bytes) OVER (ORDER BY id ROWS BETWEEN 1 FOLLOWING AND \(count) FOLLOWING), 0)"
    }
    return """
      DECLARE exported NO SCROLL CURSOR FOR
      SELECT \(PointColumns.all), \(sums.joined(separator: ", "))
      FROM (
        SELECT \(PointColumns.all), \(textBytes)
        FROM points
        \(whereClause)
      ) AS measured
      ORDER BY id
      """
  }
}
