import HTTPServer
import HTTPTestSupport
import NIOCore
import NIOHPACK
import NIOHTTP1
import NIOHTTP2
import TestSupport
import Testing

/// Requests over HTTP/2, in the clear with prior knowledge.
@Suite(.timeLimit(.minutes(5))) struct HTTP2ServingTests {
  private func withClient(
    to responder: some HTTPResponder,
    configure: (inout HTTPServerConfiguration) -> Void = { _ in },
    body: (HTTP2Client) async throws -> Void
  ) async throws {
    try await withServer(responder, configure: configure) { server in
      try await body(try await HTTP2Client.open(port: server.port))
    }
  }

  private static let router: Router = {
    var routes: [Route] = []
    routes.on(.GET, "/things/{id}") { _, parameters in .text(parameters["id"]) }
    routes.on(.POST, "/things", bodyLimit: .bytes(1000)) { request, _ in
      .text("\(try await request.body.collect().readableBytes)")
    }
    return Router(routes, middlewares: [CORSPolicy()])
  }()

  // MARK: Responses

  @Test func requestAndResponseAreComplete() async throws {
    let responder = ClosureResponder { request in
      HTTPResponse(
        status: .created,
        headers: [
          "X-Method": request.method.rawValue, "x-path": String(request.path), "x-query": String(request.query ?? ""),
          "x-host": request.headers.first(name: "host") ?? "", "x-field": request.headers.first(name: "field") ?? "",
          "Connection": "close", "Transfer-Encoding": "chunked", "Keep-Alive": "1",
        ],
        body: .bytes(ByteBuffer(string: "made"))
      )
    }
    try await withClient(to: responder) { client in
      let response = try await client.send(
        "PUT", "/a%20b?c=d", headers: [("field", "value"), ("x-request-id", "mine")])

      #expect(response.status == 201)
      #expect(response["x-method"] == "PUT")
      #expect(response["x-path"] == "/a%20b")
      #expect(response["x-query"] == "c=d")
      #expect(response["x-host"] == "localhost")
      #expect(response["x-field"] == "value")
      #expect(response["x-request-id"] == "mine")
      #expect(response["content-length"] == "4")
      #expect(response["date"]?.hasSuffix("GMT") == true)
      #expect(["connection", "transfer-encoding", "keep-alive"].allSatisfy { response[$0] == nil })
      #expect(response.text == "made")
    }
  }

  @Test(
    arguments: [
      ("localhost", ["other.example"], 400), ("localhost", ["localhost", "other.example"], 400),
      ("localhost", ["localhost:8080"], 400), ("localhost:8080", ["localhost"], 400),
      ("localhost", ["localhost:443"], 400),
      ("localhost", ["localhost"], 200), ("localhost", ["LocalHost"], 200), ("localhost", ["localhost:80"], 200),
      ("Localhost:80", ["localhost"], 200), (nil, ["localhost"], 200),
      (nil, ["localhost", "localhost"], 400), (nil, [], 400),
    ] as [(String?, [String], Int)])
  func hostThatContradictsTheAuthorityOrIsRepeatedIsRejected(
    authority: String?, hosts: [String], status: Int
  ) async throws {
    try await withClient(to: Self.router) { client in
      let response = try await client.send(
        "GET", "/things/abc", authority: authority, headers: hosts.map { ("host", $0) })

      #expect(response.status == status)
    }
  }

  @Test func headResponseHasTheLengthAndNoBody() async throws {
    try await withClient(to: Self.router) { client in
      let response = try await client.send("HEAD", "/things/abc")

      #expect(response.status == 200)
      #expect(response["content-length"] == "3")
      #expect(response.body.isEmpty)
    }
  }

  @Test func optionsAndMissingPathsRespondAsOverHTTP1() async throws {
    try await withClient(to: Self.router) { client in
      let preflight = try await client.send(
        "OPTIONS", "/things", headers: [("origin", "https://a.example"), ("access-control-request-method", "POST")])
      let missing = try await client.send("GET", "/nothing")
      let wrong = try await client.send("DELETE", "/things/1")

      #expect(preflight.status == 204)
      #expect(preflight["allow"] == "OPTIONS, POST")
      #expect(preflight["access-control-allow-methods"] == "OPTIONS, POST")
      #expect(missing.status == 404)
      #expect(wrong.status == 405)
      #expect(wrong["allow"] == "GET, HEAD, OPTIONS")
    }
  }

  @Test(arguments: [1, 8192, 65_535, 65_536, 1_000_000])
  func responseOfAnyLengthArrivesComplete(count: Int) async throws {
    let responder = ClosureResponder { _ in
      HTTPResponse(contentType: "text/plain", bytes: ByteBuffer(repeating: UInt8(ascii: "a"), count: count))
    }
    try await withClient(to: responder) { client in
      let response = try await client.send("GET", "/")

      #expect(response.body == [UInt8](repeating: UInt8(ascii: "a"), count: count))
    }
  }

  @Test func streamedResponseArrives() async throws {
    let letters = (0..<100).map { UInt8(ascii: "a") + UInt8($0 % 26) }
    let responder = ClosureResponder { _ in
      HTTPResponse(
        body: .stream { writer in
          for letter in letters { try await writer.write(ByteBuffer(repeating: letter, count: 10_000)) }
        }
      )
    }
    try await withClient(to: responder) { client in
      let response = try await client.send("GET", "/")

      #expect(response["content-length"] == nil)
      let whole = letters.flatMap { [UInt8](repeating: $0, count: 10_000) }
      #expect(response.body == whole)
    }
  }

  @Test func interruptedResponseResetsOnlyItsStream() async throws {
    struct Broken: Error {}
    let responder = ClosureResponder { request in
      guard request.path == "/broken" else { return .text("whole") }
      return HTTPResponse(
        body: .stream { writer in
          try await writer.write(ByteBuffer(string: "half"))
          throw Broken()
        }
      )
    }
    try await withClient(to: responder) { client in
      await #expect(throws: NIOHTTP2Errors.StreamClosed.self) { try await client.send("GET", "/broken") }
      let response = try await client.send("GET", "/")

      #expect(response.text == "whole")
    }
  }

  @Test func invalidResponseBecomesAnInternalError() async throws {
    let responder = ClosureResponder { _ in HTTPResponse(headers: ["x-split": "a\r\nb: c"]) }
    try await withClient(to: responder) { client in
      let response = try await client.send("GET", "/")

      #expect(response.status == 500)
      #expect(response["x-split"] == nil)
      #expect(response["b"] == nil)
    }
  }

  // MARK: Bodies

  @Test(arguments: [0, 1, 65_535, 65_536, 700_000])
  func bodyOfAnyLengthArrivesComplete(count: Int) async throws {
    let body = (0..<count).map { UInt8(truncatingIfNeeded: $0 / 7) }
    try await withClient(to: ClosureResponder.echo) { client in
      let response = try await client.send("POST", "/", body: body)

      #expect(response.body == body)
    }
  }

  @Test func bodyIsReadWhileItArrives() async throws {
    let responder = ClosureResponder { request in
      HTTPResponse(
        body: .stream { writer in
          for try await piece in request.body { try await writer.write(piece) }
        }
      )
    }
    try await withClient(to: responder) { client in
      let stream = try await client.start("POST", "/", endsStream: false)
      for _ in 0..<50 { stream.write([UInt8](repeating: 7, count: 10_000)) }
      stream.write([], endsStream: true)
      let response = try await stream.receiveResponse()

      #expect(response.body == [UInt8](repeating: 7, count: 500_000))
    }
  }

  @Test func oversizedBodyIsRejected() async throws {
    try await withClient(to: Self.router) { client in
      let announced = try await client.start(
        "POST", "/things", headers: [("content-length", "2000")], endsStream: false
      ).receiveResponse()
      let sent = try await client.send("POST", "/things", body: [UInt8](repeating: 1, count: 2000))
      let short = try await client.send("POST", "/things", body: [UInt8](repeating: 1, count: 1000))

      #expect([announced.status, sent.status, short.status] == [413, 413, 200])
    }
  }

  @Test func unreadBodyIsStoppedAndTheConnectionStaysOpen() async throws {
    try await withClient(to: ClosureResponder.path) { client in
      let stream = try await client.start("POST", "/first", endsStream: false)
      for _ in 0..<40 { stream.write([UInt8](repeating: 1, count: 10_000)) }
      let first = try await stream.receiveResponse()
      let second = try await client.send("GET", "/second")

      #expect(first.text == "/first")
      #expect(second.text == "/second")
    }
  }

  @Test func clientThatExpectsContinueReceivesIt() async throws {
    try await withClient(to: ClosureResponder.echo) { client in
      let stream = try await client.start("POST", "/", headers: [("expect", "100-continue")], endsStream: false)
      stream.write(Array("body".utf8), endsStream: true)
      let response = try await stream.receiveResponse()

      #expect(response.text == "body")
    }
  }

  @Test func bodyThatStopsArrivingTimesOut() async throws {
    try await withClient(to: ClosureResponder.echo, configure: { $0.timeouts.body = .milliseconds(50) }) { client in
      let response = try await client.start("POST", "/", endsStream: false).receiveResponse()

      #expect(response.status == 408)
    }
  }

  // MARK: Streams

  @Test func streamsOfAConnectionRunAtTheSameTime() async throws {
    let all = Gate()
    let arrived = Counter()
    let responder = ClosureResponder { request in
      if arrived.add() == 50 { all.open() }
      await all.pass()
      return .text(String(request.path))
    }
    try await withClient(to: responder) { client in
      let texts = try await withThrowingTaskGroup(of: String.self) { group in
        for index in 0..<50 { group.addTask { try await client.send("GET", "/\(index)").text } }
        return try await group.reduce(into: Set<String>()) { $0.insert($1) }
      }

      #expect(texts == Set((0..<50).map { "/\($0)" }))
    }
  }

  @Test func incompleteRequestCancelsItsResponder() async throws {
    let arrived = Gate()
    let cancelled = Gate()
    let responder = ClosureResponder { request in
      guard request.path == "/slow" else { return .text("fast") }
      arrived.open()
      try? await Task.sleep(for: .seconds(600))
      cancelled.open()
      return .text("never")
    }
    try await withClient(to: responder) { client in
      let stream = try await client.start("GET", "/slow")
      await arrived.pass()
      stream.cancel()
      await cancelled.pass()
      let response = try await client.send("GET", "/")

      #expect(response.text == "fast")
    }
  }

  @Test(arguments: [
    ("connection field", [("connection", "close")]), ("chunked", [("transfer-encoding", "chunked")]),
    ("line break", [("x-split", "a\r\nb: c")]), ("upper case", [("X-Upper", "a")]),
    ("other length", [("content-length", "5")]), ("space in the name", [("a b", "c")]),
    ("te", [("te", "gzip")]), ("two targets", [(":path", "/other")]),
    ("late pseudo-field", [("a", "b"), (":path", "/other")]),
  ])
  func malformedRequestEndsOnlyItsStream(name: String, fields: [(String, String)]) async throws {
    try await withServer(ClosureResponder.path) { server in
      let connection = try await RawHTTPConnection.open(port: server.port)
      let block = RawHTTP2Frames.get + fields.flatMap { RawHTTP2Frames.literal(name: $0.0, value: $0.1) }
      try await connection.send(
        bytes: RawHTTP2Frames.preface
          + RawHTTP2Frames.frame(type: RawHTTP2Frames.headers, flags: 5, stream: 1, block)
          + RawHTTP2Frames.frame(type: RawHTTP2Frames.headers, flags: 5, stream: 3, RawHTTP2Frames.get)
      )
      let frames = try await PrefaceTests.frames(of: connection) { $0.type == RawHTTP2Frames.data && $0.stream == 3 }

      #expect(frames.contains(RawHTTP2Frames.Frame(type: RawHTTP2Frames.reset, stream: 1, payload: [0, 0, 0, 1])))
      #expect(!frames.contains { $0.type == RawHTTP2Frames.headers && $0.stream == 1 })
      #expect(frames.last?.payload == Array("/".utf8))
    }
  }

  @Test(arguments: [
    ("two authorities", [("host", "other")], 400), ("unknown expectation", [("expect", "wonders")], 417),
    ("long field", [("x-long", String(repeating: "a", count: 20_000))], 431),
    ("many fields", (0..<120).map { ("x-\($0)", "a") }, 431),
  ])
  func requestOverALimitGetsAProblemResponse(name: String, fields: [(String, String)], status: Int) async throws {
    try await withClient(to: ClosureResponder.path) { client in
      // Until the client has heard what the server takes, a head that is far too large ends the connection.
      try await client.ping()
      let response = try await client.send("GET", "/", headers: fields)
      let next = try await client.send("GET", "/next")

      #expect(response.status == status)
      #expect(next.text == "/next")
    }
  }

  @Test(arguments: [
    ("/" + String(repeating: "a", count: 9000), 414), ("nowhere", 400), ("http://a/b", 400), ("*", 400),
  ])
  func targetsArePathsOfLimitedLength(path: String, status: Int) async throws {
    try await withClient(to: ClosureResponder.path) { client in
      let response = try await client.send("GET", path)

      #expect(response.status == status)
    }
  }

  @Test func requestsOverTheServerLimitGet503() async throws {
    let gate = Gate()
    let arrived = Gate()
    let responder = ClosureResponder { _ in
      arrived.open()
      await gate.pass()
      return .text("served")
    }
    try await withClient(to: responder, configure: { $0.limits.requestsInFlight = 1 }) { client in
      async let first = client.send("GET", "/")
      await arrived.pass()
      let second = try await client.send("GET", "/")
      gate.open()

      #expect(second.status == 503)
      #expect(second["retry-after"] == "1")
      let text = try await first.text
      #expect(text == "served")
    }
  }
}
