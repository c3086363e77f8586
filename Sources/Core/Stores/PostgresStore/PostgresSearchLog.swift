import Basics
import JSONText
package import Points
import PostgresClient

/// The SQL of the search log.
enum SearchStatements {
  /// The stored value for a search without a cell.
  static let noCell = Int64(Int16.min)

  /// The statement that records searches. Values: an array for each column; for categories and texts, the number of the
  /// search from 1 beside each.
  static let append = Statement(
    "searches_append",
    """
    INSERT INTO searches (time, lat_hundredths, long_hundredths, categories, found, duration_us, text)
    SELECT timestamptz 'epoch' + search.time_us * interval '1 microsecond',
      nullif(search.lat, \(noCell))::smallint, nullif(search.long, \(noCell))::smallint,
      requested.names, search.found::integer, search.duration_us::integer, described.text
    FROM unnest($1::int8[], $2::int8[], $3::int8[], $4::int8[], $5::int8[])
      WITH ORDINALITY AS search (time_us, lat, long, found, duration_us, number)
    LEFT JOIN (
      SELECT number, array_agg(name ORDER BY name) AS names
      FROM unnest($6::int8[], $7::text[]) AS named (number, name)
      GROUP BY number
    ) AS requested ON requested.number = search.number
    LEFT JOIN unnest($8::int8[], $9::text[]) AS described (number, text) ON described.number = search.number
    ORDER BY search.number
    """
  )

  private static let span = "time >= $1::timestamptz AND time < $2::timestamptz"
  private static let counts = "count(*), count(*) FILTER (WHERE found = 0)"

  static let totals = Statement(
    "searches_totals",
    planning: .eachTime,
    """
    SELECT \(counts),
      percentile_disc(0.5) WITHIN GROUP (ORDER BY duration_us)::int8,
      percentile_disc(0.99) WITHIN GROUP (ORDER BY duration_us)::int8
    FROM searches
    WHERE \(span)
    """
  )

  static let busiestCells = cells("searches_busiest", orderedBy: 3)

  static let emptiestCells = cells(
    "searches_emptiest", having: "HAVING count(*) FILTER (WHERE found = 0) > 0", orderedBy: 4)

  private static func cells(_ name: String, having: String = "", orderedBy column: Int) -> Statement {
    Statement(
      name,
      planning: .eachTime,
      """
      SELECT lat_hundredths::int8, long_hundredths::int8, \(counts)
      FROM searches
      WHERE \(span) AND lat_hundredths IS NOT NULL
      GROUP BY lat_hundredths, long_hundredths
      \(having)
      ORDER BY \(column) DESC, lat_hundredths, long_hundredths
      LIMIT $3::int8
      """
    )
  }

  static let categories = Statement(
    "searches_categories",
    planning: .eachTime,
    """
    SELECT name, \(counts)
    FROM searches, unnest(categories) AS requested (name)
    WHERE \(span)
    GROUP BY name
    ORDER BY 2 DESC, name
    LIMIT $3::int8
    """
  )

  /// The statement for the texts that found nothing. Values: the period, the maximum number of texts and the minimum
  /// number of searches.
  static let texts = Statement(
    "searches_texts",
    planning: .eachTime,
    """
    SELECT text, \(counts)
    FROM searches
    WHERE \(span) AND text IS NOT NULL
    GROUP BY text
    HAVING count(*) >= $4::int8
    ORDER BY 2 DESC, text
    LIMIT $3::int8
    """
  )

  static let hours = Statement(
    "searches_hours",
    planning: .eachTime,
    """
    SELECT date_trunc('hour', time, 'UTC') AS hour, \(counts)
    FROM searches
    WHERE \(span)
    GROUP BY hour
    ORDER BY hour
    """
  )

  /// The statement that deletes a batch of the searches before a time, in a fraction of a second.
  static let prune = Statement(
    "searches_prune",
    planning: .eachTime,
    """
    DELETE FROM searches
    WHERE ctid = ANY (ARRAY(SELECT ctid FROM searches WHERE time < $1::timestamptz LIMIT \(prunedAtOnce)))
    """
  )

  static let prunedAtOnce = 20_000
}

/// The log of searches, in the table `searches` of a store's database.
///
/// It has one connection of its own, established on demand, so that neither recording nor reporting takes one from
/// requests. While a report is made, searches wait to be recorded.
package final class PostgresSearchLog: Sendable {
  /// The maximum number of categories that are recorded for one search. A request for more doesn't express an interest.
  static let maximumCategories = 16

  /// The store, whose polling thread the log shares.
  private let store: PostgresStore
  private let pool: ConnectionPool

  /// The number of searches from which on a text that found nothing is reported; `nil` where none are.
  private let minimumTextCount: Int?

  /// Creates a log beside a store; it connects on the first call.
  ///
  /// - Parameter minimumTextCount: the number of searches from which on a text that found nothing is reported; `nil`
  ///   where none are.
  package init(_ store: PostgresStore, minimumTextCount: Int? = nil) {
    self.minimumTextCount = minimumTextCount
    self.store = store
    // A crash of the server loses only the last moment of searches, which is not worth a wait for the disk.
    pool = ConnectionPool(on: store.thread, store.configuration, connections: 1, waiters: 16, isDurable: false)
  }

  deinit {
    // Callers retain the log, so no call is in progress here.
    store.thread.submit { [pool] in pool.assumeIsolated { $0.shutDown() } }
  }

  /// Closes the connection; current and later calls fail.
  package func shutDown() async { await pool.shutDown() }
}

extension PostgresSearchLog: SearchLog {
  /// Records the searches in one statement.
  package func append(_ searches: [TimedSearch]) async throws(PointStoreError) {
    guard !searches.isEmpty else { return }
    _ = try await pool.query(SearchStatements.append, Self.parameters(for: searches), isRead: false)
  }

  /// Deletes the searches before a time, some thousands in each transaction.
  package func pruneSearches(before time: Timestamp) async throws(PointStoreError) -> Int {
    var pruned = 0
    while true {
      let parameters = Parameters { $0.add(time) }
      let count = try await pool.query(SearchStatements.prune, parameters, isRead: false).affectedRows
      pruned += count
      if count < SearchStatements.prunedAtOnce { return pruned }
    }
  }

  private static func parameters(for searches: [TimedSearch]) -> Parameters {
    var texts: [(number: Int64, text: String)] = []
    var categories: [(number: Int64, name: String)] = []
    for (index, entry) in searches.enumerated() {
      if let text = entry.search.text { texts.append((Int64(index + 1), text.text)) }
      for name in entry.search.categories.sorted().prefix(maximumCategories) {
        categories.append((Int64(index + 1), name.text))
      }
    }
    return Parameters {
      $0.add(searches.map(\.time.microsecondsSinceEpoch))
      $0.add(searches.map { $0.search.cell.map { Int64($0.latitudeHundredths) } ?? SearchStatements.noCell })
      $0.add(searches.map { $0.search.cell.map { Int64($0.longitudeHundredths) } ?? SearchStatements.noCell })
      $0.add(searches.map { Int64($0.search.found) })
      $0.add(searches.map { microseconds(of: $0.search.duration) })
      $0.add(categories.map { $0.number })
      $0.add(categories.map { $0.name })
      $0.add(texts.map { $0.number })
      $0.add(texts.map { $0.text })
    }
  }

  /// Returns a duration as the table stores it, up to 35 minutes.
  private static func microseconds(of duration: Duration) -> Int64 {
    max(0, min(Int64(Int32.max), Int64(min(duration, .seconds(3600)) / .microseconds(1))))
  }
}

extension PostgresSearchLog: SearchHistory {
  /// Returns a summary of the searches in a period.
  ///
  /// Each part is a separate statement: searches that are recorded concurrently may count in one and not in another. It
  /// takes time in proportion to the searches of the period.
  package func searches(
    from start: Timestamp, until end: Timestamp, limit: Int
  ) async throws(PointStoreError) -> SearchReport {
    func rows(_ statement: Statement, isLimited: Bool) async throws(PointStoreError) -> QueryResult {
      let parameters = Parameters {
        $0.add(start)
        $0.add(end)
        if isLimited { $0.add(Int64(max(0, limit))) }
      }
      return try await pool.query(statement, parameters, isRead: true)
    }
    var report = SearchReport()
    for row in try await rows(SearchStatements.totals, isLimited: false).rows {
      report.total = try row.count(0)
      if !row.isNull(2) { report.medianDuration = .microseconds(try row.integer(2)) }
      if !row.isNull(3) { report.slowDuration = .microseconds(try row.integer(3)) }
    }
    for row in try await rows(SearchStatements.busiestCells, isLimited: true).rows {
      report.busiestCells.append(try row.cellCount())
    }
    for row in try await rows(SearchStatements.emptiestCells, isLimited: true).rows {
      report.emptiestCells.append(try row.cellCount())
    }
    for row in try await rows(SearchStatements.categories, isLimited: true).rows {
      report.categories.append(.init(ExactText(try row.text(0)), count: try row.count(1)))
    }
    if let minimumTextCount {
      let parameters = Parameters {
        $0.add(start)
        $0.add(end)
        $0.add(Int64(max(0, limit)))
        $0.add(Int64(minimumTextCount))
      }
      report.textsFoundNothing = []
      for row in try await pool.query(SearchStatements.texts, parameters, isRead: true).rows {
        report.textsFoundNothing?.append(.init(ExactText(try row.text(0)), count: try row.count(1)))
      }
    }
    for row in try await rows(SearchStatements.hours, isLimited: false).rows {
      report.hours.append(.init(try row.timestamp(0), count: try row.count(1)))
    }
    return report
  }
}

extension QueryResult.Row {
  /// Returns the counts of two columns: all searches, and those without results.
  fileprivate func count(_ column: Int32) throws(PointStoreError) -> SearchReport.Count {
    .init(searches: Int(try integer(column)), foundNothing: Int(try integer(column + 1)))
  }

  fileprivate func cellCount() throws(PointStoreError) -> SearchReport.SubjectCount<Search.Cell> {
    guard let latitude = Int32(exactly: try integer(0)), let longitude = Int32(exactly: try integer(1)) else {
      throw .unexpected(reason: "a search cell has no coordinate")
    }
    return .init(Search.Cell(latitudeHundredths: latitude, longitudeHundredths: longitude), count: try count(2))
  }
}
