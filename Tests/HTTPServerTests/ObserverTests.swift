import HTTPServer
import HTTPTestSupport
import NIOCore
import NIOHTTP1
import Synchronization
import TestSupport
import Testing

/// The reports of completed requests over real sockets.
@Suite(.timeLimit(.minutes(5))) struct ObserverTests {
  private static let router: Router = {
    var routes: [Route] = []
    routes.on(.GET, "/things/{id}") { _, parameters in .text(parameters["id"]) }
    routes.on(.GET, "/stream") { _, _ in
      HTTPResponse(
        body: .stream { writer in
          for _ in 0..<3 { try await writer.write(ByteBuffer(string: "12345")) }
        })
    }
    routes.on(.GET, "/broken") { _, _ in
      HTTPResponse(
        body: .stream { writer in
          try await writer.write(ByteBuffer(string: "12"))
          throw HTTPConnectionClosed()
        })
    }
    routes.on(.GET, "/invalid") { _, _ in HTTPResponse(headers: ["a b": "c"]) }
    return Router(routes)
  }()

  private let recorder = Recorder()

  /// Returns the reports of the requests that the body makes, in the order of their ends.
  private func observed(
    by responder: any HTTPResponder = Self.router, count: Int,
    configure: (inout HTTPServerConfiguration) -> Void = { _ in },
    body: (HTTPServer) async throws -> Void
  ) async throws -> [CompletedRequest] {
    try await withServer(
      MiddlewareChain([recorder], endingIn: responder), configure: configure
    ) { server in
      try await body(server)
      // The client may receive the response's last byte a moment before the request is reported.
      while recorder.requests.count < count { await Task.yield() }
    }
    return recorder.requests
  }

  @Test func http1ResponseIsReportedWithRouteStatusAndLength() async throws {
    let requests = try await observed(count: 3) { server in
      let connection = try await RawHTTPConnection.open(port: server.port)
      _ = try await connection.get("/things/abc", headers: "X-Request-Id: mine\r\n")
      _ = try await connection.get("/nothing")
      try await connection.send("HEAD /things/abc HTTP/1.1\r\nHost: test\r\n\r\n")
      _ = try await connection.response(to: "HEAD")
    }

    #expect(requests.map(\.route) == ["/things/{id}", nil, "/things/{id}"])
    #expect(requests.map(\.status) == [.ok, .notFound, .ok])
    #expect(requests.map(\.method) == [.GET, .GET, .HEAD])
    #expect(requests[0].bodyBytes == 3)
    #expect(requests[2].bodyBytes == 0)
    #expect(requests[0].id == "mine")
    #expect(requests.allSatisfy { $0.isWhole && $0.duration.map { $0 > .zero } == true })
  }

  @Test func http2ResponseIsReportedWithRouteStatusAndLength() async throws {
    let requests = try await observed(count: 4) { server in
      let client = try await HTTP2Client.open(port: server.port)
      _ = try await client.send("GET", "/things/abc", headers: [("x-request-id", "mine")])
      _ = try await client.send("GET", "/nothing", headers: [])
      _ = try await client.send("HEAD", "/things/abc", headers: [])
      _ = try await client.send("GET", "/stream", headers: [])
    }

    #expect(requests.map(\.route) == ["/things/{id}", nil, "/things/{id}", "/stream"])
    #expect(requests.map(\.status) == [.ok, .notFound, .ok, .ok])
    #expect(requests.map(\.method) == [.GET, .GET, .HEAD, .GET])
    #expect(requests[0].bodyBytes == 3)
    #expect(requests[2].bodyBytes == 0)
    #expect(requests[3].bodyBytes == 15)
    #expect(requests[0].id == "mine")
    #expect(requests.allSatisfy { $0.isWhole && $0.duration.map { $0 > .zero } == true })
  }

  @Test func streamedResponseIsReportedAtItsEndWithAllBytes() async throws {
    let requests = try await observed(count: 1) { server in
      _ = try await RawHTTPConnection.open(port: server.port).get("/stream")
    }

    #expect(requests.map(\.bodyBytes) == [15])
    #expect(requests.map(\.isWhole) == [true])
  }

  @Test func interruptedStreamIsReportedAsIncomplete() async throws {
    let requests = try await observed(count: 1) { server in
      let connection = try await RawHTTPConnection.open(port: server.port)
      try await connection.send("GET /broken HTTP/1.1\r\nHost: test\r\n\r\n")
      _ = try? await connection.rest()
    }

    #expect(requests.map(\.status) == [.ok])
    #expect(requests.map(\.isWhole) == [false])
  }

  @Test func invalidResponseIsReportedAsTheProblemThatReplacedIt() async throws {
    let requests = try await observed(count: 1) { server in
      _ = try await RawHTTPConnection.open(port: server.port).get("/invalid")
    }

    #expect(requests.map(\.status) == [.internalServerError])
    #expect(requests.map(\.isWhole) == [true])
  }

  @Test(arguments: [
    ("GET / HTTP/1.1\r\n\r\n", 400), ("nonsense\r\n\r\n", 400),
    ("GET /\(String(repeating: "a", count: 200)) HTTP/1.1\r\nHost: a\r\n\r\n", 414),
    ("GET / HTTP/1.1\r\nHost: a\r\nA: \(String(repeating: "a", count: 600))\r\n\r\n", 431),
  ])
  func requestRejectedBeforeRoutingIsReportedOnce(request: String, status: Int) async throws {
    let requests = try await observed(
      count: 1,
      configure: {
        $0.limits.uriBytes = 100
        $0.limits.headerBytes = 500
      }
    ) { server in
      let connection = try await RawHTTPConnection.open(port: server.port)
      try await connection.send(request)
      _ = try await connection.response()
    }

    #expect(requests.map { $0.status.map { Int($0.code) } } == [status])
    #expect(requests.map(\.method) == [nil])
    #expect(requests.map(\.duration) == [nil])
    #expect(try #require(requests.first).bodyBytes > 50)
  }

  @Test func headTimeoutIsReported() async throws {
    let requests = try await observed(count: 1, configure: { $0.timeouts.header = .seconds(10) }) { server in
      let connection = try await RawHTTPConnection.open(port: server.port)
      try await connection.send("GET / HT")
      _ = try await connection.response()
    }

    #expect(requests.map(\.status) == [.requestTimeout])
  }

  @Test func connectionOverTheLimitReceives503() async throws {
    let requests = try await observed(count: 2, configure: { $0.limits.connections = 1 }) { server in
      let first = try await RawHTTPConnection.open(port: server.port)
      _ = try await first.get("/things/a")
      _ = try await RawHTTPConnection.open(port: server.port).response()
    }

    #expect(requests.map(\.status) == [.ok, .serviceUnavailable])
  }

  @Test func disconnectBeforeTheResponseIsReportedWithoutAStatus() async throws {
    let (arrived, gate) = (Gate(), Gate())
    let responder = ClosureResponder { _ in
      arrived.open()
      await gate.pass()
      return .text("late")
    }
    let requests = try await observed(by: responder, count: 1) { server in
      let connection = try await RawHTTPConnection.open(port: server.port)
      try await connection.send("GET /slow HTTP/1.1\r\nHost: test\r\n\r\n")
      await arrived.pass()
      connection.reset()
      while recorder.requests.isEmpty { await Task.yield() }
      gate.open()
    }

    #expect(requests.count == 1)
    #expect(requests.first?.status == nil)
    #expect(requests.first?.isWhole == false)
  }

  @Test func pipelinedRequestsAreReportedOneByOne() async throws {
    let requests = try await observed(count: 20) { server in
      let connection = try await RawHTTPConnection.open(port: server.port)
      try await connection.send((0..<20).map { "GET /things/\($0) HTTP/1.1\r\nHost: test\r\n\r\n" }.joined())
      for _ in 0..<20 { _ = try await connection.response() }
    }

    #expect(requests.map(\.bodyBytes) == (0..<20).map { $0 < 10 ? 1 : 2 })
    #expect(requests.allSatisfy { $0.status == .ok })
  }
}

/// A middleware that records the completed requests.
private final class Recorder: SynchronousMiddleware {
  private let recorded = Mutex<[CompletedRequest]>([])

  var requests: [CompletedRequest] { recorded.withLock { $0 } }

  func requestCompleted(_ request: CompletedRequest) { recorded.withLock { $0.append(request) } }
}
