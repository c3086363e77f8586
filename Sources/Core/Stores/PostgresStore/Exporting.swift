import Geo
package import Points
import PostgresClient

extension PostgresStore {
  /// Passes every matching place, from one snapshot and ordered by id, to a handler; see
  /// ``Points/PointStore/exportPoints(matching:to:)``.
  ///
  /// It uses a dedicated connection without a statement timeout; the number of these is limited. One batch is read
  /// ahead while the handler processes another: a slow handler holds the snapshot open, but memory does not grow. The
  /// first batch is passed on as soon as it was read.
  ///
  /// - Throws: ``PointStoreError``, including ``PointStoreError/overloaded`` where no connection became free in time,
  ///   or the error of `consume`.
  package func exportPoints(
    matching query: PointQuery, for client: String?,
    to consume: @Sendable (consuming [PointOfInterest]) async throws -> Void
  ) async throws {
    guard !query.needsIndex else { throw PointStoreError.indexRequired }
    do {
      try await pool.withSession(for: .export, of: client) { session in
        try await export(query, session, consume)
      }
    } catch DatabaseError.cancelled {
      throw CancellationError()
    } catch let error as DatabaseError {
      throw await pool.storeError(error)
    }
  }

  private func export(
    _ query: PointQuery,
    _ session: Session,
    _ consume: @Sendable (consuming [PointOfInterest]) async throws -> Void
  ) async throws {
    let filter = PointFilter(query, center: query.proximity.map { EarthCentred($0.center) })
    if filter.isEmpty { return }
    // The cursor is read to its end, whereas the planner would expect a tenth of it.
    try await session.run(
      script: """
        BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; \(BulkSettings.script); SET LOCAL cursor_tuple_fraction = 1; \
        \(Self.sortMemory)
        """
    )
    let pages: ExportPages = filter.hasConditions ? .cursor : .keyset
    if case .cursor = pages {
      let (sql, parameters) = Self.cursor(query, filter)
      try await session.run(sql, parameters)
    }
    var result = try await session.run(pages.first.sql)
    while result.count > 0 {
      let page = result
      let statement = try pages.following(page)
      async let next = Self.fetch(statement, session)
      let points = try Self.points(of: page, matching: query.proximity)
      if !points.isEmpty { try await consume(points) }
      guard let following = try await next else { return }
      result = following
    }
  }

  private static func fetch(
    _ statement: ExportPages.Statement?,
    _ session: Session
  ) async throws(DatabaseError) -> QueryResult? {
    guard let statement else { return nil }
    return try await session.run(statement.sql, statement.parameters)
  }

  private static let sortMemory = "SET LOCAL work_mem = '64MB'"

  private static func cursor(_ query: PointQuery, _ filter: PointFilter) -> (sql: String, Parameters) {
    var values = BoundValues()
    var center: String?
    if let proximity = query.proximity, filter.greatestChord != nil {
      center = values.bind(EarthCentred(proximity.center))
    }
    let conditions = filter.conditions(&values, center: center)
    return (ExportPages.cursor(whereClause: conditions.asWhereClause), values.parameters)
  }

  /// Returns the places of a page, without those that are within the radius by chord but not by the geodesic.
  private static func points(
    of result: QueryResult,
    matching proximity: PointQuery.Proximity?
  ) throws(PointStoreError) -> [PointOfInterest] {
    var points: [PointOfInterest] = []
    points.reserveCapacity(result.count)
    for row in result.rows {
      let point = try row.point()
      if let proximity, let radius = proximity.radiusMetres,
        Geodesic.distanceMetres(from: proximity.center, to: point.draft.coordinate) > radius
      {
        continue
      }
      points.append(point)
    }
    return points
  }
}

/// The way in which an export reads its rows by id, one page at a time.
///
/// libpq buffers a whole page, so a page ends before its names and tags exceed ``maximumTextBytes``. A larger place is
/// a page of its own.
enum ExportPages {
  /// All places by keyset pagination. An index scan returns the rows as it finds them, whereas a cursor would
  /// materialize each page first, which takes 50 % longer.
  case keyset

  /// The rows of the cursor `exported`, which are found and sorted once.
  case cursor

  /// The maximum number of places of a page.
  static let length = 1000

  /// The maximum number of bytes of the names and tags in a page of several places.
  static let maximumTextBytes = PointPage.maximumTextBytes

  /// The page sizes, in descending order, for which each row of the cursor has the total length of the rows that
  /// follow it.
  private static let foreseenCounts = [length, 100, 10]

  typealias Statement = (sql: String, parameters: Parameters)

  var first: Statement {
    switch self {
    case .keyset: (Self.page(condition: "", count: Self.firstCount), Parameters())
    case .cursor: (Self.fetch(1), Parameters())
    }
  }

  /// Returns the statement for the page after this one; `nil` after the last page, which is empty.
  ///
  /// - Throws: ``Points/PointStoreError``.
  func following(_ page: QueryResult) throws(PointStoreError) -> Statement? {
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

  /// The number of places that are read for the first page.
  private static let firstCount = 125

  /// Returns the number of places to read for the next page, given the length of the last one. PostgreSQL reads all of
  /// them to measure them, so the number is small where places are long and pages short.
  static func count(after count: Int) -> Int { min(length, max(8, 2 * count)) }

  /// The number of bytes of a row's name and tags. PostgreSQL must read the tags completely to measure them, including
  /// those in TOAST storage.
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

  /// Returns the declaration of the cursor `exported` over the rows that satisfy a condition. After a place's columns
  /// each row has the numbers of bytes of the places that follow it.
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
