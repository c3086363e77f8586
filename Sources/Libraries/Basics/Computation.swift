import Dispatch
import Synchronization

/// The time by which the computation of the current task must end.
///
/// A queue of computations sets it, so that a search with a time limit counts the time for which it has waited.
package enum ComputationDeadline {
  /// The deadline; `nil` if there is none.
  @TaskLocal package static var current: ContinuousClock.Instant?

  /// A Boolean value that indicates whether the computation is to end: its deadline has passed, or its task was
  /// cancelled.
  package static var hasPassed: Bool {
    Task.isCancelled || current.map { ContinuousClock.now >= $0 } == true
  }
}

/// Runs long or blocking work without holding a thread of Swift's concurrency, which requests need.
package func offThreadPool<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
  await withCheckedContinuation { continuation in
    // A queue of its own never waits for the work of others.
    DispatchQueue(label: "computation").async { continuation.resume(returning: work()) }
  }
}

/// Work that is divided between processors.
package enum Parallel {
  /// The number of places up to which dividing the work of an index is not worth it.
  package static let maximumUndivided = 20_000

  /// Runs two closures, at the same time where that is worth it, and returns their results.
  ///
  /// The caller's thread runs the first, and then the second if no other thread has begun it, so that this ends even when
  /// no other thread is free. The closures may divide their own work in the same way; with `concurrentPerform` the parts
  /// of a part would run one after another.
  package static func both<First: Sendable, Second: Sendable>(
    where isWorthIt: Bool,
    _ first: @Sendable () -> First,
    and second: @escaping @Sendable () -> Second
  ) -> (First, Second) {
    guard isWorthIt else { return (first(), second()) }
    let task = SharedTask(second)
    DispatchQueue.global().async { task.runOnce() }
    let firstResult = first()
    task.runOnce()
    return (firstResult, task.waitForResult())
  }
}

/// A closure that the first of several threads runs.
private final class SharedTask<Value: Sendable>: Sendable {
  private let body: Mutex<(@Sendable () -> Value)?>
  private let result = Mutex<Value?>(nil)
  private let hasEnded = DispatchSemaphore(value: 0)

  init(_ body: @escaping @Sendable () -> Value) {
    self.body = Mutex(body)
  }

  /// Runs the closure and frees it, unless another thread has begun to.
  func runOnce() {
    guard let body = body.withLock({ $0.take() }) else { return }
    let value = body()
    result.withLock { $0 = value }
    hasEnded.signal()
  }

  /// Waits for the thread that runs the closure. To be called once.
  func waitForResult() -> Value {
    hasEnded.wait()
    guard let value = result.withLock({ $0.take() }) else { preconditionFailure("the closure has ended") }
    return value
  }
}

extension Duration {
  /// The duration in nanoseconds, rounded towards zero, and limited to 292 years.
  package var wholeNanoseconds: Int64 {
    // Most are below nine seconds; a division of 128 bits takes ten times as long.
    if let attoseconds = Int64(exactly: attoseconds) { return attoseconds / 1_000_000_000 }
    return Int64(clamping: attoseconds / 1_000_000_000)
  }
}
