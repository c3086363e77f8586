import HTTPTestSupport
import NIOCore
import NIOHTTP1
import TestSupport
import Testing

@testable import HTTPServer

@Suite(.timeLimit(.minutes(5))) struct BodyMemoryTests {
  /// Slow senders of long bodies, and then one that sends its body at once.
  @Test func unfinishedBodiesAreBoundedTogether() async throws {
    let responder = ClosureResponder { request in
      do throws(Problem) {
        return .text("\(try await request.collectBody().readableBytes)")
      } catch {
        return HTTPResponse(error)
      }
    }
    let (length, count) = (1_000_000, 6)
    let head = "POST / HTTP/1.1\r\nHost: test\r\nContent-Length: \(length)\r\n\r\n"
    // A quarter of it is for bodies: four of a megabyte.
    try await withServer(responder, configure: { $0.limits.bufferedBytes = 16 << 20 }) { server in
      var slow: [RawHTTPConnection] = []
      for _ in 0..<count {
        let connection = try await RawHTTPConnection.open(port: server.port)
        try await connection.send(head + String(repeating: "a", count: length - 1))
        slow.append(connection)
      }
      let quick = try await RawHTTPConnection.open(port: server.port)
      try await quick.send(head + String(repeating: "a", count: length))
      let response = try await quick.response()
      var statuses: [Int] = []
      for connection in slow {
        try? await connection.send("a")
        statuses.append(try await connection.response().status)
      }

      #expect(response.status == 200)
      #expect(response.text == "\(length)")
      #expect(statuses.count { $0 == 503 } >= count - 4)
      #expect(statuses.allSatisfy { $0 == 503 || $0 == 200 })
    }
  }
}

/// Requests of which the bodies do not arrive, and another one.
@Suite(.timeLimit(.minutes(5))) struct WaitingBodyTests {
  @Test func requestsThatWaitForTheirBodiesAreNoCurrentRequests() async throws {
    let responder = ClosureResponder { request in
      guard request.method == .POST else { return .text("other") }
      do throws(Problem) {
        return .text("\(try await request.collectBody().readableBytes)")
      } catch {
        return HTTPResponse(error)
      }
    }
    try await withServer(responder, configure: { $0.limits.requestsInFlight = 4 }) { server in
      var slow: [RawHTTPConnection] = []
      for _ in 0..<10 {
        let connection = try await RawHTTPConnection.open(port: server.port)
        try await connection.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 2\r\n\r\na")
        slow.append(connection)
      }
      while server.requestsWaiting < 10 { await Task.yield() }

      let other = try await RawHTTPConnection.open(port: server.port).get("/")
      for connection in slow {
        try await connection.send("b")
        #expect(try await connection.response().text == "2")
      }

      #expect(other.text == "other")
      #expect(server.requestsWaiting == 0)
    }
  }
}
