import HTTPServer
import HTTPTestSupport
import NIOCore
import TestSupport
import Testing

/// The responses to clients that exceed a timeout. The timeouts are short so that the tests are; nothing is asserted
/// about when exactly they end.
@Suite(.timeLimit(.minutes(5))) struct TimeoutTests {
  private static let short = Duration.milliseconds(150)

  /// Opens a connection and makes one request on it, so that no time-out runs but those that the client causes from
  /// here on; tries again where this machine was too slow for the time-outs of a test.
  private static func openAndBegin(_ server: HTTPServer) async throws -> RawHTTPConnection {
    while true {
      let connection = try await RawHTTPConnection.open(port: server.port)
      if (try? await connection.get("/"))?.status == 200 { return connection }
    }
  }

  @Test func lateHeadGetsARequestTimeoutResponse() async throws {
    try await withServer(ClosureResponder.path, configure: { $0.timeouts.header = Self.short }) { server in
      let connection = try await Self.openAndBegin(server)
      try await connection.send("GET / HTTP/1.1\r\nHost: test\r\n")
      let response = try await connection.response()
      let rest = try await connection.rest()

      #expect(response.status == 408)
      #expect(response.text.contains(#""code":"request-timeout""#))
      #expect(response["connection"] == "close")
      #expect(rest.isEmpty)
    }
  }

  @Test func slowHeadDoesNotExtendItsTimeout() async throws {
    try await withServer(ClosureResponder.path, configure: { $0.timeouts.header = Self.short }) { server in
      let connection = try await Self.openAndBegin(server)
      let trickle = Task {
        try await connection.send("GET / HTTP/1.1\r\n")
        while true {
          guard await connection.sendWithoutWaiting(bytes: Array("X: y\r\n".utf8)) > 0 else { return }
          try await Task.sleep(for: .milliseconds(10))
        }
      }
      let bytes = try await connection.some()
      trickle.cancel()

      #expect(String(decoding: bytes, as: UTF8.self).hasPrefix("HTTP/1.1 408 "))
    }
  }

  @Test func silentConnectionIsClosedWithoutAResponse() async throws {
    try await withConnection(to: ClosureResponder.path, configure: { $0.timeouts.header = Self.short }) { connection in
      let rest = try await connection.rest()

      #expect(rest.isEmpty)
    }
  }

  @Test func idleConnectionIsClosed() async throws {
    try await withConnection(to: ClosureResponder.path, configure: { $0.timeouts.idle = Self.short }) { connection in
      let response = try await connection.get("/")
      let rest = try await connection.rest()

      #expect(response.status == 200)
      #expect(rest.isEmpty)
    }
  }

  @Test func stalledBodyGetsARequestTimeoutResponse() async throws {
    try await withConnection(to: ClosureResponder.echo, configure: { $0.timeouts.body = Self.short }) { connection in
      try await connection.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 10\r\n\r\nhalf")
      let response = try await connection.response()
      let rest = try await connection.rest()

      #expect(response.status == 408)
      #expect(response["connection"] == "close")
      #expect(rest.isEmpty)
    }
  }

  @Test func slowBodyGetsARequestTimeoutResponse() async throws {
    try await withConnection(to: ClosureResponder.echo, configure: { $0.timeouts.body = Self.short }) { connection in
      let trickle = Task {
        try await connection.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 100000\r\n\r\n")
        while await connection.sendWithoutWaiting(bytes: [97]) > 0 { try await Task.sleep(for: .milliseconds(10)) }
      }
      let bytes = try await connection.some()
      trickle.cancel()

      #expect(String(decoding: bytes, as: UTF8.self).hasPrefix("HTTP/1.1 408 "))
    }
  }

  @Test func noTimeoutLimitsTheResponder() async throws {
    let responder = ClosureResponder { _ in
      try? await Task.sleep(for: .milliseconds(500))
      return .text("late")
    }
    let configure = { (configuration: inout HTTPServerConfiguration) in
      configuration.timeouts.body = Self.short
      configuration.timeouts.idle = Self.short
      configuration.timeouts.write = Self.short
    }
    try await withConnection(to: responder, configure: configure) { connection in
      let response = try await connection.get("/")

      #expect(response.text == "late")
    }
  }

  @Test func clientThatDoesNotReadIsDisconnected() async throws {
    let responder = ClosureResponder { _ in
      HTTPResponse(contentType: "text/plain", bytes: ByteBuffer(repeating: 97, count: 64 * 1024 * 1024))
    }
    try await withServer(responder, configure: { $0.timeouts.write = Self.short }) { server in
      let connection = try await RawHTTPConnection.open(port: server.port, receiveBufferBytes: 4096)
      try await connection.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n")
      // The drain ends by itself only when the server has given the connection up.
      await server.shutdown(gracePeriod: .seconds(600))

      await #expect(throws: RawHTTPConnection.Failure.self) { try await connection.response() }
    }
  }

  @Test func streamToAClientThatDoesNotReadEndsWithAnError() async throws {
    let ended = Gate()
    let responder = ClosureResponder { _ in
      HTTPResponse(
        body: .stream { writer in
          defer { ended.open() }
          while true { try await writer.write(ByteBuffer(repeating: 97, count: 64 * 1024)) }
        }
      )
    }
    try await withServer(responder, configure: { $0.timeouts.write = Self.short }) { server in
      let connection = try await RawHTTPConnection.open(port: server.port, receiveBufferBytes: 4096)
      try await connection.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n")

      await ended.pass()
    }
  }

  @Test func slowReaderReceivesTheWholeLastResponse() async throws {
    let length = 8 * 1024 * 1024
    let responder = ClosureResponder { _ in
      HTTPResponse(contentType: "text/plain", bytes: ByteBuffer(repeating: 97, count: length))
    }
    try await withServer(responder, configure: { $0.timeouts.linger = Self.short }) { server in
      let connection = try await RawHTTPConnection.open(port: server.port, receiveBufferBytes: 32 * 1024)
      try await connection.send("GET / HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n")
      try await Task.sleep(for: Self.short * 3)
      let response = try await connection.response()

      #expect(response.body.count == length)
    }
  }

  @Test(arguments: [1, 3]) func slowHalfClosedReaderReceivesAllResponses(count: Int) async throws {
    let length = 8 * 1024 * 1024
    let responder = ClosureResponder { _ in
      HTTPResponse(contentType: "text/plain", bytes: ByteBuffer(repeating: 97, count: length))
    }
    try await withServer(responder) { server in
      let connection = try await RawHTTPConnection.open(port: server.port, receiveBufferBytes: 32 * 1024)
      try await connection.send(String(repeating: "GET / HTTP/1.1\r\nHost: test\r\n\r\n", count: count))
      connection.shutdownSending()
      try await Task.sleep(for: Self.short)
      let received = try await connection.rest()

      #expect(received.count > count * length)
    }
  }

  @Test func slowReaderReceivesItsWholeResponseDuringADrain() async throws {
    let length = 8 * 1024 * 1024
    let responder = ClosureResponder { _ in
      HTTPResponse(contentType: "text/plain", bytes: ByteBuffer(repeating: 97, count: length))
    }
    try await withServer(responder) { server in
      let connection = try await RawHTTPConnection.open(port: server.port, receiveBufferBytes: 32 * 1024)
      try await connection.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n")
      let first = try await connection.some()
      async let ended: Void = server.shutdown(gracePeriod: .seconds(600))
      try await Task.sleep(for: Self.short * 2)
      let rest = try await connection.rest()
      connection.shutdownSending()
      await ended

      #expect(first.count + rest.count > length)
    }
  }

  @Test func connectionIsClosedAfterTheLingerTimeout() async throws {
    try await withServer(ClosureResponder.path, configure: { $0.timeouts.linger = Self.short }) { server in
      let connection = try await RawHTTPConnection.open(port: server.port)
      let response = try await connection.get("/", headers: "Connection: close\r\n")
      await server.shutdown(gracePeriod: .seconds(600))

      #expect(response.status == 200)
    }
  }
}
