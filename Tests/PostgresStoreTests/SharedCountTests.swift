import Points
import Synchronization
import TestSupport
import Testing

@testable import PostgresStore

@Suite(.timeLimit(.minutes(5))) struct SharedCountTests {
  /// Statements that note how many of them ran, and how many did at a time.
  private final class Statements: Sendable {
    private struct State {
      var running = 0
      var mostRunning = 0
      var total = 0
    }

    private let state = Mutex(State())

    /// The number of callers.
    let callers = Atomic(0)

    var total: Int { state.withLock { $0.total } }
    var mostRunning: Int { state.withLock { $0.mostRunning } }

    /// Returns the number of the statement as a count, after the gate is open.
    func run(after gate: Gate) async -> [CategoryCount] {
      let number = state.withLock { state in
        state.total += 1
        state.running += 1
        state.mostRunning = max(state.mostRunning, state.running)
        return state.total
      }
      await gate.pass()
      state.withLock { $0.running -= 1 }
      return [CategoryCount(category: "a", count: number)]
    }
  }

  @Test func callersShareTheStatementAfterTheOneThatRuns() async throws {
    let (count, statements, gate) = (SharedCount(), Statements(), Gate())
    func call() -> Task<[CategoryCount], any Error> {
      Task {
        statements.callers.add(1, ordering: .relaxed)
        return try await count.counts { () async throws(PointStoreError) in await statements.run(after: gate) }
      }
    }
    let first = call()
    while statements.total == 0 { await Task.yield() }

    let others = (0..<200).map { _ in call() }
    while statements.callers.load(ordering: .relaxed) <= others.count { await Task.yield() }
    gate.open()

    #expect(try await first.value.first?.count == 1)
    for other in others { #expect(try await other.value.first?.count ?? 0 > 1) }
    #expect(statements.mostRunning == 1)
    #expect(statements.total < others.count)
  }

  @Test func errorReachesTheCallersOfItsStatementAlone() async throws {
    let count = SharedCount()

    await #expect(throws: PointStoreError.overloaded) {
      try await count.counts { () async throws(PointStoreError) in throw .overloaded }
    }

    #expect(try await count.counts { [] }.isEmpty)
  }
}
