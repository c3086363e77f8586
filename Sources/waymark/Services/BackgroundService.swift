import Logging
import Points
import PostgresStore
import ServiceLifecycle

/// Work in the background that is cancelled at shutdown.
struct BackgroundService: Service {
  private let work: @Sendable () async -> Void

  /// Creates a service of work that ends when its task is cancelled.
  init(_ work: @escaping @Sendable () async -> Void) {
    self.work = work
  }

  /// Creates a service that repeats work, with a pause after each time.
  init(every interval: Duration, _ work: @escaping @Sendable () async -> Void) {
    self.init {
      while !Task.isCancelled {
        await work()
        try? await Task.sleep(for: interval)
      }
    }
  }

  func run() async throws {
    await cancelWhenGracefulShutdown { await work() }
  }
}

/// The pruning of entries that are older than their retention.
struct Pruning: Sendable {
  /// The plural of the pruned entries, for log messages.
  let subject: String
  let retention: Duration
  let logger: Logger
  /// Deletes the entries before a time and returns their number.
  let delete: @Sendable (Timestamp) async throws -> Int

  /// Returns the pruning of a database's change log. It keeps changes for an hour: an index that
  /// has not followed for so long is built again.
  static func changes(of store: PostgresStore, logger: Logger) -> Pruning {
    Pruning(subject: "changes", retention: .seconds(60 * 60), logger: logger) { time in
      try await store.pruneChanges(before: time)
    }
  }

  /// Returns the pruning of a log of searches.
  static func searches(of log: any SearchLog, retention: Duration, logger: Logger) -> Pruning {
    Pruning(subject: "searches", retention: retention, logger: logger) { time in
      try await log.pruneSearches(before: time)
    }
  }

  /// The service that prunes once an hour.
  var service: BackgroundService { BackgroundService(every: .seconds(60 * 60)) { await prune() } }

  /// Deletes the expired entries. If the store is unavailable, the next run deletes them.
  func prune(clock: any WallClock = SystemClock()) async {
    let now = clock.now().microsecondsSinceEpoch
    let start = Timestamp(microsecondsSinceEpoch: now - retention.components.seconds * 1_000_000)
    do {
      let count = try await delete(start)
      if count > 0 { logger.info("old \(subject) were deleted", metadata: ["\(subject)": .stringConvertible(count)]) }
    } catch PointStoreError.readOnly {
      // The entries of a standby are deleted on its primary.
    } catch {
      logger.warning("old \(subject) could not be deleted", metadata: ["reason": "\(error)"])
    }
  }
}
