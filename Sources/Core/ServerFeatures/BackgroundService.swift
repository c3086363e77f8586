import Basics
package import Logging
package import Points
import ServiceLifecycle

/// Work in the background that is cancelled at shutdown.
package struct BackgroundService: Service {
  private let work: @Sendable () async -> Void

  /// Creates a service of work that ends when its task is cancelled.
  package init(_ work: @escaping @Sendable () async -> Void) {
    self.work = work
  }

  /// Creates a service that repeats work, with a pause after each time.
  package init(every interval: Duration, _ work: @escaping @Sendable () async -> Void) {
    self.init {
      while !Task.isCancelled {
        await work()
        try? await Task.sleep(for: interval)
      }
    }
  }

  package func run() async throws {
    await cancelWhenGracefulShutdown { await work() }
  }
}

/// The pruning of entries that are older than their retention.
package struct Pruning: Sendable {
  /// The plural of the pruned entries, for log messages.
  package let subject: String
  package let retention: Duration
  package let logger: Logger
  /// Deletes the entries before a time and returns their number.
  package let delete: @Sendable (Timestamp) async throws -> Int

  package init(
    subject: String, retention: Duration, logger: Logger,
    delete: @escaping @Sendable (Timestamp) async throws -> Int
  ) {
    (self.subject, self.retention, self.logger, self.delete) = (subject, retention, logger, delete)
  }

  /// The service that prunes once an hour.
  package var service: BackgroundService { BackgroundService(every: .seconds(60 * 60)) { await prune() } }

  /// Deletes the expired entries. If the store is unavailable, the next run deletes them.
  package func prune(clock: any WallClock = SystemClock()) async {
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
