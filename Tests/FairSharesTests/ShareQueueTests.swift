import FairShares
import NIOCore
import NIOPosix
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct ShareQueueTests {
  private typealias Queue = ShareQueue<String>

  private static func makeQueue(timeout: TimeAmount = .minutes(5), maximumCount: Int = 100) -> Queue {
    Queue(
      timeout: timeout, maximumCount: maximumCount, eventLoop: MultiThreadedEventLoopGroup.singleton.any())
  }

  @Test func waitingRequestsContinueAsSharesAreReturned() async throws {
    let queue = Self.makeQueue()
    let begun = Counter()
    let shares = Counter()
    let tasks = (0..<3).map { _ in
      Task {
        try await queue.wait(of: "client") { queue.granted < shares.value }
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
    try await Self.makeQueue().wait(of: "client") { true }
  }

  @Test func requestThatNeedsMoreThanIsFreeDoesNotHoldUpThoseBehindIt() async throws {
    let queue = Self.makeQueue()
    let large = Task { try await queue.wait(bytes: 10, of: "client") { false } }
    while queue.count < 1 { await Task.yield() }

    try await queue.wait(bytes: 1, of: "client") { true }

    #expect(queue.count == 1 && queue.dueBytes == 10)
    large.cancel()
  }

  @Test func clientWithManyWaitingRequestsDoesNotHoldUpOthers() async throws {
    let queue = Self.makeQueue()
    let (many, other, third) = ("many", "other", "third")
    let requests = [
      ("many 0", many), ("many 1", many), ("many 2", many), ("many 3", many), ("other 0", other), ("other 1", other),
      ("third 0", third),
    ]
    let begun = Notes()
    let shares = Counter()
    var tasks: [Task<Void, any Error>] = []
    for (name, client) in requests {
      tasks.append(
        Task {
          try await queue.wait(bytes: 10, of: client) {
            guard queue.granted < shares.value else { return false }
            begun.note(name)
            return true
          }
        })
      while queue.count < tasks.count { await Task.yield() }
    }
    let nextBytes = queue.dueBytes

    shares.add(4)
    queue.grant()
    let first = begun.names
    shares.add(3)
    queue.grant()
    for task in tasks { try await task.value }

    #expect(nextBytes == 30)
    #expect(first == ["many 0", "other 0", "third 0", "many 1"])
    #expect(begun.names.suffix(3) == ["other 1", "many 2", "many 3"])
  }

  @Test func lastRequestOfTheClientWithTheMostGivesWayInAFullQueue() async throws {
    let queue = Self.makeQueue(maximumCount: 3)
    let many = "many"
    var tasks: [Task<Void, any Error>] = []
    for count in 1...3 {
      tasks.append(Task { try await queue.wait(of: many) { false } })
      while queue.count < count { await Task.yield() }
    }

    let other = Task { try await queue.wait(bytes: 1, of: "other") { false } }

    await #expect(throws: Queue.Rejection.full) { try await tasks[2].value }
    await #expect(throws: Queue.Rejection.full) { try await queue.wait(of: many) { true } }
    #expect(queue.count == 3 && queue.dueBytes == 1)
    for task in tasks + [other] { task.cancel() }
  }

  @Test func requestOverTheMaximumCountIsRejected() async throws {
    let queue = Self.makeQueue(maximumCount: 1)
    let first = Task { try await queue.wait(of: "client") { false } }
    while queue.count < 1 { await Task.yield() }

    await #expect(throws: Queue.Rejection.full) { try await queue.wait(of: "client") { false } }
    first.cancel()
  }

  @Test func waitFailsWhenItsTimeoutExpires() async throws {
    // Without a delay, the timer is often faster than the request that sets it.
    let queue = Self.makeQueue(timeout: .zero)

    for _ in 0..<1000 {
      await #expect(throws: Queue.Rejection.timedOut) { try await queue.wait(of: "client") { false } }
    }
    #expect(queue.count == 0)
  }

  @Test func cancelledRequestLeavesTheQueue() async throws {
    let queue = Self.makeQueue()
    let task = Task { try await queue.wait(of: "client") { false } }
    while queue.count < 1 { await Task.yield() }

    task.cancel()

    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(queue.count == 0)
  }
}
