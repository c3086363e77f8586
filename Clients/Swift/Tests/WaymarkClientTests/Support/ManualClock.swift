import WaymarkClient
import WaymarkTesting

/// A clock that moves only when the test advances it.
final class ManualClock: Clock {
  typealias Instant = RecordingClock.Instant

  private struct State {
    var now = Instant(offset: .zero)
    var lastID = 0
    var sleeping: [Int: (deadline: Instant, continuation: CheckedContinuation<Void, any Error>)] = [:]
  }

  /// A gate that opens when a sleep begins.
  let isWaitedFor = Gate()

  let minimumResolution = Duration.zero

  private let state = Locked(State())

  var now: Instant { state.withLock { $0.now } }

  /// Moves the clock, which ends the sleeps until then.
  func advance(by duration: Duration) {
    let awake = state.withLock { state in
      state.now = state.now.advanced(by: duration)
      let awake = state.sleeping.filter { $0.value.deadline <= state.now }
      for id in awake.keys { state.sleeping[id] = nil }
      return awake.values.map(\.continuation)
    }
    for continuation in awake { continuation.resume() }
  }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    let id = state.withLock { state in
      state.lastID += 1
      return state.lastID
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let result: Result<Void, any Error>? = state.withLock { state in
          if Task.isCancelled { return .failure(CancellationError()) }
          if deadline <= state.now { return .success(()) }
          state.sleeping[id] = (deadline, continuation)
          return nil
        }
        if let result { continuation.resume(with: result) } else { isWaitedFor.open() }
      }
    } onCancel: {
      state.withLock { $0.sleeping.removeValue(forKey: id)?.continuation }?.resume(throwing: CancellationError())
    }
  }
}
