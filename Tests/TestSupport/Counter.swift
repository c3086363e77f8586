import Synchronization

/// A number that many tasks count up.
public final class Counter: Sendable {
  private let count = Atomic(0)

  /// Creates a counter at zero.
  public init() {}

  /// How far it has counted.
  public var value: Int { count.load(ordering: .sequentiallyConsistent) }

  /// Counts on; answers the new value.
  @discardableResult
  public func add(_ number: Int = 1) -> Int { count.wrappingAdd(number, ordering: .sequentiallyConsistent).newValue }
}
