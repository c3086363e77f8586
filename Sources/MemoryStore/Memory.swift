/// A fixed number of plain values in memory of their own, for loops that must not count references.
final class Memory<Element: BitwiseCopyable>: @unchecked Sendable {
  // Sendable: the values are written by the initialiser's closure and only read afterwards.

  /// The values. They live as long as this object does.
  let pointer: UnsafePointer<Element>

  /// How many there are.
  let count: Int

  private let allocation: UnsafeMutablePointer<Element>

  /// Takes memory for as many values and has them written; all must be.
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
