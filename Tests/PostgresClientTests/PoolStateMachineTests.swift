import Testing

@testable import PostgresClient

/// Tests of the pool's decisions, on a manual clock.
@Suite struct PoolStateMachineTests {
  typealias Pool = PoolStateMachine
  typealias Action = PoolStateMachine.Action

  let start = ContinuousClock.now

  func pool(_ change: (inout Pool.Limits) -> Void = { _ in }) -> Pool {
    var limits = Pool.Limits()
    limits.connections = 2
    limits.waiters = 3
    limits.waitTimeout = .seconds(5)
    limits.requestTimeout = .seconds(6)
    limits.connectTimeout = .seconds(30)
    limits.initialBackoff = .milliseconds(100)
    limits.maximumBackoff = .seconds(5)
    change(&limits)
    return Pool(limits: limits)
  }

  func request(_ number: Int) -> Pool.RequestID { .init(number: number) }
  func connection(_ number: Int) -> Pool.ConnectionID { .init(number: number) }
  func after(_ duration: Duration) -> ContinuousClock.Instant { start + duration }

  /// Returns a pool whose only connection is busy with request 1.
  func busyPool(_ change: (inout Pool.Limits) -> Void = { $0.connections = 1 }) -> Pool {
    var pool = pool(change)
    _ = pool.arrived(request(1), isRetryable: true, at: start)
    _ = pool.connected(connection(1), at: start)
    return pool
  }

  // MARK: Read-only servers

  @Test func writeRejectedByAReadOnlyServerIsRetried() {
    var pool = pool { $0.connections = 3 }
    for number in 1...3 { _ = pool.arrived(request(number), isRetryable: false, at: start) }
    for number in 1...3 { _ = pool.connected(connection(number), at: start) }
    _ = pool.finished(connection(1), at: start)

    let rejected = pool.foundReadOnly(connection(2), reason: "read-only", at: start)
    let other = pool.finished(connection(3), at: start)
    let connected = pool.connected(connection(4), at: start)

    // The idle connection is closed immediately, the busy one when it has finished.
    #expect(rejected == [.close(connection(1)), .close(connection(2)), .connect(connection(4))])
    #expect(other == [.close(connection(3))])
    #expect(connected == [.run(request(2), connection(4))])
  }

  @Test func requestRejectedTwiceFails() {
    var pool = busyPool()
    _ = pool.foundReadOnly(connection(1), reason: "read-only", at: start)
    _ = pool.connected(connection(2), at: start)

    let actions = pool.foundReadOnly(connection(2), reason: "read-only", at: start)

    #expect(actions == [.close(connection(2)), .fail(request(1), .readOnly(reason: "read-only"))])
  }

  // MARK: Connections and requests

  @Test func firstRequestEstablishesAConnectionAndRunsOnIt() {
    var pool = pool()

    let arrived = pool.arrived(request(1), isRetryable: true, at: start)
    let connected = pool.connected(connection(1), at: start)

    #expect(arrived == [.connect(connection(1))])
    #expect(connected == [.run(request(1), connection(1))])
  }

  @Test func idleConnectionIsUsedBeforeAnotherIsEstablished() {
    var pool = busyPool { $0.connections = 2 }
    _ = pool.finished(connection(1), at: start)

    let actions = pool.arrived(request(2), isRetryable: true, at: start)

    #expect(actions == [.run(request(2), connection(1))])
  }

  @Test func connectionsDoNotExceedTheLimit() {
    var pool = pool()

    let actions = (1...3).map { pool.arrived(request($0), isRetryable: true, at: start) }

    #expect(actions == [[.connect(connection(1))], [.connect(connection(2))], []])
  }

  @Test func requestsAreServedInOrderOfArrival() {
    var pool = busyPool()
    _ = pool.arrived(request(2), isRetryable: true, at: start)
    _ = pool.arrived(request(3), isRetryable: true, at: start)

    let first = pool.finished(connection(1), at: start)
    let second = pool.finished(connection(1), at: start)

    #expect(first == [.run(request(2), connection(1))])
    #expect(second == [.run(request(3), connection(1))])
  }

  @Test func fullQueueRejectsRequests() {
    var pool = busyPool()
    for number in 2...4 { _ = pool.arrived(request(number), isRetryable: true, at: start) }

    let actions = pool.arrived(request(5), isRetryable: true, at: start)

    #expect(actions == [.fail(request(5), .overloaded)])
  }

  @Test func requestIsRejectedAfterItsWaitTimeout() {
    var pool = busyPool()
    _ = pool.arrived(request(2), isRetryable: true, at: start)
    let deadline = pool.nextDeadline

    let actions = pool.expired(at: after(.seconds(5)), jitter: 0)

    #expect(deadline == after(.seconds(5)))
    #expect(actions == [.fail(request(2), .overloaded)])
  }

  @Test func connectionThatDoesNotRespondIsClosed() {
    var pool = busyPool()

    let actions = pool.expired(at: after(.seconds(6)), jitter: 0)

    #expect(actions == [.close(connection(1)), .fail(request(1), .timeout)])
    #expect(pool.nextDeadline == nil)
  }

  // MARK: Cancellation

  @Test func cancelledWaiterLeavesTheQueue() {
    var pool = busyPool()
    _ = pool.arrived(request(2), isRetryable: true, at: start)
    _ = pool.arrived(request(3), isRetryable: true, at: start)

    let cancelled = pool.cancelled(request(2))
    let next = pool.finished(connection(1), at: start)

    #expect(cancelled == [.fail(request(2), .cancelled)])
    #expect(next == [.run(request(3), connection(1))])
  }

  @Test func connectionOfACancelledRequestIsReusedOnceItHasStopped() {
    var pool = busyPool()
    _ = pool.arrived(request(2), isRetryable: true, at: start)

    let cancelled = pool.cancelled(request(1))
    let stopped = pool.finished(connection(1), at: start)

    #expect(cancelled == [.fail(request(1), .cancelled), .cancel(connection(1))])
    #expect(stopped == [.run(request(2), connection(1))])
  }

  @Test func connectionThatIgnoresACancelRequestIsClosed() {
    var pool = busyPool()
    _ = pool.cancelled(request(1))

    let actions = pool.expired(at: after(.seconds(6)), jitter: 0)

    #expect(actions == [.close(connection(1))])
  }

  // MARK: Lost connections

  @Test func readIsRetriedOnceWhenItsConnectionIsLost() {
    var pool = busyPool()

    let first = pool.connectionLost(connection(1), reason: "gone", at: start)
    let connected = pool.connected(connection(2), at: start)
    let second = pool.connectionLost(connection(2), reason: "gone again", at: start)

    #expect(first == [.close(connection(1)), .connect(connection(2))])
    #expect(connected == [.run(request(1), connection(2))])
    #expect(second == [.close(connection(2)), .fail(request(1), .unavailable(reason: "gone again"))])
  }

  @Test func retriedReadPrecedesWaitingRequests() {
    var pool = busyPool()
    _ = pool.arrived(request(2), isRetryable: true, at: start)
    _ = pool.connectionLost(connection(1), reason: "gone", at: start)

    let actions = pool.connected(connection(2), at: start)

    #expect(actions == [.run(request(1), connection(2))])
  }

  @Test func writeThatMayHaveBeenExecutedIsNeverRetried() {
    var pool = pool()
    _ = pool.arrived(request(1), isRetryable: false, at: start)
    _ = pool.connected(connection(1), at: start)

    let actions = pool.connectionLost(connection(1), reason: "gone", at: start)

    #expect(actions == [.close(connection(1)), .fail(request(1), .outcomeUnknown(reason: "gone"))])
  }

  @Test func idleConnectionThatIsLostIsRemoved() {
    var pool = busyPool()
    _ = pool.finished(connection(1), at: start)

    let lost = pool.connectionLost(connection(1), reason: "gone", at: start)
    let next = pool.arrived(request(2), isRetryable: true, at: start)

    #expect(lost == [.close(connection(1))])
    #expect(next == [.connect(connection(2))])
  }

  // MARK: Outages

  @Test func waitingAndNewRequestsFailWhenTheServerIsUnreachable() {
    var pool = pool { $0.connections = 1 }
    _ = pool.arrived(request(1), isRetryable: true, at: start)
    _ = pool.arrived(request(2), isRetryable: true, at: start)

    let failed = pool.failedToConnect(connection(1), reason: "refused", at: start, jitter: 0)
    let next = pool.arrived(request(3), isRetryable: true, at: start)

    let error = DatabaseError.unavailable(reason: "refused")
    #expect(failed == [.fail(request(1), error), .fail(request(2), error)])
    #expect(next == [.fail(request(3), error)])
  }

  @Test func connectingIsRetriedWithBoundedExponentialBackoff() {
    var pool = pool()
    _ = pool.arrived(request(1), isRetryable: true, at: start)
    var now = start
    var pauses: [Duration] = []
    for attempt in 1...8 {
      _ = pool.failedToConnect(connection(attempt), reason: "refused", at: now, jitter: 0)
      let next = pool.nextDeadline ?? now
      pauses.append(now.duration(to: next))
      now = next
      #expect(pool.expired(at: now, jitter: 0) == [.connect(connection(attempt + 1))])
    }

    #expect(pauses == [100, 200, 400, 800, 1600, 3200, 5000, 5000].map { .milliseconds($0) })
  }

  @Test func jitterShortensTheBackoffByUpToHalf() {
    var pool = pool()
    _ = pool.arrived(request(1), isRetryable: true, at: start)

    _ = pool.failedToConnect(connection(1), reason: "refused", at: start, jitter: 1)

    #expect(pool.nextDeadline == after(.milliseconds(50)))
  }

  @Test func requestsFailImmediatelyWhileOneConnectionIsAttempted() {
    var pool = pool()
    _ = pool.arrived(request(1), isRetryable: true, at: start)
    _ = pool.failedToConnect(connection(1), reason: "refused", at: start, jitter: 0)
    _ = pool.expired(at: after(.milliseconds(100)), jitter: 0)

    let actions = pool.arrived(request(2), isRetryable: true, at: after(.milliseconds(101)))

    #expect(actions == [.fail(request(2), .unavailable(reason: "refused"))])
  }

  @Test func firstConnectionEndsAnOutage() {
    var pool = pool()
    _ = pool.arrived(request(1), isRetryable: true, at: start)
    _ = pool.failedToConnect(connection(1), reason: "refused", at: start, jitter: 0)
    _ = pool.expired(at: after(.milliseconds(100)), jitter: 0)
    _ = pool.connected(connection(2), at: after(.milliseconds(110)))

    let first = pool.arrived(request(2), isRetryable: true, at: after(.milliseconds(111)))
    let second = pool.arrived(request(3), isRetryable: true, at: after(.milliseconds(111)))

    #expect(first == [.run(request(2), connection(2))])
    #expect(second == [.connect(connection(3))])
  }

  @Test func waitersAreServedByExistingConnectionsWhenNoMoreCanBeEstablished() {
    var pool = busyPool { $0.connections = 2 }
    _ = pool.arrived(request(2), isRetryable: true, at: start)

    let failed = pool.failedToConnect(connection(2), reason: "too many clients", at: start, jitter: 0)
    let next = pool.finished(connection(1), at: start)

    #expect(failed == [])
    #expect(next == [.run(request(2), connection(1))])
  }

  @Test func attemptToConnectThatTimesOutIsAbandonedAndClosed() {
    var pool = pool { $0.waitTimeout = .seconds(60) }
    _ = pool.arrived(request(1), isRetryable: true, at: start)

    let expired = pool.expired(at: after(.seconds(30)), jitter: 0)
    let late = pool.connected(connection(1), at: after(.seconds(31)))

    #expect(expired.first == .close(connection(1)))
    #expect(expired.count == 2)
    #expect(late == [.close(connection(1))])
  }

  // MARK: Shutdown

  @Test func shutdownFailsCurrentAndLaterRequests() {
    var pool = busyPool()
    _ = pool.arrived(request(2), isRetryable: true, at: start)

    let actions = pool.shutDown()
    let later = pool.arrived(request(3), isRetryable: true, at: start)

    let error = DatabaseError.unavailable(reason: "the connection pool is shut down")
    #expect(Set(actions) == [.fail(request(1), error), .fail(request(2), error), .close(connection(1))])
    #expect(later == [.fail(request(3), error)])
    #expect(pool.nextDeadline == nil)
  }

  /// Under random events, each request completes once, and the number of connections stays within the limit.
  @Test(arguments: 1...20) func everyRequestEndsOnceWhateverHappens(seed: UInt64) {
    var simulation = PoolSimulation(seed: seed)

    simulation.run(steps: 3000)

    #expect(simulation.problems == [])
  }
}
