import Dispatch

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
