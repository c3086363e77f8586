import NIOPosix

/// A value for each thread, created when the thread first uses it.
final class PerThread<Value: AnyObject>: @unchecked Sendable {
  // Sendable: the variable is meant for many threads, and each finds only the value that it has stored.
  private let variable = ThreadSpecificVariable<Value>()
  private let make: @Sendable () -> Value

  init(_ make: @escaping @Sendable () -> Value) { self.make = make }

  /// The calling thread's value; it must not leave the thread.
  var current: Value {
    if let value = variable.currentValue { return value }
    let value = make()
    variable.currentValue = value
    return value
  }
}
