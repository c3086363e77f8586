package import CoreMetrics
package import PrometheusMetrics
import Synchronization

/// A metric whose values are looked up at each report, and how they follow from what is looked up.
package struct CollectedMetric<Values: Sendable>: Sendable {
  package typealias Reader = @Sendable (Values) -> Double

  package let description: MetricDescription
  fileprivate let isTotal: Bool
  fileprivate let series: [(dimensions: [(String, String)], read: Reader)]

  package static func gauge(_ name: String, _ help: String, _ read: @escaping Reader) -> Self {
    Self(description: MetricDescription(name, help), isTotal: false, series: [([], read)])
  }

  package static func gauge(_ name: String, _ help: String, by label: String, _ readers: [String: Reader]) -> Self {
    Self(description: MetricDescription(name, help), isTotal: false, series: readers.map { ([(label, $0)], $1) })
  }

  package static func total(_ name: String, _ help: String, _ read: @escaping Reader) -> Self {
    Self(description: MetricDescription(name, help), isTotal: true, series: [([], read)])
  }

  package static func total(_ name: String, _ help: String, by label: String, _ readers: [String: Reader]) -> Self {
    Self(description: MetricDescription(name, help), isTotal: true, series: readers.map { ([(label, $0)], $1) })
  }

  /// Returns the functions that update the series of a backend.
  fileprivate func updates(_ factory: any MetricsFactory) -> [@Sendable (Values) -> Void] {
    series.map { dimensions, read in
      if isTotal {
        let total = TotalFollower(description, dimensions, factory: factory)
        return { total.follow(read($0)) }
      }
      let meter = Meter(label: description.name, dimensions: dimensions, factory: factory)
      return { meter.set(read($0)) }
    }
  }
}

/// Collects metrics whose values are looked up together.
package struct ValueCollector<Values: Sendable>: MetricsCollector {
  private let updates: [@Sendable (Values) -> Void]
  private let values: @Sendable () async -> Values

  package init(
    _ metrics: [CollectedMetric<Values>], factory: any MetricsFactory, of values: @escaping @Sendable () async -> Values
  ) {
    updates = metrics.flatMap { $0.updates(factory) }
    self.values = values
  }

  package func collect() async {
    let values = await values()
    for update in updates { update(values) }
  }
}

/// A source of metrics that are looked up rather than counted, at each report.
package protocol MetricsCollector: Sendable {
  /// Updates the metrics. It never fails: an unknown value stays unchanged.
  func collect() async
}

/// A counter that follows a total that is kept elsewhere.
package final class TotalFollower: Sendable {
  private let counter: FloatingPointCounter
  private let last = Mutex(0.0)

  /// Creates a follower of a total that begins at 0.
  package init(_ metric: MetricDescription, _ dimensions: [(String, String)] = [], factory: any MetricsFactory) {
    counter = FloatingPointCounter(label: metric.name, dimensions: dimensions, factory: factory)
  }

  /// Raises the counter to the total; a total that is not above the last one changes nothing.
  package func follow(_ total: Double) {
    last.withLock { last in
      guard total > last else { return }
      counter.increment(by: total - last)
      last = total
    }
  }
}
