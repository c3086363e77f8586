import Foundation

/// A value behind a lock. `Mutex` of the standard library needs newer systems than this library.
///
/// It is `Sendable` because the value is only accessed while the lock is held.
package final class Locked<Value: Sendable>: @unchecked Sendable {
  private let lock = NSLock()
  private var value: Value

  /// Creates a lock with a value.
  package init(_ value: Value) {
    self.value = value
  }

  /// Calls a function that reads and changes the value. The lock is held meanwhile.
  package func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    lock.lock()
    defer { lock.unlock() }
    return try body(&value)
  }
}
