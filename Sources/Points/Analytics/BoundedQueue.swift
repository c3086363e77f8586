import Synchronization

/// A queue of bounded capacity for several threads: an element beyond it drops the oldest one, which is counted.
///
/// Appending takes constant time and, once the queue has been full, allocates nothing.
final class BoundedQueue<Element: Sendable>: Sendable {
  private struct State {
    var elements: [Element] = []
    var oldest = 0
    /// The number of elements that were dropped since the last ``BoundedQueue/drain()``.
    var dropped = 0
  }

  private let capacity: Int
  private let state = Mutex(State())
  private let droppedSoFar = Atomic(0)

  /// Creates an empty queue for at least one element.
  init(capacity: Int) {
    precondition(capacity > 0)
    self.capacity = capacity
  }

  /// The number of elements that were dropped before the last ``drain()``, or after they had been drained.
  var dropped: Int { droppedSoFar.load(ordering: .relaxed) }

  /// Adds an element at the end.
  func append(_ element: Element) {
    state.withLock { state in
      if state.elements.count < capacity {
        state.elements.append(element)
      } else {
        state.elements[state.oldest] = element
        state.oldest = state.oldest + 1 == capacity ? 0 : state.oldest + 1
        state.dropped += 1
      }
    }
  }

  /// Removes all elements and returns them, oldest first, with the number of those dropped since the last drain.
  func drain() -> (elements: [Element], dropped: Int) {
    let (elements, dropped) = state.withLock { state in
      defer {
        state.elements.removeAll(keepingCapacity: true)
        state.oldest = 0
        state.dropped = 0
      }
      return (Array(state.elements[state.oldest...] + state.elements[..<state.oldest]), state.dropped)
    }
    noteDropped(dropped)
    return (elements, dropped)
  }

  /// Counts elements that were drained and are dropped all the same.
  func noteDropped(_ count: Int) { droppedSoFar.wrappingAdd(count, ordering: .relaxed) }
}
