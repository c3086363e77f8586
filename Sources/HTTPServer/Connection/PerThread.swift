import NIOPosix

/// A value that each thread has one of, made when the thread first asks for it.
final class PerThread<Value: AnyObject>: @unchecked Sendable {
  // Sendable: the variable is made for many threads, and each finds only the value that it put in.
  private let variable = ThreadSpecificVariable<Value>()
  private let make: @Sendable () -> Value

  /// Creates a value that each thread makes when it first asks for it.
  init(_ make: @escaping @Sendable () -> Value) { self.make = make }

  /// The calling thread's; it must not leave the thread.
  var current: Value {
    if let value = variable.currentValue { return value }
    let value = make()
    variable.currentValue = value
    return value
  }
}
