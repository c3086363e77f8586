import HTTPServer
import HTTPTestSupport
import NIOCore
import NIOHTTP2
import TestSupport
import Testing

/// The limits of what an HTTP/2 client can do to a server.
@Suite(.timeLimit(.minutes(5))) struct HTTP2LimitTests {
  private typealias Frames = RawHTTP2Frames

  /// The code of `ENHANCE_YOUR_CALM`.
  private static let calm: [UInt8] = [0, 0, 0, 11]

  /// Sends the frames after the preface, and answers the code that the server ends the connection with.
  private func finalGoAway(
    after frames: [[UInt8]],
    from responder: some HTTPResponder = ClosureResponder.path
  ) async throws -> [UInt8]? {
    var code: [UInt8]?
    try await withServer(responder) { server in
      let connection = try await RawHTTPConnection.open(port: server.port)
      let bytes = Frames.preface + frames.flatMap { $0 }
      // The server may end the connection before it has read everything.
      async let sent: Void? = try? await connection.send(bytes: bytes)
      let received = try await PrefaceTests.frames(of: connection) { $0.type == Frames.goAway }
      _ = await sent
      code = received.last.flatMap { $0.type == Frames.goAway ? Array($0.payload[4..<8]) : nil }
      let other = try await RawHTTPConnection.open(port: server.port)
      let response = try await other.get("/other")
      #expect(response.text == "/other")
    }
    return code
  }

  // MARK: Frames

  @Test func floodOfResetsEndsTheConnection() async throws {
    let frames = (0..<2000).flatMap { index -> [[UInt8]] in
      let stream = UInt32(2 * index + 1)
      let request = Frames.frame(type: Frames.headers, flags: 5, stream: stream, Frames.get)
      return [request, Frames.frame(type: Frames.reset, stream: stream, [0, 0, 0, 8])]
    }

    #expect(try await finalGoAway(after: frames) == Self.calm)
  }

  @Test(arguments: [7, 0x42] as [UInt8])
  func floodOfIgnoredFramesEndsTheConnection(type: UInt8) async throws {
    let frames = (0..<2000).map { _ in Frames.frame(type: type, [UInt8](repeating: 0, count: 8)) }

    #expect(try await finalGoAway(after: frames) == Self.calm)
  }

  @Test func unknownFramesWithinBoundsAreIgnored() async throws {
    try await withServer(ClosureResponder.path) { server in
      let connection = try await RawHTTPConnection.open(port: server.port)
      let unknown = (0..<100).flatMap { (count: Int) -> [UInt8] in
        Frames.frame(type: 0x42, [UInt8](repeating: 7, count: count))
      }
      let request = Frames.frame(type: Frames.headers, flags: 5, stream: 1, Frames.get)
      let bytes = Frames.preface + unknown + request
      // Cut where the heads of frames are.
      for start in stride(from: 0, to: bytes.count, by: 13) {
        try await connection.send(bytes: Array(bytes[start..<min(start + 13, bytes.count)]))
      }
      let frames = try await PrefaceTests.frames(of: connection) { $0.type == Frames.data }

      #expect(frames.last?.payload == Array("/".utf8))
    }
  }

  @Test func unknownMethodIsNotImplemented() async throws {
    try await withServer(ClosureResponder.path) { server in
      let connection = try await RawHTTPConnection.open(port: server.port)
      let method = Frames.literal(nameIndex: 2, value: "SMUGGLE")
      let authority = Frames.literal(nameIndex: 1, value: "a")
      let block = method + [0x86, 0x84] + authority
      let request = Frames.frame(type: Frames.headers, flags: 5, stream: 1, block)
      try await connection.send(bytes: Frames.preface + request)
      let frames = try await PrefaceTests.frames(of: connection) { $0.type == Frames.data }
      let body = String(decoding: frames.last?.payload ?? [], as: UTF8.self)

      #expect(body.contains(#""code":"not-implemented""#))
    }
  }

  @Test func floodOfMalformedRequestsEndsTheConnection() async throws {
    let block = Frames.get + Frames.literal(name: "connection", value: "close")
    let frames = (0..<2000).map { index in
      Frames.frame(type: Frames.headers, flags: 5, stream: UInt32(2 * index + 1), block)
    }

    #expect(try await finalGoAway(after: frames) == Self.calm)
  }

  @Test func floodOfPingsEndsTheConnection() async throws {
    let frames = (0..<2000).map { _ in Frames.frame(type: Frames.ping, [UInt8](repeating: 0, count: 8)) }

    #expect(try await finalGoAway(after: frames) == Self.calm)
  }

  @Test func floodOfSettingsEndsTheConnection() async throws {
    let frames = (0..<2000).map { _ in Frames.frame(type: Frames.settings) }

    #expect(try await finalGoAway(after: frames) == Self.calm)
  }

  @Test func floodOfEmptyDataFramesEndsTheConnection() async throws {
    let head = Frames.frame(type: Frames.headers, flags: 4, stream: 1, Frames.get)
    let frames = (0..<2000).map { _ in Frames.frame(type: Frames.data, stream: 1) }

    #expect(try await finalGoAway(after: [head] + frames, from: ClosureResponder.echoOrPath) == Self.calm)
  }

  @Test func headThatNeverEndsEndsTheConnection() async throws {
    let head = Frames.frame(type: Frames.headers, flags: 1, stream: 1, Frames.get)
    let more = Frames.literal(name: "a", value: "b")
    let frames = (0..<2000).map { _ in Frames.frame(type: Frames.continuation, stream: 1, more) }

    #expect(try await finalGoAway(after: [head] + frames) == Self.calm)
  }

  @Test func headThatIsFarTooLargeEndsTheConnection() async throws {
    // Each of the many bytes names the whole of the long field that the table keeps.
    let value = [UInt8](repeating: UInt8(ascii: "a"), count: 3840)
    let long: [UInt8] = [0x40, 1, UInt8(ascii: "x"), 0x7F, 0x81, 0x1D] + value
    let block = Frames.get + long + [UInt8](repeating: 0xBE, count: 10_000)
    let frame = Frames.frame(type: Frames.headers, flags: 5, stream: 1, block)

    #expect(try await finalGoAway(after: [frame]) != nil)
  }

  @Test func streamsOverTheLimitAreRejected() async throws {
    let gate = Gate()
    let responder = ClosureResponder { request in
      if request.path == "/" { await gate.pass() }
      return .text(String(request.path))
    }
    let frames = (0..<150).map { index in
      Frames.frame(type: Frames.headers, flags: 5, stream: UInt32(2 * index + 1), Frames.get)
    }
    let code = try await finalGoAway(after: frames, from: responder)
    gate.open()

    #expect(code != nil)
  }

  // MARK: Windows

  @Test func unreadResponseIsResetAfterItsTimeout() async throws {
    let responder = ClosureResponder { _ in
      HTTPResponse(contentType: "a/b", bytes: ByteBuffer(repeating: 1, count: 100))
    }
    try await withServer(responder, configure: { $0.timeouts.write = .milliseconds(50) }) { server in
      let client = try await HTTP2Client.open(port: server.port, windowBytes: 0)

      await #expect(throws: NIOHTTP2Errors.StreamClosed.self) { try await client.send("GET", "/") }
    }
  }

  @Test func unreadStreamedResponseIsResetAfterItsTimeout() async throws {
    let written = Counter()
    let ended = Gate()
    let responder = ClosureResponder { _ in
      HTTPResponse(
        body: .stream { writer in
          defer { ended.open() }
          while true {
            written.add(10_000)
            try await writer.write(ByteBuffer(repeating: 1, count: 10_000))
          }
        }
      )
    }
    try await withServer(responder, configure: { $0.timeouts.write = .milliseconds(200) }) { server in
      let client = try await HTTP2Client.open(port: server.port, windowBytes: 0)
      await #expect(throws: NIOHTTP2Errors.StreamClosed.self) { try await client.send("GET", "/") }
      await ended.pass()

      #expect(written.value <= 100_000)
    }
  }

  /// With work, requests also wait for their connection's turn on the event loop.
  @Test(arguments: [Duration.zero, .milliseconds(2)])
  func furtherRequestsWaitWhileResponsesAreUnsent(work: Duration) async throws {
    let served = Counter()
    let responder = ClosureResponder { _ in
      served.add()
      let end = ContinuousClock.now + work
      while ContinuousClock.now < end {}
      return HTTPResponse(contentType: "a/b", bytes: ByteBuffer(repeating: 1, count: 400_000))
    }
    try await withServer(responder) { server in
      let client = try await HTTP2Client.open(port: server.port, windowBytes: 0)
      for _ in 0..<50 { _ = try await client.start("GET", "/") }
      while served.value < 3 { await Task.yield() }
      // When the second ping is acknowledged, everything before the first has been processed.
      try await client.ping()
      try await client.ping()

      #expect(served.value == 3)
    }
  }

  @Test func waitingRequestsAreServedWhenMemoryIsAvailable() async throws {
    let responder = ClosureResponder { request in
      HTTPResponse(contentType: "a/b", bytes: ByteBuffer(repeating: 1, count: 400_000))
    }
    try await withServer(responder) { server in
      let client = try await HTTP2Client.open(port: server.port)
      let lengths = try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<40 { group.addTask { try await client.send("GET", "/").body.count } }
        return try await group.reduce(into: [Int]()) { $0.append($1) }
      }

      #expect(lengths == [Int](repeating: 400_000, count: 40))
    }
  }

  // MARK: Work

  @Test func resetStreamsDoNotExceedTheConcurrencyLimit() async throws {
    let gate = Gate()
    let running = Counter()
    let responder = ClosureResponder { request in
      guard request.path == "/stubborn" else { return .text("fine") }
      running.add()
      await gate.pass()  // It does not notice that it is cancelled.
      return .text("late")
    }
    try await withServer(responder, configure: { $0.limits.concurrentStreams = 10 }) { server in
      let client = try await HTTP2Client.open(port: server.port)
      for _ in 0..<10 { try await client.start("GET", "/stubborn").cancel() }
      async let last = client.send("GET", "/")
      let other = try await HTTP2Client.open(port: server.port)
      let response = try await other.send("GET", "/")
      #expect(response.text == "fine")
      #expect(running.value <= 10)
      gate.open()

      let text = try await last.text
      #expect(text == "fine")
    }
  }

  // MARK: Time

  @Test func connectionWithoutRequestsIsClosedAfterItsTimeout() async throws {
    try await withServer(ClosureResponder.path, configure: { $0.timeouts.idle = .milliseconds(50) }) { server in
      let connection = try await RawHTTPConnection.open(port: server.port)
      try await connection.send(bytes: Frames.preface)
      let frames = try await PrefaceTests.frames(of: connection)

      #expect(frames.last?.type == Frames.goAway)
      #expect(frames.last?.payload == [0, 0, 0, 0, 0, 0, 0, 0])
    }
  }

  @Test func pingsDoNotKeepAnIdleConnectionOpen() async throws {
    try await withServer(ClosureResponder.path, configure: { $0.timeouts.idle = .milliseconds(100) }) { server in
      let connection = try await RawHTTPConnection.open(port: server.port)
      try await connection.send(bytes: Frames.preface)
      let pings = Task {
        while await connection.sendWithoutWaiting(
          bytes: Frames.frame(type: Frames.ping, [UInt8](repeating: 0, count: 8))) > 0
        {
          try await Task.sleep(for: .milliseconds(20))
        }
      }
      let frames = try await PrefaceTests.frames(of: connection) { $0.type == Frames.goAway }
      pings.cancel()

      #expect(frames.last?.payload == [0, 0, 0, 0, 0, 0, 0, 0])
    }
  }

  @Test func unfinishedHeadTimesOut() async throws {
    try await withServer(ClosureResponder.path, configure: { $0.timeouts.idle = .milliseconds(50) }) { server in
      let connection = try await RawHTTPConnection.open(port: server.port)
      let half = Frames.frame(type: Frames.headers, flags: 1, stream: 1, Frames.get)
      try await connection.send(bytes: Frames.preface + half)
      let frames = try await PrefaceTests.frames(of: connection)

      #expect(frames.last?.type == Frames.goAway)
    }
  }
}

extension ClosureResponder {
  /// Reads the body, and responds with the path.
  fileprivate static let echoOrPath = ClosureResponder { request in
    _ = try? await request.body.collect()
    return .text(String(request.path))
  }
}
