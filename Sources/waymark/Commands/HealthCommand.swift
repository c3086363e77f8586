import ArgumentParser
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// `waymark health`: asks a server on this machine whether it is well, for a container's health check.
struct HealthCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "health",
    abstract: "Asks the server on this machine whether it answers.",
    discussion: """
      Exits 0 when it does and 1 when it doesn't, for a container's health check. An outage of the database does not \
      make the server unhealthy, as a restart would not mend it; --ready asks for that too.

      Where TLS_CERTIFICATE_FILE is set, as for `waymark serve`, or with --tls, it asks over TLS. Whose certificate it \
      gets is not looked at: it says nothing secret, and what answers on this machine's loopback is what it asks about.
      """
  )

  @Option(help: "The port it listens on. (default: HTTP_PORT, or 8080)")
  var httpPort: String?

  @Flag(help: "Whether it speaks TLS. (default: whether TLS_CERTIFICATE_FILE is set)")
  var tls = false

  @Flag(help: "Whether the store must answer too.")
  var ready = false

  func run() async throws {
    let settings = Settings(flags: ["HTTP_PORT": httpPort].compactMapValues { $0 })
    let port: Int
    do {
      port = try settings.integer("HTTP_PORT", in: 1...65_535, default: 8080)
    } catch {
      throw Exit.because(error, Exit.usage)
    }
    do {
      let secure = tls || settings["TLS_CERTIFICATE_FILE"] != nil
      let status = try await Self.status(
        of: ready ? "/health/ready" : "/health/live", port: port, context: secure ? try Self.trustful() : nil)
      guard status == .ok else { throw Exit.because("the server answered \(status)", Exit.failed) }
    } catch let error as ExitCode {
      throw error
    } catch {
      throw Exit.because("no answer from 127.0.0.1:\(port)", Exit.failed)
    }
  }

  /// TLS with whoever answers.
  private static func trustful() throws -> NIOSSLContext {
    var configuration = TLSConfiguration.makeClientConfiguration()
    configuration.certificateVerification = .none
    return try NIOSSLContext(configuration: configuration)
  }

  /// The status that a local server answers a request with, within two seconds.
  private static func status(
    of path: String, port: Int, context: NIOSSLContext?
  ) async throws -> HTTPResponseStatus {
    let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .connectTimeout(.seconds(2))
      .connect(host: "127.0.0.1", port: port) { channel in
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
      let headers: HTTPHeaders = ["host": "127.0.0.1:\(port)", "connection": "close"]
      try await requests.write(.head(.init(version: .http1_1, method: .GET, uri: path, headers: headers)))
      try await requests.write(.end(nil))
      for try await case .head(let head) in responses { return head.status }
      throw ChannelError.eof
    }
  }
}
