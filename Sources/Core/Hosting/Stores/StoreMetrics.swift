import Basics
import CoreMetrics
import Points
import PrometheusMetrics

/// The timers of the calls of a store, by operation and outcome.
struct StoreMetrics: StoreObserver {
  private struct Failure: Hashable {
    let operation: StoreOperation
    let reason: String
  }

  private let factory: any MetricsFactory
  /// The timers of successful calls, in the order of the operations, so that they are found without a look-up.
  private let successes: [Timer]
  private let failures = HandleCache<Failure, Timer>()

  init(_ factory: any MetricsFactory) {
    self.factory = factory
    successes = StoreOperation.allCases.map { Self.timer($0, "ok", factory) }
  }

  func note(_ operation: StoreOperation, error: (any Error)?, took duration: Duration, isWrite: Bool) {
    let timer: Timer
    if let error {
      // No failure: the search is repeated.
      if case PointStoreError.stepLimit = error { return }
      let reason = Self.outcome(of: error, operation)
      timer = failures.handle(for: Failure(operation: operation, reason: reason)) {
        Self.timer(operation, reason, factory)
      }
    } else {
      timer = successes[operation.rawValue]
    }
    timer.recordNanoseconds(duration.wholeNanoseconds)
  }

  var refusalOfWrites: String? { nil }

  /// Returns the outcome that metrics have for an error. A search whose client has disconnected ends as one whose time
  /// limit is exceeded.
  private static func outcome(of error: any Error, _ operation: StoreOperation) -> String {
    if let error = PointStoreError(causing: error) {
      return error == .filterTimeout && Task.isCancelled ? "cancelled" : error.shortDescription
    }
    switch operation {
    case .import, .export: return "broken_off"
    default: return "refused"
    }
  }

  private static func timer(_ operation: StoreOperation, _ outcome: String, _ factory: any MetricsFactory) -> Timer {
    Timer(
      label: MetricCatalogue.storeDuration.name, dimensions: [("operation", "\(operation)"), ("outcome", outcome)],
      factory: factory)
  }
}

extension PointStoreError {
  /// The store's own error behind an error; `nil` if the store works, and the caller or the call is the cause.
  init?(causing error: any Error) {
    switch error {
    case let error as PointStoreError: self = error
    case PointWriteError.store(let error): self = error
    default: return nil
    }
  }
}
