import NIOCore
import Synchronization

/// The queue of requests that wait for memory before their responses are produced, first come first served.
final class ShareQueue: Sendable {
  /// The reason why a request got no share.
  enum Rejection: Error, Hashable {
    case full
    /// The request has waited for its maximum time.
    case timedOut
  }

  private struct State {
    var waiting = CircularBuffer<(id: Int, continuation: CheckedContinuation<Void, any Error>)>()
    var granted = 0
    var nextID = 0
  }

  private let timeout: TimeAmount
  private let maximumCount: Int
  private let eventLoop: any EventLoop
  private let state = Mutex(State())
  private let waitingCount = Atomic(0)
  var count: Int { waitingCount.load(ordering: .relaxed) }

  init(timeout: TimeAmount, maximumCount: Int, eventLoop: any EventLoop) {
    self.timeout = timeout
    self.maximumCount = maximumCount
    self.eventLoop = eventLoop
  }

  /// Waits for a share.
  ///
  /// - Parameter shares: returns the number of shares at the moment, including those in use.
  /// - Throws: ``Rejection``, or `CancellationError`.
  nonisolated(nonsending) func wait(for shares: @Sendable () -> Int) async throws {
    let id = state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
    var expiry: Scheduled<Void>?
    defer { expiry?.cancel() }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let rejection = state.withLock { state -> (any Error)? in
          if Task.isCancelled { return CancellationError() }
          guard state.waiting.count < maximumCount else { return Rejection.full }
          state.waiting.append((id, continuation))
          waitingCount.store(state.waiting.count, ordering: .relaxed)
          return nil
        }
        if let rejection { return continuation.resume(throwing: rejection) }
        // Not before the request waits, because an expiry without a waiting request has no effect.
        expiry = eventLoop.scheduleTask(in: timeout) { self.fail(id, Rejection.timedOut) }
        // Something may have been released before this one waited.
        grant(shares)
      }
    } onCancel: {
      fail(id, CancellationError())
    }
  }

  /// Resumes as many requests as there are shares for.
  func grant(_ shares: () -> Int) {
    let available = shares()
    let granted = state.withLock { state in
      var granted: [CheckedContinuation<Void, any Error>] = []
      while state.granted < available, let first = state.waiting.popFirst() {
        state.granted += 1
        granted.append(first.continuation)
      }
      waitingCount.store(state.waiting.count, ordering: .relaxed)
      return granted
    }
    for continuation in granted { continuation.resume() }
  }

  func endShare(_ shares: () -> Int) {
    state.withLock { $0.granted -= 1 }
    grant(shares)
  }

  private func fail(_ id: Int, _ error: any Error) {
    let continuation = state.withLock { state -> CheckedContinuation<Void, any Error>? in
      guard let index = state.waiting.firstIndex(where: { $0.id == id }) else { return nil }
      defer { waitingCount.store(state.waiting.count, ordering: .relaxed) }
      return state.waiting.remove(at: index).continuation
    }
    continuation?.resume(throwing: error)
  }
}
