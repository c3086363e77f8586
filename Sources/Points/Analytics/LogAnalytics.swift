public import Logging

/// Logs a summary of the searches once a minute, never a line for each.
///
/// Searches wait in a bounded queue that drops the oldest and counts the drops; ``run()`` empties it. A minute without
/// a search logs nothing.
public final class LogAnalytics: BackgroundAnalytics {
  private let queue: BoundedQueue<Search>
  private let logger: Logger
  private let clock: any Clock<Duration>

  /// The interval at which the queue is emptied.
  static let drainInterval = Duration.seconds(1)

  /// The number of intervals that one log line summarises.
  static let drainsPerSummary = 60

  /// Creates analytics that log summaries.
  ///
  /// - Parameters:
  ///   - logger: the log of the summaries, at level `info`.
  ///   - capacity: the maximum number of searches in the queue.
  ///   - clock: the clock of the intervals.
  public init(logger: Logger, capacity: Int = 65_536, clock: any Clock<Duration> = ContinuousClock()) {
    queue = BoundedQueue(capacity: capacity)
    self.logger = logger
    self.clock = clock
  }

  /// The number of searches that were dropped, since the start.
  public var dropped: Int { queue.dropped }

  /// Appends a search to the queue.
  public func record(_ search: Search) { queue.append(search) }

  /// Summarises and logs until the task is cancelled; the rest is logged then.
  public func run() async {
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
    logger.info("searches of the last minute", metadata: metadata)
  }
}
