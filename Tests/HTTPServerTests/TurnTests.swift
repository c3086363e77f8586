import HTTPServer
import HTTPTestSupport
import NIOCore
import Synchronization
import TestSupport
import Testing

/// Connections that share an event loop.
@Suite(.timeLimit(.minutes(5))) struct TurnTests {
  /// Works for two milliseconds on each request to `/many`. During the fifth it has another client send a request, and
  /// continues when that is in the server's socket.
  private final class Responder: HTTPResponder {
    let isFifth = Gate()
    let isSent = Atomic(false)
    private let targets = Mutex<[String]>([])

    var paths: [String] { targets.withLock { $0 } }

    func respond(to request: HTTPRequest) async -> HTTPResponse {
      if request.path == "/first" { return .text("done") }
      let count = targets.withLock { targets in
        targets.append(String(request.path))
        return targets.count
      }
      if count == 5 {
        isFifth.open()
        while !isSent.load(ordering: .acquiring) {}
      }
      let end = ContinuousClock.now + .milliseconds(2)
      while ContinuousClock.now < end {}
      return .text("done")
    }
  }

  @Test(arguments: [false, true]) func manyRequestsLeaveTurnsToOtherConnections(areStreams: Bool) async throws {
    let responder = Responder()
    try await withServer(responder) { server in
      let one = try await RawHTTPConnection.open(port: server.port)
      // The event loop knows the connection from now on: accepting it would take turns of its own.
      #expect(try await one.get("/first").status == 200)
      async let other = {
        await responder.isFifth.pass()
        try await one.send("GET /one HTTP/1.1\r\nHost: test\r\n\r\n")
        try await one.arrival()
        responder.isSent.store(true, ordering: .releasing)
        return try await one.response().status
      }()

      if areStreams {
        let many = try await HTTP2Client.open(port: server.port)
        try await withThrowingTaskGroup(of: Int.self) { group in
          for _ in 0..<60 { group.addTask { try await many.send("GET", "/many").status } }
          for try await status in group { #expect(status == 200) }
        }
      } else {
        let many = try await RawHTTPConnection.open(port: server.port)
        try await many.send(String(repeating: "GET /many HTTP/1.1\r\nHost: test\r\n\r\n", count: 60))
        for _ in 0..<60 { #expect(try await many.response().status == 200) }
      }

      #expect(try await other == 200)
      #expect(responder.paths.count == 61)
      let position = try #require(responder.paths.firstIndex(of: "/one"))
      #expect(position < 10, "\(position)")
    }
  }
}
