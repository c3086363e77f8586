import Testing

@testable import PostgresClient

/// Tests of admission control under overload, on a manual clock.
@Suite struct PoolOverloadTests {
  private typealias Pool = PoolStateMachine

  private let start = ContinuousClock.now
  private let only = Pool.ConnectionID(number: 1)

  private func request(_ number: Int) -> Pool.RequestID { .init(number: number) }
  private func after(_ duration: Duration) -> ContinuousClock.Instant { start + duration }

  /// Returns a pool of one connection that took a second for request 0 and is now busy with request 1.
  private func slowPool(waiters: Int = 100, wait: Duration = .seconds(3)) -> Pool {
    var limits = Pool.Limits()
    limits.connections = 1
    limits.waiters = waiters
    limits.waitTimeout = wait
    limits.urgentWaiters = 2
    var pool = Pool(limits: limits)
    _ = pool.arrived(request(0), isRetryable: true, at: start)
    _ = pool.connected(only, at: start)
    _ = pool.finished(only, at: after(.seconds(1)))
    _ = pool.arrived(request(1), isRetryable: true, at: after(.seconds(1)))
    return pool
  }

  private func arrive(
    _ numbers: ClosedRange<Int>, in pool: inout Pool, isUrgent: Bool = false, at time: Duration = .seconds(1)
  ) -> [Pool.Action] {
    numbers.flatMap { pool.arrived(request($0), isRetryable: true, isUrgent: isUrgent, at: after(time)) }
  }

  @Test func requestWithATooLongEstimatedWaitIsRejectedImmediately() {
    var pool = slowPool()

    // Behind three others the wait is three seconds, behind four it would be four.
    let before = arrive(2...4, in: &pool) + arrive(5...5, in: &pool, at: .milliseconds(1800))
    let after = arrive(6...7, in: &pool, at: .milliseconds(1800))

    #expect(before.isEmpty)
    #expect(after == [.fail(request(6), .overloaded), .fail(request(7), .overloaded)])
  }

  @Test func oneSlowStatementDoesNotRejectRequests() {
    var pool = slowPool()

    let actions = arrive(2...50, in: &pool)

    #expect(actions.isEmpty)
  }

  @Test func requestIsAdmittedOnceTheQueueHasMoved() {
    var pool = slowPool()
    _ = arrive(2...5, in: &pool)
    #expect(pool.isOverloaded(at: after(.milliseconds(1999))))

    _ = pool.finished(only, at: after(.seconds(2)))

    #expect(!pool.isOverloaded(at: after(.seconds(2))))
    #expect(arrive(8...8, in: &pool, at: .seconds(2)).isEmpty)
  }

  @Test func firstRequestInTheQueueIsAdmittedHoweverSlowThePoolIs() {
    var pool = slowPool(wait: .milliseconds(1))

    let first = arrive(2...2, in: &pool)
    let second = arrive(3...3, in: &pool, at: .seconds(1) + .microseconds(900))

    #expect(first.isEmpty)
    #expect(second == [.fail(request(3), .overloaded)])
  }

  @Test func poolThatBecomesFasterAdmitsMoreRequests() {
    var pool = slowPool()
    for step in 1...60 {
      let time = Duration.seconds(1) + .milliseconds(10 * step)
      _ = pool.finished(only, at: after(time))
      _ = pool.arrived(request(10 + step), isRetryable: true, at: after(time))
    }

    _ = arrive(100...150, in: &pool, at: .milliseconds(1600))
    let actions = arrive(151...160, in: &pool, at: .milliseconds(2500))

    #expect(actions.isEmpty)
  }

  @Test func estimatedWaitIsSharedByTheConnections() {
    var time = ServiceTime()

    time.observe(.milliseconds(5))

    #expect(time.wait(behind: 100, connections: 1) == .milliseconds(500))
    #expect(time.wait(behind: 100, connections: 10) == .milliseconds(50))
    #expect(ServiceTime().wait(behind: 1000, connections: 1) == .zero)
  }

  @Test func expiredRequestIsNotRunWhenAConnectionBecomesFree() {
    var pool = slowPool()
    _ = arrive(2...2, in: &pool)
    _ = arrive(3...3, in: &pool, at: .seconds(3))

    // No timer has fired in the meantime.
    let actions = pool.finished(only, at: after(.seconds(4)))

    #expect(actions == [.fail(request(2), .overloaded), .run(request(3), only)])
  }

  @Test func urgentRequestsComeFirstAndBypassAdmissionControl() {
    var pool = slowPool(waiters: 2)
    _ = arrive(2...3, in: &pool)

    let urgent = arrive(4...4, in: &pool, isUrgent: true)
    let next = pool.finished(only, at: after(.seconds(2)))

    #expect(urgent.isEmpty)
    #expect(next == [.run(request(4), only)])
  }

  @Test func urgentRequestsAreLimited() {
    var pool = slowPool(waiters: 1)
    _ = arrive(2...2, in: &pool)

    let urgent = arrive(3...5, in: &pool, isUrgent: true)
    let cancelled = pool.cancelled(request(3))
    let again = arrive(6...6, in: &pool, isUrgent: true)

    #expect(urgent == [.fail(request(5), .overloaded)])
    #expect(cancelled == [.fail(request(3), .cancelled)])
    #expect(again.isEmpty)
  }
}
