import Logging
import Points
import ServiceLifecycle

/// Forgets changes that are so old that nobody waits for them any more, once an hour until the process is told to stop.
struct ChangePruning: Service {
  /// How long a change is kept.
  static let retention: Duration = .seconds(7 * 24 * 60 * 60)

  private static let interval: Duration = .seconds(60 * 60)

  let log: any ChangeLog
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

  /// Forgets what is old by now; where the store does not answer, the next time will do.
  func prune() async {
    let now = clock.now().microsecondsSinceEpoch
    let start = Timestamp(microsecondsSinceEpoch: now - Self.retention.components.seconds * 1_000_000)
    do {
      let count = try await log.pruneChanges(before: start)
      if count > 0 { logger.info("old changes were forgotten", metadata: ["changes": .stringConvertible(count)]) }
    } catch {
      logger.warning("old changes could not be forgotten", metadata: ["reason": "\(error)"])
    }
  }
}
