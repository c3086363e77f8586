import CoreMetrics
import PrometheusMetrics
import Testing

/// The example of the README.
@Suite struct ReadmeExampleTests {
  @Test func counterOfTheExampleIsReported() {
    let metrics = PrometheusMetrics([MetricDescription("request_seconds", "The time of requests.", buckets: [0.1, 1])])
    Counter(label: "requests_total", dimensions: [("method", "GET")], factory: metrics).increment()
    let text = metrics.text()

    #expect(text == "# TYPE requests_total counter\nrequests_total{method=\"GET\"} 1\n")
  }
}
