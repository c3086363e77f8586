import Geo
import Points
import PostgresClient
import PostgresTestSupport
import Synchronization
import TestSupport
import Testing

@testable import PostgresStore

/// Tests of calls while the server goes down and comes back.
@Suite struct OutageTests {
  private static let somewhere = PointQuery(limit: 1)

  /// Calls the store until it succeeds, and returns the errors before that.
  private func errorsUntilSuccess(of store: PostgresStore) async throws -> [PointStoreError] {
    var errors: [PointStoreError] = []
    while true {
      do throws(PointStoreError) {
        _ = try await store.page(matching: Self.somewhere)
        return errors
      } catch {
        errors.append(error)
      }
      try await Task.sleep(for: .milliseconds(10))
    }
  }

  private func server() async throws -> (TemporaryServer, TemporaryDatabase, PostgresStore) {
    let server = try await TemporaryServer.start()
    let database = try await server.makeDatabase()
    return (server, database, try await database.migratedStore())
  }

  @Test(.timeLimit(.minutes(5))) func storeCreatedBeforeItsServerStartsRecovers() async throws {
    let (server, _, _) = try await server()
    let database = try await server.makeDatabase()
    let store = try await database.migratedStore()
    try await server.stop(.fast)

    let first = await #expect(throws: PointStoreError.self) { try await store.page(matching: Self.somewhere) }
    try await server.start()
    let errors = try await errorsUntilSuccess(of: store)

    #expect(first?.shortDescription == "unavailable")
    #expect(errors.allSatisfy { $0.shortDescription == "unavailable" })
  }

  @Test(.timeLimit(.minutes(5)), arguments: [TemporaryServer.StopMode.fast, .immediate])
  func callsUnderLoadFailOrSucceedButNeverHangWhenTheServerRestarts(mode: TemporaryServer.StopMode) async throws {
    let (server, _, store) = try await server()
    _ = try await store.page(matching: Self.somewhere)
    let isDone = Switch()
    let successes = Counter()

    let slugs = try await withThrowingTaskGroup(of: Set<String>.self) { group in
      for _ in 0..<16 {
        group.addTask {
          var slugs: Set<String> = []
          while !isDone.isOn {
            do throws(PointStoreError) {
              _ = try await store.page(matching: Self.somewhere)
              slugs.insert("success")
              successes.increment()
            } catch {
              slugs.insert(error.shortDescription)
            }
            await Task.yield()
          }
          return slugs
        }
      }
      while successes.count < 100 { try await Task.sleep(for: .milliseconds(1)) }
      try await server.stop(mode)
      let before = successes.count
      try await server.start()
      while successes.count < before + 100 { try await Task.sleep(for: .milliseconds(1)) }
      isDone.turnOn()
      return try await group.reduce(into: Set<String>()) { $0.formUnion($1) }
    }

    #expect(slugs.isSubset(of: ["success", "unavailable"]))
    #expect(slugs.contains("success"))
  }

  @Test(.timeLimit(.minutes(5))) func readIsRetriedWhenItsBackendIsTerminated() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await database.migratedStore(poolSize: 1)
    // Sequences are not rolled back: the first attempt waits for its termination, the second finds that there was one.
    try await database.run("CREATE SEQUENCE tries")
    let slow = Statement("slow", "SELECT nextval('tries'), pg_sleep(CASE currval('tries') WHEN 1 THEN 300 ELSE 0 END)")
    // Not while it is only prepared.
    let terminate = """
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND query LIKE '%nextval%' AND pid <> pg_backend_pid()
        AND state = 'active' AND wait_event = 'PgSleep'
      """

    async let read = store.read(slow, Parameters())
    while try await database.run(terminate) != "t" {}
    let result = try await read

    #expect(try result.rows.first?.integer(0) == 2)
  }

  @Test(.timeLimit(.minutes(5))) func storeRecoversFromAServerCrash() async throws {
    let (server, _, store) = try await server()
    _ = try await store.page(matching: Self.somewhere)

    try await server.kill()
    let during = await #expect(throws: PointStoreError.self) { try await store.page(matching: Self.somewhere) }
    try await server.start()
    _ = try await errorsUntilSuccess(of: store)

    #expect(during?.shortDescription == "unavailable")
  }

  @Test(.timeLimit(.minutes(5))) func hangingServerCostsACallItsTimeoutOnly() async throws {
    let (server, database, _) = try await server()
    var configuration = try PostgresConfiguration(url: database.url, poolSize: 1, statementTimeoutMilliseconds: 10_000)
    configuration.silenceToleranceMilliseconds = 100
    configuration.waitTimeoutMilliseconds = 300
    let store = try PostgresStore(configuration: configuration, migrations: [])
    // On a busy machine, connecting may take longer than a call may wait.
    _ = try await errorsUntilSuccess(of: store)

    try await server.signal("STOP")
    let underWay = await #expect(throws: PointStoreError.self) { try await store.page(matching: Self.somewhere) }
    let waiting = await #expect(throws: PointStoreError.self) { try await store.page(matching: Self.somewhere) }
    try await server.signal("CONT")
    _ = try await errorsUntilSuccess(of: store)

    #expect(underWay == .timeout)
    #expect(waiting == .overloaded)
  }

  @Test(.timeLimit(.minutes(5))) func unreachableHostIsNamedWithoutThePassword() async throws {
    let configuration = try PostgresConfiguration(url: "postgresql://someone:hunter2@127.0.0.1:1/nowhere")
    let store = try PostgresStore(configuration: configuration, migrations: [])

    let error = await #expect(throws: PointStoreError.self) { try await store.checkReadiness() }

    guard case .unavailable(let reason)? = error else {
      Issue.record("got \(String(describing: error))")
      return
    }
    #expect(reason.contains("127.0.0.1"))
    #expect(!reason.contains("hunter2"))
  }
}

/// A flag that is set once.
private final class Switch: Sendable {
  private let state = Atomic(false)

  var isOn: Bool { state.load(ordering: .relaxed) }

  func turnOn() { state.store(true, ordering: .relaxed) }
}

/// A thread-safe counter.
private final class Counter: Sendable {
  private let state = Atomic(0)

  var count: Int { state.load(ordering: .relaxed) }

  func increment() { state.add(1, ordering: .relaxed) }
}
