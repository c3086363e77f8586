import Glibc
import HTTPServer
import Logging
import NIOCore
import ServiceLifecycle
import Synchronization
import UnixSignals

/// Runs the server until shutdown, and drains it then.
struct ServerService: Service {
  let server: HTTPServer
  let drainState: DrainState
  let drainDelay: Duration
  let drainTimeout: Duration

  /// Ends what would not end by itself, when new requests go elsewhere.
  let onDrain: @Sendable () -> Void
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
    onDrain()
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

/// The handling of signals while the server starts.
package enum StartSignals {
  /// Has SIGTERM and SIGINT end the process with exit code 0: a start has nothing to complete. SIGHUP is ignored: no file
  /// has been read that it would reload.
  package static func handle() {
    signal(SIGHUP, SIG_IGN)
    for number in [SIGTERM, SIGINT] {
      signal(number) { _ in
        // A handler of a signal may only make system calls.
        let line: StaticString = "waymark: stopped before the start was complete\n"
        _ = write(STDERR_FILENO, line.utf8Start, line.utf8CodeUnitCount)
        _exit(0)
      }
    }
  }
}

/// Ends the group that it runs in when the process receives SIGTERM or SIGINT.
///
/// Unlike the signals that a group handles itself, these are caught before the group runs: the server listens by then,
/// and ``StartSignals`` would end the process with its current requests.
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

/// The error of an address that can't be listened on.
package struct ListeningFailed: Error, CustomStringConvertible {
  let host: String
  let port: Int
  let reason: String

  package var description: String { "can't listen on \(host):\(port): \(reason)" }

  /// Creates the error from the system's.
  init(host: String, port: Int, _ error: any Error) {
    self.host = host
    self.port = port
    switch error {
    case let error as IOError: reason = Self.reason(error.errnoCode, host: host)
    case is SocketAddressError: reason = "HTTP_HOST must be an address of this machine or a name that leads to one"
    default: reason = "\(error)"
    }
  }

  /// Checks that the server can listen on an address, before work that may take long.
  ///
  /// - Throws: ``ListeningFailed``.
  package static func check(host: String, port: Int) throws(ListeningFailed) {
    do {
      let address = try SocketAddress.makeAddressResolvingHost(host, port: port)
      let descriptor = socket(address.protocol.rawValue, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
      guard descriptor >= 0 else { throw IOError(errnoCode: errno, reason: "socket") }
      defer { close(descriptor) }
      // As on the server's own socket, so that connections in TIME_WAIT do not matter.
      var isOn: Int32 = 1
      setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &isOn, socklen_t(MemoryLayout<Int32>.size))
      try address.withSockAddr { pointer, size in
        guard bind(descriptor, pointer, socklen_t(size)) == 0 else {
          throw IOError(errnoCode: errno, reason: "bind")
        }
      }
    } catch {
      throw ListeningFailed(host: host, port: port, error)
    }
  }

  private static func reason(_ code: CInt, host: String) -> String {
    switch code {
    case EADDRINUSE: "another program listens on this port; end it, or choose another port with HTTP_PORT"
    case EACCES: "this user may not listen on ports below 1024; choose another port with HTTP_PORT"
    case EADDRNOTAVAIL: "this machine does not have the address; HTTP_HOST must be one that it has, or 0.0.0.0 for all"
    default: String(cString: strerror(code))
    }
  }
}
