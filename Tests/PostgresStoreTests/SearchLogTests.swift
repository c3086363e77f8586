import Geo
import Basics
import Points
import PostgresClient
import PostgresTestSupport
import SyntheticData
import Testing

@testable import PostgresStore

@Suite struct SearchLogTests {
  private static let start = Timestamp(microsecondsSinceEpoch: 1_795_219_200_000_000)

  private static func time(_ seconds: Double) -> Timestamp {
    Timestamp(microsecondsSinceEpoch: start.microsecondsSinceEpoch + Int64(seconds * 1_000_000))
  }

  /// Returns searches over two days, some of them without results, without a centre or without a category.
  private static func searches(count: Int) throws -> [TimedSearch] {
    var generator = SeededGenerator(seed: 11)
    return try (0..<count).map { _ in
      let center = try Coordinate(
        latitude: Double(Int.random(in: -9000 ... -8990, using: &generator)) / 100,
        longitude: Double(Int.random(in: 17_990...18_000, using: &generator)) / 100)
      let categories = ["cafe", "park", "\"; DROP TABLE searches --", "a,b", "Ä"].filter { _ in
        Int.random(in: 0..<4, using: &generator) == 0
      }
      let query = PointQuery(
        proximity: Int.random(in: 0..<10, using: &generator) == 0 ? nil : .init(center: center),
        categories: Set(categories.map { ExactText($0) }))
      let found = max(0, Int.random(in: -5...20, using: &generator))
      let duration = Duration.microseconds(Int.random(in: 0...50_000, using: &generator))
      return TimedSearch(
        time: time(Double.random(in: 0..<172_800, using: &generator)),
        search: Search(query, found: found, took: duration))
    }
  }

  private func log() async throws -> (PostgresSearchLog, TemporaryDatabase) {
    let database = try await TemporaryDatabase.make()
    return (PostgresSearchLog(try await database.migratedStore()), database)
  }

  @Test func reportMatchesCountingTheSearches() async throws {
    let (log, _) = try await log()
    let all = try Self.searches(count: 5000)
    try await log.append(Array(all.prefix(3000)))
    try await log.append(Array(all.dropFirst(3000)))
    let (from, until) = (Self.time(10_000), Self.time(130_000))

    let report = try await log.searches(from: from, until: until, limit: 20)

    let expected = SearchReport(counting: all.filter { $0.time >= from && $0.time < until }, limit: 20)
    #expect(expected.emptiestCells.count == 20)
    #expect(report.total == expected.total)
    #expect(report.medianDuration == expected.medianDuration)
    #expect(report.slowDuration == expected.slowDuration)
    #expect(report.busiestCells == expected.busiestCells)
    #expect(report.emptiestCells == expected.emptiestCells)
    #expect(report.categories == expected.categories)
    #expect(report.hours == expected.hours)
  }

  @Test func reportWithoutSearchesIsEmpty() async throws {
    let (log, _) = try await log()

    let report = try await log.searches(from: Self.time(0), until: Self.time(1), limit: 10)

    #expect(report == SearchReport())
  }

  @Test func searchIsRecordedUnchanged() async throws {
    let (log, database) = try await log()
    let center = try Coordinate(latitude: -12.344, longitude: 179.996)
    let query = PointQuery(proximity: .init(center: center), categories: ["b", "a\n"])

    try await log.append([
      TimedSearch(time: Self.time(0.000001), search: Search(query, found: 3, took: .seconds(1_000_000))),
      TimedSearch(time: Self.time(-1e9), search: Search(PointQuery(), found: 0, took: .microseconds(12))),
    ])

    let rows = try await database.run(
      """
      SELECT extract(epoch FROM time), lat_hundredths, long_hundredths, to_json(categories), found, duration_us
      FROM searches ORDER BY time DESC
      """)
    #expect(rows == "1795219200.000001|-1234|18000|[\"a\\n\",\"b\"]|3|2147483647\n795219200.000000||||0|12")
  }

  @Test func onlyFrequentTextsAreReported() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await database.migratedStore()
    let log = PostgresSearchLog(store, minimumTextCount: 3)
    let texts = [("b \"; DROP TABLE searches --", 3), ("a", 3), ("서울", 4), ("rare", 2)].flatMap { text, count in
      repeatElement(text, count: count)
    }
    let searches = texts.enumerated().map { index, text in
      TimedSearch(
        time: Self.time(Double(index)),
        search: Search(TextQuery(text: text), found: 0, took: .zero, recordsText: true))
    }

    try await log.append(searches + (try Self.searches(count: 10)))
    let report = try await log.searches(from: Self.time(0), until: Self.time(100), limit: 10)
    let limited = try await log.searches(from: Self.time(0), until: Self.time(100), limit: 1)
    let other = try await PostgresSearchLog(store).searches(from: Self.time(0), until: Self.time(100), limit: 10)

    let counts = try #require(report.textsFoundNothing)
    #expect(counts.map(\.subject) == ["서울", "a", "b drop table searches"])
    #expect(counts.map(\.count.searches) == [4, 3, 3])
    #expect(limited.textsFoundNothing?.count == 1)
    #expect(other.textsFoundNothing == nil)
  }

  @Test func onlyOldSearchesArePruned() async throws {
    let (log, database) = try await log()
    let all = try Self.searches(count: 1000)
    try await log.append(all)
    let time = Self.time(86_400)

    let count = try await log.pruneSearches(before: time)

    #expect(count == all.count { $0.time < time })
    #expect(try await database.run("SELECT count(*) FROM searches") == "\(1000 - count)")
  }

  @Test func aReportReadsOnlyThePagesOfItsTime() async throws {
    let (log, database) = try await log()
    try await database.run(
      """
      INSERT INTO searches (time, lat_hundredths, long_hundredths, found, duration_us)
      SELECT timestamptz '2026-01-01' + n * interval '20 seconds', n % 90, n % 180, n % 7, n % 1000
      FROM generate_series(1, 200000) AS n ORDER BY n;
      SELECT brin_summarize_new_values('searches_time');
      ANALYZE searches
      """)
    let (from, until) = ("timestamptz '2026-02-01'", "timestamptz '2026-02-02'")

    for statement in [SearchStatements.totals, .init("hours", SearchStatements.hours.sql)] {
      let sql = statement.sql.replacing("$1::timestamptz", with: from).replacing("$2::timestamptz", with: until)
      let plan = try await database.run("EXPLAIN \(sql)")
      #expect(plan.contains("Bitmap Index Scan on searches_time"), "\(plan)")
    }
    let report = try await log.searches(
      from: try #require(Timestamp(rfc3339: "2026-02-01T00:00:00Z")),
      until: try #require(Timestamp(rfc3339: "2026-02-02T00:00:00Z")), limit: 1)
    #expect(report.total.searches == 4320)
  }

  @Test(.timeLimit(.minutes(5))) func searchLogReportsAnOutageAndRecovers() async throws {
    let server = try await TemporaryServer.start()
    let database = try await server.makeDatabase()
    let log = PostgresSearchLog(try await database.migratedStore())
    let searches = try Self.searches(count: 10)
    try await log.append(searches)

    try await server.stop(.fast)
    let error = await #expect(throws: PointStoreError.self) { try await log.append(searches) }
    try await server.start()
    while (try? await log.append(searches)) == nil { try await Task.sleep(for: .milliseconds(10)) }

    #expect(error?.shortDescription == "unavailable")
    #expect(try await database.run("SELECT count(*) FROM searches") == "20")
  }

  @Test func searchLogTakesNoConnectionFromRequests() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await database.migratedStore(poolSize: 1)
    let log = PostgresSearchLog(store)

    try await log.append(try Self.searches(count: 10))

    let load = await store.poolLoad()
    #expect(load.connecting + load.idle + load.busy == 0)
    #expect(try await database.run("SELECT count(*) FROM searches") == "10")
  }
}

extension SearchReport {
  fileprivate init(counting searches: [TimedSearch], limit: Int) {
    self.init()
    func count(_ some: [TimedSearch]) -> Count {
      Count(searches: some.count, foundNothing: some.count { $0.search.found == 0 })
    }
    total = count(searches)
    let durations = searches.map(\.search.duration).sorted()
    medianDuration = durations[(durations.count + 1) / 2 - 1]
    slowDuration = durations[(durations.count * 99 + 99) / 100 - 1]
    let cells = Dictionary(grouping: searches.filter { $0.search.cell != nil }) { $0.search.cell }
      .compactMap { cell, searches in cell.map { SubjectCount($0, count: count(searches)) } }
      .sorted { $0.subject < $1.subject }
    busiestCells = Array(
      cells.sorted { ($1.count.searches, $0.subject) < ($0.count.searches, $1.subject) }.prefix(limit))
    emptiestCells = Array(
      cells.filter { $0.count.foundNothing > 0 }
        .sorted { ($1.count.foundNothing, $0.subject) < ($0.count.foundNothing, $1.subject) }.prefix(limit))
    categories = Set(searches.flatMap(\.search.categories)).sorted {
      $0.text.unicodeScalars.lexicographicallyPrecedes($1.text.unicodeScalars)
    }
    .map { name in
      SubjectCount(name, count: count(searches.filter { $0.search.categories.contains(name) }))
    }
    .sorted { $0.count.searches > $1.count.searches }
    let hour: Int64 = 3_600_000_000
    hours = Dictionary(grouping: searches) { $0.time.microsecondsSinceEpoch / hour * hour }.sorted { $0.key < $1.key }
      .map { SubjectCount(Timestamp(microsecondsSinceEpoch: $0.key), count: count($0.value)) }
  }
}
