/// What the series of one metric stand at.
struct MetricReading: Hashable, Sendable {
  /// One of the metric's series.
  struct Series: Hashable, Sendable {
    let labels: [MetricLabel]
    let value: MetricValue
  }

  let name: String
  let help: String?
  let kind: MetricKind
  let series: [Series]
}

/// What a metric is, by the word that Prometheus has for it.
enum MetricKind: String, Sendable {
  case counter
  case gauge
  case histogram
}

/// What tells one series of a metric from another.
struct MetricLabel: Hashable, Sendable, Comparable {
  let name: String
  let value: String

  static func < (left: MetricLabel, right: MetricLabel) -> Bool {
    (left.name, left.value) < (right.name, right.value)
  }
}

/// What a series stands at.
enum MetricValue: Hashable, Sendable {
  case number(Double)
  /// How many observations lie in each bucket and no lower one, that beyond all bounds last, and the sum of them all.
  case histogram(bounds: [Double], counts: [UInt64], sum: Double)
}
