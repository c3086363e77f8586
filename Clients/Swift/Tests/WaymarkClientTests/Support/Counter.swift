import Synchronization

/// A number that many tasks increment.
final class Counter: Sendable {
  private let count = Atomic(0)

  /// Creates a counter at zero.
  init() {}

  /// The current number.
  var value: Int { count.load(ordering: .sequentiallyConsistent) }

  /// Adds a number and returns the sum.
  @discardableResult
  func add(_ number: Int = 1) -> Int { count.wrappingAdd(number, ordering: .sequentiallyConsistent).newValue }
}
