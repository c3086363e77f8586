import Points
import PostgresTestSupport
import Testing

@testable import PostgresStore

/// Tests of timeouts, exhaustion and cancellation on a healthy server.
@Suite struct CallLimitTests {
  private static let slow = Statement("slow", "SELECT 1::int8 FROM pg_sleep(200)")
  private static let quick = Statement("quick", "SELECT 1::int8")

  /// Returns the number of backends of the database that run the slow statement.
  private func slowBackends(_ database: TemporaryDatabase) async throws -> Int {
    let count = try await database.run(
      """
      SELECT count(*) FROM pg_stat_activity
      WHERE datname = current_database() AND state = 'active' AND query LIKE 'SELECT 1::int8 FROM pg_sleep%'
      """
    )
    return Int(count) ?? 0
  }

  private func store(
    _ database: TemporaryDatabase,
    _ change: (inout PostgresConfiguration) -> Void
  ) throws -> PostgresStore {
    var configuration = try PostgresConfiguration.withLongTimeouts(url: database.url, poolSize: 1)
    change(&configuration)
    return try PostgresStore(configuration: configuration, migrations: [])
  }

  @Test(.timeLimit(.minutes(5))) func slowStatementIsStoppedByTheServer() async throws {
    let store = try store(try await TemporaryDatabase.make()) {
      $0.statementTimeoutMilliseconds = 10_000
      // Long after that, the client gives up.
      $0.silenceToleranceMilliseconds = 300_000
    }

    await #expect(throws: PointStoreError.timeout) { try await store.read(Self.slow, Parameters()) }
    let after = try await store.read(Self.quick, Parameters())

    #expect(after.count == 1)
  }

  @Test(.timeLimit(.minutes(5))) func callsBeyondThePoolAndItsQueueAreRejected() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try store(database) { $0.maximumWaiters = 1 }
    let slow = Task { try await store.read(Self.slow, Parameters()) }
    while try await slowBackends(database) == 0 {}

    let outcomes = await withTaskGroup(of: PointStoreError?.self) { group in
      for _ in 0..<2 {
        group.addTask {
          do throws(PointStoreError) {
            _ = try await store.read(Self.quick, Parameters())
            return nil
          } catch {
            return error
          }
        }
      }
      // One of the two waits, the other finds the queue full and fails; then the waiting one is admitted.
      var outcomes = [await group.next() ?? nil]
      slow.cancel()
      outcomes.append(await group.next() ?? nil)
      return outcomes
    }

    #expect(outcomes == [.overloaded, nil])
  }

  @Test(.timeLimit(.minutes(5))) func waitingCallIsRejectedAfterItsTimeout() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try store(database) { $0.waitTimeoutMilliseconds = 50 }
    // Connecting may take longer than the timeout, too.
    while (try? await store.read(Self.quick, Parameters())) == nil {}
    let slow = Task { try await store.read(Self.slow, Parameters()) }
    while try await slowBackends(database) == 0 {}

    await #expect(throws: PointStoreError.overloaded) { try await store.read(Self.quick, Parameters()) }

    slow.cancel()
    _ = await slow.result
  }

  @Test(.timeLimit(.minutes(5))) func cancelledCallReturnsAndItsStatementIsCancelledOnTheServer() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try store(database) { _ in }
    let slow = Task { try await store.read(Self.slow, Parameters()) }
    while try await slowBackends(database) == 0 {}

    slow.cancel()
    let cancelled = await slow.result
    while try await slowBackends(database) > 0 {}
    // The only connection is free again, and no late cancel request affects its next statements.
    for _ in 0..<50 { _ = try await store.read(Self.quick, Parameters()) }

    #expect(throws: PointStoreError.timeout) { try cancelled.get() }
    let connections = try await database.run(
      "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'waymark'"
    )
    #expect(connections == "1")
  }

  @Test(.timeLimit(.minutes(5))) func callOfACancelledTaskFailsImmediately() async throws {
    let store = try store(try await TemporaryDatabase.make()) { _ in }

    let result = await Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await store.read(Self.slow, Parameters())
    }.result

    #expect(throws: PointStoreError.timeout) { try result.get() }
  }

  @Test(.timeLimit(.minutes(5))) func cancellationsLoseNoOtherCall() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try store(database) { $0.poolSize = 4 }

    try await store.expectCancellationsToAffectNoOtherCall()
  }

  @Test func storeThatWasShutDownRejectsCalls() async throws {
    let store = try store(try await TemporaryDatabase.make()) { _ in }
    _ = try await store.read(Self.quick, Parameters())

    await store.shutDown()

    await #expect(throws: PointStoreError.unavailable(reason: "the store is shut down")) {
      try await store.read(Self.quick, Parameters())
    }
  }
}
