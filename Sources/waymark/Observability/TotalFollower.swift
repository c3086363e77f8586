import CoreMetrics
import Synchronization

/// A counter that follows a total that is kept elsewhere.
final class TotalFollower: Sendable {
  private let counter: FloatingPointCounter
  private let last = Mutex(0.0)

  /// Follows with a counter, which is told from now on, as 0.
  init(_ counter: FloatingPointCounter) {
    self.counter = counter
  }

  /// Brings the counter to the total; one that is not above the last changes nothing.
  func follow(_ total: Double) {
    last.withLock { last in
      guard total > last else { return }
      counter.increment(by: total - last)
      last = total
    }
  }
}
