import HTTPServer
import HTTPTestSupport
import NIOCore
import Synchronization
import TestSupport
import Testing

/// Connections that share an event loop.
@Suite(.timeLimit(.minutes(5))) struct TurnTests {
  /// Works for a while on each request to `/many`. During one of them it has another client send a request, and
  /// continues when that is in the server's socket.
  private final class Responder: HTTPResponder {
    let isReached = Gate()
    let isSent = Atomic(false)
    /// A Boolean value that indicates whether the first request to `/many` need not wait.
    let mayBegin: Atomic<Bool>
    private let position: Int
    private let work: Duration
    private let suspends: Bool
    private let targets = Mutex<[String]>([])

    var paths: [String] { targets.withLock { $0 } }

    /// Creates a responder.
    ///
    /// - Parameters:
    ///   - position: the number of the request during which the other client sends its own, from 1.
    ///   - work: the time of work on a request.
    ///   - suspends: a Boolean value that indicates whether a task suspends before it works.
    init(position: Int, work: Duration, suspends: Bool = false, mayBegin: Bool = true) {
      self.position = position
      self.work = work
      self.suspends = suspends
      self.mayBegin = Atomic(mayBegin)
    }

    func respond(to request: HTTPRequest) async -> HTTPResponse {
      if request.path == "/first" { return .text("done") }
      if suspends, request.path == "/many" { await Task.yield() }
      let count = targets.withLock { targets in
        targets.append(String(request.path))
        return targets.count
      }
      while !mayBegin.load(ordering: .acquiring) {}
      if count == position {
        isReached.open()
        while !isSent.load(ordering: .acquiring) {}
      }
      let end = ContinuousClock.now + work
      while ContinuousClock.now < end {}
      return .text("done")
    }

    /// Sends the other client's request when it is time.
    ///
    /// - Returns: the status of the response.
    func send(from other: RawHTTPConnection) async throws -> Int {
      await isReached.pass()
      try await other.send("GET /one HTTP/1.1\r\nHost: test\r\n\r\n")
      try await other.arrival()
      isSent.store(true, ordering: .releasing)
      return try await other.response().status
    }
  }

  @Test(arguments: [false, true]) func manyRequestsLeaveTurnsToOtherConnections(areStreams: Bool) async throws {
    let responder = Responder(position: 5, work: .milliseconds(2))
    try await withServer(responder) { server in
      let one = try await RawHTTPConnection.open(port: server.port)
      // The event loop knows the connection from now on: accepting it would take turns of its own.
      #expect(try await one.get("/first").status == 200)
      async let other = responder.send(from: one)

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

  @Test(arguments: [false, true], [false, true])
  func manyBusyConnectionsLeaveTurnsToAnother(haveStreams: Bool, suspend: Bool) async throws {
    let (connections, requests) = (haveStreams ? 16 : 64, 50)
    let responder = Responder(
      position: connections * requests / 16, work: .milliseconds(1), suspends: suspend, mayBegin: false)
    try await withServer(responder) { server in
      let one = try await RawHTTPConnection.open(port: server.port)
      #expect(try await one.get("/first").status == 200)
      async let other = responder.send(from: one)

      if haveStreams {
        var clients: [HTTP2Client] = []
        for _ in 0..<connections {
          let client = try await HTTP2Client.open(port: server.port)
          #expect(try await client.send("GET", "/first").status == 200)
          clients.append(client)
        }
        var streams: [HTTP2ClientStream] = []
        for client in clients {
          for _ in 0..<requests { streams.append(try await client.start("GET", "/many")) }
        }
        responder.mayBegin.store(true, ordering: .releasing)
        for stream in streams { #expect(try await stream.receiveResponse().status == 200) }
      } else {
        var clients: [RawHTTPConnection] = []
        for _ in 0..<connections {
          let client = try await RawHTTPConnection.open(port: server.port)
          #expect(try await client.get("/first").status == 200)
          clients.append(client)
        }
        for client in clients {
          try await client.send(String(repeating: "GET /many HTTP/1.1\r\nHost: test\r\n\r\n", count: requests))
          try await client.arrival()
        }
        responder.mayBegin.store(true, ordering: .releasing)
        for client in clients {
          for _ in 0..<requests { #expect(try await client.response().status == 200) }
        }
      }

      #expect(try await other == 200)
      #expect(responder.paths.count == connections * requests + 1)
      let position = try #require(responder.paths.firstIndex(of: "/one"))
      #expect(position < connections * requests / 4, "\(position)")
    }
  }
}
