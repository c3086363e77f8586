import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import HTTPServer

@Suite(.timeLimit(.minutes(5))) struct ShareQueueTests {
  private static func makeQueue(timeout: TimeAmount = .minutes(5), maximumCount: Int = 100) -> ShareQueue {
    ShareQueue(
      timeout: timeout, maximumCount: maximumCount, eventLoop: MultiThreadedEventLoopGroup.singleton.any())
  }

  @Test func waitingRequestsContinueAsSharesAreReturned() async throws {
    let queue = Self.makeQueue()
    let begun = Counter()
    let shares = Counter()
    let tasks = (0..<3).map { _ in
      Task {
        try await queue.wait { granted in granted < shares.value }
        begun.add()
      }
    }
    while queue.count < 3 { await Task.yield() }

    shares.add(2)
    queue.grant()
    while begun.value < 2 { await Task.yield() }
    let waiting = queue.count
    queue.endShare()
    for task in tasks { try await task.value }

    #expect(waiting == 1)
    #expect(begun.value == 3)
    #expect(queue.count == 0)
  }

  @Test func availableShareIsGrantedAtOnce() async throws {
    try await Self.makeQueue().wait { _ in true }
  }

  @Test func requestThatNeedsMoreThanIsFreeDoesNotHoldUpThoseBehindIt() async throws {
    let queue = Self.makeQueue()
    let large = Task { try await queue.wait(bytes: 10) { _ in false } }
    while queue.count < 1 { await Task.yield() }

    try await queue.wait(bytes: 1) { _ in true }

    #expect(queue.count == 1 && queue.firstBytes == 10)
    large.cancel()
  }

  @Test func requestOverTheMaximumCountIsRejected() async throws {
    let queue = Self.makeQueue(maximumCount: 1)
    let first = Task { try await queue.wait { _ in false } }
    while queue.count < 1 { await Task.yield() }

    await #expect(throws: ShareQueue.Rejection.full) { try await queue.wait { _ in false } }
    first.cancel()
  }

  @Test func waitFailsWhenItsTimeoutExpires() async throws {
    // Without a delay, the timer is often faster than the request that sets it.
    let queue = Self.makeQueue(timeout: .zero)

    for _ in 0..<1000 {
      await #expect(throws: ShareQueue.Rejection.timedOut) { try await queue.wait { _ in false } }
    }
    #expect(queue.count == 0)
  }

  @Test func cancelledRequestLeavesTheQueue() async throws {
    let queue = Self.makeQueue()
    let task = Task { try await queue.wait { _ in false } }
    while queue.count < 1 { await Task.yield() }

    task.cancel()

    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(queue.count == 0)
  }
}
