import Testing

@testable import PostgresClient

/// Tests of the states of a pool's connections: read-only servers, cancelled callers, overdue writes.
@Suite struct PooledConnectionTests {
  private typealias Pool = PoolStateMachine

  private let start = ContinuousClock.now

  private func request(_ number: Int) -> Pool.RequestID { .init(number: number) }
  private func connection(_ number: Int) -> Pool.ConnectionID { .init(number: number) }
  private func after(_ duration: Duration) -> ContinuousClock.Instant { start + duration }

  /// Returns a pool with a connection for each of the requests from 1 on, of which some are writes, and room for more.
  private func pool(busyWith requests: Int, writes: Set<Int> = [], more: Int = 1) -> Pool {
    var limits = Pool.Limits()
    limits.connections = requests + more
    limits.requestTimeout = .seconds(6)
    limits.terminationTimeout = .seconds(2)
    limits.standbyCheckInterval = .seconds(30)
    var pool = Pool(limits: limits)
    for number in 1...requests {
      _ = pool.arrived(request(number), isRetryable: !writes.contains(number), at: start)
    }
    for number in 1...requests { _ = pool.connected(connection(number), at: start) }
    return pool
  }

  // MARK: Read-only servers

  @Test func cancellingConnectionIsClosedWhenItsServerIsReadOnly() {
    var pool = pool(busyWith: 2, writes: [1])
    _ = pool.cancelled(request(2))
    _ = pool.foundReadOnly(connection(1), reason: "read-only", at: start)

    let stopped = pool.finished(connection(2), at: start)
    let next = pool.arrived(request(3), isRetryable: true, at: start)

    #expect(stopped == [.close(connection(2))])
    #expect(next == [.connect(connection(4))])
  }

  @Test func pendingConnectionIsReplacedWhenAServerIsReadOnly() {
    var pool = pool(busyWith: 1, writes: [1])
    let made = pool.arrived(request(2), isRetryable: true, at: start)

    let rejected = pool.foundReadOnly(connection(1), reason: "read-only", at: start)
    let late = pool.connected(connection(2), at: start)
    let fresh = pool.connected(connection(3), at: start)

    #expect(made == [.connect(connection(2))])
    #expect(rejected == [.close(connection(1)), .connect(connection(3))])
    // The write is retried on the fresh connection only.
    #expect(late == [.close(connection(2)), .connect(connection(4))])
    #expect(fresh == [.run(request(1), connection(3))])
  }

  @Test func fullPoolReplacesPendingConnectionsAsTheyAreEstablished() {
    var pool = pool(busyWith: 1, writes: [1], more: 1)
    _ = pool.arrived(request(2), isRetryable: true, at: start)
    _ = pool.arrived(request(3), isRetryable: true, at: start)

    let rejected = pool.foundReadOnly(connection(1), reason: "read-only", at: start)
    let late = pool.connected(connection(2), at: start)

    #expect(rejected == [.close(connection(1)), .connect(connection(3))])
    #expect(late == [.close(connection(2)), .connect(connection(4))])
  }

  @Test func connectionToAnotherPrimaryRetiresEarlierOnes() {
    var limits = Pool.Limits()
    limits.connections = 4
    var pool = Pool(limits: limits)
    let (old, new) = (ServerIdentity(life: "a", isPrimary: true), ServerIdentity(life: "b", isPrimary: true))
    for number in 1...3 { _ = pool.arrived(request(number), isRetryable: true, at: start) }
    for number in 1...3 { _ = pool.connected(connection(number), to: old, at: start) }
    _ = pool.arrived(request(4), isRetryable: false, at: start)
    _ = pool.cancelled(request(2))

    let made = pool.connected(connection(4), to: new, at: start)
    let finished = (1...3).map { pool.finished(connection($0), at: start) }
    let next = pool.finished(connection(4), at: start) + pool.arrived(request(5), isRetryable: true, at: start)

    #expect(made == [.run(request(4), connection(4))])
    #expect(finished == (1...3).map { [.close(connection($0))] })
    #expect(next == [.run(request(5), connection(4))])
  }

  @Test func connectionReroutedToAnotherPrimaryRetiresTheOthers() {
    var limits = Pool.Limits()
    limits.connections = 3
    var pool = Pool(limits: limits)
    let (old, new) = (ServerIdentity(life: "a", isPrimary: true), ServerIdentity(life: "b", isPrimary: true))
    for number in 1...3 { _ = pool.arrived(request(number), isRetryable: true, at: start) }
    for number in 1...3 { _ = pool.connected(connection(number), to: old, at: start) }
    _ = pool.finished(connection(3), at: start)

    let moved = pool.serverChanged(connection(1), to: new)
    let again = pool.serverChanged(connection(1), to: new)
    let finished = (1...2).map { pool.finished(connection($0), at: start) }
    let next = pool.arrived(request(5), isRetryable: true, at: start)

    #expect(moved == [.close(connection(3))])
    #expect(again == [])
    #expect(finished == [[], [.close(connection(2))]])
    #expect(next == [.run(request(5), connection(1))])
  }

  @Test func refusedWritesReplaceConnectionsToAStandbyOnceInAnInterval() {
    let standby = ServerIdentity(life: "a", isPrimary: false)
    var limits = Pool.Limits()
    limits.connections = 2
    limits.waitTimeout = .seconds(60)
    limits.standbyRetryInterval = .seconds(5)
    var pool = Pool(limits: limits)
    func refuse(_ number: Int, on connection: Pool.ConnectionID, at now: ContinuousClock.Instant) -> [Pool.Action] {
      pool.foundReadOnly(connection, reason: "standby", isUsable: true, at: now)
    }
    _ = pool.arrived(request(1), isRetryable: false, at: start)
    _ = pool.connected(connection(1), to: standby, at: start)

    // The first write is retried on a new connection, which leads to the standby again and stays.
    let first = refuse(1, on: connection(1), at: start)
    _ = pool.connected(connection(2), to: standby, at: start)
    let again = refuse(1, on: connection(2), at: start)
    let read = pool.arrived(request(2), isRetryable: true, at: start)
    _ = pool.finished(connection(2), at: start)
    _ = pool.arrived(request(3), isRetryable: false, at: start)
    let later = refuse(3, on: connection(2), at: start + .seconds(6))

    #expect(first == [.close(connection(1)), .connect(connection(2))])
    #expect(again == [.fail(request(1), .readOnly(reason: "standby"))])
    #expect(read == [.run(request(2), connection(2))])
    #expect(later == [.close(connection(2)), .connect(connection(3))])
  }

  @Test func connectionsMadeToAPromotedStandbyAreReplaced() {
    var pool = pool(busyWith: 1)
    _ = pool.serverChanged(connection(1), to: ServerIdentity(life: "a", isPrimary: false))

    let found = pool.foundPrimary(at: start)
    let finished = pool.finished(connection(1), at: start)
    _ = pool.arrived(request(2), isRetryable: true, at: start)
    _ = pool.connected(connection(2), to: ServerIdentity(life: "a", isPrimary: true), at: start)
    let foundAgain = pool.foundPrimary(at: start) + pool.finished(connection(2), at: start)

    #expect(found == [])
    #expect(finished == [.close(connection(1))])
    #expect(foundAgain == [])
  }

  @Test func connectionReroutedBetweenReplicasRetiresNone() {
    var pool = pool(busyWith: 2)
    _ = pool.finished(connection(2), at: start)

    let moved = pool.serverChanged(connection(1), to: ServerIdentity(life: "b", isPrimary: false))

    #expect(moved == [])
  }

  @Test func replicasAndThePrimaryMayServeOnePool() {
    var pool = pool(busyWith: 1)
    _ = pool.arrived(request(2), isRetryable: true, at: start)
    _ = pool.connected(connection(2), to: ServerIdentity(life: "b", isPrimary: false), at: start)
    _ = pool.arrived(request(3), isRetryable: true, at: start)

    let finished = pool.finished(connection(1), at: start)

    #expect(finished == [.run(request(3), connection(1))])
  }

  @Test func outageFailsRequestsImmediatelyWhileOldConnectionsFinish() {
    var pool = pool(busyWith: 2, writes: [1])
    _ = pool.foundReadOnly(connection(1), reason: "read-only", at: start)

    let failed = pool.failedToConnect(connection(3), reason: "no host takes writes", at: start, jitter: 0)

    #expect(failed == [.fail(request(1), .unavailable(reason: "no host takes writes"))])
  }

  // MARK: Cancelled writes

  @Test func sentWriteContinuesWithoutItsCaller() {
    var pool = pool(busyWith: 1, writes: [1])

    let cancelled = pool.cancelled(request(1))
    let finished = pool.finished(connection(1), at: start)
    let next = pool.arrived(request(2), isRetryable: true, at: start)

    let error = DatabaseError.outcomeUnknown(reason: "the request was cancelled before its outcome was known")
    #expect(cancelled == [.fail(request(1), error)])
    #expect(finished.isEmpty)
    #expect(next == [.run(request(2), connection(1))])
  }

  @Test func overdueWriteWithoutItsCallerIsTerminated() {
    var pool = pool(busyWith: 1, writes: [1])
    _ = pool.cancelled(request(1))

    let overdue = pool.expired(at: after(.seconds(6)), jitter: 0)
    let ended = pool.connectionLost(connection(1), reason: "terminated", outcome: .rolledBack, at: after(.seconds(7)))

    #expect(overdue == [.terminate(connection(1))])
    #expect(ended == [.close(connection(1))])
  }

  // MARK: Overdue writes

  /// Returns a pool whose write has timed out and is being terminated.
  private func terminatingPool() -> Pool {
    var pool = pool(busyWith: 1, writes: [1])
    #expect(pool.expired(at: after(.seconds(6)), jitter: 0) == [.terminate(connection(1))])
    return pool
  }

  @Test(arguments: [StatementOutcome.rolledBack, .rejected]) func overdueWriteThatWasRolledBackIsATimeout(
    outcome: StatementOutcome
  ) {
    var pool = terminatingPool()

    let actions = pool.connectionLost(connection(1), reason: "terminated", outcome: outcome, at: after(.seconds(7)))

    #expect(actions == [.close(connection(1)), .fail(request(1), .timeout)])
  }

  @Test func overdueWriteWhoseConnectionIsLostHasAnUnknownOutcome() {
    var pool = terminatingPool()

    let actions = pool.connectionLost(connection(1), reason: "gone", outcome: .unknown, at: after(.seconds(7)))

    #expect(actions == [.close(connection(1)), .fail(request(1), .outcomeUnknown(reason: "gone"))])
  }

  @Test func overdueWriteThatDoesNotTerminateHasAnUnknownOutcome() {
    var pool = terminatingPool()
    let deadline = pool.nextDeadline

    let actions = pool.expired(at: after(.seconds(8)), jitter: 0)

    let reason = "the statement timed out, and the server did not terminate it in time"
    #expect(deadline == after(.seconds(8)))
    #expect(actions == [.close(connection(1)), .fail(request(1), .outcomeUnknown(reason: reason))])
  }

  @Test func overdueWriteThatCannotBeTerminatedHasAnUnknownOutcomeImmediately() {
    var pool = terminatingPool()

    let actions = pool.terminationFailed(connection(1), reason: "no connection", at: after(.seconds(7)))

    #expect(actions == [.close(connection(1)), .fail(request(1), .outcomeUnknown(reason: "no connection"))])
  }

  @Test func terminatingConnectionIsNotReusedWhenItFinishes() {
    var pool = terminatingPool()

    let actions = pool.finished(connection(1), at: after(.seconds(7)))

    #expect(actions == [.close(connection(1))])
  }

  // MARK: Synchronous standbys

  @Test func writeThatAwaitsAStandbyIsNotTerminated() {
    var pool = terminatingPool()

    let waits = pool.waitsForStandby(connection(1), at: after(.seconds(7)))
    let write = pool.arrived(request(2), isRetryable: false, at: after(.seconds(8)))
    let confirmed = pool.finished(connection(1), at: after(.seconds(9)))
    let next = pool.arrived(request(3), isRetryable: false, at: after(.seconds(9)))

    let error = DatabaseError.outcomeUnknown(reason: "the write waits for a synchronous standby")
    #expect(waits == [.fail(request(1), error)])
    // It would wait as well, and the other connections are for reads.
    #expect(write == [.fail(request(2), .overloaded)])
    #expect(confirmed.isEmpty)
    #expect(next == [.run(request(3), connection(1))])
  }

  @Test func writeThatAwaitsAStandbyIsCheckedPeriodically() {
    var pool = terminatingPool()
    _ = pool.waitsForStandby(connection(1), at: after(.seconds(7)))
    let deadline = pool.nextDeadline

    let again = pool.expired(at: after(.seconds(37)), jitter: 0)
    let gone = pool.terminationFailed(connection(1), reason: "no connection", at: after(.seconds(38)))

    #expect(deadline == after(.seconds(37)))
    #expect(again == [.terminate(connection(1))])
    #expect(gone == [.close(connection(1))])
  }

  @Test func atMostHalfOfTheConnectionsAwaitAStandby() {
    var pool = pool(busyWith: 4, writes: [1, 2, 3, 4], more: 0)
    _ = pool.expired(at: after(.seconds(6)), jitter: 0)

    let actions = (1...3).map { pool.waitsForStandby(connection($0), at: after(.seconds(7))) }
    let read = pool.arrived(request(5), isRetryable: true, at: after(.seconds(7)))

    let error = DatabaseError.outcomeUnknown(reason: "the write waits for a synchronous standby")
    #expect(actions[0] == [.fail(request(1), error)])
    #expect(actions[1] == [.fail(request(2), error)])
    #expect(actions[2] == [.fail(request(3), error), .close(connection(3))])
    #expect(read == [.connect(connection(5))])
  }

  @Test func writesStayRejectedWhileStandbyWaitsAreChecked() {
    var pool = pool(busyWith: 4, writes: [1, 2, 3, 4], more: 0)
    _ = pool.expired(at: after(.seconds(6)), jitter: 0)
    for number in 1...2 { _ = pool.waitsForStandby(connection(number), at: after(.seconds(7))) }

    let again = pool.expired(at: after(.seconds(37)), jitter: 0)
    let write = pool.arrived(request(6), isRetryable: false, at: after(.seconds(37)))
    let kept = (1...2).flatMap { pool.waitsForStandby(connection($0), at: after(.seconds(38))) }

    #expect(again.contains(.terminate(connection(1))) && again.contains(.terminate(connection(2))))
    #expect(write == [.fail(request(6), .overloaded)])
    #expect(kept == [])
  }

  // MARK: Shutdown

  @Test func shutdownLeavesTheOutcomeOfAWriteUnknown() {
    var pool = pool(busyWith: 1, writes: [1])

    let actions = pool.shutDown()

    let error = DatabaseError.outcomeUnknown(reason: "the connection pool is shut down")
    #expect(actions == [.fail(request(1), error), .close(connection(1))])
  }
}
