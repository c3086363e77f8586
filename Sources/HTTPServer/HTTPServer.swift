import Logging
import NIOCore
import NIOPosix

/// A server of HTTP/1.1 on a listening socket.
public final class HTTPServer: Sendable {
  /// The address it listens on, with the port the system chose where the configuration said 0.
  public let localAddress: SocketAddress

  init(localAddress: SocketAddress) {
    self.localAddress = localAddress
  }

  /// The port it listens on.
  public var port: Int { localAddress.port ?? 0 }

  /// Listens, and answers from now on.
  ///
  /// - Parameters:
  ///   - configuration: where, and what clients may do.
  ///   - responder: what answers.
  ///   - logger: what requests' loggers are made from.
  /// - Throws: the system's error where it can't listen there.
  public static func bind(
    configuration: HTTPServerConfiguration,
    responder: some HTTPResponder,
    logger: Logger
  ) async throws -> HTTPServer {
    fatalError()
  }

  /// Returns when the server is shut down and the last connection has ended.
  ///
  /// Cancelling the task that waits shuts the server down without grace.
  public func run() async throws {
  }

  /// Drains the server: new connections are refused, idle ones are closed, and requests in flight are answered and
  /// their connections closed. What is left when the grace period ends is cut. Returns when all have ended.
  public func shutdown(gracePeriod: Duration = .seconds(8)) async {
  }
}
