import PostgresTestSupport
import Testing

@testable import PostgresClient

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

  private func pool(
    _ database: TemporaryDatabase,
    _ change: (inout PostgresConfiguration) -> Void
  ) throws -> TestedPool {
    var configuration = try PostgresConfiguration.withLongTimeouts(url: database.url, poolSize: 1)
    change(&configuration)
    return try TestedPool(configuration)
  }

  @Test(.timeLimit(.minutes(5))) func slowStatementIsStoppedByTheServer() async throws {
    let pool = try pool(try await TemporaryDatabase.make()) {
      $0.statementTimeoutMilliseconds = 10_000
      // Long after that, the client gives up.
      $0.silenceToleranceMilliseconds = 300_000
    }

    let error = await #expect(throws: DatabaseError.self) { try await pool.read(Self.slow, Parameters()) }
    let after = try await pool.read(Self.quick, Parameters())

    if case .rejected(let error) = error { #expect(error.sqlState == "57014") } else { Issue.record("another error") }
    #expect(after.count == 1)
  }

  @Test(.timeLimit(.minutes(5))) func callsBeyondThePoolAndItsQueueAreRejected() async throws {
    let database = try await TemporaryDatabase.make()
    let pool = try pool(database) { $0.maximumWaiters = 1 }
    let slow = Task { try await pool.read(Self.slow, Parameters()) }
    while try await slowBackends(database) == 0 {}

    let outcomes = await withTaskGroup(of: DatabaseError?.self) { group in
      for _ in 0..<2 {
        group.addTask {
          do throws(DatabaseError) {
            _ = try await pool.read(Self.quick, Parameters())
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
    let pool = try pool(database) { $0.waitTimeoutMilliseconds = 50 }
    // Connecting may take longer than the timeout, too.
    while (try? await pool.read(Self.quick, Parameters())) == nil {}
    let slow = Task { try await pool.read(Self.slow, Parameters()) }
    while try await slowBackends(database) == 0 {}

    await #expect(throws: DatabaseError.overloaded) { try await pool.read(Self.quick, Parameters()) }

    slow.cancel()
    _ = await slow.result
  }

  @Test(.timeLimit(.minutes(5))) func cancelledCallReturnsAndItsStatementIsCancelledOnTheServer() async throws {
    let database = try await TemporaryDatabase.make()
    let pool = try pool(database) { _ in }
    let slow = Task { try await pool.read(Self.slow, Parameters()) }
    while try await slowBackends(database) == 0 {}

    slow.cancel()
    let cancelled = await slow.result
    while try await slowBackends(database) > 0 {}
    // The only connection is free again, and no late cancel request affects its next statements.
    for _ in 0..<50 { _ = try await pool.read(Self.quick, Parameters()) }

    #expect(throws: DatabaseError.cancelled) { try cancelled.get() }
    let connections = try await database.run(
      "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'waymark'"
    )
    #expect(connections == "1")
  }

  @Test(.timeLimit(.minutes(5))) func callOfACancelledTaskFailsImmediately() async throws {
    let pool = try pool(try await TemporaryDatabase.make()) { _ in }

    let result = await Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await pool.read(Self.slow, Parameters())
    }.result

    #expect(throws: DatabaseError.cancelled) { try result.get() }
  }

  @Test(.timeLimit(.minutes(5))) func cancellationsLoseNoOtherCall() async throws {
    let database = try await TemporaryDatabase.make()
    let pool = try pool(database) { $0.poolSize = 4 }

    let brief = Statement("brief", "SELECT 1::int8 FROM pg_sleep(0.002)")
    let tasks = (0..<400).map { number in
      let task = Task { try await pool.read(brief, Parameters()) }
      if number % 3 == 0 { task.cancel() }
      return (number, task)
    }
    var successes = 0
    for (number, task) in tasks {
      switch await task.result {
      case .success: successes += 1
      case .failure(let error): #expect(number % 3 == 0 && error as? DatabaseError == .cancelled)
      }
    }

    #expect(successes >= 266)
  }

  @Test func poolThatWasShutDownRejectsCalls() async throws {
    let pool = try pool(try await TemporaryDatabase.make()) { _ in }
    _ = try await pool.read(Self.quick, Parameters())

    await pool.shutDown()

    await #expect(throws: DatabaseError.unavailable(reason: "the connection pool is shut down")) {
      try await pool.read(Self.quick, Parameters())
    }
  }
}

/// A pool on a thread of its own.
private final class TestedPool: Sendable {
  private let thread: PollingThread
  private let pool: ConnectionPool

  init(_ configuration: PostgresConfiguration) throws {
    thread = try #require(PollingThread())
    pool = ConnectionPool(
      on: thread, configuration, connections: configuration.poolSize, waiters: configuration.maximumWaiters)
  }

  deinit {
    thread.submit { [pool] in pool.assumeIsolated { $0.shutDown() } }
    thread.stop()
  }

  @discardableResult
  func read(_ statement: Statement, _ parameters: Parameters) async throws(DatabaseError) -> QueryResult {
    try await pool.run(statement, parameters, isRead: true)
  }

  func shutDown() async { await pool.shutDown() }
}
