import Logging
import Points
import ServiceLifecycle

/// Forgets searches that are older than they are to be kept, once an hour until the process is told to stop.
struct SearchPruning: Service {
  private static let interval: Duration = .seconds(60 * 60)

  let log: any SearchLog
  let retention: Duration
  let logger: Logger
  var clock: any WallClock = SystemClock()

  func run() async throws {
    await cancelWhenGracefulShutdown {
      while !Task.isCancelled {
        await prune()
        try? await Task.sleep(for: Self.interval)
      }
    }
  }

  /// Forgets what is old by now; where the database does not answer, the next time will do.
  func prune() async {
    let now = clock.now().microsecondsSinceEpoch
    let start = Timestamp(microsecondsSinceEpoch: now - retention.components.seconds * 1_000_000)
    do {
      let count = try await log.pruneSearches(before: start)
      if count > 0 { logger.info("old searches were forgotten", metadata: ["searches": .stringConvertible(count)]) }
    } catch {
      logger.warning("old searches could not be forgotten", metadata: ["reason": "\(error)"])
    }
  }
}
