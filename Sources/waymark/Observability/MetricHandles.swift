import CoreMetrics
import Synchronization

/// A cache of handles of metrics by their labels. A look-up takes a lock for its duration.
final class HandleCache<Key: Hashable & Sendable, Handle: Sendable>: Sendable {
  private let handles = Mutex<[Key: Handle]>([:])

  /// Returns the handle for a key, and creates it where there is none yet.
  func handle(for key: Key, make: () -> Handle) -> Handle {
    handles.withLock { handles in
      if let handle = handles[key] { return handle }
      let handle = make()
      handles[key] = handle
      return handle
    }
  }
}

/// A counter that follows a total that is kept elsewhere.
final class TotalFollower: Sendable {
  private let counter: FloatingPointCounter
  private let last = Mutex(0.0)

  /// Creates a follower of a total that begins at 0.
  init(_ counter: FloatingPointCounter) {
    self.counter = counter
  }

  /// Raises the counter to the total; a total that is not above the last one changes nothing.
  func follow(_ total: Double) {
    last.withLock { last in
      guard total > last else { return }
      counter.increment(by: total - last)
      last = total
    }
  }
}
