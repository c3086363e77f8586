import HTTPServer
import HTTPTestSupport
import NIOCore
import NIOHTTP2
import TestSupport
import Testing

/// The graceful shutdown of HTTP/2 connections.
@Suite(.timeLimit(.minutes(5))) struct HTTP2ShutdownTests {
  @Test func requestInFlightCompletesAfterGoAway() async throws {
    let gate = Gate()
    let arrived = Gate()
    let responder = ClosureResponder { _ in
      arrived.open()
      await gate.pass()
      return .text("done")
    }
    try await withServer(responder) { server in
      let client = try await HTTP2Client.open(port: server.port)
      async let response = client.send("GET", "/")
      await arrived.pass()
      async let ended: Void = server.shutdown(gracePeriod: .seconds(600))
      while client.farewells.count < 2 { await Task.yield() }
      gate.open()

      let text = try await response.text
      #expect(text == "done")
      try await client.channel.closeFuture.get()
      await ended
      #expect(client.farewells == [.noError, .noError])
    }
  }

  @Test func idleConnectionIsClosed() async throws {
    try await withServer(ClosureResponder.path) { server in
      let client = try await HTTP2Client.open(port: server.port)
      _ = try await client.send("GET", "/")
      await server.shutdown(gracePeriod: .seconds(600))

      try await client.channel.closeFuture.get()
      #expect(client.farewells == [.noError, .noError])
    }
  }

  @Test func unresponsiveClientDoesNotDelayTheDrain() async throws {
    try await withServer(ClosureResponder.path) { server in
      let connection = try await RawHTTPConnection.open(port: server.port)
      try await connection.send(bytes: RawHTTP2Frames.preface)
      _ = try await connection.some()
      await server.shutdown(gracePeriod: .seconds(600))

      let frames = RawHTTP2Frames.parse(try await connection.rest())
      #expect(frames.filter { $0.type == RawHTTP2Frames.goAway }.count == 2)
    }
  }

  @Test func shutdownWaitsForTheSocketsUnsentBytes() async throws {
    let text = String(repeating: "0123456789", count: 6_000)
    let configure = { (configuration: inout HTTPServerConfiguration) in
      configuration.timeouts.linger = .milliseconds(100)
    }
    try await withServer(ClosureResponder { _ in .text(text) }, configure: configure) { server in
      let connection = try await RawHTTPConnection.open(port: server.port, receiveBufferBytes: 4096)
      let endsStreamAndHeaders: UInt8 = 5
      try await connection.send(
        bytes: RawHTTP2Frames.preface
          + RawHTTP2Frames.frame(
            type: RawHTTP2Frames.headers, flags: endsStreamAndHeaders, stream: 1, RawHTTP2Frames.get))
      // Longer than the server waits for a silent client, including a second for the acknowledgement of its PING.
      let received = try await bytes(readLateFrom: connection, after: .seconds(3), asItShutsDown: server)

      let frames = RawHTTP2Frames.parse(received)
      #expect(frames.filter { $0.type == RawHTTP2Frames.data }.flatMap(\.payload).elementsEqual(text.utf8))
    }
  }

  @Test func drainUnderLoadLosesNoAcceptedRequest() async throws {
    let responder = ClosureResponder { request in
      await Task.yield()
      return .text(String(request.path))
    }
    try await withServer(responder, configure: { $0.threads = 2 }) { server in
      let answered = Counter()
      let enough = Gate()
      try await withThrowingTaskGroup(of: Void.self) { group in
        for connection in 0..<4 {
          let client = try await HTTP2Client.open(port: server.port)
          for stream in 0..<8 {
            group.addTask {
              var index = 0
              while true {
                let path = "/\(connection)/\(stream)/\(index)"
                // After the server's GOAWAY the client rejects new requests itself.
                guard client.farewells.isEmpty else { return }
                guard let response = try? await client.send("GET", path) else {
                  #expect(!client.farewells.isEmpty)
                  return
                }
                #expect(response.text == path)
                if answered.add() == 500 { enough.open() }
                index += 1
              }
            }
          }
        }
        await enough.pass()
        await server.shutdown(gracePeriod: .seconds(600))
        try await group.waitForAll()
      }

      #expect(answered.value >= 500)
    }
  }

  @Test func connectionsAreCutAfterTheGracePeriod() async throws {
    let arrived = Gate()
    let responder = ClosureResponder { _ in
      arrived.open()
      try? await Task.sleep(for: .seconds(600))
      return .text("never")
    }
    try await withServer(responder) { server in
      let client = try await HTTP2Client.open(port: server.port)
      let stream = try await client.start("GET", "/")
      await arrived.pass()
      await server.shutdown(gracePeriod: .milliseconds(50))

      await #expect(throws: (any Error).self) { try await stream.receiveResponse() }
    }
  }
}
