import CoreMetrics
import PrometheusMetrics
import Testing

@Suite struct PrometheusMetricsTests {
  @Test func everyKindOfHandleIsReported() {
    let metrics = PrometheusMetrics([
      MetricDescription("took_seconds", "How long it took.", buckets: [0.5, 1]),
      MetricDescription("sizes", "How big it was.", buckets: [10]),
    ])

    CoreMetrics.Counter(label: "count_total", factory: metrics).increment(by: 2)
    FloatingPointCounter(label: "seconds_total", factory: metrics).increment(by: 0.25)
    Meter(label: "level", factory: metrics).set(-1.5)
    Gauge(label: "last", factory: metrics).record(4)
    Recorder(label: "sizes", factory: metrics).record(11)
    Timer(label: "took_seconds", factory: metrics).recordNanoseconds(750_000_000)

    #expect(
      metrics.text() == """
        # TYPE count_total counter
        count_total 2
        # TYPE last gauge
        last 4
        # TYPE level gauge
        level -1.5
        # TYPE seconds_total counter
        seconds_total 0.25
        # HELP sizes How big it was.
        # TYPE sizes histogram
        sizes_bucket{le="10"} 0
        sizes_bucket{le="+Inf"} 1
        sizes_sum 11
        sizes_count 1
        # HELP took_seconds How long it took.
        # TYPE took_seconds histogram
        took_seconds_bucket{le="0.5"} 0
        took_seconds_bucket{le="1"} 1
        took_seconds_bucket{le="+Inf"} 1
        took_seconds_sum 0.75
        took_seconds_count 1

        """)
  }

  @Test func upperBoundOfABucketIsInclusive() {
    let metrics = PrometheusMetrics([MetricDescription("m", "", buckets: [1, 2])])
    let recorder = Recorder(label: "m", factory: metrics)

    for value in [1.0, 1.000001, 2, 3, .infinity, -5] { recorder.record(value) }
    recorder.record(Double.nan)

    let text = metrics.text()
    #expect(text.contains("m_bucket{le=\"1\"} 2\nm_bucket{le=\"2\"} 4\nm_bucket{le=\"+Inf\"} 6\n"))
  }

  @Test func handlesOfOneLabelAndDimensionsShareAValueInAnyOrder() {
    let metrics = PrometheusMetrics()

    CoreMetrics.Counter(label: "m", dimensions: [("a", "1"), ("b", "2")], factory: metrics).increment()
    CoreMetrics.Counter(label: "m", dimensions: [("b", "2"), ("a", "1")], factory: metrics).increment()
    CoreMetrics.Counter(label: "m", dimensions: [("a", "2"), ("b", "1")], factory: metrics).increment()

    #expect(metrics.text() == "# TYPE m counter\nm{a=\"1\",b=\"2\"} 2\nm{a=\"2\",b=\"1\"} 1\n")
  }

  @Test func invalidNamesAreReplacedByValidOnes() {
    let metrics = PrometheusMetrics()

    CoreMetrics.Counter(label: "9 lives\n", dimensions: [("a-b:c", "x")], factory: metrics).increment()

    #expect(metrics.text() == "# TYPE _9_lives_ counter\n_9_lives_{a_b_c=\"x\"} 1\n")
  }

  @Test func metricNameHasOneKind() {
    let metrics = PrometheusMetrics()

    CoreMetrics.Counter(label: "m", factory: metrics).increment()
    Meter(label: "m", factory: metrics).set(7)
    Meter(label: "m", dimensions: [("a", "b")], factory: metrics).set(7)

    #expect(metrics.text() == "# TYPE m counter\nm 1\n")
  }

  @Test func concurrentRecordingLosesNothing() async {
    let metrics = PrometheusMetrics([MetricDescription("h", "", buckets: [0.5])])

    await withTaskGroup(of: Void.self) { group in
      for task in 0..<8 {
        group.addTask {
          for _ in 0..<5000 {
            CoreMetrics.Counter(label: "c", dimensions: [("t", "\(task % 2)")], factory: metrics).increment()
            Recorder(label: "h", factory: metrics).record(task.isMultiple(of: 2) ? 0.25 : 1)
          }
        }
      }
      group.addTask {
        for _ in 0..<50 { #expect(metrics.text().hasSuffix("\n") || metrics.text().isEmpty) }
      }
    }

    let text = metrics.text()
    #expect(text.contains("c{t=\"0\"} 20000\nc{t=\"1\"} 20000\n"))
    #expect(text.contains("h_bucket{le=\"0.5\"} 20000\nh_bucket{le=\"+Inf\"} 40000\nh_sum 25000\nh_count 40000\n"))
  }
}
