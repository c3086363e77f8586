import CoreMetrics
import Synchronization

/// Where a series' figure is kept. It is changed and read from any thread without a lock.
protocol MetricCell: AnyObject, Sendable {
  /// What it stands at.
  var value: MetricValue { get }
}

/// A count.
final class CountCell: MetricCell, CounterHandler {
  private let count = Atomic<Int64>(0)

  var value: MetricValue { .number(Double(count.load(ordering: .relaxed))) }

  func increment(by amount: Int64) { count.wrappingAdd(amount, ordering: .relaxed) }

  func reset() { count.store(0, ordering: .relaxed) }
}

/// A number.
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

/// How many observations lie between which bounds.
final class HistogramCell: MetricCell, TimerHandler, RecorderHandler {
  private let bounds: [Double]
  private let counts: AtomicCounts
  private let sum = AtomicDouble()

  /// Creates an empty histogram with these upper bounds, ascending; a bound belongs to what is below it.
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
