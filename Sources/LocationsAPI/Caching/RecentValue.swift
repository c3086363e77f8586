import Points
import Synchronization

/// A value that is computed once for all concurrent callers, and kept for a short time.
final class RecentValue<Value: Sendable>: Sendable {
  private enum State {
    case none
    case inProgress(Task<Value, Never>)
    case found(Value, asOf: Duration)
  }

  private enum Step {
    case found(Value)
    case inProgress(Task<Value, Never>)
  }

  private let maximumAge: Duration
  private let uptime: @Sendable () -> Duration
  private let state = Mutex(State.none)

  /// Creates a value that is not computed yet.
  ///
  /// - Parameters:
  ///   - maximumAge: the maximum time between the beginning of the computation and a call that uses its value.
  ///   - uptime: a monotonic time.
  init(maximumAge: Duration, uptime: @escaping @Sendable () -> Duration = monotonicTime) {
    self.maximumAge = maximumAge
    self.uptime = uptime
  }

  /// Returns the value: the last one where it is not too old, the one that is being computed, or else a new one.
  func value(_ find: @escaping @Sendable () async -> Value) async -> Value {
    let step: Step = state.withLock { state in
      let now = uptime()
      switch state {
      case .found(let value, let time) where now - time < maximumAge: return .found(value)
      case .inProgress(let task): return .inProgress(task)
      case .none, .found:
        let task = Task {
          let value = await find()
          self.state.withLock { $0 = .found(value, asOf: now) }
          return value
        }
        state = .inProgress(task)
        return .inProgress(task)
      }
    }
    switch step {
    case .found(let value): return value
    case .inProgress(let task): return await task.value
    }
  }
}
