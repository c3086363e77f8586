import Geo
import Points
import PostgresClient
import PostgresTestSupport
import Synchronization
import TestSupport
import Testing

@testable import PostgresStore

@Suite(.timeLimit(.minutes(5))) struct SharedCountsTests {
  private typealias Counts = SharedCounts<String, Int>

  /// Statements that note how many of them ran, and how many did at a time.
  private final class Statements: Sendable {
    private struct State {
      var running = 0
      var mostRunning = 0
      var total = 0
      var cancelled = 0
    }

    private let state = Mutex(State())
    let gate = Gate()

    var total: Int { state.withLock { $0.total } }
    var mostRunning: Int { state.withLock { $0.mostRunning } }
    var cancelled: Int { state.withLock { $0.cancelled } }

    /// Returns the number of the statement, after the gate is open.
    func run() async -> Int {
      let number = state.withLock { state in
        state.total += 1
        state.running += 1
        state.mostRunning = max(state.mostRunning, state.running)
        return state.total
      }
      await withTaskCancellationHandler {
        await gate.pass()
      } onCancel: {
        state.withLock { $0.cancelled += 1 }
      }
      state.withLock { $0.running -= 1 }
      return number
    }
  }

  private let statements = Statements()

  private func call(_ counts: Counts, _ key: String) -> Task<Int, any Error> {
    Task { [statements] in
      try await counts.value(for: key) { () async throws(PointStoreError) in await statements.run() }
    }
  }

  private func waitUntil(_ condition: () async -> Bool) async {
    while await !condition() { await Task.yield() }
  }

  @Test func callersShareTheStatementAfterTheOneThatRuns() async throws {
    let counts = Counts(waitTimeout: .seconds(600))
    let first = call(counts, "a")
    await waitUntil { statements.total == 1 }

    let others = (0..<200).map { _ in call(counts, "a") }
    await waitUntil { await counts.callerCount == 201 }
    statements.gate.open()

    #expect(try await first.value == 1)
    for other in others { #expect(try await other.value == 2) }
    #expect(statements.mostRunning == 1)
    #expect(statements.total == 2)
  }

  @Test func differentStatementsRunTwoAtATimeAndTooManyAreRejected() async throws {
    let counts = Counts(maximumWaiting: 4, waitTimeout: .seconds(600))
    let accepted = (0..<6).map { call(counts, "\($0)") }
    await waitUntil { await counts.callerCount == 6 }

    let rejected = await call(counts, "another").result
    let shared = call(counts, "5")
    await waitUntil { await counts.callerCount == 7 }
    statements.gate.open()

    #expect(throws: PointStoreError.overloaded) { try rejected.get() }
    for task in accepted + [shared] { _ = try await task.value }
    #expect(statements.mostRunning == 2)
    #expect(statements.total == 6)
  }

  @Test func statementThatDoesNotBeginInTimeIsRejected() async throws {
    let counts = Counts(maximumRunning: 1, waitTimeout: .milliseconds(1))
    let running = call(counts, "a")
    await waitUntil { statements.total == 1 }

    let late = await call(counts, "b").result
    statements.gate.open()

    #expect(throws: PointStoreError.overloaded) { try late.get() }
    #expect(try await running.value == 1)
    #expect(statements.total == 1)
  }

  @Test func statementThatAllCallersHaveLeftIsNotRunOrCancelled() async throws {
    let counts = Counts(maximumRunning: 1, waitTimeout: .seconds(600))
    let running = [call(counts, "a")]
    await waitUntil { statements.total == 1 }
    let waiting = (0..<2).map { _ in call(counts, "b") }
    let last = call(counts, "c")
    await waitUntil { await counts.callerCount == 4 }

    for task in running + waiting { task.cancel() }
    for task in running + waiting {
      await #expect(throws: PointStoreError.timeout) { try await task.value }
    }
    await waitUntil { statements.cancelled == 1 }
    statements.gate.open()

    #expect(try await last.value == 2)
  }

  @Test func errorReachesTheCallersOfItsStatementAlone() async throws {
    let counts = Counts(waitTimeout: .seconds(600))

    await #expect(throws: PointStoreError.unavailable(reason: "")) {
      try await counts.value(for: "a") { () async throws(PointStoreError) in throw .unavailable(reason: "") }
    }

    #expect(try await counts.value(for: "a") { 3 } == 3)
  }

  @Test func countsInManyBoxesLeaveConnectionsToOtherReads() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await database.migratedStore(poolSize: 4)
    let lock = Task { try await database.run("LOCK TABLE points; SELECT pg_sleep(3600)") }
    while try await database.run(
      "SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted AND relation = 'points'::regclass")
      != "1"
    {}

    let boxes = try (1...8).map { try BoundingBox(west: Double($0), south: -80, east: 90, north: 80) }
    let counts = boxes.map { box in Task { try await store.categoryCounts(in: box) } }
    let matching = boxes.map { box in Task { try await store.count(matching: PointQuery(box: box)) } }
    await waitUntil { await store.sharedCounts.callerCount == 16 }
    await waitUntil { await store.poolLoad().busy == 2 }
    _ = try await store.read(Statement("one", "SELECT 1::int8"), Parameters())
    try await database.run(
      """
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE wait_event = 'PgSleep' AND datname = current_database()
      """)
    _ = await lock.result

    for task in counts { #expect(try await task.value.isEmpty) }
    for task in matching { #expect(try await task.value == 0) }
  }
}
