import HTTPServer
import HTTPTestSupport
import Logging
import NIOCore
import NIOHTTP1
import TestSupport
import Testing

/// Runs the body against a server on a free port of this machine, and shuts the server down after it.
func withServer(
  _ responder: some HTTPResponder,
  configure: (inout HTTPServerConfiguration) -> Void = { _ in },
  acceptQueueLength: @escaping @Sendable (any Channel) -> Int = HTTPServer.acceptQueueLength(of:),
  body: (HTTPServer) async throws -> Void
) async throws {
  var configuration = HTTPServerConfiguration(port: 0)
  configuration.threads = 1
  // A test of something else is not about time: on a busy machine a client may be kept waiting for long.
  let patience = Duration.seconds(300)
  configuration.timeouts.header = patience
  configuration.timeouts.body = patience
  configuration.timeouts.idle = patience
  configuration.timeouts.write = patience
  configure(&configuration)
  let server = try await HTTPServer.bind(
    configuration: configuration,
    responder: responder,
    logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
    acceptQueueLength: acceptQueueLength
  )
  do {
    try await body(server)
  } catch {
    await server.shutdown(gracePeriod: .zero)
    throw error
  }
  await server.shutdown(gracePeriod: .zero)
}

/// Runs the body against a server and one connection to it.
func withConnection(
  to responder: some HTTPResponder,
  configure: (inout HTTPServerConfiguration) -> Void = { _ in },
  body: (RawHTTPConnection) async throws -> Void
) async throws {
  try await withServer(responder, configure: configure) { server in
    try await body(try await RawHTTPConnection.open(port: server.port))
  }
}

/// Shuts the server down while a client reads nothing for a while, which must delay its end, and then all.
///
/// - Returns: the bytes that the client received.
func bytes(
  readLateFrom connection: RawHTTPConnection, after pause: Duration, asItShutsDown server: HTTPServer
) async throws -> [UInt8] {
  // The response is in progress.
  let beginning = try await connection.some(atMost: 1)
  let ends = Counter()
  async let ended: Void = {
    await server.shutdown(gracePeriod: .seconds(600))
    ends.add()
  }()
  try await Task.sleep(for: pause)
  #expect(ends.value == 0)
  let rest = try await connection.rest()
  await ended
  return beginning + rest
}

/// A responder whose responses a closure creates.
struct ClosureResponder: HTTPResponder {
  let answer: @Sendable (HTTPRequest) async -> HTTPResponse

  init(_ answer: @escaping @Sendable (HTTPRequest) async -> HTTPResponse) { self.answer = answer }

  func respond(to request: HTTPRequest) async -> HTTPResponse { await answer(request) }
}

extension HTTPResponse {
  /// Creates a response of text.
  static func text(_ text: String, status: HTTPResponseStatus = .ok) -> HTTPResponse {
    HTTPResponse(status: status, contentType: "text/plain", bytes: Array(text.utf8))
  }
}

extension ClosureResponder {
  /// Responds with the path of the request.
  static let path = ClosureResponder { request in .text(String(request.path)) }

  /// Reads the whole body and responds with it.
  static let echo = ClosureResponder { request in
    do throws(HTTPBodyError) {
      return HTTPResponse(contentType: "application/octet-stream", bytes: try await request.body.collect())
    } catch {
      return HTTPResponse(error.problem)
    }
  }
}
