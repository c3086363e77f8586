import Logging
import Points
import Synchronization

/// Logs a summary of the searches once a minute, never a line for each.
///
/// Searches wait in a bounded queue that drops the oldest and counts the drops; ``run()`` empties it. A minute without
/// a search logs nothing.
final class LogAnalytics: BackgroundAnalytics {
  private let queue: BoundedQueue<Search>
  private let logger: Logger
  private let minimumTextCount: Int?
  private let clock: any Clock<Duration>

  /// The interval at which the queue is emptied.
  static let drainInterval = Duration.seconds(1)

  /// The number of intervals that one log line summarises.
  static let drainsPerSummary = 60

  /// The maximum number of texts in one log line.
  static let maximumLoggedTexts = 10

  /// Creates analytics that log summaries.
  ///
  /// - Parameters:
  ///   - logger: the log of the summaries, at level `info`.
  ///   - minimumTextCount: the number of searches in a minute from which on a text that found nothing is logged; `nil`
  ///     for never.
  ///   - capacity: the maximum number of searches in the queue.
  ///   - clock: the clock of the intervals.
  init(
    logger: Logger, minimumTextCount: Int? = nil, capacity: Int = 65_536,
    clock: any Clock<Duration> = ContinuousClock()
  ) {
    self.minimumTextCount = minimumTextCount
    queue = BoundedQueue(capacity: capacity)
    self.logger = logger
    self.clock = clock
  }

  /// The number of searches that were dropped, since the start.
  var dropped: Int { queue.dropped }

  /// Appends a search to the queue.
  func record(_ search: Search) { queue.append(search) }

  /// Summarises and logs until the task is cancelled; the rest is logged then.
  func run() async {
    var summary = SearchSummary()
    var isRunning = true
    while isRunning {
      for _ in 0..<Self.drainsPerSummary where isRunning {
        isRunning = (try? await clock.sleep(for: Self.drainInterval)) != nil
        let (searches, dropped) = queue.drain()
        summary.add(searches, dropped: dropped)
      }
      log(summary)
      summary = SearchSummary()
    }
  }

  private func log(_ summary: SearchSummary) {
    guard summary.searches + summary.dropped > 0 else { return }
    var metadata: Logger.Metadata = [
      "searches": .stringConvertible(summary.searches),
      "found_nothing": .stringConvertible(summary.empty),
      "dropped": .stringConvertible(summary.dropped),
      "half_within": "\(summary.duration(ofShare: 0.5))",
      "99_percent_within": "\(summary.duration(ofShare: 0.99))",
    ]
    if let (cell, searches) = summary.busiestCell {
      metadata["busiest_cell"] = "\(cell)"
      metadata["busiest_cell_searches"] = .stringConvertible(searches)
    }
    if let minimumTextCount {
      let texts = summary.textsFoundNothing(atLeast: minimumTextCount, limit: Self.maximumLoggedTexts)
      if !texts.isEmpty {
        metadata["texts_found_nothing"] = .array(texts.map { "\($0.text): \($0.searches)" })
      }
    }
    logger.info("searches of the last minute", metadata: metadata)
  }
}

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
