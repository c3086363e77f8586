import HTTPServer
import Logging
import ServiceLifecycle
import Synchronization
import UnixSignals

/// Runs the server until shutdown, and drains it then.
struct ServerService: Service {
  let server: HTTPServer
  let drainState: DrainState
  let drainDelay: Duration
  let drainTimeout: Duration
  let logger: Logger

  func run() async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await server.run() }
      group.addTask {
        try await gracefulShutdown()
        await drain()
      }
      try await group.next()
      try await group.next()
    }
  }

  private func drain() async {
    drainState.begin()
    logger.info("draining", metadata: ["delay": "\(drainDelay)"])
    // Load balancers notice that the server is not ready, and send new requests elsewhere.
    if drainDelay > .zero { try? await Task.sleep(for: drainDelay) }
    await server.shutdown(gracePeriod: drainTimeout)
  }
}

/// The state of readiness at shutdown.
final class DrainState: Sendable {
  private let hasBegun = Atomic(false)

  /// A Boolean value that indicates whether shutdown has begun.
  var isDraining: Bool { hasBegun.load(ordering: .relaxed) }

  func begin() { hasBegun.store(true, ordering: .relaxed) }
}

/// Ends the group that it runs in when the process receives SIGTERM or SIGINT.
///
/// Unlike the signals that a group handles itself, these are caught before the group runs: the server listens by then,
/// and a process that does not handle the signal is ended by it, with its current requests.
struct StopSignals: Service {
  private let signals: UnixSignalsSequence

  /// Catches the signals from now on; one that comes before ``run()`` is kept.
  init() async {
    signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
  }

  /// Returns with the first signal.
  func run() async throws {
    for await _ in signals.cancelOnGracefulShutdown() { return }
  }
}
