import Logging
import Points
import Synchronization

/// Stores each search in a log, in the background.
///
/// Searches wait in a bounded queue that drops the oldest and counts the drops; ``run()`` empties it once a second, in
/// batches of a few thousand. While the log is unavailable they wait, as many as there is room for.
final class StoredAnalytics: BackgroundAnalytics {
  /// The interval at which the queue is emptied.
  static let drainInterval = Duration.seconds(1)

  /// The maximum number of searches that are appended to the log at once.
  static let batchSize = 5000

  private let queue: BoundedQueue<TimedSearch>
  private let log: any SearchLog
  private let logger: Logger
  private let capacity: Int
  private let drainTimeout: Duration
  private let wallClock: any WallClock
  private let clock: any Clock<Duration>

  /// Creates analytics that store searches in a log.
  ///
  /// - Parameters:
  ///   - capacity: the maximum number of searches that wait, both in the queue and in the backlog that was taken from
  ///     it.
  ///   - drainTimeout: the grace period in which the end of ``run()`` stores the rest.
  ///   - logger: the log of the times at which the search log becomes unavailable, and available again.
  ///   - wallClock: the clock of the searches' times.
  ///   - clock: the clock of the intervals.
  init(
    log: any SearchLog,
    capacity: Int = 65_536,
    drainTimeout: Duration,
    logger: Logger,
    wallClock: any WallClock = SystemClock(),
    clock: any Clock<Duration> = ContinuousClock()
  ) {
    queue = BoundedQueue(capacity: capacity)
    self.log = log
    self.capacity = capacity
    self.drainTimeout = drainTimeout
    self.logger = logger
    self.wallClock = wallClock
    self.clock = clock
  }

  /// The number of searches that were dropped, since the start.
  var dropped: Int { queue.dropped }

  /// Appends a search to the queue.
  func record(_ search: Search) {
    queue.append(TimedSearch(time: wallClock.now(), search: search))
  }

  /// Stores searches until the task is cancelled, and the rest of them then.
  func run() async {
    let gracePeriod = GracePeriod()
    let left = await withTaskCancellationHandler {
      var backlog = Backlog()
      var isLast = false
      while !isLast {
        isLast = (try? await clock.sleep(for: Self.drainInterval)) == nil
        // Not cancelled with the task: a caller that stops waiting for the log does not know whether it has the
        // searches, and would store them twice.
        let storing = Task { [backlog] in await store(backlog) }
        gracePeriod.limit(storing)
        backlog = await storing.value
      }
      return backlog.searches.count
    } onCancel: {
      Task { [clock, drainTimeout] in
        if (try? await clock.sleep(for: drainTimeout)) != nil { gracePeriod.end() }
      }
    }
    if left > 0 {
      queue.noteDropped(left)
      logger.warning("searches could not be stored", metadata: ["searches": .stringConvertible(left)])
    }
  }

  /// The searches that were taken from the queue and are not stored yet.
  private struct Backlog {
    var searches: [TimedSearch] = []
    var isLogUnavailable = false
  }

  /// Cancels the current task at the end of the grace period, and those that begin after it.
  private final class GracePeriod: Sendable {
    private let state = Mutex((current: Task<Backlog, Never>?.none, isOver: false))

    func limit(_ task: Task<Backlog, Never>) {
      state.withLock { state in
        state.current = task
        if state.isOver { task.cancel() }
      }
    }

    func end() {
      state.withLock { state in
        state.isOver = true
        state.current?.cancel()
      }
    }
  }

  private func store(_ earlier: Backlog) async -> Backlog {
    var backlog = earlier
    backlog.searches += queue.drain().elements
    let excess = max(0, backlog.searches.count - capacity)
    backlog.searches.removeFirst(excess)
    queue.noteDropped(excess)
    var start = 0
    while start < backlog.searches.count {
      let end = min(start + Self.batchSize, backlog.searches.count)
      do throws(PointStoreError) {
        try await log.append(Array(backlog.searches[start..<end]))
        if backlog.isLogUnavailable { logger.notice("searches are stored again") }
        backlog.isLogUnavailable = false
      } catch .unexpected(let reason) {
        // A retry of the same batch would fail again.
        queue.noteDropped(end - start)
        logger.error(
          "searches could not be stored",
          metadata: ["searches": .stringConvertible(end - start), "reason": "\(reason)"])
      } catch {
        if !backlog.isLogUnavailable, !Task.isCancelled {
          logger.warning("searches wait to be stored", metadata: ["reason": "\(error)"])
        }
        backlog.isLogUnavailable = !Task.isCancelled
        break
      }
      start = end
    }
    backlog.searches.removeFirst(start)
    return backlog
  }
}
