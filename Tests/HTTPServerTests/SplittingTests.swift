import HTTPServer
import HTTPTestSupport
import NIOCore
import NIOHTTP1
import Testing

/// How the network cuts what a client sends must not matter. Each case cuts at places of its own; the case's number
/// makes them again.
@Suite(.timeLimit(.minutes(5))) struct SplittingTests {
  /// Cuts the text at random, a good deal of it into very short pieces.
  private static func pieces(_ text: String, seed: UInt64) -> [[UInt8]] {
    var random = SplitMix(seed: seed)
    var rest = Array(text.utf8)[...]
    var pieces: [[UInt8]] = []
    while !rest.isEmpty {
      let longest = Bool.random(using: &random) ? 12 : 20_000
      let piece = rest.prefix(Int.random(in: 1...longest, using: &random))
      pieces.append(Array(piece))
      rest = rest.dropFirst(piece.count)
    }
    return pieces
  }

  /// Sends the pieces, waiting now and then so that they are not put together again on the way.
  private static func send(_ text: String, seed: UInt64, over connection: RawHTTPConnection) async throws {
    for (index, piece) in pieces(text, seed: seed).enumerated() {
      try await connection.send(bytes: piece)
      if index.isMultiple(of: 7) { await Task.yield() }
    }
  }

  private static let requests = [
    "GET /1?a=b HTTP/1.1\r\nHost: test\r\n\r\n",
    "POST /2 HTTP/1.1\r\nHost: test\r\nContent-Length: 11\r\n\r\nGET / HTTP/",
    "\r\nPUT /3 HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n1\r\n!\r\n0\r\nT: 1\r\n\r\n",
    "DELETE /4 HTTP/1.1\r\nHost: test\r\nX-Long: \(String(repeating: "GET / ", count: 500))\r\n\r\n",
    "GET /5 HTTP/1.1\r\nHost: test\r\nContent-Length: 0\r\n\r\n",
  ]

  @Test(arguments: 0..<24 as Range<UInt64>) func everyRequestIsParsedCompletely(seed: UInt64) async throws {
    let responder = ClosureResponder { request in
      let body = (try? await request.body.collect()).map { String(buffer: $0) } ?? "broken"
      return .text("\(request.method.rawValue) \(request.path) \(body)")
    }
    try await withConnection(to: responder) { connection in
      async let sent: Void = Self.send(Self.requests.joined(), seed: seed, over: connection)
      var answers: [String] = []
      for _ in Self.requests { answers.append(try await connection.response().text) }
      try await sent

      #expect(answers == ["GET /1 ", "POST /2 GET / HTTP/", "PUT /3 hello!", "DELETE /4 ", "GET /5 "])
    }
  }

  @Test(arguments: 0..<24 as Range<UInt64>) func problemNamesTheExceededLimit(seed: UInt64) async throws {
    let isTarget = seed.isMultiple(of: 2)
    let long = String(repeating: "/GET", count: 10_000)
    let broken =
      isTarget
      ? "GET \(long) HTTP/1.1\r\nHost: test\r\n\r\n"
      : "GET / HTTP/1.1\r\nHost: test\r\nX-Long: GET \(long)\r\n\r\n"
    // The response waits for a client that is still sending, however slowly.
    try await withConnection(to: ClosureResponder.path, configure: { $0.timeouts.linger = .seconds(300) }) {
      connection in
      async let sent: Void = Self.send(Self.requests[0] + broken, seed: seed, over: connection)
      let first = try await connection.response()
      let second = try await connection.response()
      try await sent

      #expect(first.text == "/1")
      #expect(second.status == (isTarget ? 414 : 431))
    }
  }
}
