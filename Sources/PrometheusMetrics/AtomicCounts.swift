import Synchronization

/// So many counts that many threads count up.
///
/// `@unchecked Sendable`: the memory is set up before anyone sees it, let go of after the last one has, and in between
/// touched as atomics alone.
final class AtomicCounts: @unchecked Sendable {
  private let counts: UnsafeMutableBufferPointer<Atomic<UInt64>>

  /// Creates counts of zero.
  init(count: Int) {
    counts = .allocate(capacity: count)
    for index in counts.indices { counts.initializeElement(at: index, to: Atomic(0)) }
  }

  deinit {
    counts.deinitialize()
    counts.deallocate()
  }

  /// Counts one of them up.
  func increment(at index: Int) { counts[index].wrappingAdd(1, ordering: .relaxed) }

  /// What they are.
  var values: [UInt64] { counts.indices.map { counts[$0].load(ordering: .relaxed) } }
}
