import HTTPServer
import HTTPTestSupport
import Testing

/// The detection of the protocol by the first bytes of a connection in the clear.
@Suite(.timeLimit(.minutes(5))) struct PrefaceTests {
  @Test func prefaceIsDetectedHoweverItIsSplit() async throws {
    try await withServer(ClosureResponder.path) { server in
      let bytes =
        RawHTTP2Frames.preface
        + RawHTTP2Frames.frame(
          type: RawHTTP2Frames.headers, flags: 5, stream: 1, RawHTTP2Frames.get)
      for cut in 1..<40 {
        let connection = try await RawHTTPConnection.open(port: server.port)
        try await connection.send(bytes: Array(bytes[..<cut]))
        try await connection.send(bytes: Array(bytes[cut...]))
        let frames = try await Self.frames(of: connection) { $0.type == RawHTTP2Frames.data }

        #expect(frames.last?.payload == Array("/".utf8), "cut after \(cut) bytes")
      }
    }
  }

  @Test(arguments: ["PRI", "PRI * HTTP/2.0\r\n\r\nSN\r\n\r\n", "PRI * HTTP/1.1\r\nHost: a\r\n\r\n", "PUT"])
  func inputThatOnlyResemblesThePrefaceIsARequest(text: String) async throws {
    try await withServer(ClosureResponder.path) { server in
      let connection = try await RawHTTPConnection.open(port: server.port)
      try await connection.send(text == "PUT" ? "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n" : text)
      connection.shutdownSending()
      let response = try await connection.response()

      #expect(text == "PUT" ? response.status == 200 : [400, 505].contains(response.status))
    }
  }

  @Test func incompletePrefaceTimesOutAsARequest() async throws {
    try await withServer(ClosureResponder.path, configure: { $0.timeouts.header = .milliseconds(50) }) { server in
      var response: RawHTTPResponse?
      // Where the machine is slow the time may be over before the first byte is there.
      while response == nil {
        let connection = try await RawHTTPConnection.open(port: server.port)
        try await connection.send("PRI * HTTP")
        response = try? await connection.response()
      }

      #expect(response?.status == 408)
    }
  }

  @Test func silentConnectionIsClosedWhenTheServerDrains() async throws {
    try await withServer(ClosureResponder.path) { server in
      let connection = try await RawHTTPConnection.open(port: server.port)
      while server.openConnections < 1 { await Task.yield() }
      await server.shutdown(gracePeriod: .seconds(600))
      let rest = try await connection.rest()

      #expect(rest.isEmpty)
    }
  }

  /// The frames up to one that is looked for, or to the end.
  static func frames(
    of connection: RawHTTPConnection,
    until isLast: (RawHTTP2Frames.Frame) -> Bool = { _ in false }
  ) async throws -> [RawHTTP2Frames.Frame] {
    var received: [UInt8] = []
    while true {
      let frames = RawHTTP2Frames.parse(received)
      if let last = frames.last, isLast(last) { return frames }
      let more = try await connection.some()
      guard !more.isEmpty else { return frames }
      received += more
    }
  }
}
