import Synchronization

/// A thread-safe counter.
package final class Counter: Sendable {
  private let count = Atomic(0)

  /// Creates a counter at zero.
  package init() {}

  /// The current value.
  package var value: Int { count.load(ordering: .sequentiallyConsistent) }

  /// Adds a number and returns the new value.
  @discardableResult
  package func add(_ number: Int = 1) -> Int { count.wrappingAdd(number, ordering: .sequentiallyConsistent).newValue }
}
