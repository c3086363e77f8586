import Points
import PostgresClient
import PostgresTestSupport
import Testing

@testable import PostgresStore

@Suite struct MigratorTests {
  private static let first = Migration(name: "0001_first", sql: "CREATE TABLE one (number bigint)")
  private static let second = Migration(name: "0002_second", sql: "CREATE TABLE two (number bigint)")

  private func migrator(_ database: TemporaryDatabase, _ migrations: [Migration]) throws -> Migrator {
    Migrator(configuration: try PostgresConfiguration.withLongTimeouts(url: database.url), migrations: migrations)
  }

  private func tables(_ database: TemporaryDatabase) async throws -> String {
    try await database.run(
      "SELECT string_agg(relname, ' ' ORDER BY relname) FROM pg_class WHERE relname IN ('one', 'two')"
    )
  }

  @Test func projectMigrationsRunOnceAndMakeTheStoreReady() async throws {
    let database = try await TemporaryDatabase.make()
    let migrations = try Migration.all(inDirectory: migrationsDirectory)
    let migrator = try migrator(database, migrations)

    let ran = try await migrator.migrate()
    let ranAgain = try await migrator.migrate()
    let store = try store(database, migrations)

    try await store.checkReadiness()
    #expect(ran == migrations.map(\.name))
    #expect(ranAgain == [])
  }

  @Test func timesThatResponsesCannotExpressAreRejected() async throws {
    let database = try await TemporaryDatabase.make()
    _ = try await migrator(database, Migration.all(inDirectory: migrationsDirectory)).migrate()
    try await database.run(
      "INSERT INTO points (id, lat, long, name) VALUES (gen_random_uuid(), 1, 2, 'A');"
        + "INSERT INTO sources (name) VALUES ('s')")

    for column in ["points SET created_at", "points SET updated_at", "sources SET updated_at"] {
      for time in ["infinity", "-infinity", "10000-01-01", "0001-01-01 BC"] {
        await #expect(throws: TemporaryServerError.self, "\(column)") {
          try await database.run("UPDATE \(column) = '\(time)'")
        }
      }
      try await database.run("UPDATE \(column) = '9999-12-31 23:59:59Z'")
    }
  }

  @Test func onlyPendingMigrationsRun() async throws {
    let database = try await TemporaryDatabase.make()
    _ = try await migrator(database, [Self.first]).migrate()

    let plan = try await migrator(database, [Self.first, Self.second]).plan()
    let ran = try await migrator(database, [Self.first, Self.second]).migrate()

    #expect(plan == ["0002_second"])
    #expect(ran == ["0002_second"])
    #expect(try await tables(database) == "one two")
  }

  @Test func aPlanChangesNothing() async throws {
    let database = try await TemporaryDatabase.make()

    let plan = try await migrator(database, [Self.first, Self.second]).plan()

    #expect(plan == ["0001_first", "0002_second"])
    #expect(try await tables(database) == "")
    #expect(try await database.run("SELECT to_regclass('waymark_migrations') IS NULL") == "t")
  }

  @Test func concurrentMigratorsRunEachMigrationOnce() async throws {
    let database = try await TemporaryDatabase.make()
    let migrator = try migrator(database, [Self.first, Self.second])

    async let one = migrator.migrate()
    async let other = migrator.migrate()
    let ran = try await one + other

    #expect(ran == ["0001_first", "0002_second"])
  }

  @Test func migrationThatChangedAfterItRanIsRejected() async throws {
    let database = try await TemporaryDatabase.make()
    _ = try await migrator(database, [Self.first]).migrate()
    let changed = Migration(name: Self.first.name, sql: Self.first.sql + "\n")

    await #expect(throws: MigrationError.changed(name: "0001_first")) {
      try await migrator(database, [changed, Self.second]).migrate()
    }

    #expect(try await tables(database) == "one")
  }

  @Test func databaseOfANewerVersionIsRejected() async throws {
    let database = try await TemporaryDatabase.make()
    _ = try await migrator(database, [Self.first, Self.second]).migrate()

    await #expect(throws: MigrationError.unknown(name: "0002_second")) {
      try await migrator(database, [Self.first]).migrate()
    }
  }

  private static let additive = Migration(
    name: "0002_additive", sql: "-- Adds a table.\n-- oldest-program: 0001\nCREATE TABLE two (number bigint)")
  private static let contracting = Migration(
    name: "0003_contracting", sql: "-- oldest-program: 0002\nDROP TABLE one")

  private func store(_ database: TemporaryDatabase, _ migrations: [Migration]) throws -> PostgresStore {
    try PostgresStore(configuration: try .withLongTimeouts(url: database.url), migrations: migrations)
  }

  @Test func compatibleNewerSchemaKeepsTheStoreReadyAndIsUnchanged() async throws {
    let database = try await TemporaryDatabase.make()
    _ = try await migrator(database, [Self.first]).migrate()
    _ = try await migrator(database, [Self.first, Self.additive]).migrate()
    let older = try migrator(database, [Self.first])

    try await store(database, [Self.first]).checkReadiness()

    #expect(try await older.plan() == [])
    #expect(try await older.migrate() == [])
    #expect(try await older.newer() == ["0002_additive"])
    #expect(try await tables(database) == "one two")
  }

  @Test func aProgramOlderThanTheOldestDeclaredOneIsNotReady() async throws {
    let database = try await TemporaryDatabase.make()
    _ = try await migrator(database, [Self.first, Self.additive, Self.contracting]).migrate()

    let error = await #expect(throws: PointStoreError.self) {
      try await store(database, [Self.first]).checkReadiness()
    }
    try await store(database, [Self.first, Self.additive]).checkReadiness()

    #expect("\(String(describing: error))".contains("0003_contracting.sql"))
    await #expect(throws: MigrationError.unknown(name: "0003_contracting")) {
      try await migrator(database, [Self.first]).migrate()
    }
  }

  @Test func aMigrationBeforeANewerOneThatWasRunIsOutOfOrder() async throws {
    let database = try await TemporaryDatabase.make()
    _ = try await migrator(database, [Self.first, Self.contracting]).migrate()

    await #expect(throws: MigrationError.outOfOrder(name: "0002_additive")) {
      try await migrator(database, [Self.first, Self.additive]).migrate()
    }
  }

  /// The first migration sorts before or after the foreign one, or there are more foreign ones than known ones.
  @Test(arguments: [["0001_a"], ["0001_z"], ["0001_z", "0002_z"]])
  func schemaOfOtherMigrationsIsForeign(names: [String]) async throws {
    let database = try await TemporaryDatabase.make()
    let foreign = names.map { Migration(name: $0, sql: "-- oldest-program: 0001\nCREATE TABLE \"\($0)\" ()") }
    _ = try await migrator(database, foreign).migrate()

    let error = MigrationError.foreign(name: names[0])
    await #expect(throws: error) { try await migrator(database, [Self.first]).plan() }
    await #expect(throws: error) { try await migrator(database, [Self.first]).migrate() }
    await #expect(throws: PointStoreError.schemaMismatch(reason: error.description)) {
      try await store(database, [Self.first]).checkReadiness()
    }
    #expect(try await tables(database) == "")
  }

  @Test func migrationBeforeOneThatHasRunIsRejected() async throws {
    let database = try await TemporaryDatabase.make()
    _ = try await migrator(database, [Self.second]).migrate()

    await #expect(throws: MigrationError.outOfOrder(name: "0001_first")) {
      try await migrator(database, [Self.first, Self.second]).migrate()
    }
  }

  @Test func failedMigrationIsRolledBackAndNamed() async throws {
    let database = try await TemporaryDatabase.make()
    let failing = Migration(name: "0002_failing", sql: "CREATE TABLE two (number bigint); SELECT 1 / 0")

    let error = await #expect(throws: MigrationError.self) {
      try await migrator(database, [Self.first, failing]).migrate()
    }

    #expect(error == .failed(name: "0002_failing", reason: "division by zero (SQLSTATE 22012)"))
    #expect(try await tables(database) == "one")
  }

  @Test func roleWithoutExtensionPrivilegeMigratesWherePostGISIsInstalled() async throws {
    let database = try await TemporaryDatabase.make()
    let role = "plain_\(database.name)"
    try await database.run("CREATE ROLE \(role) LOGIN; GRANT CREATE ON SCHEMA public TO \(role)")
    let url = "postgresql://\(role)@127.0.0.1:\(database.server.port)/\(database.name)"
    let migrations = try Migration.all(inDirectory: migrationsDirectory)

    let ran = try await Migrator(configuration: try .withLongTimeouts(url: url), migrations: migrations).migrate()

    #expect(ran == migrations.map(\.name))
  }

  @Test func roleWithoutExtensionPrivilegeIsToldHowToInstallPostGIS() async throws {
    let database = try await TemporaryDatabase.make()
    let role = "plain_\(database.name)"
    try await database.run(
      "DROP EXTENSION postgis; CREATE ROLE \(role) LOGIN; GRANT CREATE ON SCHEMA public TO \(role)"
    )
    let url = "postgresql://\(role)@127.0.0.1:\(database.server.port)/\(database.name)"
    let migrations = try Migration.all(inDirectory: migrationsDirectory)

    let error = await #expect(throws: MigrationError.self) {
      try await Migrator(configuration: try .withLongTimeouts(url: url), migrations: migrations).migrate()
    }

    #expect(error?.description.contains("CREATE EXTENSION postgis") == true)
  }

  @Test func readinessErrorOfAnEmptyDatabaseNamesTheMigrateCommand() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try PostgresStore(
      configuration: try PostgresConfiguration.withLongTimeouts(url: database.url),
      migrations: [Self.first]
    )

    let readiness = await #expect(throws: PointStoreError.self) { try await store.checkReadiness() }
    let query = await #expect(throws: PointStoreError.self) { try await store.page(matching: PointQuery()) }

    for error in [readiness, query] {
      guard case .schemaMismatch(let reason)? = error else {
        Issue.record("got \(String(describing: error))")
        continue
      }
      #expect(reason.contains("waymark migrate"))
    }
  }

  @Test func aStoreIsNotReadyWhileAMigrationIsPending() async throws {
    let database = try await TemporaryDatabase.make()
    _ = try await migrator(database, [Self.first]).migrate()
    let store = try PostgresStore(
      configuration: try PostgresConfiguration.withLongTimeouts(url: database.url),
      migrations: [Self.first, Self.second]
    )

    let error = await #expect(throws: PointStoreError.self) { try await store.checkReadiness() }

    #expect(error == .schemaMismatch(reason: "the database has not run 0002_second.sql: run `waymark migrate`"))
  }

  @Test func everyTableOfAnotherRoleIsAFindingOfTheDryRun() async throws {
    let database = try await TemporaryDatabase.make()
    let migrations = try Migration.all(inDirectory: migrationsDirectory)
    _ = try await migrator(database, migrations).migrate()
    let role = "other_\(database.name)"
    try await database.run("CREATE ROLE \(role) LOGIN")
    // Those of PostGIS belong to its extension.
    let tables = try await database.run(
      """
      SELECT relname FROM pg_class AS relation
      WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
        AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = relation.oid AND deptype = 'e')
      """)

    let check = DatabaseCheck(
      configuration: try PostgresConfiguration.withLongTimeouts(
        url: "postgresql://\(role)@127.0.0.1:\(database.server.port)/\(database.name)"), migrations: migrations)
    let named = try await check.findings(for: [.migrating]).compactMap { finding -> String? in
      guard case .problem(let text) = finding, text.contains("which migrations alter") else { return nil }
      return text
    }

    let expected = tables.split(separator: "\n").map {
      "\(role) does not own the table \($0), which migrations alter: \(TemporaryServer.superuser) does"
    }
    #expect(expected.count > 10 && named.sorted() == expected.sorted())
  }

  @Test func aServerThatCannotBeReachedIsNamed() async throws {
    let configuration = try PostgresConfiguration(url: "postgresql://someone@127.0.0.1:1/nowhere")

    let error = await #expect(throws: MigrationError.self) {
      try await Migrator(configuration: configuration, migrations: [Self.first]).migrate()
    }

    #expect(error?.description.contains("127.0.0.1") == true)
  }
}
