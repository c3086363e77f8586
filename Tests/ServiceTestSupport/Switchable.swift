import Synchronization

/// A value that a test changes while others look at it.
package final class Switchable<Value: Sendable>: Sendable {
  private let state: Mutex<Value>

  package init(_ value: Value) {
    state = Mutex(value)
  }

  package var value: Value {
    get { state.withLock { $0 } }
    set { state.withLock { $0 = newValue } }
  }
}
