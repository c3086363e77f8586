/// Puts figures that are looked up rather than counted into the metrics, each time they are asked for.
protocol MetricsCollector: Sendable {
  /// Looks them up. It never fails: what can't be known is left as it was.
  func collect() async
}
