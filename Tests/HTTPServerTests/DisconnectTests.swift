import HTTPServer
import HTTPTestSupport
import NIOCore
import TestSupport
import Testing

/// The end of the responder's task when its client goes away.
@Suite(.timeLimit(.minutes(5))) struct DisconnectTests {
  /// Responds only once it is cancelled, and reports its start and its cancellation.
  private struct WaitsForCancellation: HTTPResponder {
    let started = Gate()
    let cancelled = Gate()

    func respond(to request: HTTPRequest) async -> HTTPResponse {
      await withTaskCancellationHandler {
        started.open()
        await cancelled.pass()
      } onCancel: {
        cancelled.open()
      }
      return HTTPResponse()
    }
  }

  @Test func resetCancelsTheResponder() async throws {
    let responder = WaitsForCancellation()
    try await withConnection(to: responder) { connection in
      try await connection.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n")
      await responder.started.pass()
      connection.reset()

      await responder.cancelled.pass()
    }
  }

  @Test func halfClosedConnectionStillReceivesTheResponse() async throws {
    let started = Gate()
    let mayEnd = Gate()
    let responder = ClosureResponder { _ in
      started.open()
      await mayEnd.pass()
      return .text("late")
    }
    try await withConnection(to: responder, configure: { $0.timeouts.hangUp = .seconds(300) }) { connection in
      try await connection.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n")
      await started.pass()
      connection.shutdownSending()
      mayEnd.open()

      #expect(try await connection.response().text == "late")
    }
  }

  @Test func responderIsCancelledAfterTheHangUpTimeout() async throws {
    let responder = WaitsForCancellation()
    try await withConnection(to: responder, configure: { $0.timeouts.hangUp = .milliseconds(10) }) { connection in
      try await connection.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n")
      await responder.started.pass()
      connection.shutdownSending()

      await responder.cancelled.pass()
      #expect(try await connection.response().status == 200)
    }
  }

  @Test func headerTimeoutRestartsWithEachRequest() async throws {
    let responder = ClosureResponder { request in
      // Cancelled requests are reported; the others continue.
      for _ in 0..<20 where !Task.isCancelled { await Task.yield() }
      return .text(Task.isCancelled ? "cancelled" : String(request.path))
    }
    try await withConnection(to: responder, configure: { $0.timeouts.hangUp = .seconds(300) }) { connection in
      try await connection.send((0..<5).map { "GET /\($0) HTTP/1.1\r\nHost: test\r\n\r\n" }.joined())
      connection.shutdownSending()

      for number in 0..<5 { #expect(try await connection.response().text == "/\(number)") }
    }
  }

  @Test func endOfAnHTTP2ConnectionCancelsItsResponders() async throws {
    let responder = WaitsForCancellation()
    try await withServer(responder, configure: { $0.timeouts.hangUp = .milliseconds(10) }) { server in
      let client = try await HTTP2Client.open(port: server.port)
      let stream = try await client.start("GET", "/")
      await responder.started.pass()
      client.channel.close(mode: .output, promise: nil)

      await responder.cancelled.pass()
      #expect(try await stream.receiveResponse().status == 200)
    }
  }

  /// Begins a response without an end, and reports its cancellation.
  private struct Live: HTTPResponder {
    let begun = Gate()
    let cancelled = Gate()

    func respond(to request: HTTPRequest) async -> HTTPResponse {
      HTTPResponse(
        body: .live { [begun, cancelled] writer in
          try await writer.write(ByteBuffer(string: "begun"))
          begun.open()
          await withTaskCancellationHandler {
            await cancelled.pass()
          } onCancel: {
            cancelled.open()
          }
        })
    }
  }

  @Test func liveResponseEndsAtOnceWhenTheClientCloses() async throws {
    let responder = Live()
    try await withConnection(to: responder, configure: { $0.timeouts.hangUp = .seconds(300) }) { connection in
      try await connection.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n")
      await responder.begun.pass()
      connection.shutdownSending()

      await responder.cancelled.pass()
    }
  }

  @Test func liveResponseEndsAtOnceWhenTheHTTP2ClientCloses() async throws {
    let responder = Live()
    try await withServer(responder, configure: { $0.timeouts.hangUp = .seconds(300) }) { server in
      let client = try await HTTP2Client.open(port: server.port)
      let stream = try await client.start("GET", "/")
      await responder.begun.pass()
      client.channel.close(mode: .output, promise: nil)

      await responder.cancelled.pass()
      await #expect(throws: (any Error).self) { try await stream.receiveResponse() }
    }
  }

  @Test func liveResponseEndsAtOnceWhenTheHTTP2StreamIsReset() async throws {
    let responder = Live()
    try await withServer(responder) { server in
      let client = try await HTTP2Client.open(port: server.port)
      let stream = try await client.start("GET", "/")
      await responder.begun.pass()
      stream.cancel()

      await responder.cancelled.pass()
    }
  }

  /// Begins a response without an end when it is cancelled.
  private struct LateLive: HTTPResponder {
    let waiting = WaitsForCancellation()
    let count = Counter()

    func respond(to request: HTTPRequest) async -> HTTPResponse {
      _ = await waiting.respond(to: request)
      return HTTPResponse(body: .live { [count] _ in count.add() })
    }
  }

  @Test func liveResponseToAClientThatHasClosedIsNotBegun() async throws {
    let responder = LateLive()
    try await withConnection(to: responder, configure: { $0.timeouts.hangUp = .milliseconds(10) }) { connection in
      try await connection.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n")
      await responder.waiting.started.pass()
      connection.shutdownSending()

      #expect(try await connection.rest().isEmpty && responder.count.value == 0)
    }
  }

  @Test func liveResponseToAnHTTP2ClientThatHasClosedIsNotBegun() async throws {
    let responder = LateLive()
    try await withServer(responder, configure: { $0.timeouts.hangUp = .milliseconds(10) }) { server in
      let client = try await HTTP2Client.open(port: server.port)
      let stream = try await client.start("GET", "/")
      await responder.waiting.started.pass()
      client.channel.close(mode: .output, promise: nil)

      await #expect(throws: (any Error).self) { try await stream.receiveResponse() }
      #expect(responder.count.value == 0)
    }
  }

  @Test func resetStreamCancelsItsResponder() async throws {
    let responder = WaitsForCancellation()
    try await withServer(responder) { server in
      let client = try await HTTP2Client.open(port: server.port)
      let stream = try await client.start("GET", "/")
      await responder.started.pass()
      stream.cancel()

      await responder.cancelled.pass()
    }
  }

  @Test(arguments: [
    "Content-Length: 10\r\n\r\nhalf", "Content-Length: 10\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n",
    "Transfer-Encoding: chunked\r\n\r\n4\r\nha", "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n0\r\n",
  ])
  func bodyThatEndsEarlyOnAHalfClosedConnectionGets400(fields: String) async throws {
    try await withConnection(to: ClosureResponder.echo) { connection in
      try await connection.send("POST / HTTP/1.1\r\nHost: test\r\n\(fields)")
      connection.shutdownSending()
      let response = try await connection.response()
      let rest = try await connection.rest()

      #expect(response.status == 400)
      #expect(response.text.contains(#""code":"malformed-body""#))
      #expect(response["connection"] == "close")
      #expect(rest.isEmpty)
    }
  }

  /// The second request waits behind the first, whose responder is let go when everything has been read.
  @Test(arguments: [
    "POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 10\r\n\r\nhalf",
    "POST / HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nzz\r\n",
    "GET  / HTTP/1.1\r\nHost: test\r\n\r\n",
  ])
  func unusableRequestThatWaitsForItsTurnGets400(request: String) async throws {
    let gate = Gate()
    let started = Gate()
    let responder = ClosureResponder { request in
      guard request.path == "/first" else { return await ClosureResponder.echo.respond(to: request) }
      started.open()
      await gate.pass()
      return .text("first")
    }
    try await withConnection(to: responder) { connection in
      try await connection.send("GET /first HTTP/1.1\r\nHost: test\r\n\r\n")
      await started.pass()
      try await connection.send("GET /second HTTP/1.1\r\nHost: test\r\n\r\n" + request)
      connection.shutdownSending()
      gate.open()

      let statuses = [
        try await connection.response().status, try await connection.response().status,
        try await connection.response().status,
      ]
      #expect(statuses == [200, 200, 400])
    }
  }

  @Test func endOfInputDuringABodyCancelsAResponderThatDoesNotReadIt() async throws {
    let responder = WaitsForCancellation()
    try await withConnection(to: responder, configure: { $0.timeouts.hangUp = .milliseconds(10) }) { connection in
      try await connection.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 10\r\n\r\nhalf")
      await responder.started.pass()
      connection.shutdownSending()

      await responder.cancelled.pass()
    }
  }

  @Test func disconnectDuringABodyFailsItsReader() async throws {
    let (errors, tell) = AsyncStream.makeStream(of: HTTPBodyError?.self)
    let responder = ClosureResponder { request in
      do throws(HTTPBodyError) {
        _ = try await request.body.collect()
        tell.yield(nil)
      } catch {
        tell.yield(error)
      }
      return HTTPResponse()
    }
    try await withConnection(to: responder) { connection in
      try await connection.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 10\r\n\r\nhalf")
      connection.reset()
      var iterator = errors.makeAsyncIterator()
      let error = await iterator.next()

      #expect(error == .disconnected || error == .cancelled)
    }
  }

  @Test func resetEndsAStream() async throws {
    let ended = Gate()
    let responder = ClosureResponder { _ in
      HTTPResponse(
        body: .stream { writer in
          defer { ended.open() }
          while true { try await writer.write(ByteBuffer(repeating: 0, count: 10_000)) }
        }
      )
    }
    try await withConnection(to: responder) { connection in
      try await connection.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n")
      _ = try await connection.some()
      connection.reset()

      await ended.pass()
    }
  }

  @Test func shutdownWithoutGraceCancelsTheResponder() async throws {
    let responder = WaitsForCancellation()
    try await withServer(responder) { server in
      let connection = try await RawHTTPConnection.open(port: server.port)
      try await connection.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n")
      await responder.started.pass()
      await server.shutdown(gracePeriod: .zero)

      await responder.cancelled.pass()
      await #expect(throws: RawHTTPConnection.Failure.self) { try await connection.response() }
    }
  }
}
