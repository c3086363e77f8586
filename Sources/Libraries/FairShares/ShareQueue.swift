package import NIOCore
import Synchronization

/// The queue of requests that wait for memory before their responses are produced. The first one that there is room for
/// is the next.
///
/// Clients take turns: each one's first request comes before the second of any, so that many requests of one client do
/// not hold up those of others. In a full queue the last one gives way to a request of an earlier turn.
package final class ShareQueue<Client: Hashable & Sendable>: Sendable {
  /// The reason why a request got no share.
  package enum Rejection: Error, Hashable {
    case full
    /// The request has waited for its maximum time.
    case timedOut
  }

  /// A function that takes the share of a waiting request, and returns whether there is one.
  package typealias Take = @Sendable () -> Bool

  private typealias Waiter = CheckedContinuation<Void, any Error>

  private struct Waiting {
    let id: Int
    let client: Client
    let turn: Int
    let bytes: Int
    let isDue: Take
    let take: Take
    let continuation: Waiter
  }

  /// The clients with a request that is kept back, in one pass over those that wait. Their later ones are kept back too,
  /// so that each client is looked at once.
  private struct KeptClients {
    private var clients: Set<Client> = []

    mutating func isDue(_ request: Waiting) -> Bool {
      if clients.contains(request.client) { return false }
      if request.isDue() { return true }
      clients.insert(request.client)
      return false
    }
  }

  private struct State {
    /// Ordered by turn, and in a turn by arrival.
    var waiting = CircularBuffer<Waiting>()
    var nextID = 0

    /// Returns the turn of a client's next request.
    func turn(of client: Client) -> Int {
      let last = waiting.last { $0.client == client }
      return last.map { $0.turn + 1 } ?? waiting.first?.turn ?? 0
    }

    mutating func insert(_ request: Waiting) {
      let index = waiting.firstIndex { $0.turn > request.turn }
      waiting.insert(request, at: index ?? waiting.endIndex)
    }
  }

  private let timeout: TimeAmount
  private let maximumCount: Int
  private let eventLoop: any EventLoop
  private let state = Mutex(State())
  private let waitingCount = Atomic(0)
  private let grantedCount = Atomic(0)
  private let dueWaitingCount = Atomic(0)
  private let dueWaitingBytes = Atomic(0)

  package var count: Int { waitingCount.load(ordering: .relaxed) }

  /// The number of waiting requests that need only room, and are not kept back for something else.
  package var dueCount: Int { dueWaitingCount.load(ordering: .relaxed) }

  /// The number of bytes that those of the present turn need; 0 if there are none.
  package var dueBytes: Int { dueWaitingBytes.load(ordering: .relaxed) }

  /// The number of requests that have a share after a wait.
  package var granted: Int { grantedCount.load(ordering: .relaxed) }

  package init(timeout: TimeAmount, maximumCount: Int, eventLoop: any EventLoop) {
    self.timeout = timeout
    self.maximumCount = maximumCount
    self.eventLoop = eventLoop
  }

  /// Waits for a share.
  ///
  /// - Parameters:
  ///   - bytes: the number of bytes that must be free.
  ///   - client: the sender of the request.
  ///   - isDue: returns whether the request needs only room.
  ///   - take: takes the share, if there is one at the moment.
  ///   - whenWaiting: called when the request waits, because there was none at once.
  /// - Throws: ``Rejection``, or `CancellationError`.
  package nonisolated(nonsending) func wait(
    bytes: Int = 0, of client: Client, isDue: @escaping Take = { true },
    for take: @escaping Take, whenWaiting: () -> Void = {}
  ) async throws {
    let id = state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
    var expiry: Scheduled<Void>?
    defer { expiry?.cancel() }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { (continuation: Waiter) in
        let (rejection, displaced) = state.withLock { state -> ((any Error)?, Waiter?) in
          if Task.isCancelled { return (CancellationError(), nil) }
          let turn = state.turn(of: client)
          var displaced: Waiter?
          if state.waiting.count >= maximumCount {
            guard let last = state.waiting.last, last.turn > turn else { return (Rejection.full, nil) }
            displaced = state.waiting.removeLast().continuation
          }
          state.insert(
            Waiting(
              id: id, client: client, turn: turn, bytes: bytes, isDue: isDue, take: take,
              continuation: continuation))
          note(state)
          return (nil, displaced)
        }
        if let rejection { return continuation.resume(throwing: rejection) }
        displaced?.resume(throwing: Rejection.full)
        // Not before the request waits, because an expiry without a waiting request has no effect.
        expiry = eventLoop.scheduleTask(in: timeout) { self.fail(id, Rejection.timedOut) }
        // Something may have been released before this one waited.
        grant()
        if count > 0 { whenWaiting() }
      }
    } onCancel: {
      fail(id, CancellationError())
    }
  }

  /// Resumes the requests that there are shares for. One that needs more than is free does not hold up those behind it.
  package func grant() {
    let granted = state.withLock { state in
      var granted: [Waiter] = []
      var passed = 0
      var kept = KeptClients()
      while passed < state.waiting.count {
        let index = state.waiting.index(state.waiting.startIndex, offsetBy: passed)
        guard kept.isDue(state.waiting[index]), state.waiting[index].take() else {
          passed += 1
          continue
        }
        grantedCount.add(1, ordering: .relaxed)
        granted.append(state.waiting.remove(at: index).continuation)
      }
      note(state)
      return granted
    }
    for continuation in granted { continuation.resume() }
  }

  package func endShare() {
    grantedCount.subtract(1, ordering: .relaxed)
    grant()
  }

  private func note(_ state: State) {
    waitingCount.store(state.waiting.count, ordering: .relaxed)
    var kept = KeptClients()
    let due = state.waiting.filter { kept.isDue($0) }
    dueWaitingCount.store(due.count, ordering: .relaxed)
    let first = due.prefix { $0.turn == due.first?.turn }
    dueWaitingBytes.store(first.reduce(0) { $0 + $1.bytes }, ordering: .relaxed)
  }

  private func fail(_ id: Int, _ error: any Error) {
    let continuation = state.withLock { state -> Waiter? in
      guard let index = state.waiting.firstIndex(where: { $0.id == id }) else { return nil }
      defer { note(state) }
      return state.waiting.remove(at: index).continuation
    }
    continuation?.resume(throwing: error)
  }
}
