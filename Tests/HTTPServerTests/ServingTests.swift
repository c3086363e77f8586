import HTTPServer
import HTTPTestSupport
import NIOCore
import NIOHTTP1
import TestSupport
import Testing

/// The service of a well-behaved client over a socket.
@Suite(.timeLimit(.minutes(5))) struct ServingTests {
  @Test func requestsOnOneConnectionAreServedInOrder() async throws {
    try await withConnection(to: ClosureResponder.path) { connection in
      let first = try await connection.get("/a?x=1")
      let second = try await connection.get("/b")

      #expect([first.text, second.text] == ["/a", "/b"])
      #expect(first["content-length"] == "2")
      #expect(first["connection"] == nil)
    }
  }

  @Test func pipelinedResponsesKeepTheirOrderWhenTheFirstIsSlow() async throws {
    let gate = Gate()
    let responder = ClosureResponder { request in
      if request.path == "/0" { await gate.pass() }
      return .text(String(request.path))
    }
    try await withConnection(to: responder) { connection in
      try await connection.send((0..<50).map { "GET /\($0) HTTP/1.1\r\nHost: test\r\n\r\n" }.joined())
      gate.open()

      for index in 0..<50 {
        let text = try await connection.response().text
        #expect(text == "/\(index)")
      }
    }
  }

  /// A responder that has the responses to some paths at once.
  private struct PromptResponder: HTTPResponder {
    func respondAtOnce(to request: inout HTTPRequest) -> HTTPResponse? {
      request.path.hasPrefix("/wait") ? nil : .text(String(request.path))
    }

    func respond(to request: HTTPRequest) async -> HTTPResponse {
      await Task.yield()
      return .text("waited for " + request.path)
    }
  }

  @Test func responsesThatAreThereAtOnceKeepTheirOrderAmongOthers() async throws {
    try await withConnection(to: PromptResponder()) { connection in
      let paths = (0..<60).map { $0.isMultiple(of: 3) ? "/wait\($0)" : "/\($0)" }
      try await connection.send(paths.map { "GET \($0) HTTP/1.1\r\nHost: test\r\n\r\n" }.joined())

      for path in paths {
        let text = try await connection.response().text
        #expect(text == (path.hasPrefix("/wait") ? "waited for " + path : path))
      }
    }
  }

  @Test func pipelinedBodiesReachTheirRequests() async throws {
    try await withConnection(to: ClosureResponder.echo) { connection in
      let requests = (0..<20).map { index in
        index.isMultiple(of: 2)
          ? "POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 6\r\n\r\nbody\(10 + index)"
          : "POST / HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n2\r\n\(10 + index)\r\n0\r\n\r\n"
      }
      try await connection.send(requests.joined())

      for index in 0..<20 {
        let text = try await connection.response().text
        #expect(text == "body\(10 + index)")
      }
    }
  }

  @Test func requestThatArrivesByteByByteIsServed() async throws {
    try await withConnection(to: ClosureResponder.echo) { connection in
      for byte in "POST /slow HTTP/1.1\r\nHost: test\r\nContent-Length: 5\r\n\r\nhello".utf8 {
        try await connection.send(bytes: [byte])
      }
      let response = try await connection.response()

      #expect(response.text == "hello")
    }
  }

  @Test func headReceivesTheHeadersOfGetWithoutABody() async throws {
    try await withConnection(to: ClosureResponder.path) { connection in
      try await connection.send("HEAD /four HTTP/1.1\r\nHost: test\r\n\r\n")
      let head = try await connection.response(to: "HEAD")
      let get = try await connection.get("/four")

      #expect(head["content-length"] == "5")
      #expect(head.headers.map(\.name) == get.headers.map(\.name))
      #expect(get.text == "/four")
    }
  }

  @Test(arguments: [HTTPResponseStatus.noContent, .notModified])
  func responsesWithoutABodySendNeitherBodyNorLength(status: HTTPResponseStatus) async throws {
    let responder = ClosureResponder { _ in .text("nobody reads this", status: status) }
    try await withConnection(to: responder) { connection in
      let first = try await connection.get("/")
      let second = try await connection.get("/")

      #expect(first.status == Int(status.code))
      #expect(first["content-length"] == nil)
      #expect(second.status == Int(status.code))
    }
  }

  @Test func everyResponseHasADateAndTheRequestID() async throws {
    let responder = ClosureResponder { request in .text(request.id) }
    try await withConnection(to: responder) { connection in
      let given = try await connection.get("/", headers: "X-Request-Id: abc-123_x.Y\r\n")
      let made = try await connection.get("/", headers: "X-Request-Id: spaces are not allowed\r\n")

      #expect(given["x-request-id"] == "abc-123_x.Y")
      #expect(made["x-request-id"]?.count == 13)
      #expect(made.text == made["x-request-id"])
      #expect(given["date"]?.hasSuffix(" GMT") == true)
    }
  }

  @Test func serverFieldIsSentIfConfigured() async throws {
    try await withConnection(to: ClosureResponder.path, configure: { $0.serverName = "tester/1" }) { connection in
      let response = try await connection.get("/")

      #expect(response["server"] == "tester/1")
    }
  }

  @Test func connectionClosesOnTheClientsConnectionClose() async throws {
    try await withConnection(to: ClosureResponder.path) { connection in
      let response = try await connection.get("/last", headers: "Connection: close\r\n")
      let rest = try await connection.rest()

      #expect(response.text == "/last")
      #expect(response["connection"] == "close")
      #expect(rest.isEmpty)
    }
  }

  @Test func connectionClosesOnTheRespondersConnectionClose() async throws {
    let responder = ClosureResponder { _ in HTTPResponse(headers: ["Connection": "close"]) }
    try await withConnection(to: responder) { connection in
      let response = try await connection.get("/")
      let rest = try await connection.rest()

      #expect(response.headers.filter { $0.name == "connection" }.map(\.value) == ["close"])
      #expect(rest.isEmpty)
    }
  }

  @Test func http10ClientGetsItsResponseAndTheConnectionCloses() async throws {
    try await withConnection(to: ClosureResponder.path) { connection in
      try await connection.send("GET /old HTTP/1.0\r\n\r\n")
      let response = try await connection.response()
      let rest = try await connection.rest()

      #expect(response.text == "/old")
      #expect(response["connection"] == "close")
      #expect(rest.isEmpty)
    }
  }

  @Test func http10ClientWithKeepAliveKeepsItsConnection() async throws {
    try await withConnection(to: ClosureResponder.path) { connection in
      for _ in 0..<2 {
        try await connection.send("GET /old HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        let response = try await connection.response()

        #expect(response.text == "/old")
        #expect(response["connection"] == "keep-alive")
      }
    }
  }

  @Test func clientThatClosesItsOutputReceivesItsResponses() async throws {
    let gate = Gate()
    let responder = ClosureResponder { request in
      await gate.pass()
      return .text(String(request.path))
    }
    try await withConnection(to: responder) { connection in
      try await connection.send("GET /1 HTTP/1.1\r\nHost: test\r\n\r\nGET /2 HTTP/1.1\r\nHost: test\r\n\r\n")
      connection.shutdownSending()
      gate.open()
      let answers = [try await connection.response(), try await connection.response()]
      let rest = try await connection.rest()

      #expect(answers.map(\.text) == ["/1", "/2"])
      #expect(rest.isEmpty)
    }
  }

  @Test(arguments: ["http://other/abs?x=1", "HTTP://other/abs", "https://other:8443/abs?y"])
  func targetsInAbsoluteFormAreAccepted(target: String) async throws {
    try await withConnection(to: ClosureResponder.path) { connection in
      let response = try await connection.get(target)

      #expect(response.text == "/abs")
    }
  }

  @Test func upgradeRequestIsServedInHTTP1AndIsTheLast() async throws {
    try await withConnection(to: ClosureResponder.path) { connection in
      let response = try await connection.get(
        "/",
        headers: "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"
      )
      let rest = try await connection.rest()

      #expect(response.status == 200)
      #expect(response["connection"] == "close")
      #expect(rest.isEmpty)
    }
  }

  @Test func suspendedResponderWritesFromTheEventLoop() async throws {
    let responder = ClosureResponder { request in
      for _ in 0..<3 { await Task.yield() }
      return .text(String(request.path))
    }
    try await withConnection(to: responder) { connection in
      for index in 0..<20 {
        let text = try await connection.get("/\(index)").text
        #expect(text == "/\(index)")
      }
    }
  }

  @Test func manyConnectionsAreServedAtOnce() async throws {
    try await withServer(ClosureResponder.path, configure: { $0.threads = 2 }) { server in
      try await withThrowingTaskGroup(of: Int.self) { group in
        for client in 0..<20 {
          group.addTask {
            let connection = try await RawHTTPConnection.open(port: server.port)
            var right = 0
            for index in 0..<20 where try await connection.get("/\(client)/\(index)").text == "/\(client)/\(index)" {
              right += 1
            }
            return right
          }
        }
        let right = try await group.reduce(0, +)

        #expect(right == 400)
      }
    }
  }

  @Test func responseWithInvalidHeaderFieldsBecomesAnInternalError() async throws {
    let responder = ClosureResponder { _ in HTTPResponse(headers: ["x-split": "a\r\nset-cookie: b"]) }
    try await withConnection(to: responder) { connection in
      let response = try await connection.get("/")
      let next = try await connection.get("/")

      #expect(response.status == 500)
      #expect(response["set-cookie"] == nil)
      #expect(response.text.contains(#""code":"internal""#))
      #expect(next.status == 500)
    }
  }

  @Test func framingFieldsOfTheResponderAreDropped() async throws {
    let responder = ClosureResponder { _ in
      var response = HTTPResponse.text("four")
      response.headers.add(name: "Content-Length", value: "400")
      response.headers.add(name: "Transfer-Encoding", value: "chunked")
      response.headers.add(name: "Date", value: "yesterday")
      return response
    }
    try await withConnection(to: responder) { connection in
      let response = try await connection.get("/")

      #expect(response.text == "four")
      #expect(response.headers.filter { $0.name == "content-length" }.map(\.value) == ["4"])
      #expect(response["transfer-encoding"] == nil)
      #expect(response.headers.filter { $0.name == "date" }.count == 1)
    }
  }
}
