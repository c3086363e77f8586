import CPrefetch

/// An immutable buffer of plain values at a fixed address, for loops that must not count references.
final class FixedBuffer<Element: BitwiseCopyable>: @unchecked Sendable {
  // Sendable: the memory is written by the initializer alone, and freed with the last reference.

  /// The values; valid for the life of this object.
  let pointer: UnsafePointer<Element>

  /// The number of values.
  let count: Int

  /// The number of bytes.
  var byteCount: Int { count * MemoryLayout<Element>.stride }

  private let allocation: UnsafeMutablePointer<Element>

  /// Creates a buffer of values that the closure initializes, all of them.
  init(count: Int, initializingWith initialize: (UnsafeMutablePointer<Element>) -> Void) {
    allocation = .allocate(capacity: count)
    pointer = UnsafePointer(allocation)
    self.count = count
    initialize(allocation)
  }

  convenience init(_ values: some Collection<Element>) {
    self.init(count: values.count) { memory in
      _ = UnsafeMutableBufferPointer(start: memory, count: values.count).initialize(from: values)
    }
  }

  deinit { allocation.deallocate() }
}

/// Prefetches values that will be read soon.
///
/// Hardly anything of one place among millions is in a cache. Cache lines requested early, and together, arrive while
/// other work is done; a request costs a cycle or two, and is harmless for an invalid address.
@inline(__always)
func prefetch<Element>(_ values: UnsafePointer<Element>, count: Int = 1) {
  let lineSize = 64
  for offset in stride(from: 0, to: count * MemoryLayout<Element>.stride, by: lineSize) {
    CPrefetch.prefetch(UnsafeRawPointer(values) + offset)
  }
}
