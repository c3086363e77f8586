import Geo
import Points
import PostgresClient
import PostgresTestSupport
import SyntheticData
import Synchronization
import TestSupport
import Testing

@testable import PostgresStore

/// Tests of stores behind PgBouncer, which assigns a server connection to one client after another.
@Suite(.timeLimit(.minutes(10))) struct PoolerTests {
  private static func place(
    _ mode: TemporaryPooler.Mode = .transaction, serverConnections: Int = 2, idleSeconds: Double = 600
  ) async throws -> (TemporaryPooler, TemporaryDatabase) {
    let server = try await TemporaryServer.start()
    let database = try await server.makeDatabase()
    let pooler = try await TemporaryPooler.start(
      mode, to: server, serverConnections: serverConnections, idleSeconds: idleSeconds)
    return (pooler, database)
  }

  private static func backends(_ database: TemporaryDatabase, _ condition: String) async throws -> Int {
    let count = try await database.run(
      """
      SELECT count(*) FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid() AND \(condition)
      """)
    return Int(count) ?? -1
  }

  // MARK: Load

  @Test(arguments: [TemporaryPooler.Mode.transaction, .session])
  func thousandsOfMixedRequestsSucceedAndReadTheirWrites(_ mode: TemporaryPooler.Mode) async throws {
    let (pooler, database) = try await Self.place(mode, serverConnections: mode == .transaction ? 2 : 20)
    let store = try await database.migratedStore(through: pooler, poolSize: 8) { $0.waitTimeoutMilliseconds = 300_000 }
    var synthetic = try SyntheticPoints(seed: 5)
    try await store.importRows(try synthetic.rows(count: 500))
    let errors = Mutex<[String]>([])
    let requests = Counter()

    await withTaskGroup(of: Void.self) { group in
      for worker in 0..<32 {
        group.addTask { @Sendable in
          var load = MixedLoad(store: store, worker: worker)
          for step in 0..<120 {
            do {
              try await load.run(step)
            } catch {
              errors.withLock { $0.append("\(error)") }
            }
            requests.add()
          }
        }
      }
    }

    let failed = errors.withLock { $0 }
    #expect(failed.isEmpty, "\(failed.count) of \(requests.value), such as \(failed.prefix(3))")
    #expect(await store.openConnections > 2)
    if mode == .transaction {
      #expect(try await Self.backends(database, "backend_type = 'client backend'") <= 2)
    }
  }

  // MARK: State of server connections

  @Test func settingsOfOneConnectionAffectNoOther() async throws {
    let (pooler, database) = try await Self.place(serverConnections: 1)
    let store = try await database.migratedStore(through: pooler)
    let log = PostgresSearchLog(store)

    try await store.exportPoints(matching: PointQuery()) { _ in }
    _ = try await store.create(try .sample("first"), once: nil)
    try await log.append([TimedSearch(time: Timestamp(microsecondsSinceEpoch: 0), search: .sample)])
    _ = try await store.importRows([try .sample("imported", 1, 2, source: "s", sourceID: "1")])

    let settings = ["jit", "statement_timeout", "synchronous_commit", "work_mem"]
    for setting in settings {
      let query = "SELECT current_setting('\(setting)')"
      #expect(try await pooler.psql(database, query) == database.run(query), "\(setting)")
    }
  }

  @Test func slowStatementIsStoppedByTheServer() async throws {
    let (pooler, database) = try await Self.place()
    let store = try await database.migratedStore(through: pooler) {
      $0.statementTimeoutMilliseconds = 10_000
      $0.silenceToleranceMilliseconds = 300_000
    }

    await #expect(throws: PointStoreError.timeout) {
      try await store.read(Statement("slow", "SELECT 1::int8 FROM pg_sleep(3600)"), Parameters())
    }

    #expect(try await Self.backends(database, "wait_event = 'PgSleep'") == 0)
    #expect(try await store.read(Statement("one", "SELECT 1::int8"), Parameters()).count == 1)
  }

  @Test func writeIsDurableBeforeItsResponseWhateverTheRolesSetting() async throws {
    let (pooler, database) = try await Self.place()
    try await database.run("ALTER DATABASE \(database.name) SET synchronous_commit = off")
    let store = try await database.migratedStore(through: pooler)

    let result = try await store.write(
      Statement("commit", "SELECT current_setting('synchronous_commit')"), Parameters())

    #expect(try result.rows.first?.text(0) == "on")
    #expect(try await pooler.psql(database, "SHOW synchronous_commit") == "off")
  }

  @Test func concurrentMigrationsRunInTurnAndLeaveNoLock() async throws {
    let (pooler, database) = try await Self.place()
    let configuration = try PostgresConfiguration.withLongTimeouts(url: pooler.url(of: database))
    let migrations = try Migration.all(inDirectory: migrationsDirectory)
    let migrator = Migrator(configuration: configuration, migrations: migrations)

    async let one = migrator.migrate()
    async let other = migrator.migrate()
    let ran = try await one + other
    let locks = try await database.run("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'")
    // The server connections are different ones now, or assigned in another order.
    async let third = migrator.migrate()
    async let fourth = migrator.migrate()

    #expect(ran == migrations.map(\.name))
    #expect(locks == "0")
    #expect(try await third + fourth == [])
  }

  @Test func failedMigrationIsRolledBackAndEarlierOnesStay() async throws {
    let (pooler, database) = try await Self.place()
    let migrations = [
      Migration(name: "0001_first", sql: "CREATE TABLE one (number bigint)"),
      Migration(name: "0002_failing", sql: "CREATE TABLE two (number bigint); SELECT 1 / 0"),
    ]
    let migrator = Migrator(
      configuration: try PostgresConfiguration.withLongTimeouts(url: pooler.url(of: database)), migrations: migrations)

    await #expect(throws: MigrationError.failed(name: "0002_failing", reason: "division by zero (SQLSTATE 22012)")) {
      try await migrator.migrate()
    }

    let tables = "SELECT to_regclass('one') IS NOT NULL, to_regclass('two') IS NULL"
    #expect(try await database.run(tables) == "t|t")
    #expect(try await database.run("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'") == "0")
    #expect(try await migrator.plan() == ["0002_failing"])
  }

  // MARK: Cancelled calls

  @Test func cancellationsAffectNoOtherCall() async throws {
    let (pooler, database) = try await Self.place()
    let store = try await database.migratedStore(through: pooler) { $0.waitTimeoutMilliseconds = 300_000 }

    try await store.expectCancellationsToAffectNoOtherCall()
  }

  @Test func anOverdueWriteHasAnUnknownOutcomeAndItsConnectionIsDropped() async throws {
    let (pooler, database) = try await Self.place()
    let store = try await database.migratedStore(through: pooler, poolSize: 1) {
      $0.statementTimeoutMilliseconds = 15_000
      $0.silenceToleranceMilliseconds = 500
    }
    let id = try await store.create(try .sample("first"), once: nil).id
    await store.waitUntilNotified()
    let process = try await store.read(Statement("process", "SELECT pg_backend_pid()::text"), Parameters())
    let processID = try #require(try process.rows.first?.text(0))

    try await database.server.signal("STOP", processID: processID)
    let error = await #expect(throws: PointWriteError.self) {
      try await store.put(try .sample("late"), id: id, if: .none)
    }
    let next = try await store.put(try .sample("newer"), id: id, if: .none)
    try await database.server.signal("CONT", processID: processID)

    if case .store(.outcomeUnknown)? = error {} else { Issue.record("got \(String(describing: error))") }
    #expect(next.point.draft.name == "newer")
  }

  @Test func anErrorOfAStatementLeavesTheConnectionUsable() async throws {
    let (pooler, database) = try await Self.place()
    let store = try await database.migratedStore(through: pooler, poolSize: 1)
    try await database.run("CREATE TABLE pairs (n int8 UNIQUE DEFERRABLE INITIALLY DEFERRED)")
    let insert = Statement("pair", "INSERT INTO pairs VALUES ($1::int8)")

    _ = try await store.write(insert, Parameters { $0.add(Int64(1)) })
    // The constraint is violated at the commit, after the statement's result.
    let violation = await #expect(throws: DatabaseError.self) {
      try await store.pool.run(insert, Parameters { $0.add(Int64(1)) }, isRead: false)
    }
    await #expect(throws: PointStoreError.self) {
      try await store.write(Statement("zero", "SELECT 1 / (SELECT 0)"), Parameters())
    }
    _ = try await store.write(insert, Parameters { $0.add(Int64(2)) })

    if case .rejected(let error) = violation {
      #expect(error.sqlState == "23505")
    } else {
      Issue.record("got \(String(describing: violation))")
    }
    #expect(try await database.run("SELECT count(*) FROM pairs") == "2")
    #expect(await store.openConnections == 1)
  }

  // MARK: Prepared statements

  private static let preparedStatements = Statement("count_prepared", "SELECT count(*) FROM pg_prepared_statements")

  /// Returns the number of prepared statements of a session after two reads.
  private func preparedStatements(_ store: PostgresStore) async throws -> Int64? {
    _ = try await store.read(Self.preparedStatements, Parameters())
    return try await store.read(Self.preparedStatements, Parameters()).rows.first?.integer(0)
  }

  @Test(arguments: [
    (PostgresConfiguration.PreparedStatements.automatic, Int64(1)), (.always, 1), (.never, 0),
  ])
  func statementsArePreparedOnADirectConnectionUnlessTurnedOff(
    _ setting: PostgresConfiguration.PreparedStatements, _ count: Int64
  ) async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await database.migratedStore(poolSize: 1) { $0.preparedStatements = setting }

    #expect(try await preparedStatements(store) == count)
  }

  @Test(arguments: [
    // The statement that sets up the transaction is prepared as well.
    (PostgresConfiguration.PreparedStatements.automatic, Int64(0)), (.always, 2), (.never, 0),
  ])
  func statementsArePreparedBehindAPoolerAsConfigured(
    _ setting: PostgresConfiguration.PreparedStatements, _ count: Int64
  ) async throws {
    let (pooler, database) = try await Self.place(.session, serverConnections: 4)
    let store = try await database.migratedStore(through: pooler, poolSize: 1) { $0.preparedStatements = setting }

    #expect(try await preparedStatements(store) == count)
    _ = try await store.create(try .sample("created"), once: nil)
  }

  @Test func lostPreparedStatementsBehindAPoolerAreExplained() async throws {
    let (pooler, database) = try await Self.place(serverConnections: 1)
    let configure: (inout PostgresConfiguration) -> Void = { $0.preparedStatements = .always }
    let one = try await database.migratedStore(through: pooler, poolSize: 1, configure)
    let other = try await database.migratedStore(through: pooler, poolSize: 1, configure)
    let statement = Statement("one", "SELECT 1::int8")

    _ = try await one.read(statement, Parameters())
    let error = await #expect(throws: PointStoreError.self) { try await other.read(statement, Parameters()) }

    guard case .misconfigured(let reason)? = error else {
      Issue.record("got \(String(describing: error))")
      return
    }
    #expect(reason.contains("DATABASE_PREPARED_STATEMENTS=off"))
  }

  @Test(arguments: [
    (TemporaryPooler.Mode.session, "pool_mode = session"), (.transaction, "pool_mode = transaction"),
    (.statement, "pool_mode = statement"),
  ])
  func modeOfThePoolerIsDetected(_ mode: TemporaryPooler.Mode, _ text: String) async throws {
    let (pooler, database) = try await Self.place(mode, serverConnections: 4)
    let direct = try PostgresConfiguration.withLongTimeouts(url: database.url)
    let configuration = try PostgresConfiguration.withLongTimeouts(url: pooler.url(of: database))
    let migrations = try Migration.all(inDirectory: migrationsDirectory)
    _ = try await Migrator(configuration: direct, migrations: migrations).migrate()

    let check = DatabaseCheck(configuration: configuration, migrations: migrations)
    let findings = try await check.findings(for: [.serving])
    let directly = try await DatabaseCheck(configuration: direct, migrations: migrations).findings(for: [.serving])

    switch (mode, findings.last) {
    case (.session, .warning(let found)?), (.transaction, .warning(let found)?), (.statement, .problem(let found)?):
      #expect(found.contains(text))
    default: Issue.record("got \(findings)")
    }
    guard case .fine("each connection has a session of its own")? = directly.last else {
      Issue.record("got \(directly)")
      return
    }
  }

  // MARK: Another server behind the pooler

  @Test(arguments: [true, false])
  func serverRestartIsDetectedOnPoolerConnections(isCrashOfOneProcess: Bool) async throws {
    let (pooler, database) = try await Self.place()
    let server = database.server
    let store = try await database.migratedStore(through: pooler)
    let id = try await store.create(try .sample("first"), once: nil).id
    let before = try #require(try await store.dataVersion())

    if isCrashOfOneProcess {
      try await server.killOneProcess()
    } else {
      try await server.stop(.fast)
      try await server.start()
    }
    // As after a restore from a backup: the sequence repeats numbers.
    var isBack = false
    while !isBack { isBack = (try? await database.run("SELECT setval('point_versions', 1)")) != nil }
    var written: PointOfInterest?
    while written == nil { written = try? await store.put(try .sample("second"), id: id, if: .none).point }
    var after: DataVersion?
    while after == nil { after = try? await store.dataVersion() }

    let last = try #require(Int64(try await database.run("SELECT last_value FROM point_versions")))
    #expect(last > 1_000_000_000)
    #expect(after?.source != before.source)
    #expect(after?.token.split(separator: "-").prefix(2) != before.token.split(separator: "-").prefix(2))
  }
}

/// A load of mixed requests, each of which checks its result as far as it is determined.
private struct MixedLoad {
  let store: PostgresStore
  let worker: Int
  private var names: [PointID: String] = [:]

  private struct Mismatch: Error, CustomStringConvertible {
    let description: String
  }

  init(store: PostgresStore, worker: Int) {
    self.store = store
    self.worker = worker
  }

  mutating func run(_ step: Int) async throws {
    let center = try Coordinate(latitude: Double(worker), longitude: Double(step))
    let own = PointID.sample(UInt64(worker * 8 + step % 8))
    switch step % 12 {
    case 0, 4:
      let name = "\(worker)-\(step)"
      let created = try await store.create(
        try .sample(name, Double(worker), 2),
        once: step % 24 == 0 ? IdempotencyKey(text: name, requestHash: 7) : nil)
      names[created.id] = name
      try await check(created.id)
    case 1, 5, 7:
      _ = try await store.put(try .sample("\(worker) \(step)", Double(worker), 3), id: own, if: .none)
      names[own] = "\(worker) \(step)"
      try await check(own)
    case 2: _ = try await store.page(matching: PointQuery(proximity: .init(center: center), limit: 10))
    case 3:
      let box = try BoundingBox(west: -20, south: -20, east: 20, north: 20)
      _ = try await store.page(matching: PointQuery(box: box, limit: 50))
    case 6: _ = try await store.categoryCounts()
    case 8:
      guard let (id, _) = names.popFirst() else { return }
      try await store.delete(id: id, if: .none)
      try await check(id)
    case 9: _ = try await store.point(id: own)
    case 10: _ = try await store.dataVersion()
    default:
      if worker % 8 == 0 {
        try await store.exportPoints(matching: PointQuery()) { _ in }
      } else if worker % 8 == 1 {
        let row = try ImportRow.sample(
          "imported \(step)", Double(worker), 4, source: "load", sourceID: "\(worker)")
        let report = try await store.importRows([row])
        guard report.created + report.updated == 1 else { throw Mismatch(description: "\(report)") }
      } else {
        _ = try await store.point(shuffledAtOrAfter: UInt64(step) << 56)
      }
    }
  }

  private func check(_ id: PointID) async throws {
    let found = try await store.point(id: id)?.draft.name
    guard found == names[id] else {
      throw Mismatch(description: "found \(found ?? "nothing") instead of \(names[id] ?? "nothing")")
    }
  }
}

extension PostgresStore {
  fileprivate var openConnections: Int {
    get async {
      let load = await poolLoad()
      return load.idle + load.busy
    }
  }
}

extension Search {
  fileprivate static var sample: Search { Search(PointQuery(), found: 1, took: .milliseconds(1)) }
}
