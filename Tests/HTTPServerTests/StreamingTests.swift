import HTTPServer
import HTTPTestSupport
import NIOCore
import NIOHTTP1
import TestSupport
import Testing

/// Bodies that are made while they are sent, and read while they come.
@Suite(.timeLimit(.minutes(10))) struct StreamingTests {
  private static func piece(_ count: Int) -> ByteBuffer { ByteBuffer(repeating: UInt8(ascii: "a"), count: count) }

  private static func streamed(length: Int? = nil, pieces: [String]) -> ClosureResponder {
    ClosureResponder { _ in
      HTTPResponse(
        body: .stream(length: length) { writer in
          for piece in pieces { try await writer.write(ByteBuffer(string: piece)) }
        }
      )
    }
  }

  // MARK: Responses

  @Test func streamOfUnknownLengthIsChunked() async throws {
    try await withConnection(to: Self.streamed(pieces: ["one", "", "two", "three"])) { connection in
      let first = try await connection.get("/")
      let second = try await connection.get("/")

      #expect(first["transfer-encoding"] == "chunked")
      #expect(first["content-length"] == nil)
      #expect(first.text == "onetwothree")
      #expect(second.text == "onetwothree")
    }
  }

  @Test(arguments: [1, 65_537, 200_000, 3_000_000])
  func eachWriteIsOneChunkOfAnyLength(count: Int) async throws {
    let responder = ClosureResponder { _ in
      HTTPResponse(body: .stream { writer in try await writer.write(Self.piece(count)) })
    }
    try await withConnection(to: responder) { connection in
      try await connection.send("GET / HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n")
      let text = String(decoding: try await connection.rest(), as: UTF8.self)

      let chunks = String(count, radix: 16) + "\r\n" + String(repeating: "a", count: count) + "\r\n0\r\n\r\n"
      #expect(text.hasSuffix("\r\n\r\n" + chunks))
    }
  }

  @Test func streamOfKnownLengthIsSentWithIt() async throws {
    try await withConnection(to: Self.streamed(length: 6, pieces: ["one", "two"])) { connection in
      let first = try await connection.get("/")
      let second = try await connection.get("/")

      #expect(first["transfer-encoding"] == nil)
      #expect(first["content-length"] == "6")
      #expect([first.text, second.text] == ["onetwo", "onetwo"])
    }
  }

  @Test func streamToAnHTTP10ClientEndsWithTheConnection() async throws {
    try await withConnection(to: Self.streamed(pieces: ["one", "two"])) { connection in
      try await connection.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
      let response = try await connection.response()

      #expect(response["transfer-encoding"] == nil)
      #expect(response["content-length"] == nil)
      #expect(response["connection"] == "close")
      #expect(response.text == "onetwo")
    }
  }

  @Test func headRequestDoesNotRunTheStreamedBody() async throws {
    let timesMade = Counter()
    let responder = ClosureResponder { request in
      HTTPResponse(
        body: .stream(length: 3) { writer in
          if request.method == .HEAD { timesMade.add() }
          try await writer.write(ByteBuffer(string: "abc"))
        }
      )
    }
    try await withConnection(to: responder) { connection in
      try await connection.send("HEAD / HTTP/1.1\r\nHost: test\r\n\r\n")
      let head = try await connection.response(to: "HEAD")
      let get = try await connection.get("/")

      #expect(head["content-length"] == "3")
      #expect(get.text == "abc")
      #expect(timesMade.value == 0)
    }
  }

  struct Broken: Error {}

  @Test(arguments: [nil, 100]) func streamThatFailsMidwayIsCut(length: Int?) async throws {
    let responder = ClosureResponder { _ in
      HTTPResponse(
        body: .stream(length: length) { writer in
          try await writer.write(ByteBuffer(string: "half"))
          throw Broken()
        }
      )
    }
    try await withConnection(to: responder) { connection in
      try await connection.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n")

      await #expect(throws: RawHTTPConnection.Failure.self) { try await connection.response() }
    }
  }

  @Test func failedStreamDelimitedByCloseIsReset() async throws {
    let gate = Gate()
    let responder = ClosureResponder { _ in
      HTTPResponse(
        body: .stream { writer in
          try await writer.write(ByteBuffer(string: "half"))
          await gate.pass()
          throw Broken()
        }
      )
    }
    try await withConnection(to: responder) { connection in
      try await connection.send("GET / HTTP/1.0\r\n\r\n")
      _ = try await connection.some()
      gate.open()

      await #expect(throws: RawHTTPConnection.Failure.reset) { try await connection.rest() }
    }
  }

  @Test(arguments: [["one", "tw"], ["one", "two", "three"]])
  func streamOfAWrongLengthIsCut(pieces: [String]) async throws {
    try await withConnection(to: Self.streamed(length: 6, pieces: pieces)) { connection in
      try await connection.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n")
      let ending = await Result { try await connection.response() }
      let second = await Result {
        try await connection.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n")
        return try await connection.response()
      }

      // What fits may arrive whole; after it the connection is of no use.
      if case .success(let response) = ending { #expect(response.text.count == 6) }
      #expect(throws: RawHTTPConnection.Failure.self) { try second.get() }
    }
  }

  @Test func streamWaitsForASlowReader() async throws {
    let written = Counter()
    let total = 32 * 1024 * 1024
    let responder = ClosureResponder { _ in
      HTTPResponse(
        body: .stream(length: total) { writer in
          let piece = Self.piece(64 * 1024)
          for _ in 0..<512 {
            try await writer.write(piece)
            written.add(piece.readableBytes)
          }
        }
      )
    }
    try await withServer(responder) { server in
      let connection = try await RawHTTPConnection.open(port: server.port, receiveBufferBytes: 64 * 1024)
      try await connection.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n")
      var received = 0
      var furthestAhead = 0
      while received < total {
        let some = try await connection.some()
        try #require(!some.isEmpty)
        received += some.count
        furthestAhead = max(furthestAhead, written.value - received)
      }

      // The difference is in the system's buffers, and a bounded part in the server.
      #expect(furthestAhead < 16 * 1024 * 1024)
    }
  }

  /// Long pieces fill the connection, and sending them empties it again before the call that sends them returns.
  @Test(arguments: [20_000, 70_000, 400_000, 3_000_000])
  func longChunksOfAStreamArriveOnce(length: Int) async throws {
    let piece = ByteBuffer(bytes: (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })
    let responder = ClosureResponder { _ in
      HTTPResponse(body: .stream { writer in for _ in 0..<4 { try await writer.write(piece) } })
    }
    try await withConnection(to: responder) { connection in
      let first = try await connection.get("/")
      let second = try await connection.get("/")

      var expected = ByteBuffer()
      for _ in 0..<4 { expected.writeImmutableBuffer(piece) }
      #expect(first.body == Array(buffer: expected))
      #expect(second.body == Array(buffer: expected))
    }
  }

  @Test func longResponsesArriveComplete() async throws {
    let body = ByteBuffer(bytes: (0..<500_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })
    let responder = ClosureResponder { _ in
      HTTPResponse(contentType: "application/octet-stream", bytes: body)
    }
    try await withConnection(to: responder) { connection in
      try await connection.send(String(repeating: "GET / HTTP/1.1\r\nHost: test\r\n\r\n", count: 3))

      for _ in 0..<3 {
        let response = try await connection.response()
        #expect(response.body.elementsEqual(body.readableBytesView))
      }
    }
  }

  // MARK: Requests

  @Test func uploadWaitsForASlowReader() async throws {
    let gate = Gate()
    let total = 48 * 1024 * 1024
    let responder = ClosureResponder { request in
      var body = request.body
      body.limit = nil
      await gate.pass()
      var count = 0
      do {
        for try await piece in body { count += piece.readableBytes }
      } catch {
        return HTTPResponse(.internal)
      }
      return .text("\(count)")
    }
    try await withConnection(to: responder) { connection in
      try await connection.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: \(total)\r\n\r\n")
      let piece = [UInt8](repeating: 97, count: 64 * 1024)
      var sent = 0
      var refusals = 0
      while sent < total, refusals < 20 {
        let count = await connection.sendWithoutWaiting(bytes: Array(piece.prefix(total - sent)))
        sent += count
        refusals = count == 0 ? refusals + 1 : 0
        if count == 0 { try await Task.sleep(for: .milliseconds(5)) }
      }
      let acceptedUnread = sent
      gate.open()
      while sent < total {
        try await connection.send(bytes: Array(piece.prefix(total - sent)))
        sent += min(piece.count, total - sent)
      }
      let response = try await connection.response()

      #expect(acceptedUnread < 32 * 1024 * 1024)
      #expect(response.text == "\(total)")
    }
  }

  @Test func bodyChunksAreReadAsTheyArrive() async throws {
    let (seen, tell) = AsyncStream.makeStream(of: String.self)
    let responder = ClosureResponder { request in
      do throws(HTTPBodyError) {
        var pieces = request.body.makeAsyncIterator()
        while let piece = try await pieces.next() { tell.yield(String(buffer: piece)) }
        return .text("done")
      } catch {
        return HTTPResponse(error.problem)
      }
    }
    try await withConnection(to: responder) { connection in
      var pieces = seen.makeAsyncIterator()
      try await connection.send("POST / HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
      let first = await pieces.next()
      try await connection.send("3\r\ntwo\r\n")
      let second = await pieces.next()
      try await connection.send("0\r\n\r\n")
      let response = try await connection.response()

      #expect([first, second] == ["one", "two"])
      #expect(response.text == "done")
    }
  }

  @Test func responseCanBeStreamedWhileTheRequestIsRead() async throws {
    let responder = ClosureResponder { request in
      HTTPResponse(
        body: .stream { writer in
          for try await piece in request.body { try await writer.write(piece) }
        }
      )
    }
    try await withConnection(to: responder) { connection in
      try await connection.send("POST / HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
      var text = String(decoding: try await connection.some(), as: UTF8.self)
      while !text.hasSuffix("one\r\n") { text += String(decoding: try await connection.some(), as: UTF8.self) }
      try await connection.send("3\r\ntwo\r\n0\r\n\r\n")
      let rest = String(decoding: try await connection.rest(), as: UTF8.self)

      #expect(rest == "3\r\ntwo\r\n0\r\n\r\n")
    }
  }
}

extension Result where Failure == any Error {
  init(_ body: () async throws -> Success) async {
    do { self = .success(try await body()) } catch { self = .failure(error) }
  }
}
