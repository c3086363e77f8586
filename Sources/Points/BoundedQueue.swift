/// A queue that holds a bounded number of elements: one more pushes out the oldest, which is counted.
///
/// Appending takes constant time and, once the queue has been full, allocates nothing.
struct BoundedQueue<Element> {
  private var elements: [Element] = []
  private var oldest = 0
  private let capacity: Int

  /// How many elements were pushed out since the last ``drain()``.
  private(set) var dropped = 0

  /// Creates an empty queue for at least one element.
  init(capacity: Int) {
    precondition(capacity > 0)
    self.capacity = capacity
  }

  /// Adds an element at the end.
  mutating func append(_ element: Element) {
    if elements.count < capacity {
      elements.append(element)
    } else {
      elements[oldest] = element
      oldest = oldest + 1 == capacity ? 0 : oldest + 1
      dropped += 1
    }
  }

  /// Takes out everything, oldest first, and how many were pushed out since it was last done.
  mutating func drain() -> (elements: [Element], dropped: Int) {
    defer {
      elements.removeAll(keepingCapacity: true)
      oldest = 0
      dropped = 0
    }
    return (Array(elements[oldest...] + elements[..<oldest]), dropped)
  }
}
