package import Points
import Synchronization

/// An observer that keeps a line for each call: its operation, whether it writes, its error.
package final class RecordingObserver: StoreObserver {
  private let recorded = Mutex<(calls: [String], refusal: String?)>(([], nil))

  package init() {}

  package var calls: [String] { recorded.withLock { $0.calls } }

  package var refusalOfWrites: String? { recorded.withLock { $0.refusal } }

  /// Has the observer tell that the last write was refused.
  package func refuse(_ reason: String) { recorded.withLock { $0.refusal = reason } }

  package func note(_ operation: StoreOperation, error: (any Error)?, took duration: Duration, isWrite: Bool) {
    let line = "\(operation)" + (isWrite ? " to write" : "") + (error.map { ": \($0)" } ?? "")
    recorded.withLock { $0.calls.append(line) }
  }
}
