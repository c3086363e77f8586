public import Logging
import Synchronization

/// Keeps each search in a log, off the way of requests.
///
/// Searches wait in a bounded queue that drops the oldest and counts the drops; ``run()`` empties it once a second, by a few
/// thousand at a time. While the log does not answer they wait, as many as there is room for.
public final class StoredAnalytics: BackgroundAnalytics {
  /// How often the queue is emptied.
  static let drainInterval = Duration.seconds(1)

  /// How many searches are handed to the log at once.
  static let batchSize = 5000

  private let queue: Mutex<BoundedQueue<TimedSearch>>
  private let droppedSoFar = Atomic(0)
  private let log: any SearchLog
  private let logger: Logger
  private let capacity: Int
  private let farewellTime: Duration
  private let wallClock: any WallClock
  private let clock: any Clock<Duration>

  /// Creates analytics that keep searches in a log.
  ///
  /// - Parameters:
  ///   - capacity: how many searches may wait to be handed over, twice: in the queue, and taken out of it.
  ///   - farewellTime: how long the end of ``run()`` may take to hand over what is left.
  ///   - logger: where it is said when the log stops answering, and when it answers again.
  ///   - wallClock: what searches' times are read from.
  ///   - clock: what ``run()`` waits by.
  public init(
    log: any SearchLog,
    capacity: Int = 65_536,
    farewellTime: Duration,
    logger: Logger,
    wallClock: any WallClock = SystemClock(),
    clock: any Clock<Duration> = ContinuousClock()
  ) {
    queue = Mutex(BoundedQueue(capacity: capacity))
    self.log = log
    self.capacity = capacity
    self.farewellTime = farewellTime
    self.logger = logger
    self.wallClock = wallClock
    self.clock = clock
  }

  /// How many searches were dropped, since the start.
  public var dropped: Int { droppedSoFar.load(ordering: .relaxed) }

  /// Puts a search into the queue.
  public func record(_ search: Search) {
    let search = TimedSearch(time: wallClock.now(), search: search)
    queue.withLock { $0.append(search) }
  }

  /// Hands searches over until the task is cancelled, and what is left then.
  public func run() async {
    let farewell = Farewell()
    let left = await withTaskCancellationHandler {
      var backlog = Backlog()
      var isLast = false
      while !isLast {
        isLast = (try? await clock.sleep(for: Self.drainInterval)) == nil
        // Not cancelled with the task: whoever stops waiting for the log does not know whether it has the searches, and
        // would hand them over twice.
        let handingOver = Task { [backlog] in await handOver(backlog) }
        farewell.limit(handingOver)
        backlog = await handingOver.value
      }
      return backlog.searches.count
    } onCancel: {
      Task { [clock, farewellTime] in
        if (try? await clock.sleep(for: farewellTime)) != nil { farewell.end() }
      }
    }
    if left > 0 {
      note(dropped: left)
      logger.warning("searches could not be kept", metadata: ["searches": .stringConvertible(left)])
    }
  }

  /// What was taken out of the queue and not yet kept.
  private struct Backlog {
    var searches: [TimedSearch] = []
    var isLogAway = false
  }

  /// Cancels what is under way when its time is over, and what is begun after that.
  private final class Farewell: Sendable {
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

  private func handOver(_ earlier: Backlog) async -> Backlog {
    var backlog = earlier
    let (searches, dropped) = queue.withLock { $0.drain() }
    backlog.searches += searches
    let excess = max(0, backlog.searches.count - capacity)
    backlog.searches.removeFirst(excess)
    note(dropped: dropped + excess)
    var start = 0
    while start < backlog.searches.count {
      let end = min(start + Self.batchSize, backlog.searches.count)
      do throws(PointStoreError) {
        try await log.append(Array(backlog.searches[start..<end]))
        if backlog.isLogAway { logger.notice("searches are kept again") }
        backlog.isLogAway = false
      } catch .unexpected(let reason) {
        // The same batch would fare no better the next time.
        note(dropped: end - start)
        logger.error(
          "searches could not be kept", metadata: ["searches": .stringConvertible(end - start), "reason": "\(reason)"])
      } catch {
        if !backlog.isLogAway, !Task.isCancelled {
          logger.warning("searches wait to be kept", metadata: ["reason": "\(error)"])
        }
        backlog.isLogAway = !Task.isCancelled
        break
      }
      start = end
    }
    backlog.searches.removeFirst(start)
    return backlog
  }

  private func note(dropped count: Int) {
    if count > 0 { droppedSoFar.wrappingAdd(count, ordering: .relaxed) }
  }
}
