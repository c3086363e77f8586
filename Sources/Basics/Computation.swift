import Dispatch
import Synchronization

/// The time by which the computation of the current task must end.
///
/// A queue of computations sets it, so that a search with a time limit counts the time for which it has waited.
package enum ComputationDeadline {
  /// The deadline; `nil` if there is none.
  @TaskLocal package static var current: ContinuousClock.Instant?
}

/// Runs long or blocking work without holding a thread of Swift's concurrency, which requests need.
package func offThreadPool<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
  await withCheckedContinuation { continuation in
    // A queue of its own never waits for the work of others.
    DispatchQueue(label: "waymark.work").async { continuation.resume(returning: work()) }
  }
}

/// Work that is divided between processors.
package enum Parallel {
  /// Runs two closures, at the same time where that is worth it, and returns their results.
  ///
  /// The caller's thread runs one of them, so that this ends even when no other thread is free.
  package static func both<First: Sendable, Second: Sendable>(
    where isWorthIt: Bool,
    _ first: @Sendable () -> First,
    and second: @Sendable () -> Second
  ) -> (First, Second) {
    guard isWorthIt else { return (first(), second()) }
    let firstResult = Mutex<First?>(nil)
    let secondResult = Mutex<Second?>(nil)
    DispatchQueue.concurrentPerform(iterations: 2) { iteration in
      if iteration == 0 {
        let result = first()
        firstResult.withLock { $0 = result }
      } else {
        let result = second()
        secondResult.withLock { $0 = result }
      }
    }
    guard let first = firstResult.withLock({ $0 }), let second = secondResult.withLock({ $0 }) else {
      preconditionFailure("both iterations have run")
    }
    return (first, second)
  }
}
