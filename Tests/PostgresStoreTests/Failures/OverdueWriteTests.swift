import Points
import PostgresClient
import PostgresTestSupport
import TestSupport
import Testing

@testable import PostgresStore

/// Tests of writes that time out.
@Suite(.timeLimit(.minutes(5))) struct OverdueWriteTests {
  private static let backends =
    "SELECT pid FROM pg_stat_activity WHERE application_name = 'waymark' AND datname = current_database()"

  private func store(on database: TemporaryDatabase, poolSize: Int = 2) async throws -> PostgresStore {
    await (try database.migratedStore()).shutDown()
    var configuration = try PostgresConfiguration.withLongTimeouts(url: database.url, poolSize: poolSize)
    // The writes before and after the overdue one must not take that long on a busy machine.
    configuration.statementTimeoutMilliseconds = 15_000
    configuration.silenceToleranceMilliseconds = 500
    return try PostgresStore(configuration: configuration, migrations: [])
  }

  @Test func writeOfASuspendedBackendDoesNotOverwriteANewerOne() async throws {
    let database = try await TemporaryServer.start().makeDatabase()
    let store = try await store(on: database)
    let id = try await store.create(try .sample("first"), once: nil).id
    await store.waitUntilNotified()
    // The statement is prepared now, and the next execution is sent at once.
    _ = try await store.put(try .sample("second"), id: id, if: .none)
    await store.waitUntilNotified()
    let process = try await database.run(Self.backends)

    try await database.server.signal("STOP", processID: process)
    let late = await #expect(throws: PointWriteError.self) {
      try await store.put(try .sample("late"), id: id, if: .none)
    }
    _ = try await store.put(try .sample("newer"), id: id, if: .none)
    try await database.server.signal("CONT", processID: process)
    while try await database.run("SELECT count(*) FROM pg_stat_activity WHERE pid = \(process)") != "0" {}

    // A stopped process can't confirm that it will not continue.
    if case .store(.outcomeUnknown)? = late {} else { Issue.record("got \(String(describing: late))") }
    #expect(try await database.run("SELECT name FROM points") == "newer")
  }

  @Test func writeThatIsTerminatedInTimeIsATimeoutAndRolledBack() async throws {
    let database = try await TemporaryServer.start().makeDatabase()
    let store = try await store(on: database, poolSize: 1)
    try await database.run("CREATE TABLE marks (n int8)")
    _ = try await store.write(
      Statement("no_timeout", "SELECT set_config('statement_timeout', '0', false)"), Parameters())

    let slow = Statement("slow", "INSERT INTO marks SELECT 1 FROM pg_sleep(3600)")
    await #expect(throws: PointStoreError.timeout) { try await store.write(slow, Parameters()) }

    #expect(try await database.run("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") == "0")
    #expect(try await database.run("SELECT count(*) FROM marks") == "0")
    _ = try await store.create(try .sample("next"), once: nil)
  }

  @Test func writeToAStoppedServerHasAnUnknownOutcome() async throws {
    let server = try await TemporaryServer.start()
    let store = try await store(on: try await server.makeDatabase())
    _ = try await store.create(try .sample("first"), once: nil)
    await store.waitUntilNotified()

    try await server.signal("STOP")
    let error = await #expect(throws: PointWriteError.self) { try await store.create(try .sample("late"), once: nil) }
    try await server.signal("CONT")

    if case .store(.outcomeUnknown)? = error {} else { Issue.record("got \(String(describing: error))") }
  }
}
