import PrometheusMetrics
import ServerFeatures
import Synchronization
import Testing

@testable import Hosting
@testable import waymark

@Suite struct CollectedMetricTests {
  @Test func gaugesFollowTheValuesAndTotalsNeverDecrease() async {
    let metrics: [CollectedMetric<Int>] = [
      .gauge("open", "Open streams.") { Double($0) },
      .gauge("phase", "Phases.", by: "name", ["few": { $0 < 4 ? 1 : 0 }, "many": { $0 < 4 ? 0 : 1 }]),
      .total("bytes_total", "Bytes.") { Double($0) * 10 },
      .total("reads_total", "Reads.", by: "source", ["index": { Double($0) }, "database": { Double($0) + 0.5 }]),
    ]
    let backend = PrometheusMetrics(metrics.map(\.description))
    let value = Mutex(4)
    let collector = ValueCollector(metrics, factory: backend) { value.withLock { $0 } }

    await collector.collect()
    value.withLock { $0 = 3 }
    await collector.collect()

    #expect(
      backend.text() == """
        # HELP bytes_total Bytes.
        # TYPE bytes_total counter
        bytes_total 40
        # HELP open Open streams.
        # TYPE open gauge
        open 3
        # HELP phase Phases.
        # TYPE phase gauge
        phase{name="few"} 1
        phase{name="many"} 0
        # HELP reads_total Reads.
        # TYPE reads_total counter
        reads_total{source="database"} 4.5
        reads_total{source="index"} 4

        """)
  }

  @Test func catalogueHasTheMetricsOfFeaturesAndEachNameOnce() {
    let names = MetricCatalogue.all(with: Features.all).map(\.name)

    #expect(Set(names).count == names.count)
    for name in [
      "webhook_deliveries_total", "webhook_lag_seconds", "webhooks_disabled", "token_keys", "http_requests_total",
    ] {
      #expect(names.contains(name), "\(name)")
    }
  }
}
