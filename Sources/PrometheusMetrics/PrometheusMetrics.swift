package import CoreMetrics
import Synchronization

/// A backend of swift-metrics that reports its values in Prometheus' text format.
///
/// It is passed to the code that measures (`Counter(label:dimensions:factory:)`) and is not the process's global
/// backend. Handles of the same label and dimensions share a value. A series stays once it has begun, since one that
/// vanishes reads as a restart: the code that creates handles bounds the number of label values.
///
/// Recording takes no lock. Creating a handle does, and so does ``text()`` while it lists the series.
package final class PrometheusMetrics: MetricsFactory, Sendable {
  private struct Family {
    let kind: MetricKind
    var series: [[MetricLabel]: any MetricCell] = [:]
  }

  private let descriptions: [String: MetricDescription]
  private let families = Mutex<[String: Family]>([:])

  /// Creates a backend without values.
  ///
  /// - Parameter descriptions: the descriptions of metrics. A metric without one has no help, and as a histogram
  ///   ``MetricDescription/latencyBuckets``.
  package init(_ descriptions: [MetricDescription] = []) {
    self.descriptions = Dictionary(descriptions.map { (MetricName.metric($0.name), $0) }) { first, _ in first }
  }

  /// Returns all values in Prometheus' text format, version 0.0.4: metrics by name, their series by labels.
  package func text() -> String {
    PrometheusText.text(of: readings())
  }

  /// The media type of ``text()``.
  package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

  private func readings() -> [MetricReading] {
    // Under the lock only references are copied; the values are read after it.
    let families = families.withLock { $0 }
    return families.sorted { $0.key < $1.key }.map { name, family in
      let series = family.series.sorted { $0.key.lexicographicallyPrecedes($1.key) }
      return MetricReading(
        name: name,
        help: descriptions[name]?.help,
        kind: family.kind,
        series: series.map { .init(labels: $0.key, value: $0.value.value) }
      )
    }
  }

  /// Returns the value of a name and labels, and creates it where there is none yet. Where the name belongs to a metric
  /// of another kind the value is separate and never reported.
  private func cell<Cell: MetricCell>(
    _ kind: MetricKind, _ label: String, _ dimensions: [(String, String)], make: (MetricDescription?) -> Cell
  ) -> Cell {
    let name = MetricName.metric(label)
    let labels = dimensions.map { MetricLabel(name: MetricName.label($0.0), value: $0.1) }.sorted()
    return families.withLock { families in
      var family = families[name] ?? Family(kind: kind)
      if let cell = family.series[labels] as? Cell, family.kind == kind { return cell }
      let cell = make(descriptions[name])
      guard family.kind == kind, family.series[labels] == nil else { return cell }
      family.series[labels] = cell
      families[name] = family
      return cell
    }
  }
}

// MARK: MetricsFactory

extension PrometheusMetrics {
  /// Returns a counter of integers.
  package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
    cell(.counter, label, dimensions) { _ in CountCell() }
  }

  /// Returns a counter of any numbers.
  package func makeFloatingPointCounter(
    label: String, dimensions: [(String, String)]
  ) -> any FloatingPointCounterHandler {
    cell(.counter, label, dimensions) { _ in NumberCell() }
  }

  /// Returns a gauge.
  package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
    cell(.gauge, label, dimensions) { _ in NumberCell() }
  }

  /// Returns a histogram where it aggregates, else a gauge of the last recorded number.
  package func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
    guard aggregate else { return cell(.gauge, label, dimensions) { _ in NumberCell() } }
    return cell(.histogram, label, dimensions) {
      HistogramCell(bounds: $0?.buckets ?? MetricDescription.latencyBuckets)
    }
  }

  /// Returns a histogram of seconds.
  package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
    cell(.histogram, label, dimensions) { HistogramCell(bounds: $0?.buckets ?? MetricDescription.latencyBuckets) }
  }

  /// Does nothing: series stay.
  package func destroyCounter(_ handler: any CounterHandler) {}

  /// Does nothing: series stay.
  package func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {}

  /// Does nothing: series stay.
  package func destroyMeter(_ handler: any MeterHandler) {}

  /// Does nothing: series stay.
  package func destroyRecorder(_ handler: any RecorderHandler) {}

  /// Does nothing: series stay.
  package func destroyTimer(_ handler: any TimerHandler) {}
}

/// The description of a metric, and the buckets where it is a histogram.
package struct MetricDescription: Hashable, Sendable {
  /// Upper bounds in seconds for latencies from 100 µs to 10 s, about two and a half times apart.
  package static let latencyBuckets: [Double] = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
  ]

  /// The name of the metric with its unit, as in the labels of handles.
  package let name: String

  /// A sentence for operators.
  package let help: String

  /// The upper bounds of a histogram, ascending and finite; the bucket beyond all bounds is added to them.
  package let buckets: [Double]

  package init(_ name: String, _ help: String, buckets: [Double] = Self.latencyBuckets) {
    precondition(
      buckets.allSatisfy(\.isFinite) && zip(buckets, buckets.dropFirst()).allSatisfy { $0 < $1 },
      "the bounds of \(name) must be finite and ascend")
    self.name = name
    self.help = help
    self.buckets = buckets
  }
}
