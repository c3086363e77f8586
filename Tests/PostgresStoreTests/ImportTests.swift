import Geo
import Points
import PostgresClient
import PostgresTestSupport
import SyntheticData
import TestSupport
import Testing

@testable import PostgresStore

@Suite struct ImportTests {
  private static let id = PointID(high: 0x0199_A1B2_0000_7000, low: 0x8000_0000_0000_0001)
  private static let otherID = PointID(high: 0x0199_A1B2_0000_7000, low: 0x8000_0000_0000_0002)

  private func row(
    _ number: Int,
    _ name: String,
    id: PointID? = nil,
    origin: String? = nil,
    latitude: Double = 48,
    tags: KeyValuePairs<String, String> = [:]
  ) throws -> ImportRow {
    ImportRow(
      number: number,
      id: id,
      draft: try PointDraft(
        name: name,
        category: "test",
        coordinate: try Coordinate(latitude: latitude, longitude: 16),
        tags: try Tags(tags),
        source: origin == nil ? nil : "test",
        sourceID: origin
      )
    )
  }

  private func counts(_ report: ImportReport) -> [Int] {
    [report.created, report.updated, report.unchanged, report.rejected]
  }

  private func names(_ store: PostgresStore) async throws -> [String] {
    try await store.allPoints().map(\.draft.name).sorted()
  }

  @Test func newRowsBecomePlacesOfOneVersionWithVersion7IDs() async throws {
    let store = try await TemporaryDatabase.make().migratedStore()

    let report = try await store.importRows([row(1, "one", origin: "1"), row(2, "two"), row(3, "three", id: Self.id)])

    let points = try await store.allPoints()
    #expect(counts(report) == [3, 0, 0, 0])
    #expect(points.count == 3)
    #expect(Set(points.map(\.version)).count == 1)
    #expect(points.contains { $0.id == Self.id && $0.draft.name == "three" })
    #expect(points.allSatisfy { $0.id.high >> 12 & 0xF == 7 && $0.createdAt == $0.updatedAt })
  }

  private static let indexes = """
    SELECT string_agg(
      concat_ws(' ', pg_get_indexdef(indexrelid), conname, pg_get_constraintdef(pg_constraint.oid)), E'\n'
      ORDER BY indexrelid::regclass::text)
    FROM pg_index LEFT JOIN pg_constraint ON conrelid = indrelid AND conindid = indexrelid
    WHERE indrelid = 'points'::regclass AND indisvalid
    """

  @Test func exclusiveImportLeavesTheSamePlacesAndIndexesAsAnotherAndLogsAReset() async throws {
    let databases = [try await TemporaryDatabase.make(), try await TemporaryDatabase.make()]
    let stores = [try await databases[0].migratedStore(), try await databases[1].migratedStore()]
    let rows =
      try (1...2000).map { try row($0, "place \($0)", origin: "\($0)", latitude: Double($0) / 100) }
      + [row(2001, "place 7 again", origin: "7"), row(2002, "with an id", id: Self.id)]
    let triggers = """
      SELECT string_agg(tgname::text || tgenabled::text, ',' ORDER BY tgname) FROM pg_trigger WHERE NOT tgisinternal
      """
    let before = [try await databases[0].run(Self.indexes), try await databases[0].run(triggers)]
    _ = try await databases[0].run("TRUNCATE changes")

    let report = try await stores[0].importRows(rows.inOneBatch, options: ImportOptions(isExclusive: true))
    let other = try await stores[1].importRows(rows)

    #expect(report == other)
    #expect(counts(report) == [2001, 0, 0, 1])
    #expect(try await names(stores[0]) == names(stores[1]))
    #expect([try await databases[0].run(Self.indexes), try await databases[0].run(triggers)] == before)
    let kinds = "SELECT string_agg(DISTINCT kind::text, ',') FROM changes"
    #expect(try await databases[0].run(kinds) == "reset")
    // They are of use: a place is found by each key, and none twice.
    _ = try await stores[0].importRows([row(1, "replaced", origin: "9")])
    #expect(try await stores[0].count(matching: PointQuery()) == 2001)
    #expect(try await databases[0].run(kinds) == "reset,updated")
  }

  @Test func exclusiveImportNeedsAnEmptyTableOfTheRoleAndChangesNothingOtherwise() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await database.migratedStore()
    let rows = [try row(1, "new", origin: "1")]
    let exclusive = ImportOptions(isExclusive: true)
    let before = try await database.run(Self.indexes)
    let role = "writer_\(database.name)"
    try await database.run(
      "CREATE ROLE \(role) LOGIN; GRANT ALL ON ALL TABLES IN SCHEMA public TO \(role); "
        + "GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO \(role)")
    let writer = try PostgresStore(
      configuration: PostgresConfiguration(
        url: "postgresql://\(role)@127.0.0.1:\(database.server.port)/\(database.name)"), migrations: [])

    await #expect { try await writer.importRows(rows.inOneBatch, options: exclusive) } throws: { error in
      if case PointStoreError.misconfigured = error { true } else { false }
    }
    _ = try await store.importRows([row(1, "old")])
    await #expect(throws: StoreNotEmpty.self) { try await store.importRows(rows.inOneBatch, options: exclusive) }

    #expect(try await names(store) == ["old"])
    #expect(try await database.run(Self.indexes) == before)
    await writer.shutDown()
  }

  @Test func interruptedExclusiveImportKeepsTheIndexes() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await database.migratedStore()
    let before = try await database.run(Self.indexes)
    // Creating this index fails after the places were inserted.
    try await database.run("CREATE UNIQUE INDEX points_name ON points (name)")

    await #expect(throws: PointStoreError.self) {
      try await store.importRows(
        [row(1, "same", origin: "1"), row(2, "same", origin: "2")].inOneBatch, options: ImportOptions(isExclusive: true)
      )
    }
    try await database.run("DROP INDEX points_name")

    #expect(try await database.run(Self.indexes) == before)
    #expect(try await names(store).isEmpty)
  }

  @Test func timeOfTheLastImportOfASourceIsRecordedThoughNothingChanged() async throws {
    let store = try await TemporaryDatabase.make().migratedStore()
    #expect(try await store.lastImports().isEmpty)

    let rows = try [row(1, "one", origin: "1"), row(2, "two")]
    _ = try await store.importRows(rows)
    let first = try #require(try await store.lastImports().first)
    _ = try await store.importRows(rows, dryRun: true)
    #expect(try await store.lastImports().first?.seconds == first.seconds)
    _ = try await store.importRows(rows)
    let imports = try await store.lastImports()

    #expect(imports.map(\.source) == ["test"])
    #expect(try #require(imports.first).seconds > first.seconds)
  }

  @Test func importWithoutRowsOfASourceIsRecordedForTheSourcesThatItNames() async throws {
    let store = try await TemporaryDatabase.make().migratedStore()
    _ = try await store.importRows([row(1, "one", origin: "1"), row(2, "two", origin: "2")])
    let first = try #require(try await store.lastImports().first)

    // As a file of changes that has deletions only.
    let report = try await store.importRows(
      AsyncStream<[ImportRow]> { $0.finish() },
      options: ImportOptions(removal: .places(source: "test", sourceIDs: { ["1"] })))
    let second = try #require(try await store.lastImports().first)
    _ = try await store.importRows(
      AsyncStream<[ImportRow]> { $0.finish() }, options: ImportOptions(sources: [DataSource(name: "test")]))
    let third = try #require(try await store.lastImports().first)

    #expect(report.deleted == 1)
    #expect(second.source == "test" && second.seconds > first.seconds)
    #expect(third.seconds > second.seconds)
  }

  @Test func oldestImportsAreReportedWhereThereAreMany() async throws {
    let store = try await TemporaryDatabase.make().migratedStore()
    func rows(_ sources: Range<Int>) throws -> [ImportRow] {
      try sources.map { number in
        ImportRow(
          number: number + 1, id: nil,
          draft: try PointDraft(
            name: "A", coordinate: Coordinate(latitude: 1, longitude: 2), source: "s\(number)", sourceID: "1"))
      }
    }
    _ = try await store.importRows(try rows(0..<150))
    let before = try #require(try await store.lastImports().first).seconds
    _ = try await store.importRows(try rows(0..<100))

    let imports = try await store.lastImports()

    #expect(imports.count == 100)
    #expect(Set(imports.map(\.source)).isSuperset(of: (100..<150).map { "s\($0)" }))
    #expect(imports.prefix(50).allSatisfy { $0.seconds == before })
    #expect(imports.suffix(50).allSatisfy { $0.seconds > before })
  }

  @Test func rowWithAKnownOriginOrIDUpdatesOnlyChangedPlaces() async throws {
    let store = try await TemporaryDatabase.make().migratedStore()
    try await store.importRows([
      row(1, "by origin", origin: "1"), row(2, "by id", id: Self.id), row(3, "same", origin: "3", tags: ["a": "b"]),
    ])
    let before = try await store.allPoints()

    let report = try await store.importRows([
      row(1, "by origin, new", origin: "1"), row(2, "by id, new", id: Self.id, origin: "2"),
      row(3, "same", origin: "3", tags: ["a": "b"]),
    ])

    let after = try await store.allPoints()
    #expect(counts(report) == [0, 2, 1, 0])
    #expect(after.map(\.id) == before.map(\.id))
    #expect(after.map(\.createdAt) == before.map(\.createdAt))
    for (former, point) in zip(before, after) {
      let isSame = point.draft.name == "same"
      #expect(isSame ? point.version == former.version : point.version > former.version)
      #expect((point.updatedAt == point.createdAt) == isSame)
    }
    #expect(try await names(store) == ["by id, new", "by origin, new", "same"])
  }

  @Test func lastOfSeveralRowsForTheSamePlaceIsUsed() async throws {
    let store = try await TemporaryDatabase.make().migratedStore()
    try await store.importRows([row(1, "there", id: Self.id, origin: "there")])

    let report = try await store.importRows([
      row(1, "first", origin: "1"), row(2, "by id", id: Self.id), row(3, "second", origin: "1"),
      row(4, "by origin", origin: "there"), row(5, "third", origin: "1"),
    ])

    #expect(counts(report) == [1, 1, 0, 3])
    #expect(
      report.rejections == [
        .init(number: 1, detail: "means the same place as row 5, which counts instead"),
        .init(number: 2, detail: "means the same place as row 4, which counts instead"),
        .init(number: 3, detail: "means the same place as row 5, which counts instead"),
      ]
    )
    #expect(try await names(store) == ["by origin", "third"])
  }

  @Test func aRowWhoseIDAndOriginBelongToTwoPlacesIsRejected() async throws {
    let store = try await TemporaryDatabase.make().migratedStore()
    try await store.importRows([row(1, "one", id: Self.id, origin: "1"), row(2, "two", id: Self.otherID, origin: "2")])

    let report = try await store.importRows([row(7, "both", id: Self.id, origin: "2"), row(8, "new", origin: "3")])

    #expect(counts(report) == [1, 0, 0, 1])
    #expect(
      report.rejections == [
        .init(number: 7, detail: "its source and sourceId belong to a place with another id")
      ]
    )
    #expect(try await names(store) == ["new", "one", "two"])
  }

  /// Row 1 shares its origin with row 2, which is itself superseded because it shares its id with row 3.
  @Test func supersededRowRejectsNoOtherRow() async throws {
    let store = try await TemporaryDatabase.make().migratedStore()

    let report = try await store.importRows([
      row(1, "one", origin: "1"), row(2, "two", id: Self.id, origin: "1"), row(3, "three", id: Self.id, origin: "3"),
    ])

    #expect(counts(report) == [2, 0, 0, 1])
    #expect(try await names(store) == ["one", "three"])
  }

  @Test func onlyTheFirstRejectionsAreKeptButAllAreCounted() async throws {
    let store = try await TemporaryDatabase.make().migratedStore()

    let report = try await store.importRows(try (1...250).map { try row($0, "row \($0)", origin: "same") })

    #expect(counts(report) == [1, 0, 0, 249])
    #expect(report.rejections.map(\.number) == Array(1...100))
    #expect(try await names(store) == ["row 250"])
  }

  @Test func aDryRunReportsTheSameAndChangesNothing() async throws {
    let store = try await TemporaryDatabase.make().migratedStore()
    try await store.importRows([row(1, "one", origin: "1"), row(2, "two", origin: "2")])
    let before = try await store.allPoints()
    let rows = try [
      row(1, "one", origin: "1"), row(2, "two, new", origin: "2"), row(3, "three", origin: "3"),
      row(4, "three again", origin: "3"),
    ]

    let dry = try await store.importRows(rows, dryRun: true)
    let between = try await store.allPoints()
    let wet = try await store.importRows(rows)

    #expect(counts(dry) == [1, 1, 1, 1])
    #expect(dry == wet)
    #expect(between == before)
  }

  @Test func nothingIsImportedWhenTheRowsFail() async throws {
    struct Broken: Error {}
    let store = try await TemporaryDatabase.make().migratedStore()
    var places = try SyntheticPoints(seed: 3)
    let batches = try (0..<20).map { _ in try places.rows(count: 500) }
    let stream = AsyncThrowingStream<[ImportRow], any Error> { continuation in
      for batch in batches { continuation.yield(batch) }
      continuation.finish(throwing: Broken())
    }

    await #expect(throws: Broken.self) { try await store.importRows(stream, dryRun: false) }

    #expect(try await store.allPoints() == [])
  }

  @Test(.timeLimit(.minutes(5))) func nothingIsImportedWhenTheTaskIsCancelled() async throws {
    let store = try await TemporaryDatabase.make().migratedStore()
    let rows = try [row(1, "one")]
    let (stream, continuation) = AsyncStream.makeStream(of: [ImportRow].self)
    continuation.yield(rows)

    let importing = Task { try await store.importRows(stream, dryRun: false) }
    importing.cancel()
    let result = await importing.result

    // A cancelled task's sequence ends; the rows up to then may have been imported or not, but never a part of them.
    if case .failure(let error) = result {
      #expect(error is CancellationError)
      #expect(try await store.allPoints() == [])
    }
  }

  @Test(.timeLimit(.minutes(5))) func nothingIsImportedWhenTheConnectionIsLost() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await database.migratedStore()
    var places = try SyntheticPoints(seed: 3)
    let batch = try places.rows(count: 500)
    let terminate = """
      SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
      WHERE datname = current_database() AND query LIKE 'COPY%'
      """
    let stream = AsyncThrowingStream<[ImportRow], any Error> {
      // The connection is terminated as soon as rows are sent, and then rows are sent until the store notices.
      _ = try await database.run(terminate)
      return batch
    }

    let error = await #expect(throws: PointStoreError.self) { try await store.importRows(stream, dryRun: false) }

    #expect(error?.shortDescription == "unavailable")
    #expect(try await store.allPoints() == [])
  }

  @Test(.timeLimit(.minutes(5)), arguments: ["pg_cancel_backend", "pg_terminate_backend"])
  func importTerminatedBeforeItsCommitIsKnownToBeRolledBack(function: String) async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await database.migratedStore()
    try await database.run(
      """
      CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(600); RETURN NULL; END';
      CREATE CONSTRAINT TRIGGER waiting AFTER INSERT ON points DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION wait()
      """)
    let committing = "FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'"
    let row = try row(1, "one")

    let importing = Task { try await store.importRows([row]) }
    // Until it has ended: a process that wakes up for a moment is not told of as sleeping.
    let ending = Task {
      while !Task.isCancelled { try await database.run("SELECT \(function)(pid) \(committing)") }
    }
    let error = await #expect(throws: PointStoreError.self) { try await importing.value }
    ending.cancel()

    #expect(error == .timeout || error?.shortDescription == "unavailable")
    #expect(try await store.allPoints() == [])
  }

  @Test(.timeLimit(.minutes(5))) func concurrentImportsNeitherDeadlockNorCreateDuplicates() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await database.migratedStore()

    let reports = try await withThrowingTaskGroup(of: ImportReport.self) { group in
      for writer in 0..<4 {
        // Each import has its own order.
        let numbers = Array(1...500).shuffled()
        let rows = try numbers.enumerated().map { try row($0 + 1, "row \($1) by \(writer)", origin: "\($1)") }
        group.addTask { try await store.importRows(rows) }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }

    let points = try await store.allPoints()
    #expect(points.count == 500)
    let changes = try await database.run(
      """
      SELECT count(*), count(*) FILTER (WHERE version <= former)
      FROM (
        SELECT version, lag(version) OVER (PARTITION BY point_id ORDER BY sequence) AS former FROM changes
      ) AS change
      """)
    #expect(changes == "2000|0")
    #expect(reports.map(\.created).reduce(0, +) == 500)
    #expect(reports.map(\.updated).reduce(0, +) == 1500)
  }

  @Test(.timeLimit(.minutes(5))) func importRetriesAfterAConflictWithAWrite() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await database.migratedStore()
    let rows = try (1...50).map { try row($0, "imported \($0)", origin: "\($0)") }
    let insert = """
      INSERT INTO points (id, lat, long, name, source, source_id)
      VALUES (gen_random_uuid(), 1, 1, 'written', 'test', '25')
      """

    // The writer holds the origin until the import waits for it, and then commits.
    let writer = try await database.session()
    try await writer.run(script: "BEGIN; \(insert)")
    async let importing = store.importRows(rows)
    while try await database.run(
      "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
      == "0"
    {}
    try await writer.run(script: "COMMIT")
    await writer.close()
    let report = try await importing

    #expect(counts(report) == [49, 1, 0, 0])
    #expect(try await store.allPoints().count == 50)
  }

  @Test(.timeLimit(.minutes(5))) func otherPlacesAreWrittenWhileAnImportDeletesThousands() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await database.migratedStore()
    try await store.importRows(
      try (1...1500).map { try row($0, "old \($0)", origin: "\($0)") } + [row(1501, "other", id: Self.id)])
    var configuration = try PostgresConfiguration.withLongTimeouts(url: database.url)
    configuration.statementTimeoutMilliseconds = 10_000
    let other = try PostgresStore(configuration: configuration, migrations: [])
    // The import has deleted the places when it waits for the outcome of a creation with its origin.
    let writer = try await database.session()
    try await writer.run(
      script: """
        BEGIN; INSERT INTO points (id, lat, long, name, source, source_id)
        VALUES (gen_random_uuid(), 1, 1, 'written', 'test', 'new')
        """)
    async let importing = store.importRows(
      [row(1, "new", origin: "new")].inOneBatch,
      options: ImportOptions(removal: .others(source: "test", limit: .percentage(100))))
    while try await database.run(
      "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'") == "0"
    {}

    let changed = try await other.put(row(1, "changed").draft, id: Self.id, if: .exists)
    let created = try await other.create(row(1, "created").draft, once: nil)
    try await other.delete(id: created.id, if: .none)
    try await writer.run(script: "ROLLBACK")
    await writer.close()
    let report = try await importing

    #expect(!changed.wasCreated)
    #expect(report.deleted == 1500 && report.created == 1)
    #expect(try await names(store) == ["changed", "new"])
  }

  @Test(.timeLimit(.minutes(5))) func importThatConflictsWithEachAttemptRejectsARowAndLetsOthersWrite() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await database.migratedStore()
    try await store.importRows([row(1, "other", id: Self.id)])
    var configuration = try PostgresConfiguration.withLongTimeouts(url: database.url)
    configuration.statementTimeoutMilliseconds = 10_000
    let other = try PostgresStore(configuration: configuration, migrations: [])
    // Each holds an origin until the import waits for it.
    var writers: [String: Session] = [:]
    for origin in 1...5 {
      let writer = try await database.session()
      try await writer.run(
        script: """
          BEGIN; INSERT INTO points (id, lat, long, name, source, source_id)
          VALUES (gen_random_uuid(), 1, 1, 'written', 'test', '\(origin)')
          """)
      let result = try await writer.run("SELECT pg_backend_pid()::text")
      let pid = try #require(result.rows.first).text(0)
      writers[pid] = writer
    }
    let rows = try (1...6).map { try row($0, "imported", origin: "\($0)") }

    async let importing = store.importRows(rows)
    while !writers.isEmpty {
      let blocking = try await database.run(
        """
        SELECT blocking FROM pg_stat_activity CROSS JOIN unnest(pg_blocking_pids(pid)) AS blocking
        WHERE datname = current_database() AND wait_event_type = 'Lock' LIMIT 1
        """)
      guard let writer = writers.removeValue(forKey: blocking) else { continue }
      if writers.isEmpty { _ = try await other.put(row(1, "changed").draft, id: Self.id, if: .exists) }
      try await writer.run(script: "COMMIT")
      await writer.close()
    }
    let report = try await importing

    #expect(counts(report) == [1, 4, 0, 1])
    #expect(report.rejections.map(\.detail) == ["another request created its place during the import"])
    #expect(try await names(store) == ["changed"] + Array(repeating: "imported", count: 5) + ["written"])
  }

  @Test func statementTimeoutsDoNotApplyToImports() async throws {
    let database = try await TemporaryDatabase.make()
    _ = try await database.migratedStore()
    // Longer than the timeout, which the statements around it keep even on a busy machine.
    try await database.run(
      """
      CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(11); RETURN NULL; END $$;
      CREATE TRIGGER wait AFTER INSERT ON points FOR EACH STATEMENT EXECUTE FUNCTION wait()
      """)
    let configuration = try PostgresConfiguration(url: database.url, statementTimeoutMilliseconds: 10_000)
    let store = try PostgresStore(configuration: configuration, migrations: [])
    var places = try SyntheticPoints(seed: 4)

    let report = try await store.importRows(try places.rows(count: 50))

    #expect(report.created == 50)
  }
}
