import HTTPServer
import Logging
import ServiceLifecycle
import Synchronization

/// Runs the server until the process is told to stop, and drains it then.
struct ServerService: Service {
  let server: HTTPServer
  let readiness: DrainState
  let drainDelay: Duration
  let drainTimeout: Duration
  let logger: Logger

  func run() async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await server.run() }
      group.addTask {
        try await gracefulShutdown()
        readiness.begin()
        logger.info("draining", metadata: ["delay": "\(drainDelay)"])
        // Balancers find out that it is not ready, and send new requests elsewhere.
        if drainDelay > .zero { try await Task.sleep(for: drainDelay) }
        await server.shutdown(gracePeriod: drainTimeout)
      }
      try await group.next()
      try await group.next()
    }
  }
}

/// A value that indicates whether the process has been told to stop.
final class DrainState: Sendable {
  private let hasBegun = Atomic(false)

  /// A Boolean value that indicates whether the process has been told to stop.
  var isDraining: Bool { hasBegun.load(ordering: .relaxed) }

  /// Takes note that the process has been told to stop.
  func begin() { hasBegun.store(true, ordering: .relaxed) }
}
