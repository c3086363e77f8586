import CoreMetrics
import LocationsAPI
import PrometheusMetrics

/// The response of `GET /metrics`: metrics that are counted in a backend, and those that collectors look up.
struct MetricsReport: MetricsSource {
  private let metrics: PrometheusMetrics
  private let collectors: [any MetricsCollector]

  init(_ metrics: PrometheusMetrics, version: String, collectors: [any MetricsCollector]) {
    self.metrics = metrics
    self.collectors = collectors
    Meter(label: MetricCatalogue.build.name, dimensions: [("version", version)], factory: metrics).set(1)
  }

  var contentType: String { PrometheusMetrics.contentType }

  func text() async -> String {
    for collector in collectors { await collector.collect() }
    return metrics.text()
  }
}

/// A source of metrics that are looked up rather than counted, at each report.
protocol MetricsCollector: Sendable {
  /// Updates the metrics. It never fails: an unknown value stays unchanged.
  func collect() async
}
