import Synchronization

/// A clock that only moves when it is advanced.
package final class ManualClock: Clock, Sendable {
  private struct State {
    var now = ContinuousClock.now
    var nextID = 0
    var sleepers: [Int: (deadline: ContinuousClock.Instant, continuation: CheckedContinuation<Void, any Error>)] = [:]
  }

  private let state = Mutex(State())
  private let deadlines = AsyncStream.makeStream(of: ContinuousClock.Instant.self)

  package init() {}

  /// The current time.
  package var now: ContinuousClock.Instant { state.withLock { $0.now } }

  /// The smallest difference between two times.
  package var minimumResolution: Duration { .nanoseconds(1) }

  /// The deadlines of the sleeps, in the order in which they begin. It supports one reader.
  package var sleeps: AsyncStream<ContinuousClock.Instant> { deadlines.stream }

  /// Suspends the task until the clock is advanced to the deadline.
  ///
  /// - Throws: `CancellationError`.
  package func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration? = nil) async throws {
    let id = state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let isOver: Result<Void, any Error>? = state.withLock { state in
          if Task.isCancelled { return .failure(CancellationError()) }
          if deadline <= state.now { return .success(()) }
          state.sleepers[id] = (deadline, continuation)
          return nil
        }
        if let isOver { continuation.resume(with: isOver) } else { deadlines.continuation.yield(deadline) }
      }
    } onCancel: {
      state.withLock { $0.sleepers.removeValue(forKey: id) }?.continuation.resume(throwing: CancellationError())
    }
  }

  /// Advances the clock to a time, and resumes the tasks whose deadlines have passed.
  package func advance(to time: ContinuousClock.Instant) {
    let woken = state.withLock { state in
      state.now = max(state.now, time)
      let woken = state.sleepers.filter { $0.value.deadline <= state.now }
      for id in woken.keys { state.sleepers[id] = nil }
      return woken.values.map(\.continuation)
    }
    for continuation in woken { continuation.resume() }
  }

  /// Advances the clock by a duration, and resumes the tasks whose deadlines have passed.
  package func advance(by duration: Duration) { advance(to: now + duration) }
}
