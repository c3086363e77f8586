import CPrefetch

/// An immutable buffer of plain values at a fixed address, for loops that must not count references.
///
/// Copies share one allocation, which has the number of values in front of them.
struct FixedBuffer<Element: BitwiseCopyable>: @unchecked Sendable {
  // Sendable: the memory is written by the initializer alone, and freed with the last copy.

  private let storage: ManagedBuffer<Int, Element>

  /// The values; valid for the life of this buffer and its copies.
  var pointer: UnsafePointer<Element> { storage.withUnsafeMutablePointerToElements { UnsafePointer($0) } }

  /// The number of values.
  var count: Int { storage.header }

  /// The number of bytes.
  var byteCount: Int { count * MemoryLayout<Element>.stride }

  /// Creates a buffer of values that the closure initializes, all of them.
  init(count: Int, initializingWith initialize: (UnsafeMutablePointer<Element>) -> Void) {
    storage = ManagedBuffer.create(minimumCapacity: count) { _ in count }
    storage.withUnsafeMutablePointerToElements(initialize)
  }

  init(_ values: some Collection<Element>) {
    self.init(count: values.count) { memory in
      _ = UnsafeMutableBufferPointer(start: memory, count: values.count).initialize(from: values)
    }
  }
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
