import CoreMetrics
import Synchronization

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
