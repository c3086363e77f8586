import HTTPServer
import NIOCore
import TestSupport
import Testing

/// Clients that read slowly and steadily are served to the end: progress is what they have acknowledged.
@Suite(.timeLimit(.minutes(10))) struct SlowReaderTests {
  private typealias Frames = RawHTTP2Frames

  private static let length = 16 * 1024 * 1024

  private static let responder = ClosureResponder { _ in
    let piece = ByteBuffer(repeating: 97, count: 64 * 1024)
    return HTTPResponse(
      body: .stream(length: length) { writer in
        for _ in 0..<length / piece.readableBytes { try await writer.write(piece) }
      })
  }

  private static let http1 = Array("GET / HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n".utf8)

  /// A request by a client whose windows are as wide as may be.
  private static let http2: [UInt8] = {
    let window: [UInt8] = [0, 4] + Frames.bytes(of: 0x7FFF_FFFF)
    let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + Frames.frame(type: Frames.settings, window)
    let update = Frames.frame(type: Frames.windowUpdate, Frames.bytes(of: 0x7FFF_0000))
    return preface + update + Frames.frame(type: Frames.headers, flags: 5, stream: 1, Frames.get)
  }()

  /// The server's socket holds megabytes and takes more when a third is free: at this rate that is longer than a period.
  @Test(arguments: [http1, http2]) func steadyReaderIsNeverCut(request: [UInt8]) async throws {
    let period = Duration.seconds(10)
    try await withServer(Self.responder, configure: { $0.timeouts.write = period }) { server in
      let connection = try await RawHTTPConnection.open(port: server.port, receiveBufferBytes: 256 * 1024)
      try await connection.send(bytes: request)
      var received = 0
      let start = ContinuousClock.now
      while start.duration(to: .now) < period * 3 {
        received += try await connection.some(atMost: 8 * 1024).count
        try await Task.sleep(for: .milliseconds(200))
      }
      while received < Self.length {
        let piece = try await connection.some()
        try #require(!piece.isEmpty)
        received += piece.count
      }

      #expect(received >= Self.length)
    }
  }
}
