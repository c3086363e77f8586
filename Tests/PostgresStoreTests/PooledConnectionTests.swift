import Points
import Testing

@testable import PostgresStore

/// The lives of a pool's connections: servers that turn read-only, callers that leave, writes that take too long.
@Suite struct PooledConnectionTests {
  private typealias Pool = PoolStateMachine

  private let start = ContinuousClock.now

  private func request(_ number: Int) -> Pool.RequestID { .init(number: number) }
  private func connection(_ number: Int) -> Pool.ConnectionID { .init(number: number) }
  private func after(_ duration: Duration) -> ContinuousClock.Instant { start + duration }

  /// A pool with a connection for each of the requests from 1 on, of which some are writes; it may have one more.
  private func pool(busyWith requests: Int, writes: Set<Int> = [], more: Int = 1) -> Pool {
    var limits = Pool.Limits()
    limits.connections = requests + more
    limits.answerTime = .seconds(6)
    limits.endTime = .seconds(2)
    limits.standbyCheckInterval = .seconds(30)
    var pool = Pool(limits: limits)
    for number in 1...requests {
      _ = pool.arrived(request(number), mayBeRepeated: !writes.contains(number), at: start)
    }
    for number in 1...requests { _ = pool.connected(connection(number), at: start) }
    return pool
  }

  // MARK: Servers that turn read-only

  @Test func connectionThatIsBeingCancelledIsClosedWhenItsServerWasFoundReadOnly() {
    var pool = pool(busyWith: 2, writes: [1])
    _ = pool.cancelled(request(2))
    _ = pool.foundReadOnly(connection(1), reason: "read-only", at: start)

    let stopped = pool.finished(connection(2), at: start)
    let next = pool.arrived(request(3), mayBeRepeated: true, at: start)

    #expect(stopped == [.close(connection(2))])
    #expect(next == [.connect(connection(4))])
  }

  @Test func connectionInTheMakingIsReplacedWhenAServerWasFoundReadOnly() {
    var pool = pool(busyWith: 1, writes: [1])
    let made = pool.arrived(request(2), mayBeRepeated: true, at: start)

    let refused = pool.foundReadOnly(connection(1), reason: "read-only", at: start)
    let late = pool.connected(connection(2), at: start)
    let fresh = pool.connected(connection(3), at: start)

    #expect(made == [.connect(connection(2))])
    #expect(refused == [.close(connection(1)), .connect(connection(3))])
    // The write is repeated on the fresh connection alone.
    #expect(late == [.close(connection(2)), .connect(connection(4))])
    #expect(fresh == [.run([request(1)], connection(3))])
  }

  @Test func fullPoolReplacesTheConnectionsInTheMakingAsTheyCome() {
    var pool = pool(busyWith: 1, writes: [1], more: 1)
    _ = pool.arrived(request(2), mayBeRepeated: true, at: start)
    _ = pool.arrived(request(3), mayBeRepeated: true, at: start)

    let refused = pool.foundReadOnly(connection(1), reason: "read-only", at: start)
    let late = pool.connected(connection(2), at: start)

    #expect(refused == [.close(connection(1)), .connect(connection(3))])
    #expect(late == [.close(connection(2)), .connect(connection(4))])
  }

  @Test func connectionToAnotherServerThatTakesWritesRetiresThoseBeforeIt() {
    var limits = Pool.Limits()
    limits.connections = 4
    var pool = Pool(limits: limits)
    let (old, new) = (ServerIdentity(life: "a", isPrimary: true), ServerIdentity(life: "b", isPrimary: true))
    for number in 1...3 { _ = pool.arrived(request(number), mayBeRepeated: true, at: start) }
    for number in 1...3 { _ = pool.connected(connection(number), to: old, at: start) }
    _ = pool.arrived(request(4), mayBeRepeated: false, at: start)
    _ = pool.cancelled(request(2))

    let made = pool.connected(connection(4), to: new, at: start)
    let finished = (1...3).map { pool.finished(connection($0), at: start) }
    let next = pool.finished(connection(4), at: start) + pool.arrived(request(5), mayBeRepeated: true, at: start)

    #expect(made == [.run([request(4)], connection(4))])
    #expect(finished == (1...3).map { [.close(connection($0))] })
    #expect(next == [.run([request(5)], connection(4))])
  }

  @Test func connectionThatAPoolerLeadsToAnotherServerThatTakesWritesRetiresTheOthers() {
    var limits = Pool.Limits()
    limits.connections = 3
    var pool = Pool(limits: limits)
    let (old, new) = (ServerIdentity(life: "a", isPrimary: true), ServerIdentity(life: "b", isPrimary: true))
    for number in 1...3 { _ = pool.arrived(request(number), mayBeRepeated: true, at: start) }
    for number in 1...3 { _ = pool.connected(connection(number), to: old, at: start) }
    _ = pool.finished(connection(3), at: start)

    let moved = pool.moved(connection(1), to: new)
    let again = pool.moved(connection(1), to: new)
    let finished = (1...2).map { pool.finished(connection($0), at: start) }
    let next = pool.arrived(request(5), mayBeRepeated: true, at: start)

    #expect(moved == [.close(connection(3))])
    #expect(again == [])
    #expect(finished == [[], [.close(connection(2))]])
    #expect(next == [.run([request(5)], connection(1))])
  }

  @Test func connectionThatAPoolerLeadsFromReplicaToReplicaRetiresNone() {
    var pool = pool(busyWith: 2)
    _ = pool.finished(connection(2), at: start)

    let moved = pool.moved(connection(1), to: ServerIdentity(life: "b", isPrimary: false))

    #expect(moved == [])
  }

  @Test func replicasAndThePrimaryMayServeOnePool() {
    var pool = pool(busyWith: 1)
    _ = pool.arrived(request(2), mayBeRepeated: true, at: start)
    _ = pool.connected(connection(2), to: ServerIdentity(life: "b", isPrimary: false), at: start)
    _ = pool.arrived(request(3), mayBeRepeated: true, at: start)

    let finished = pool.finished(connection(1), at: start)

    #expect(finished == [.run([request(3)], connection(1))])
  }

  @Test func whileOldConnectionsFinishAnOutageFailsRequestsAtOnce() {
    var pool = pool(busyWith: 2, writes: [1])
    _ = pool.foundReadOnly(connection(1), reason: "read-only", at: start)

    let failed = pool.failedToConnect(connection(3), reason: "no host takes writes", at: start, jitter: 0)

    #expect(failed == [.fail(request(1), .unavailable(reason: "no host takes writes"))])
  }

  // MARK: Writes whose caller leaves

  @Test func writeThatWasSentGoesOnWithoutItsCaller() {
    var pool = pool(busyWith: 1, writes: [1])

    let cancelled = pool.cancelled(request(1))
    let finished = pool.finished(connection(1), at: start)
    let next = pool.arrived(request(2), mayBeRepeated: true, at: start)

    let error = PointStoreError.outcomeUnknown(reason: "the caller did not wait for the outcome")
    #expect(cancelled == [.fail(request(1), error)])
    #expect(finished.isEmpty)
    #expect(next == [.run([request(2)], connection(1))])
  }

  @Test func writeWithoutItsCallerIsEndedWhenItTakesTooLong() {
    var pool = pool(busyWith: 1, writes: [1])
    _ = pool.cancelled(request(1))

    let overdue = pool.expired(at: after(.seconds(6)), jitter: 0)
    let ended = pool.lost(connection(1), reason: "terminated", fate: .undone, at: after(.seconds(7)))

    #expect(overdue == [.end(connection(1))])
    #expect(ended == [.close(connection(1))])
  }

  // MARK: Writes that take too long

  /// A pool whose write of six seconds is being ended.
  private func endingPool() -> Pool {
    var pool = pool(busyWith: 1, writes: [1])
    #expect(pool.expired(at: after(.seconds(6)), jitter: 0) == [.end(connection(1))])
    return pool
  }

  @Test(arguments: [StatementFate.undone, .refused]) func overdueWriteThatWasUndoneIsATimeout(fate: StatementFate) {
    var pool = endingPool()

    let actions = pool.lost(connection(1), reason: "terminated", fate: fate, at: after(.seconds(7)))

    #expect(actions == [.close(connection(1)), .fail(request(1), .timeout)])
  }

  @Test func overdueWriteWhoseConnectionBreaksOffHasAnUnknownOutcome() {
    var pool = endingPool()

    let actions = pool.lost(connection(1), reason: "gone", fate: .unknown, at: after(.seconds(7)))

    #expect(actions == [.close(connection(1)), .fail(request(1), .outcomeUnknown(reason: "gone"))])
  }

  @Test func overdueWriteThatDoesNotEndHasAnUnknownOutcome() {
    var pool = endingPool()
    let deadline = pool.nextDeadline

    let actions = pool.expired(at: after(.seconds(8)), jitter: 0)

    let reason = "the server took too long, and did not end the statement in time"
    #expect(deadline == after(.seconds(8)))
    #expect(actions == [.close(connection(1)), .fail(request(1), .outcomeUnknown(reason: reason))])
  }

  @Test func overdueWriteThatCannotBeEndedHasAnUnknownOutcomeAtOnce() {
    var pool = endingPool()

    let actions = pool.mayNotEnd(connection(1), reason: "no connection", at: after(.seconds(7)))

    #expect(actions == [.close(connection(1)), .fail(request(1), .outcomeUnknown(reason: "no connection"))])
  }

  @Test func connectionThatIsToEndIsNotUsedAgainThoughItFinishes() {
    var pool = endingPool()

    let actions = pool.finished(connection(1), at: after(.seconds(7)))

    #expect(actions == [.close(connection(1))])
  }

  // MARK: Synchronous standbys

  @Test func writeThatWaitsForAStandbyIsLeftAloneUntilItHasIt() {
    var pool = endingPool()

    let waits = pool.waitsForStandby(connection(1), at: after(.seconds(7)))
    let write = pool.arrived(request(2), mayBeRepeated: false, at: after(.seconds(8)))
    let confirmed = pool.finished(connection(1), at: after(.seconds(9)))
    let next = pool.arrived(request(3), mayBeRepeated: false, at: after(.seconds(9)))

    let error = PointStoreError.outcomeUnknown(reason: "the write waits for a synchronous standby")
    #expect(waits == [.fail(request(1), error)])
    // It would wait as well, and the other connections are for reads.
    #expect(write == [.fail(request(2), .overloaded)])
    #expect(confirmed.isEmpty)
    #expect(next == [.run([request(3)], connection(1))])
  }

  @Test func writeThatWaitsForAStandbyIsLookedAtAgain() {
    var pool = endingPool()
    _ = pool.waitsForStandby(connection(1), at: after(.seconds(7)))
    let deadline = pool.nextDeadline

    let again = pool.expired(at: after(.seconds(37)), jitter: 0)
    let gone = pool.mayNotEnd(connection(1), reason: "no connection", at: after(.seconds(38)))

    #expect(deadline == after(.seconds(37)))
    #expect(again == [.end(connection(1))])
    #expect(gone == [.close(connection(1))])
  }

  @Test func halfOfTheConnectionsAtMostAreLeftToWritesThatWaitForAStandby() {
    var pool = pool(busyWith: 4, writes: [1, 2, 3, 4], more: 0)
    _ = pool.expired(at: after(.seconds(6)), jitter: 0)

    let actions = (1...3).map { pool.waitsForStandby(connection($0), at: after(.seconds(7))) }
    let read = pool.arrived(request(5), mayBeRepeated: true, at: after(.seconds(7)))

    let error = PointStoreError.outcomeUnknown(reason: "the write waits for a synchronous standby")
    #expect(actions[0] == [.fail(request(1), error)])
    #expect(actions[1] == [.fail(request(2), error)])
    #expect(actions[2] == [.fail(request(3), error), .close(connection(3))])
    #expect(read == [.connect(connection(5))])
  }

  @Test func writesStayRefusedWhileThoseThatWaitForAStandbyAreLookedAtAgain() {
    var pool = pool(busyWith: 4, writes: [1, 2, 3, 4], more: 0)
    _ = pool.expired(at: after(.seconds(6)), jitter: 0)
    for number in 1...2 { _ = pool.waitsForStandby(connection(number), at: after(.seconds(7))) }

    let again = pool.expired(at: after(.seconds(37)), jitter: 0)
    let write = pool.arrived(request(6), mayBeRepeated: false, at: after(.seconds(37)))
    let kept = (1...2).flatMap { pool.waitsForStandby(connection($0), at: after(.seconds(38))) }

    #expect(again.contains(.end(connection(1))) && again.contains(.end(connection(2))))
    #expect(write == [.fail(request(6), .overloaded)])
    #expect(kept == [])
  }

  // MARK: The end

  @Test func shuttingDownLeavesTheOutcomeOfAWriteUnknown() {
    var pool = pool(busyWith: 1, writes: [1])

    let actions = pool.shutDown()

    let error = PointStoreError.outcomeUnknown(reason: "the store is shut down")
    #expect(actions == [.fail(request(1), error), .close(connection(1))])
  }
}
