import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import HTTPServer

@Suite(.timeLimit(.minutes(5))) struct ShareQueueTests {
  private static func makeQueue(patience: TimeAmount = .minutes(5), maximumCount: Int = 100) -> ShareQueue {
    ShareQueue(
      patience: patience, maximumCount: maximumCount, eventLoop: MultiThreadedEventLoopGroup.singleton.any())
  }

  @Test func requestsGoOnAsSharesAreGivenBack() async throws {
    let queue = Self.makeQueue()
    let begun = Counter()
    let tasks = (0..<3).map { _ in
      Task {
        try await queue.wait { 0 }
        begun.add()
      }
    }
    while queue.count < 3 { await Task.yield() }

    queue.grant { 2 }
    while begun.value < 2 { await Task.yield() }
    let waiting = queue.count
    queue.endShare { 2 }
    for task in tasks { try await task.value }

    #expect(waiting == 1)
    #expect(begun.value == 3)
    #expect(queue.count == 0)
  }

  @Test func aShareThatIsThereIsGrantedAtOnce() async throws {
    try await Self.makeQueue().wait { 1 }
  }

  @Test func oneRequestTooManyIsRefused() async throws {
    let queue = Self.makeQueue(maximumCount: 1)
    let first = Task { try await queue.wait { 0 } }
    while queue.count < 1 { await Task.yield() }

    await #expect(throws: ShareQueue.Refusal.full) { try await queue.wait { 0 } }
    first.cancel()
  }

  @Test func aRequestWaitsNoLongerThanItMay() async throws {
    let queue = Self.makeQueue(patience: .milliseconds(10))

    await #expect(throws: ShareQueue.Refusal.timedOut) { try await queue.wait { 0 } }
    #expect(queue.count == 0)
  }

  @Test func aRequestWhoseClientHasGoneWaitsNoLonger() async throws {
    let queue = Self.makeQueue()
    let task = Task { try await queue.wait { 0 } }
    while queue.count < 1 { await Task.yield() }

    task.cancel()

    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(queue.count == 0)
  }
}
