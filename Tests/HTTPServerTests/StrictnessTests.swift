import HTTPServer
import HTTPTestSupport
import Testing

/// The rejection of ambiguous requests, which two servers might parse differently (request smuggling).
@Suite(.timeLimit(.minutes(5))) struct StrictnessTests {
  static let bodies = "GET /smuggled HTTP/1.1\r\nHost: test\r\n\r\n"

  @Test(arguments: [
    (
      "length and coding",
      "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    ),
    (
      "coding and length",
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n"
    ),
    ("two lengths", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcde"),
    ("the same length twice", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nContent-Length: 4\r\n\r\nabcd"),
    ("a list of lengths", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4, 4\r\n\r\nabcd"),
    ("negative length", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -4\r\n\r\nabcd"),
    ("signed length", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +4\r\n\r\nabcd"),
    ("hexadecimal length", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x4\r\n\r\nabcd"),
    ("empty length", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \r\n\r\n"),
    ("endless length", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999999\r\n\r\nabcd"),
    ("the same coding twice", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n"),
    ("no coding", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: ,\r\n\r\n0\r\n\r\n"),
    (
      "coding twice",
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    ),
    (
      "two media types",
      "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: text/csv\r\nContent-Type: text/csv\r\nContent-Length: 0\r\n\r\n"
    ),
    ("chunked not last", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n"),
    ("obscured coding", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \u{b}chunked\r\n\r\n0\r\n\r\n"),
    ("coding in HTTP/1.0", "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    ("folded field", "GET / HTTP/1.1\r\nHost: a\r\nX-Folded: one\r\n two\r\n\r\n"),
    ("folded coding", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n"),
    ("space before the colon", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length : 4\r\n\r\nabcd"),
    ("space before the first field", "GET / HTTP/1.1\r\n X: y\r\nHost: a\r\n\r\n"),
    ("no name", "GET / HTTP/1.1\r\nHost: a\r\n: nameless\r\n\r\n"),
    ("no colon", "GET / HTTP/1.1\r\nHost: a\r\nnonsense\r\n\r\n"),
    ("bare line feeds", "GET / HTTP/1.1\nHost: a\n\n"),
    ("bare line feed in a field", "GET / HTTP/1.1\r\nHost: a\r\nX: a\nY: b\r\n\r\n"),
    ("bare carriage return in a field", "GET / HTTP/1.1\r\nHost: a\r\nX: a\rY: b\r\n\r\n"),
    ("null in a field", "GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n"),
    ("control character in a field", "GET / HTTP/1.1\r\nHost: a\r\nX: a\u{1}b\r\n\r\n"),
    ("no host", "GET / HTTP/1.1\r\n\r\n"),
    ("two hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"),
    ("no version", "GET /\r\n\r\n"),
    ("version 2", "GET / HTTP/2.0\r\nHost: a\r\n\r\n"),
    ("version 9.9", "GET / HTTP/9.9\r\nHost: a\r\n\r\n"),
    ("another protocol", "GET / ICE/1.0\r\nHost: a\r\n\r\n"),
    ("another protocol with a method of its own", "DESCRIBE / RTSP/1.0\r\nHost: a\r\n\r\n"),
    ("another protocol with a method of HTTP's", "OPTIONS / RTSP/1.0\r\nHost: a\r\n\r\n"),
    ("bare line feed before the request line", "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"),
    ("space before the request line", " GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
    ("two spaces after the method", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n"),
    ("two spaces after the target", "GET /  HTTP/1.1\r\nHost: a\r\n\r\n"),
    ("host that is none", "GET / HTTP/1.1\r\nHost: a b@c/<>\r\n\r\n"),
    ("host with user information", "GET / HTTP/1.1\r\nHost: user@a\r\n\r\n"),
    ("host with a path", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"),
    ("host with a port that is none", "GET / HTTP/1.1\r\nHost: a:65536\r\n\r\n"),
    ("host with half an address", "GET / HTTP/1.1\r\nHost: [::1\r\n\r\n"),
    ("two expectations", "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nExpect: 100-continue\r\n\r\n"),
    ("space in the target", "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n"),
    ("target without a slash", "GET a HTTP/1.1\r\nHost: a\r\n\r\n"),
    ("target of a tunnel", "CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n"),
    ("not HTTP", "\u{16}\u{3}\u{1}\u{2}\0\u{1}\0\u{1}"),
  ])
  func ambiguousRequestIsRejectedAndTheConnectionClosed(name: String, request: String) async throws {
    try await withConnection(to: ClosureResponder.path) { connection in
      try await connection.send(request)
      connection.shutdownSending()
      let response = try await connection.response()
      let rest = try await connection.rest()

      #expect([400, 505].contains(response.status))
      #expect(response.text.contains(#""code":"malformed-request""#))
      #expect(response["connection"] == "close")
      #expect(rest.isEmpty)
    }
  }

  @Test(arguments: [
    "GET / HTTP/1.1\nHost: a\n\n", "GET / HTTP/1.1\nHost: a\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\n\n", "GET / HTTP/1.0\n\n",
  ])
  func bareLineFeedIsNoEndOfALine(request: String) async throws {
    try await withConnection(to: ClosureResponder.path) { connection in
      for character in request.unicodeScalars { try await connection.send(String(character)) }
      connection.shutdownSending()

      #expect(try await connection.response().status == 400)
    }
  }

  @Test(arguments: [
    "foo", "gzip", "gzip, chunked", "x;y=z", "Foo", "gzip\r\nTransfer-Encoding: chunked",
  ])
  func unknownTransferCodingGets501AndTheConnectionIsClosed(coding: String) async throws {
    try await withConnection(to: ClosureResponder.path) { connection in
      try await connection.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \(coding)\r\n\r\n" + Self.bodies)
      let response = try await connection.response()
      let rest = try await connection.rest()

      #expect(response.status == 501)
      #expect(response.text.contains(#""code":"not-implemented""#))
      #expect(response["connection"] == "close")
      #expect(rest.isEmpty)
    }
  }

  @Test(arguments: [
    ("size with a sign", "-4\r\nabcd\r\n0\r\n\r\n"),
    ("size with a prefix", "0x4\r\nabcd\r\n0\r\n\r\n"),
    ("size that is none", "zz\r\nabcd\r\n0\r\n\r\n"),
    ("size beyond all measure", "fffffffffffffffff\r\nabcd\r\n0\r\n\r\n"),
    ("chunk longer than its size", "4\r\nabcdefgh\r\n0\r\n\r\n"),
    ("bare line feed after the size", "4\nabcd\r\n0\r\n\r\n"),
    ("bare line feed after the chunk", "4\r\nabcd\n0\r\n\r\n"),
  ])
  func malformedChunksEndTheBodyAndTheConnection(name: String, body: String) async throws {
    try await withConnection(to: ClosureResponder.echo) { connection in
      try await connection.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + body + Self.bodies)
      let response = try await connection.response()
      let rest = try await connection.rest()

      #expect(response.status == 400)
      #expect(response.text.contains(#""code":"malformed-body""#))
      #expect(response["connection"] == "close")
      #expect(rest.isEmpty)
    }
  }

  @Test(arguments: [
    "OPTIONS / RTSP/1.0\r\nHost: a\r\n\r\n", "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
  ])
  func requestLineIsCheckedAfterOtherRequestsToo(request: String) async throws {
    try await withConnection(to: ClosureResponder.echo) { connection in
      let first = "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n"
      let second = "POST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n\n\nx"
      let chunks = "2;x=y\r\n\n\n\r\n0\r\nT: 1\r\n\r\n"
      let third = "POST /3 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks
      try await connection.send(first + second + third + request)
      connection.shutdownSending()
      var responses: [RawHTTPResponse] = []
      for _ in 0..<4 { responses.append(try await connection.response()) }

      #expect(responses.map(\.status).prefix(3) == [200, 200, 200])
      #expect(responses.map(\.text)[1...2] == ["\n\nx", "\n\n"])
      #expect([400, 505].contains(responses[3].status))
    }
  }

  @Test(arguments: ["localhost", "a.example:80", "127.0.0.1:8080", "[::1]:8080", "[v1.a]", "a_b%20c", "a:", ""])
  func everyValidFormOfHostIsAccepted(host: String) async throws {
    try await withConnection(to: ClosureResponder.path) { connection in
      try await connection.send("GET /1 HTTP/1.1\r\nHost: \(host)\r\n\r\n")
      let response = try await connection.response()

      #expect(response.status == 200)
    }
  }

  @Test func unknownMethodIsNotImplemented() async throws {
    try await withConnection(to: ClosureResponder.path) { connection in
      try await connection.send("SMUGGLE / HTTP/1.1\r\nHost: a\r\n\r\n")
      let response = try await connection.response()

      #expect(response.status == 501)
      #expect(response.text.contains(#""code":"not-implemented""#))
      #expect(response["connection"] == "close")
    }
  }

  @Test(arguments: [
    ("those of a chunk", "4;" + String(repeating: "x", count: 5000) + "\r\nabcd\r\n0\r\n\r\n"),
    ("many short ones", String(repeating: "1;" + String(repeating: "x", count: 100) + "\r\na\r\n", count: 200)),
    ("a size of many zeros", String(repeating: "0", count: 5000) + "4\r\nabcd\r\n0\r\n\r\n"),
  ])
  func chunkExtensionsThatAreTooLongEndTheBodyAndTheConnection(name: String, body: String) async throws {
    try await withConnection(to: ClosureResponder.echo) { connection in
      try await connection.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + body)
      let response = try await connection.response()

      #expect([400, 413].contains(response.status))
      #expect(response["connection"] == "close")
    }
  }

  @Test func bodyIsNeverParsedAsARequest() async throws {
    try await withConnection(to: ClosureResponder.path) { connection in
      try await connection.send(
        "GET /outer HTTP/1.1\r\nHost: test\r\nContent-Length: \(Self.bodies.utf8.count)\r\n\r\n" + Self.bodies
          + "GET /next HTTP/1.1\r\nHost: test\r\n\r\n"
      )
      let answers = [try await connection.response().text, try await connection.response().text]

      #expect(answers == ["/outer", "/next"])
    }
  }

  @Test func inputAfterAnUpgradeRequestIsDiscarded() async throws {
    try await withConnection(to: ClosureResponder.path) { connection in
      try await connection.send(
        "GET /1 HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: other\r\n\r\n"
          + String(repeating: "GET /2 HTTP/1.1\r\nHost: a\r\n\r\n", count: 10_000)
      )
      let response = try await connection.response()
      let rest = try await connection.rest()

      #expect(response.text == "/1")
      #expect(response["connection"] == "close")
      #expect(rest.isEmpty)
    }
  }

  @Test(arguments: ["", "GET /3 HTTP/1.1\r\nHost: a\r\n\r\n"])
  func invalidRequestInTheQueueIsRejectedAfterTheOneBeforeIt(next: String) async throws {
    // The first request is in progress when the others come.
    let responder = ClosureResponder { request in
      await Task.yield()
      return .text(String(request.path))
    }
    try await withConnection(to: responder) { connection in
      try await connection.send("GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\n\r\n" + next)
      let first = try await connection.response()
      let second = try await connection.response()
      let rest = try await connection.rest()

      #expect(first.text == "/1")
      #expect(second.status == 400)
      #expect(second["connection"] == "close")
      #expect(rest.isEmpty)
    }
  }

  @Test func emptyLinesBetweenRequestsAreIgnored() async throws {
    try await withConnection(to: ClosureResponder.path) { connection in
      try await connection.send("\r\nGET /1 HTTP/1.1\r\nHost: a\r\n\r\n\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n")
      let answers = [try await connection.response().text, try await connection.response().text]

      #expect(answers == ["/1", "/2"])
    }
  }

  @Test func chunkExtensionsAndTrailersAreIgnored() async throws {
    try await withConnection(to: ClosureResponder.echo) { connection in
      try await connection.send(
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4;name=value\r\nabcd\r\n0\r\nX-Trailer: 1\r\n\r\n"
      )
      let first = try await connection.response()
      let second = try await connection.get("/")

      #expect(first.text == "abcd")
      #expect(second.status == 200)
    }
  }
}
