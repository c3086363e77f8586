import Synchronization

/// A number that many threads change.
struct AtomicDouble: ~Copyable, Sendable {
  private let bits = Atomic<UInt64>(0)

  /// What it is.
  var value: Double { Double(bitPattern: bits.load(ordering: .relaxed)) }

  /// Replaces the value.
  func set(_ value: Double) { bits.store(value.bitPattern, ordering: .relaxed) }

  /// Adds to it.
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
