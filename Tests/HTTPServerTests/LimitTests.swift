import HTTPServer
import HTTPTestSupport
import NIOCore
import NIOHTTP1
import TestSupport
import Testing

/// The responses to clients that exceed a limit.
@Suite(.timeLimit(.minutes(5))) struct LimitTests {
  private static func request(target: String = "/", headers: String = "") -> String {
    "GET \(target) HTTP/1.1\r\nHost: test\r\n\(headers)\r\n"
  }

  @Test(arguments: [8_193, 20_000, 100_000, 3_000_000])
  func oversizedTargetIsRejected(length: Int) async throws {
    try await withConnection(to: ClosureResponder.path) { connection in
      try await connection.send(Self.request(target: "/" + String(repeating: "a", count: length - 1)))
      let response = try await connection.response()
      let rest = try await connection.rest()

      #expect(response.status == 414)
      #expect(response["content-type"] == "application/problem+json")
      #expect(response["connection"] == "close")
      #expect(response.text.contains(#""code":"uri-too-long""#))
      #expect(rest.isEmpty)
    }
  }

  @Test func oversizedTargetInSeveralSegmentsIsRejected() async throws {
    // The answer waits for a client that is still sending, however slowly.
    try await withConnection(to: ClosureResponder.path, configure: { $0.timeouts.linger = .seconds(300) }) {
      connection in
      try await connection.send("GE")
      try await connection.send("T ")
      try await connection.send("/")
      for _ in 0..<40 { try await connection.send(String(repeating: "a", count: 1000)) }
      let response = try await connection.response()

      #expect(response.status == 414)
    }
  }

  @Test func oversizedPipelinedTargetIsRejectedAfterEarlierResponses() async throws {
    try await withConnection(to: ClosureResponder.path) { connection in
      try await connection.send(
        Self.request(target: "/fine") + Self.request(target: "/" + String(repeating: "a", count: 100_000))
      )
      let first = try await connection.response()
      let second = try await connection.response()

      #expect(first.text == "/fine")
      #expect(second.status == 414)
    }
  }

  @Test func longestTargetIsServed() async throws {
    try await withConnection(to: ClosureResponder.path) { connection in
      let response = try await connection.get("/" + String(repeating: "a", count: 8 * 1024 - 1))

      #expect(response.status == 200)
      #expect(response.body.count == 8 * 1024)
    }
  }

  @Test(arguments: [
    LongText.repeated("X-Many: 1\r\n", count: 1000), .repeated("X-Many: 1\r\n", count: 101),
    "X-Long: " + .repeated("a", count: 17_000) + "\r\n", "X-Long: " + .repeated("a", count: 1_000_000) + "\r\n",
    "X-" + .repeated("a", count: 100_000) + ": 1\r\n",
    .repeated("X-Some: " + String(repeating: "GET /a ", count: 100) + "\r\n", count: 90),
  ])
  func oversizedHeaderSectionIsRejected(headers: LongText) async throws {
    try await withConnection(to: ClosureResponder.path) { connection in
      try await connection.send(Self.request(headers: headers.text))
      let response = try await connection.response()
      let rest = try await connection.rest()

      #expect(response.status == 431)
      #expect(response.text.contains(#""code":"headers-too-large""#))
      #expect(response["connection"] == "close")
      #expect(rest.isEmpty)
    }
  }

  @Test func largestHeaderSectionIsServed() async throws {
    try await withConnection(to: ClosureResponder.path) { connection in
      let headers = (0..<99).map { "X-\(10 + $0): \(String(repeating: "a", count: 150))\r\n" }.joined()
      let response = try await connection.get("/", headers: headers)

      #expect(response.status == 200)
    }
  }

  @Test func limitsOfTargetAndHeadersAreConfigurable() async throws {
    let configure = { (configuration: inout HTTPServerConfiguration) in
      configuration.limits.uriBytes = 20
      configuration.limits.headerBytes = 100
    }
    try await withServer(ClosureResponder.path, configure: configure) { server in
      let target = try await RawHTTPConnection.open(port: server.port).get("/" + String(repeating: "a", count: 20))
      let headers = try await RawHTTPConnection.open(port: server.port).get(
        "/",
        headers: "X: \(String(repeating: "a", count: 100))\r\n"
      )

      #expect(target.status == 414)
      #expect(headers.status == 431)
    }
  }

  // MARK: Bodies

  private static var router: Router {
    var routes: [Route] = []
    let echo: RouteFunction = { request, _ in .text(String(try await request.body.collect().readableBytes)) }
    routes.on(.POST, "/default", handler: echo)
    routes.on(.POST, "/small", bodyLimit: .bytes(10), handler: echo)
    routes.on(.POST, "/any", bodyLimit: .unlimited, handler: echo)
    routes.on(.GET, "/unread") { _, _ in .text("unread") }
    return Router(routes)
  }

  @Test(arguments: [("/default", 1_048_577), ("/small", 11)])
  func announcedOversizedBodyIsRejectedBeforeItIsSent(path: String, length: Int) async throws {
    try await withConnection(to: Self.router) { connection in
      try await connection.send("POST \(path) HTTP/1.1\r\nHost: test\r\nContent-Length: \(length)\r\n\r\n")
      let response = try await connection.response()

      #expect(response.status == 413)
      #expect(response.text.contains(#""code":"body-too-large""#))
    }
  }

  @Test(arguments: [("/default", 1_048_577), ("/small", 11)])
  func chunkedBodyOverTheLimitIsRejected(path: String, length: Int) async throws {
    try await withConnection(to: Self.router) { connection in
      let body = String(repeating: "a", count: length)
      try await connection.send(
        "POST \(path) HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n"
          + String(length, radix: 16) + "\r\n" + body + "\r\n0\r\n\r\n"
      )
      let response = try await connection.response()

      #expect(response.status == 413)
    }
  }

  @Test(arguments: [("/default", 1_048_576), ("/small", 10), ("/any", 2_000_000)])
  func bodyWithinItsRouteLimitIsAccepted(path: String, length: Int) async throws {
    try await withConnection(to: Self.router) { connection in
      try await connection.send(
        "POST \(path) HTTP/1.1\r\nHost: test\r\nContent-Length: \(length)\r\n\r\n"
          + String(repeating: "a", count: length)
      )
      let response = try await connection.response()

      #expect(response.text == "\(length)")
    }
  }

  @Test func shortUnreadBodyKeepsTheConnection() async throws {
    try await withConnection(to: Self.router) { connection in
      try await connection.send("GET /unread HTTP/1.1\r\nHost: test\r\nContent-Length: 1000\r\n\r\n")
      let early = try await connection.response()
      try await connection.send(String(repeating: "a", count: 1000))
      let next = try await connection.get("/unread")

      #expect(early.text == "unread")
      #expect(early["connection"] == nil)
      #expect(next.text == "unread")
    }
  }

  @Test(arguments: ["Content-Length: 1000000", "Transfer-Encoding: chunked"])
  func longUnreadBodyEndsTheConnectionAfterTheResponse(header: String) async throws {
    try await withConnection(to: Self.router) { connection in
      try await connection.send("GET /unread HTTP/1.1\r\nHost: test\r\n\(header)\r\n\r\n")
      let response = try await connection.response()
      let rest = try await connection.rest()

      #expect(response.text == "unread")
      #expect(response["connection"] == "close")
      #expect(rest.isEmpty)
    }
  }

  // MARK: Expectations

  @Test func continueIsSentWhenTheBodyIsRead() async throws {
    try await withConnection(to: Self.router) { connection in
      try await connection.send(
        "POST /default HTTP/1.1\r\nHost: test\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n"
      )
      let interim = try await connection.response()
      try await connection.send("body")
      let final = try await connection.response()
      let next = try await connection.get("/unread")

      #expect(interim.status == 100)
      #expect(final.text == "4")
      #expect(next.text == "unread")
    }
  }

  @Test func rejectedClientThatExpectsContinueReceivesNone() async throws {
    try await withConnection(to: Self.router) { connection in
      try await connection.send(
        "POST /small HTTP/1.1\r\nHost: test\r\nContent-Length: 11\r\nExpect: 100-continue\r\n\r\n"
      )
      let response = try await connection.response()
      let rest = try await connection.rest()

      #expect(response.status == 413)
      #expect(response["connection"] == "close")
      #expect(rest.isEmpty)
    }
  }

  @Test func unknownExpectationIsRejected() async throws {
    try await withConnection(to: Self.router) { connection in
      let response = try await connection.get("/unread", headers: "Expect: the-unexpected\r\n")

      #expect(response.status == 417)
    }
  }

  // MARK: Caps

  @Test func connectionOverTheLimitIsRejectedUntilAnotherEnds() async throws {
    try await withServer(ClosureResponder.path, configure: { $0.limits.connections = 2 }) { server in
      let first = try await RawHTTPConnection.open(port: server.port)
      let second = try await RawHTTPConnection.open(port: server.port)
      _ = try await (first.get("/"), second.get("/"))
      let third = try await RawHTTPConnection.open(port: server.port)
      let refusal = try await third.response()
      let rest = try await third.rest()
      _ = try await second.get("/", headers: "Connection: close\r\n")
      second.shutdownSending()
      third.shutdownSending()
      var readmitted = 503
      while readmitted == 503 { readmitted = try await RawHTTPConnection.open(port: server.port).get("/").status }

      #expect(refusal.status == 503)
      #expect(refusal.text.contains(#""code":"overloaded""#))
      #expect(refusal["retry-after"] == "1")
      #expect(refusal["connection"] == "close")
      #expect(rest.isEmpty)
      #expect(readmitted == 200)
    }
  }

  @Test func requestOverTheLimitIsRejectedWhileOthersAreServed() async throws {
    let gate = Gate()
    let arrived = Gate()
    let responder = ClosureResponder { request in
      if request.path == "/slow" {
        arrived.open()
        await gate.pass()
      }
      return .text(String(request.path))
    }
    try await withServer(responder, configure: { $0.limits.requestsInFlight = 1 }) { server in
      let slow = try await RawHTTPConnection.open(port: server.port)
      let other = try await RawHTTPConnection.open(port: server.port)
      try await slow.send(Self.request(target: "/slow"))
      await arrived.pass()
      let refused = try await other.get("/other")
      gate.open()
      let answered = try await slow.response()
      let retried = try await other.get("/other")

      #expect(refused.status == 503)
      #expect(refused["retry-after"] == "1")
      #expect(answered.text == "/slow")
      #expect(retried.text == "/other")
    }
  }

  @Test func liveResponseIsTheLastOfItsConnectionAndFurtherInputIsDiscarded() async throws {
    let (requests, begun, mayEnd) = (Counter(), Gate(), Gate())
    let responder = ClosureResponder { _ in
      requests.add()
      return HTTPResponse(
        body: .live { writer in
          try await writer.write(ByteBuffer(string: "begun, "))
          begun.open()
          await mayEnd.pass()
          try await writer.write(ByteBuffer(string: "ended"))
        })
    }
    try await withConnection(to: responder) { connection in
      try await connection.send(Self.request(target: "/") + Self.request(target: "/pipelined"))
      await begun.pass()
      try await connection.send("this is no request\r\n\r\n" + Self.request(target: "/later"))
      mayEnd.open()

      let response = try await connection.response()
      #expect(response.text == "begun, ended" && response["connection"] == "close")
      #expect(try await connection.rest().isEmpty && requests.value == 1)
    }
  }

  @Test func liveResponseIsNoRequestInProgressAndEndsWithTheServer() async throws {
    let (isCancelled, gate) = (Counter(), Gate())
    let responder = ClosureResponder { request in
      guard request.path == "/live" else { return .text(String(request.path)) }
      return HTTPResponse(
        body: .live { writer in
          try await writer.write(ByteBuffer(string: "begun"))
          await withTaskCancellationHandler {
            await gate.pass()
          } onCancel: {
            isCancelled.add()
            gate.open()
          }
        })
    }
    try await withServer(responder, configure: { $0.limits.requestsInFlight = 1 }) { server in
      let live = try await RawHTTPConnection.open(port: server.port)
      let other = try await RawHTTPConnection.open(port: server.port)
      try await live.send(Self.request(target: "/live"))
      _ = try await live.some(atMost: 1)

      let answered = try await other.get("/other")
      await server.shutdown(gracePeriod: .zero)

      #expect(answered.status == 200)
      #expect(isCancelled.value == 1)
    }
  }
}
