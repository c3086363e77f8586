import Testing

@testable import PrometheusMetrics

@Suite struct PrometheusTextTests {
  private func text(_ value: MetricValue, kind: MetricKind, help: String? = nil, labels: [MetricLabel] = []) -> String {
    PrometheusText.text(of: [
      MetricReading(name: "m", help: help, kind: kind, series: [.init(labels: labels, value: value)])
    ])
  }

  @Test func aMetricIsHelpTypeAndSeries() {
    let text = text(.number(3), kind: .counter, help: "How many.", labels: [MetricLabel(name: "a", value: "b")])

    #expect(text == "# HELP m How many.\n# TYPE m counter\nm{a=\"b\"} 3\n")
  }

  @Test func endsOfLinesAndValuesAreEscaped() {
    let hostile = "\"} 1\nfake 2\\"
    let text = text(.number(1), kind: .gauge, help: hostile, labels: [MetricLabel(name: "a", value: hostile)])

    #expect(
      text == """
        # HELP m "} 1\\nfake 2\\\\
        # TYPE m gauge
        m{a="\\"} 1\\nfake 2\\\\"} 1

        """)
  }

  @Test func lineFeedAfterACarriageReturnIsEscaped() {
    let text = text(.number(1), kind: .gauge, labels: [MetricLabel(name: "a", value: "x\r\ny")])

    #expect(text.utf8.count { $0 == UInt8(ascii: "\n") } == 2)
  }

  @Test func aHistogramsBucketsAreCumulativeAndTheLastIsTheCount() {
    let text = text(
      .histogram(bounds: [0.001, 0.5], counts: [2, 0, 5], sum: 7.25), kind: .histogram,
      labels: [MetricLabel(name: "a", value: "b")])

    #expect(
      text == """
        # TYPE m histogram
        m_bucket{a="b",le="0.001"} 2
        m_bucket{a="b",le="0.5"} 2
        m_bucket{a="b",le="+Inf"} 7
        m_sum{a="b"} 7.25
        m_count{a="b"} 7

        """)
  }

  @Test(arguments: [
    (0.0, "0"), (-2, "-2"), (0.1, "0.1"), (1e-7, "1e-07"), (1e300, "1e+300"), (.infinity, "+Inf"),
    (-.infinity, "-Inf"), (.nan, "NaN"), (1e15, "1000000000000000"), (1e18, "1000000000000000000"),
  ])
  func numbersAreWrittenAsPrometheusReadsThem(number: Double, expected: String) {
    #expect(PrometheusText.number(number) == expected)
  }
}
