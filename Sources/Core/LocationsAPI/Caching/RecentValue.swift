import Points
import Synchronization

/// A value that is computed once for all concurrent callers, and kept for a short time.
package final class RecentValue<Value: Sendable>: Sendable {
  /// A computation, which is in progress until it has ended.
  private struct Computation {
    let task: Task<Value, Never>
    let start: Duration
    var hasEnded = false
  }

  private let maximumAge: Duration
  private let uptime: @Sendable () -> Duration
  private let last = Mutex<Computation?>(nil)

  /// Creates a value that is not computed yet.
  ///
  /// - Parameters:
  ///   - maximumAge: the maximum time between the beginning of the computation and a call that uses its value.
  ///   - uptime: a monotonic time.
  package init(maximumAge: Duration, uptime: @escaping @Sendable () -> Duration = monotonicTime) {
    self.maximumAge = maximumAge
    self.uptime = uptime
  }

  /// Returns the value: the last one where it is not too old, the one that is being computed, or else a new one.
  package func value(_ find: @escaping @Sendable () async -> Value) async -> Value {
    let task = last.withLock { last in
      let now = uptime()
      if let last, !last.hasEnded || now - last.start < maximumAge { return last.task }
      let task = Task {
        defer { self.last.withLock { $0?.hasEnded = true } }
        return await find()
      }
      last = Computation(task: task, start: now)
      return task
    }
    return await task.value
  }
}
