public import CoreMetrics
import Synchronization

/// A backend of swift-metrics that tells its figures in Prometheus' text format.
///
/// It is passed to whoever measures (`Counter(label:dimensions:factory:)`), never made the process's one backend. Handles of
/// the same label and dimensions share a figure. A series once begun stays, since one that vanishes reads as a restart:
/// whoever makes handles sees to it that there are so many label values and no more.
///
/// Recording takes no lock. Making a handle does, and so does ``text()`` while it lists the series.
public final class PrometheusMetrics: MetricsFactory, Sendable {
  private struct Family {
    let kind: MetricKind
    var series: [[MetricLabel]: any MetricCell] = [:]
  }

  private let descriptions: [String: MetricDescription]
  private let families = Mutex<[String: Family]>([:])

  /// Creates a backend without figures.
  ///
  /// - Parameter descriptions: what there is to say of metrics; those that none is about are told without help, with
  ///   ``MetricDescription/latencyBuckets`` where they are histograms.
  public init(_ descriptions: [MetricDescription] = []) {
    self.descriptions = Dictionary(descriptions.map { (MetricName.metric($0.name), $0) }) { first, _ in first }
  }

  /// All figures in Prometheus' text format, version 0.0.4: metrics by name, their series by labels.
  public func text() -> String {
    PrometheusText.text(of: readings())
  }

  /// The media type of ``text()``.
  public static let contentType = "text/plain; version=0.0.4; charset=utf-8"

  private func readings() -> [MetricReading] {
    // Under the lock only references are copied; the figures are read after it.
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

  /// The figure of that name and those labels, which is made where there is none yet. Where the name belongs to a metric of
  /// another kind the figure is kept apart and never told.
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

// MARK: What swift-metrics asks for

extension PrometheusMetrics {
  /// A counter of whole numbers.
  public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
    cell(.counter, label, dimensions) { _ in CountCell() }
  }

  /// A counter of any numbers.
  public func makeFloatingPointCounter(
    label: String, dimensions: [(String, String)]
  ) -> any FloatingPointCounterHandler {
    cell(.counter, label, dimensions) { _ in NumberCell() }
  }

  /// A number that goes up and down.
  public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
    cell(.gauge, label, dimensions) { _ in NumberCell() }
  }

  /// A histogram where it aggregates, else the last number that was recorded.
  public func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
    guard aggregate else { return cell(.gauge, label, dimensions) { _ in NumberCell() } }
    return cell(.histogram, label, dimensions) {
      HistogramCell(bounds: $0?.buckets ?? MetricDescription.latencyBuckets)
    }
  }

  /// A histogram of seconds.
  public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
    cell(.histogram, label, dimensions) { HistogramCell(bounds: $0?.buckets ?? MetricDescription.latencyBuckets) }
  }

  /// Does nothing: series stay.
  public func destroyCounter(_ handler: any CounterHandler) {}

  /// Does nothing: series stay.
  public func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {}

  /// Does nothing: series stay.
  public func destroyMeter(_ handler: any MeterHandler) {}

  /// Does nothing: series stay.
  public func destroyRecorder(_ handler: any RecorderHandler) {}

  /// Does nothing: series stay.
  public func destroyTimer(_ handler: any TimerHandler) {}
}
