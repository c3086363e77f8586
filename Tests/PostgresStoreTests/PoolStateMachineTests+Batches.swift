import Points
import Testing

@testable import PostgresStore

/// Tests of requests that share a connection.
extension PoolStateMachineTests {
  /// Returns a pool whose two connections are busy and in whose queue requests of these groups wait.
  private func waitingPool(_ groups: [String?], batchSize: Int = 16) -> Pool {
    var pool = pool { limits in limits.waiters = 100 }
    for number in 1...2 { _ = pool.arrived(request(number), isRetryable: true, at: start) }
    for number in 1...2 { _ = pool.connected(connection(number), at: start) }
    for (index, group) in groups.enumerated() {
      let group = group.map { Pool.Group(name: $0, batchSize: batchSize) }
      _ = pool.arrived(request(index + 3), isRetryable: true, group: group, at: start)
    }
    return pool
  }

  @Test func freeConnectionTakesTwiceItsShareOfAWaitingGroup() {
    var pool = pool { limits in
      limits.connections = 4
      limits.waiters = 100
    }
    for number in 1...4 { _ = pool.arrived(request(number), isRetryable: true, at: start) }
    for number in 1...4 { _ = pool.connected(connection(number), at: start) }
    for number in 5...9 {
      _ = pool.arrived(request(number), isRetryable: true, group: Pool.Group(name: "a"), at: start)
    }

    let first = pool.finished(connection(1), at: start)
    let second = pool.finished(connection(2), at: start)

    #expect(first == [.run([request(5), request(6), request(7)], connection(1))])
    #expect(second == [.run([request(8)], connection(2))])
  }

  @Test func groupWithAConnectionLimitLeavesOtherConnectionsFree() {
    var pool = pool { limits in limits.connections = 3 }
    let group = Pool.Group(name: "a", connections: 1)
    for number in 1...3 { _ = pool.arrived(request(number), isRetryable: true, at: start) }
    for number in 1...3 { _ = pool.connected(connection(number), at: start) }
    for number in 1...3 { _ = pool.finished(connection(number), at: start) }

    let first = pool.arrived(request(4), isRetryable: true, group: group, at: start)
    let second = pool.arrived(request(5), isRetryable: true, group: group, at: start)
    let third = pool.arrived(request(6), isRetryable: true, group: group, at: start)
    let other = pool.arrived(request(7), isRetryable: true, at: start)
    let next = pool.finished(connection(3), at: start)

    #expect(first == [.run([request(4)], connection(3))])
    #expect(second.isEmpty)
    #expect(third.isEmpty)
    #expect(other == [.run([request(7)], connection(2))])
    #expect(next == [.run([request(5), request(6)], connection(3))])
  }

  @Test func requestBehindAGroupAtItsLimitIsServedWithIt() {
    var pool = pool { limits in limits.connections = 2 }
    let group = Pool.Group(name: "a", connections: 1)
    for number in 1...2 { _ = pool.arrived(request(number), isRetryable: true, at: start) }
    for number in 1...2 { _ = pool.connected(connection(number), at: start) }
    _ = pool.arrived(request(3), isRetryable: true, group: group, at: start)
    _ = pool.arrived(request(4), isRetryable: true, group: Pool.Group(name: "b"), at: start)
    _ = pool.arrived(request(5), isRetryable: true, group: group, at: start)

    let first = pool.finished(connection(1), at: start)
    let second = pool.finished(connection(2), at: start)
    let lost = pool.connectionLost(connection(1), reason: "gone", at: start)

    #expect(first == [.run([request(3)], connection(1))])
    #expect(second == [.run([request(4)], connection(2))])
    #expect(lost == [.close(connection(1)), .connect(connection(3))])
  }

  @Test func onlyAdjacentRequestsAreBatched() {
    var pool = waitingPool(["a", "b", "a", nil, nil, nil])

    let runs = (0..<5).map { _ in pool.finished(connection(1), at: start) }

    #expect(runs == (3...7).map { [.run([request($0)], connection(1))] })
  }

  @Test func batchesDoNotExceedTheirMaximumSize() {
    var pool = waitingPool(Array(repeating: "a", count: 20), batchSize: 4)

    let actions = pool.finished(connection(1), at: start)

    #expect(actions == [.run((3...6).map { request($0) }, connection(1))])
  }

  @Test func batchIsCancelledOnlyWhenItsLastCallerIs() {
    var pool = waitingPool(["a", "a"])
    _ = pool.finished(connection(1), at: start)

    let first = pool.cancelled(request(3))
    let last = pool.cancelled(request(4))

    #expect(first == [.fail(request(3), .timeout)])
    #expect(last == [.fail(request(4), .timeout), .cancel(connection(1))])
  }

  @Test func batchWhoseConnectionIsLostIsRetriedOnce() {
    var pool = waitingPool(["a", "a"])
    _ = pool.finished(connection(1), at: start)
    _ = pool.finished(connection(2), at: start)

    let again = pool.connectionLost(connection(1), reason: "gone", at: start)
    let failed = pool.connectionLost(connection(2), reason: "gone", at: start)

    #expect(again == [.close(connection(1)), .run([request(3), request(4)], connection(2))])
    let error = PointStoreError.unavailable(reason: "gone")
    #expect(failed == [.close(connection(2)), .fail(request(3), error), .fail(request(4), error)])
  }
}
