import Synchronization

/// A thread-safe counter.
public final class Counter: Sendable {
  private let count = Atomic(0)

  /// Creates a counter at zero.
  public init() {}

  /// The current value.
  public var value: Int { count.load(ordering: .sequentiallyConsistent) }

  /// Adds a number and returns the new value.
  @discardableResult
  public func add(_ number: Int = 1) -> Int { count.wrappingAdd(number, ordering: .sequentiallyConsistent).newValue }
}
