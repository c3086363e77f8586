package import CoreMetrics
import Synchronization

/// A backend of swift-metrics that reports its values in Prometheus' text format.
///
/// It is passed to the code that measures (`Counter(label:dimensions:factory:)`) and is not the process's global
/// backend. Handles of the same label and dimensions share a value. A series stays once it has begun, since one that
/// vanishes reads as a restart: the code that creates handles bounds the number of label values.
///
/// Recording takes no lock. Creating a handle does, and so does ``text()`` while it lists the series.
package final class PrometheusMetrics: MetricsFactory, Sendable {
  private struct Family {
    let kind: MetricKind
    var series: [[MetricLabel]: any MetricCell] = [:]
  }

  private let descriptions: [String: MetricDescription]
  private let families = Mutex<[String: Family]>([:])

  /// Creates a backend without values.
  ///
  /// - Parameter descriptions: the descriptions of metrics. A metric without one has no help, and as a histogram
  ///   ``MetricDescription/latencyBuckets``.
  package init(_ descriptions: [MetricDescription] = []) {
    self.descriptions = Dictionary(descriptions.map { (MetricName.metric($0.name), $0) }) { first, _ in first }
  }

  /// Returns all values in Prometheus' text format, version 0.0.4: metrics by name, their series by labels.
  package func text() -> String {
    PrometheusText.text(of: readings())
  }

  /// Returns the values of the series of a metric, in any order.
  package func series(of metric: MetricDescription) -> [MetricSeries] {
    let series = families.withLock { $0[MetricName.metric(metric.name)]?.series } ?? [:]
    return series.map { MetricSeries(labels: $0.key, value: $0.value.value) }
  }

  /// The media type of ``text()``.
  package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

  private func readings() -> [MetricReading] {
    // Under the lock only references are copied; the values are read after it.
    let families = families.withLock { $0 }
    return families.sorted { $0.key < $1.key }.map { name, family in
      let series = family.series.sorted { $0.key.lexicographicallyPrecedes($1.key) }
      return MetricReading(
        name: name,
        help: descriptions[name]?.help,
        kind: family.kind,
        series: series.map { MetricSeries(labels: $0.key, value: $0.value.value) }
      )
    }
  }

  /// Returns the value of a name and labels, and creates it where there is none yet. Where the name belongs to a metric
  /// of another kind the value is separate and never reported.
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

// MARK: MetricsFactory

extension PrometheusMetrics {
  /// Returns a counter of integers.
  package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
    cell(.counter, label, dimensions) { _ in CountCell() }
  }

  /// Returns a counter of any numbers.
  package func makeFloatingPointCounter(
    label: String, dimensions: [(String, String)]
  ) -> any FloatingPointCounterHandler {
    cell(.counter, label, dimensions) { _ in NumberCell() }
  }

  /// Returns a gauge.
  package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
    cell(.gauge, label, dimensions) { _ in NumberCell() }
  }

  /// Returns a histogram where it aggregates, else a gauge of the last recorded number.
  package func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
    guard aggregate else { return cell(.gauge, label, dimensions) { _ in NumberCell() } }
    return cell(.histogram, label, dimensions) {
      HistogramCell(bounds: $0?.buckets ?? MetricDescription.latencyBuckets)
    }
  }

  /// Returns a histogram of seconds.
  package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
    cell(.histogram, label, dimensions) { HistogramCell(bounds: $0?.buckets ?? MetricDescription.latencyBuckets) }
  }

  /// Does nothing: series stay.
  package func destroyCounter(_ handler: any CounterHandler) {}

  /// Does nothing: series stay.
  package func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {}

  /// Does nothing: series stay.
  package func destroyMeter(_ handler: any MeterHandler) {}

  /// Does nothing: series stay.
  package func destroyRecorder(_ handler: any RecorderHandler) {}

  /// Does nothing: series stay.
  package func destroyTimer(_ handler: any TimerHandler) {}
}

/// The description of a metric, and the buckets where it is a histogram.
package struct MetricDescription: Hashable, Sendable {
  /// Upper bounds in seconds for latencies from 100 µs to 10 s, about two and a half times apart.
  package static let latencyBuckets: [Double] = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
  ]

  /// The name of the metric with its unit, as in the labels of handles.
  package let name: String

  /// A sentence for operators.
  package let help: String

  /// The upper bounds of a histogram, ascending and finite; the bucket beyond all bounds is added to them.
  package let buckets: [Double]

  package init(_ name: String, _ help: String, buckets: [Double] = Self.latencyBuckets) {
    precondition(
      buckets.allSatisfy(\.isFinite) && zip(buckets, buckets.dropFirst()).allSatisfy { $0 < $1 },
      "the bounds of \(name) must be finite and ascend")
    self.name = name
    self.help = help
    self.buckets = buckets
  }
}

/// The value of a series, changed and read from any thread without a lock.
protocol MetricCell: AnyObject, Sendable {
  var value: MetricValue { get }
}

/// The value of a counter of integers.
final class CountCell: MetricCell, CounterHandler {
  private let count = Atomic<Int64>(0)

  var value: MetricValue { .number(Double(count.load(ordering: .relaxed))) }

  func increment(by amount: Int64) { count.wrappingAdd(amount, ordering: .relaxed) }

  func reset() { count.store(0, ordering: .relaxed) }
}

/// The value of a gauge, or of a counter of any numbers.
final class NumberCell: MetricCell, FloatingPointCounterHandler, MeterHandler, RecorderHandler {
  private let number = AtomicDouble()

  var value: MetricValue { .number(number.value) }

  func increment(by amount: Double) { number.add(amount) }

  func decrement(by amount: Double) { number.add(-amount) }

  func set(_ value: Int64) { number.set(Double(value)) }

  func set(_ value: Double) { number.set(value) }

  func record(_ value: Int64) { number.set(Double(value)) }

  func record(_ value: Double) { number.set(value) }

  func reset() { number.set(0) }
}

/// The numbers of observations between bounds, and their sum.
final class HistogramCell: MetricCell, TimerHandler, RecorderHandler {
  private let bounds: [Double]
  private let counts: AtomicCounts
  private let sum = AtomicDouble()

  /// Creates an empty histogram with inclusive upper bounds, ascending.
  init(bounds: [Double]) {
    self.bounds = bounds
    counts = AtomicCounts(count: bounds.count + 1)
  }

  var value: MetricValue { .histogram(bounds: bounds, counts: counts.values, sum: sum.value) }

  func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }

  func record(_ value: Int64) { record(Double(value)) }

  func record(_ value: Double) {
    guard !value.isNaN else { return }
    counts.increment(at: bounds.firstIndex { value <= $0 } ?? bounds.count)
    sum.add(value)
  }
}

/// A fixed number of counters that many threads increment.
///
/// `@unchecked Sendable`: the memory is initialised before the object is shared, freed with the last reference to it,
/// and in between accessed only as atomics.
final class AtomicCounts: @unchecked Sendable {
  private let counts: UnsafeMutableBufferPointer<Atomic<UInt64>>

  init(count: Int) {
    counts = .allocate(capacity: count)
    for index in counts.indices { counts.initializeElement(at: index, to: Atomic(0)) }
  }

  deinit {
    counts.deinitialize()
    counts.deallocate()
  }

  func increment(at index: Int) { counts[index].wrappingAdd(1, ordering: .relaxed) }

  var values: [UInt64] { counts.indices.map { counts[$0].load(ordering: .relaxed) } }
}

/// A number that many threads change.
struct AtomicDouble: ~Copyable, Sendable {
  private let bits = Atomic<UInt64>(0)

  var value: Double { Double(bitPattern: bits.load(ordering: .relaxed)) }

  func set(_ value: Double) { bits.store(value.bitPattern, ordering: .relaxed) }

  func add(_ amount: Double) {
    var old = bits.load(ordering: .relaxed)
    while true {
      let sum = Double(bitPattern: old) + amount
      let (exchanged, original) = bits.weakCompareExchange(
        expected: old, desired: sum.bitPattern, ordering: .relaxed)
      if exchanged { return }
      old = original
    }
  }
}
