import Basics
import CoreMetrics
import PrometheusMetrics
import ServerFeatures
import Testing

@testable import Hosting

@Suite struct StatusTotalsTests {
  /// Sets a figure at each look-up.
  private struct Collector: MetricsCollector {
    let connections: Meter

    func collect() async { connections.set(3) }
  }

  @Test func valuesAreSumsOverTheRoutesOfOthers() async {
    let duration = MetricDescription(MetricCatalogue.storeDuration.name, "Calls.", buckets: [0.5, 1])
    let metrics = PrometheusMetrics([duration])
    func count(_ route: String, _ status: String, _ number: Int) {
      Counter(
        label: MetricCatalogue.requests.name, dimensions: [("method", "GET"), ("route", route), ("status", status)],
        factory: metrics
      ).increment(by: number)
    }
    count("/locations", "200", 7)
    count("/categories", "204", 3)
    count("/locations", "400", 2)
    for route in ["/metrics", "/status/history.json", "/health/ready", "/health/live"] { count(route, "200", 100) }
    func time(_ call: String, _ seconds: Double) {
      CoreMetrics.Timer(label: duration.name, dimensions: [("call", call)], factory: metrics)
        .recordNanoseconds(Int64(seconds * 1e9))
    }
    time("nearest", 0.25)
    time("nearest", 0.75)
    time("list", 0.25)
    time("list", 2)
    Meter(label: "memory_store_places", factory: metrics).set(12)
    let collector = Collector(connections: Meter(label: MetricCatalogue.connections.name, factory: metrics))

    let values = await StatusTotals(metrics, collectors: [collector]).values()

    #expect(
      values == [
        "http_requests_total{status=\"2xx\"}": 10, "http_requests_total{status=\"4xx\"}": 2,
        "store_call_duration_seconds_bucket{le=\"0.5\"}": 2, "store_call_duration_seconds_bucket{le=\"1\"}": 3,
        "store_call_duration_seconds_bucket{le=\"+Inf\"}": 4, "http_connections_open": 3,
      ])
  }
}
