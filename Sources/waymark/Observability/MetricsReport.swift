import CoreMetrics
import LocationsAPI
import PrometheusMetrics

/// What `GET /metrics` tells.
struct MetricsReport: MetricsSource {
  private let metrics: PrometheusMetrics
  private let collectors: [any MetricsCollector]

  /// Creates a report of what is counted in a backend and what collectors look up.
  init(_ metrics: PrometheusMetrics, version: String, collectors: [any MetricsCollector]) {
    self.metrics = metrics
    self.collectors = collectors
    Meter(label: MetricCatalogue.build, dimensions: [("version", version)], factory: metrics).set(1)
  }

  var contentType: String { PrometheusMetrics.contentType }

  func text() async -> String {
    for collector in collectors { await collector.collect() }
    return metrics.text()
  }
}
