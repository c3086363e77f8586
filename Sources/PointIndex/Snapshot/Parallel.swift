import Dispatch
import Synchronization

/// Work that is divided between processors.
enum Parallel {
  /// Runs two closures, at the same time where that is worth it, and returns their results.
  ///
  /// The caller's thread runs one of them, so that this ends even when no other thread is free.
  static func both<First: Sendable, Second: Sendable>(
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
