import ArgumentParser
import Foundation
import Hosting
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import ServerFeatures

/// `waymark health`: checks the server on this machine, for a container's health check.
struct HealthCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "health",
    abstract: "Checks that the server on this machine responds.",
    discussion: """
      Exits with 0 when it responds and 1 when it doesn't, for a container's health check. An outage of the database does \
      not make the server unhealthy, as a restart would not end it; --ready checks the database too.

      If TLS_CERTIFICATE_FILE is set, as for `waymark serve`, or with --tls, it connects over TLS. It does not verify \
      the certificate: it sends no secret, and the server on this machine's loopback is the one to check.

      If HTTP_HOST is 0.0.0.0 or ::, which mean every address of the machine, it connects to 127.0.0.1 or ::1.
      """
  )

  @OptionGroup var options: SettingOptions<LocalServerSettings>

  @Flag(help: "Connect over TLS. (default: if TLS_CERTIFICATE_FILE is set)")
  var tls = false

  @Flag(help: "Check that the store is ready too.")
  var ready = false

  func run() async throws {
    let server = try LocalServer(Settings(options: options.values))
    do {
      let status = try await Self.status(
        of: ready ? "/health/ready" : "/health/live", server,
        context: tls || server.usesTLS ? try Self.unverifiedContext() : nil)
      guard status == .ok else { throw Exit.because("the server responded with \(status)", Exit.failed) }
    } catch let error as ExitCode {
      throw error
    } catch {
      throw Exit.because("no response from \(server.authority): \(Self.reason(error))", Exit.failed)
    }
  }

  private static func reason(_ error: any Error) -> String {
    switch error {
    case let error as NIOConnectionError:
      error.connectionErrors.first.map { reason($0.error) } ?? "the name '\(error.host)' is not known"
    case let error as IOError: String(cString: strerror(error.errnoCode))
    case ChannelError.connectTimeout: "no connection within two seconds"
    case ChannelError.eof: "the connection ended without a response within two seconds"
    default: "\(error)"
    }
  }

  /// Returns a TLS context that does not verify the certificate.
  private static func unverifiedContext() throws -> NIOSSLContext {
    var configuration = TLSConfiguration.makeClientConfiguration()
    configuration.certificateVerification = .none
    return try NIOSSLContext(configuration: configuration)
  }

  /// Returns the status of a local server's response to a request, within two seconds.
  private static func status(
    of path: String, _ server: LocalServer, context: NIOSSLContext?
  ) async throws -> HTTPResponseStatus {
    let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .connectTimeout(.seconds(2))
      .connect(host: server.host, port: server.port) { channel in
        channel.eventLoop.makeCompletedFuture {
          if let context {
            try channel.pipeline.syncOperations.addHandler(NIOSSLClientHandler(context: context, serverHostname: nil))
          }
          try channel.pipeline.syncOperations.addHTTPClientHandlers()
          return try NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>(
            wrappingChannelSynchronously: channel)
        }
      }
    return try await channel.executeThenClose { responses, requests in
      let timeout = channel.channel.eventLoop.scheduleTask(in: .seconds(2)) { channel.channel.close(promise: nil) }
      defer { timeout.cancel() }
      let headers: HTTPHeaders = ["host": server.authority, "connection": "close"]
      try await requests.write(.head(.init(version: .http1_1, method: .GET, uri: path, headers: headers)))
      try await requests.write(.end(nil))
      for try await case .head(let head) in responses { return head.status }
      throw ChannelError.eof
    }
  }
}
