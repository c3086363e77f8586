import Testing

@testable import PostgresClient

/// Tests of the pool's decisions on exports and imports, on a manual clock.
@Suite struct SessionAdmissionTests {
  private typealias Pool = PoolStateMachine
  private typealias Action = PoolStateMachine.Action

  private let start = ContinuousClock.now

  private func request(_ number: Int) -> Pool.RequestID { .init(number: number) }

  private func pool(exports: Int, imports: Int, total: Int, waiters: Int = 8) -> Pool {
    var limits = Pool.Limits()
    (limits.exports, limits.imports, limits.sessions, limits.sessionWaiters) = (exports, imports, total, waiters)
    limits.waitTimeout = .seconds(5)
    return Pool(limits: limits)
  }

  @Test func eachUseIsAdmittedUpToItsLimit() {
    var pool = pool(exports: 2, imports: 1, total: 4)

    let exports = (1...3).map { pool.arrived(request($0), for: .export, at: start) }
    let imports = (4...5).map { pool.arrived(request($0), for: .import, at: start) }

    #expect(exports == [[.admit(request(1))], [.admit(request(2))], []])
    #expect(imports == [[.admit(request(4))], []])
    #expect(pool.load.exports == PoolLoad.Sessions(connections: 2, limit: 2, waiting: 1))
    #expect(pool.load.imports == PoolLoad.Sessions(connections: 1, limit: 1, waiting: 1))
  }

  @Test func bothUsesTogetherHaveALimit() {
    var pool = pool(exports: 1, imports: 1, total: 1)

    #expect(pool.arrived(request(1), for: .export, at: start) == [.admit(request(1))])
    #expect(pool.arrived(request(2), for: .import, at: start) == [])
    #expect(pool.arrived(request(3), for: .export, at: start) == [])
    #expect(pool.closed(.export) == [.admit(request(2))])
    #expect(pool.closed(.import) == [.admit(request(3))])
    #expect(pool.closed(.export) == [])
  }

  @Test func longestWaitingEligibleCallerIsNext() {
    var pool = pool(exports: 1, imports: 1, total: 2)
    _ = pool.arrived(request(1), for: .export, at: start)
    _ = pool.arrived(request(2), for: .import, at: start)
    for (number, use) in [(3, SessionUse.import), (4, .export), (5, .export)] {
      _ = pool.arrived(request(number), for: use, at: start)
    }

    #expect(pool.closed(.export) == [.admit(request(4))])
    #expect(pool.closed(.import) == [.admit(request(3))])
  }

  @Test func fullQueueRejectsCallers() {
    var pool = pool(exports: 1, imports: 1, total: 2, waiters: 2)

    let exports = (1...4).map { pool.arrived(request($0), for: .export, at: start) }

    #expect(exports == [[.admit(request(1))], [], [], [.fail(request(4), .overloaded)]])
    #expect(pool.arrived(request(5), for: .import, at: start) == [.admit(request(5))])
  }

  @Test func clientHasAllConnectionsOfAUseButOne() {
    var pool = pool(exports: 2, imports: 3, total: 5)

    let imports = (1...3).map { pool.arrived(request($0), for: .import, of: "a", at: start) }
    let export = pool.arrived(request(4), for: .export, of: "a", at: start)
    let other = pool.arrived(request(5), for: .import, of: "b", at: start)

    #expect(imports == [[.admit(request(1))], [.admit(request(2))], []])
    #expect(export == [.admit(request(4))])
    #expect(other == [.admit(request(5))])
    #expect(pool.closed(.import, of: "b") == [])
    #expect(pool.closed(.export, of: "a") == [])
    #expect(pool.closed(.import, of: "a") == [.admit(request(3))])
  }

  @Test func shortOperationDoesNotCountAmongTheConnectionsOfItsClient() {
    var pool = pool(exports: 2, imports: 2, total: 4)
    _ = pool.arrived(request(1), for: .import, of: "a", at: start)

    let short = pool.arrived(request(2), for: .import, of: "a", isShort: true, at: start)
    let further = (3...5).map { pool.arrived(request($0), for: .import, of: "a", isShort: $0 < 5, at: start) }
    let other = pool.arrived(request(6), for: .import, of: "b", isShort: true, at: start)

    #expect(short == [.admit(request(2))])
    #expect(further == [[], [], []])
    #expect(other == [])
    // Clients take turns for short operations too.
    #expect(pool.closed(.import) == [.admit(request(3))])
    #expect(pool.closed(.import) == [.admit(request(6))])
    #expect(pool.closed(.import) == [.admit(request(4))])
    #expect(pool.closed(.import) == [])
    #expect(pool.closed(.import, of: "a") == [.admit(request(5))])
  }

  @Test func connectionIsAwaitedIfARequestCouldBeAdmittedInItsPlace() {
    var pool = pool(exports: 2, imports: 2, total: 4)
    _ = pool.arrived(request(1), for: .import, of: "a", at: start)
    _ = pool.arrived(request(2), for: .import, of: "b", at: start)
    let alone = pool.isAwaited(.import, of: "b")

    // It waits only because its own client is at its share.
    _ = pool.arrived(request(3), for: .import, of: "a", at: start)
    let besideItsOwn = pool.isAwaited(.import, of: "b")
    _ = pool.arrived(request(4), for: .import, of: "c", at: start)

    #expect(!alone && !besideItsOwn)
    #expect(pool.isAwaited(.import, of: "b"))
  }

  @Test func oneConnectionGivesWayForEachRequestThatWaits() {
    var pool = pool(exports: 2, imports: 3, total: 5)
    for (number, client) in [(1, "a"), (2, "b"), (3, "c"), (4, "d")] {
      _ = pool.arrived(request(number), for: .import, of: client, at: start)
    }

    pool.giveWay(.import, of: "a")
    let isAwaitedForOne = pool.isAwaited(.import, of: "b")
    _ = pool.arrived(request(5), for: .import, of: "e", at: start)
    let isAwaitedForTwo = pool.isAwaited(.import, of: "b")
    let admitted = pool.closed(.import, of: "a")

    #expect(!isAwaitedForOne && isAwaitedForTwo)
    #expect(admitted == [.admit(request(4))])
    #expect(pool.isAwaited(.import, of: "b"))
  }

  @Test func callersOfAClientComeOneAfterTheOtherBeforeTheSecondOfAny() {
    var pool = pool(exports: 1, imports: 1, total: 2)
    let first = pool.arrived(request(1), for: .import, of: "a", at: start)
    for (number, client) in [(2, "a"), (3, "a"), (4, "b"), (5, "b"), (6, "c")] {
      #expect(pool.arrived(request(number), for: .import, of: client, at: start) == [])
    }

    let next = ["a", "a", "b", "c", "a", "b"].map { pool.closed(.import, of: $0) }

    #expect(first == [.admit(request(1))])
    #expect(next == [2, 4, 6, 3, 5].map { [.admit(request($0))] } + [[]])
  }

  @Test func lastCallerOfALaterTurnGivesWayInAFullQueue() {
    var pool = pool(exports: 1, imports: 1, total: 2, waiters: 2)
    for number in 1...3 { _ = pool.arrived(request(number), for: .import, of: "a", at: start) }

    let other = pool.arrived(request(4), for: .import, of: "b", at: start)
    let further = pool.arrived(request(5), for: .import, of: "a", at: start)

    #expect(other == [.fail(request(3), .overloaded)])
    #expect(further == [.fail(request(5), .overloaded)])
    #expect(pool.closed(.import, of: "a") == [.admit(request(2))])
    #expect(pool.closed(.import, of: "a") == [.admit(request(4))])
  }

  @Test func callerBehindLaterOnesIsRejectedAfterItsOwnWaitTimeout() {
    var pool = pool(exports: 1, imports: 1, total: 2)
    for (number, client) in [(1, "a"), (2, "a"), (3, "a"), (4, "b")] {
      _ = pool.arrived(request(number), for: .import, of: client, at: start + .seconds(number))
    }

    let expired = pool.expired(at: start + .seconds(8), jitter: 0)

    #expect(expired == [.fail(request(2), .overloaded), .fail(request(3), .overloaded)])
    #expect(pool.nextDeadline == start + .seconds(9))
  }

  @Test func callerThatIsCancelledIsNotAdmittedAndLeavesRoom() {
    var pool = pool(exports: 1, imports: 1, total: 2, waiters: 1)
    _ = pool.arrived(request(1), for: .export, at: start)
    _ = pool.arrived(request(2), for: .export, at: start)

    let cancelled = pool.cancelled(request(2))
    let again = pool.cancelled(request(2))

    #expect(cancelled == [.fail(request(2), .cancelled)])
    #expect(again == [])
    #expect(pool.arrived(request(3), for: .export, at: start) == [])
    #expect(pool.closed(.export) == [.admit(request(3))])
  }

  @Test func callerIsRejectedAfterItsWaitTimeout() {
    var pool = pool(exports: 1, imports: 1, total: 2)
    _ = pool.arrived(request(1), for: .export, at: start)
    _ = pool.arrived(request(2), for: .export, at: start)
    _ = pool.arrived(request(3), for: .export, at: start + .seconds(1))

    let deadline = pool.nextDeadline
    let early = pool.expired(at: start + .milliseconds(4999), jitter: 0)
    let late = pool.expired(at: start + .seconds(5), jitter: 0)

    #expect(deadline == start + .seconds(5))
    #expect(early == [])
    #expect(late == [.fail(request(2), .overloaded)])
    #expect(pool.nextDeadline == start + .seconds(6))
    #expect(pool.closed(.export) == [.admit(request(3))])
  }

  @Test func shutdownFailsWaitingAndLaterCallers() {
    var pool = pool(exports: 1, imports: 1, total: 2)
    _ = pool.arrived(request(1), for: .import, at: start)
    _ = pool.arrived(request(2), for: .import, at: start)

    let waiting = pool.shutDown()
    let later = pool.arrived(request(3), for: .export, at: start)

    let error = DatabaseError.unavailable(reason: "the connection pool is shut down")
    #expect(waiting == [.fail(request(2), error)])
    #expect(later == [.fail(request(3), error)])
    #expect(pool.closed(.import) == [])
  }
}
