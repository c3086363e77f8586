/// A queue of bounded capacity: an element beyond it drops the oldest one, which is counted.
///
/// Appending takes constant time and, once the queue has been full, allocates nothing.
struct BoundedQueue<Element> {
  private var elements: [Element] = []
  private var oldest = 0
  private let capacity: Int

  /// The number of elements that were dropped since the last ``drain()``.
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

  /// Removes all elements and returns them, oldest first, with the number of those dropped since the last drain.
  mutating func drain() -> (elements: [Element], dropped: Int) {
    defer {
      elements.removeAll(keepingCapacity: true)
      oldest = 0
      dropped = 0
    }
    return (Array(elements[oldest...] + elements[..<oldest]), dropped)
  }
}
