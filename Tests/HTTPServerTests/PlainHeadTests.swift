import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

@testable import HTTPServer

/// The parser of plain requests, compared with NIO's parser behind the inspection of its input.
@Suite struct PlainHeadTests {
  /// A request, or the end of the input that was understood, as text.
  private static func text(_ head: RequestHead) -> String {
    let fields = head.fields.map { "\($0.name)=\($0.value)" }
    return "\(head.method) \(head.target) \(head.isHTTP10) \(head.persists) \(fields)"
  }

  private static func head(
    _ buffer: inout ByteBuffer, limits: HTTPServerConfiguration.Limits = .init()
  ) -> (head: RequestHead, bodyLength: Int)? {
    var bodyLength = -1
    return PlainHead.read(from: &buffer, limits: limits, bodyLength: &bodyLength).map { ($0, bodyLength) }
  }

  private final class Collector: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart

    let framing: RequestFraming
    var events: [String] = []

    init(framing: RequestFraming) { self.framing = framing }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      let part = unwrapInboundIn(data)
      framing.record(part)
      switch part {
      case .head(let head): add(.head(RequestHead(head)))
      case .body(let bytes): add(.body(bytes))
      case .end: add(.end)
      }
    }

    /// Adds a part. Consecutive parts of a body are one: the parsers divide it differently.
    func add(_ part: RequestPart) {
      switch part {
      case .head(let head): events.append(PlainHeadTests.text(head))
      case .body(let bytes):
        let text = bytes.readableBytesView.map { String($0, radix: 16) }.joined(separator: ".")
        if let last = events.last, last.hasPrefix("body ") {
          events[events.count - 1] = "\(last).\(text)"
        } else {
          events.append("body \(text)")
        }
      case .end: events.append("end")
      }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { events.append("error \(error)") }
  }

  /// NIO's parser with the server's inspection.
  private final class Parser {
    let channel = EmbeddedChannel()
    let decoder: RequestDecoder
    let collector: Collector
    var plain: PlainRequests
    /// The number of parts of bodies of plain requests.
    var bodyCount = 0

    init(limits: HTTPServerConfiguration.Limits) throws {
      let framing = RequestFraming()
      plain = PlainRequests(limits: limits)
      decoder = RequestDecoder(limits: limits, framing: framing)
      collector = Collector(framing: framing)
      try channel.pipeline.syncOperations.addHandlers(ByteToMessageHandler(decoder), collector)
    }

    /// Passes bytes to the parser alone.
    func parse(_ bytes: [UInt8]) { _ = try? channel.writeInbound(ByteBuffer(bytes: bytes)) }

    /// Passes bytes to the parser of plain requests, and the rest to NIO's. Returns the number of plain heads.
    @discardableResult
    func read(_ bytes: [UInt8]) -> Int {
      var buffer = ByteBuffer(bytes: bytes)
      var count = 0
      while decoder.isBetweenRequests, let part = plain.next(from: &buffer) {
        collector.add(part)
        switch part {
        case .head: count += 1
        case .body: bodyCount += 1
        case .end: break
        }
      }
      if buffer.readableBytes > 0 { _ = try? channel.writeInbound(buffer) }
      return count
    }

    func finish() {
      _ = try? channel.finish(acceptAlreadyClosed: true)
      // The connection's handler learns of an incomplete body by the end of the input, and ignores this error.
      if plain.remaining != nil { collector.events.append("error \(HTTPParserError.invalidEOFState)") }
    }
  }

  /// Cuts bytes into pieces, or into one.
  private static func pieces(_ bytes: [UInt8], using random: inout SplitMix) -> [[UInt8]] {
    guard Int.random(in: 0..<3, using: &random) == 0 else { return [bytes] }
    var rest = bytes[...]
    var pieces: [[UInt8]] = []
    let longest = Bool.random(using: &random) ? 20 : bytes.count
    while !rest.isEmpty {
      let piece = rest.prefix(Int.random(in: 1...max(longest, 1), using: &random))
      pieces.append(Array(piece))
      rest = rest.dropFirst(piece.count)
    }
    return pieces
  }

  private static let methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "get", "post", "CONNECT", "OPTIONS"]
  private static let targets = [
    "/", "/locations?lat=1.5&long=-2", "/a%20b/c", "*", "http://h/a", "/a#b", "/é", "//x?y?z", "/\u{7F}", "/\"<>{}|",
  ]
  private static let versions = ["1.1", "1.1", "1.1", "1.0", "2.0", "0.9", "9.9"]
  private static let fields = [
    "Accept: */*", "X: a b\tc", "user-agent:\tx/1 (y; z)", "Connection: keep-alive", "X-Request-Id: abc",
    "!#$%&'*+-.^_`|~9: v", "Cookie: a=b; c=d", "X: :", "X-Empty:", "X-Spaces:  a \t", "Connection: close",
    "Connection: Keep-Alive, x", "Proxy-Connection: close",
    "Upgrade: h2c", "Connection: upgrade", "Content-Length: 0", "Content-Length: 3", "Transfer-Encoding: chunked",
    "Expect: 100-continue", "Content-Type: a/b", "content-length: 003", "Content-Length: 99999999999999999999",
    "Content-Length: 3, 3", "Content-Length: -1", "Content-Length: +3", "Content-Length: 0x3", "Content-Length: 3 3",
    "bad name: v", ": v",
    "X : v", "X: é", "X: \u{1}", "noColon", " folded", "If-None-Match: \"1\"",
  ]
  /// The number of those before the unusual ones.
  private static let usualFields = 8
  private static let ends = Array(repeating: "\r\n", count: 40) + ["\n", "\r", ""]

  private static func request(using random: inout SplitMix) -> [UInt8] {
    func end() -> String { ends.randomElement(using: &random) ?? "" }
    // Half of the requests are usual ones.
    let isUsual = Bool.random(using: &random)
    var body: [UInt8]?
    var text = isUsual ? "GET" : methods.randomElement(using: &random) ?? ""
    if Bool.random(using: &random) {
      text = isUsual ? "POST" : text
      body = (0..<Int.random(in: 0...30, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
    }
    text += " \(isUsual ? targets[1] : targets.randomElement(using: &random) ?? "")"
    text += " HTTP/\(isUsual ? "1.1" : versions.randomElement(using: &random) ?? "")\(end())Host: a\r\n"
    for _ in 0..<Int.random(in: 0...3, using: &random) {
      text += (fields.prefix(isUsual ? usualFields : fields.count).randomElement(using: &random) ?? "") + end()
    }
    if let body { text += "Content-Length: \(body.count)" + end() }
    text += end()
    var bytes = Array(text.utf8) + (body ?? [])
    for _ in 0..<max(0, Int.random(in: -8...2, using: &random)) {
      let index = Int.random(in: bytes.indices, using: &random)
      let byte =
        Bool.random(using: &random) ? UInt8.random(in: 0...255, using: &random) : Array("\r\n :/?#\t,".utf8)[index % 9]
      switch Int.random(in: 0...2, using: &random) {
      case 0: bytes[index] = byte
      case 1: bytes.insert(byte, at: index)
      default: bytes.remove(at: index)
      }
    }
    return bytes
  }

  @Test(arguments: 0..<8 as Range<UInt64>) func plainRequestsAreThoseOfTheParser(seed: UInt64) throws {
    var random = SplitMix(seed: seed)
    var limits = HTTPServerConfiguration.Limits()
    var (plainCount, bodyCount) = (0, 0)
    for number in 0..<500 {
      (limits.uriBytes, limits.headerBytes, limits.headerCount) = number % 4 == 0 ? (20, 40, 3) : (8000, 16_000, 64)
      let input = (0..<Int.random(in: 1...3, using: &random)).flatMap { _ in Self.request(using: &random) }
      let parser = try Parser(limits: limits)
      let subject = try Parser(limits: limits)
      for piece in Self.pieces(input, using: &random) {
        parser.parse(piece)
        plainCount += subject.read(piece)
      }
      parser.finish()
      subject.finish()
      bodyCount += subject.bodyCount

      #expect(
        subject.collector.events == parser.collector.events,
        "\(String(decoding: input, as: UTF8.self).debugDescription)")
    }
    #expect(plainCount > 50)
    #expect(bodyCount > 20)
  }

  @Test func headIsReadOnlyIfWhole() throws {
    let text = "GET /a?b HTTP/1.1\r\nHost: a\r\nAccept:*/*\r\n\r\n"
    let bytes = Array(text.utf8)
    for count in bytes.indices {
      var buffer = ByteBuffer(bytes: bytes[..<count])
      #expect(Self.head(&buffer) == nil)
      #expect(buffer.readableBytes == count)
    }
    var buffer = ByteBuffer(bytes: bytes + bytes)
    let (head, bodyLength) = try #require(Self.head(&buffer))

    #expect(bodyLength == 0)
    #expect(Self.text(head) == "GET /a?b false true [\"Host=a\", \"Accept=*/*\"]")
    #expect(buffer.readableBytes == bytes.count)
  }

  @Test(arguments: [
    "Expect: 100-continue", "UPGRADE: x", "Connection: close", "connection: keep-alive, upgrade", "Content-Length: 0",
    "Proxy-Connection: close", "Transfer-Encoding: chunked", "X:", "X: a ", "X: \u{0}", "X: \u{80}", "X : a",
  ])
  func unusualFieldIsLeftToTheParser(field: String) {
    var buffer = ByteBuffer(string: "GET / HTTP/1.1\r\nHost: a\r\n\(field)\r\n\r\n")

    #expect(Self.head(&buffer) == nil)
  }

  @Test(arguments: [
    "Content-Length: 3\r\nContent-Length: 3", "Content-Length: 3\r\nTransfer-Encoding: chunked", "Content-Length: 3,3",
    "Content-Length: +3", "Content-Length: 3 ", "Content-Length:", "Content-Length: 1000000000000000",
    "Content-Length: 3\r\nExpect: 100-continue", "Content-Length: 3\r\nUpgrade: x",
  ])
  func unusualLengthIsLeftToTheParser(fields: String) {
    var buffer = ByteBuffer(string: "POST / HTTP/1.1\r\nHost: a\r\n\(fields)\r\n\r\nabc")

    #expect(Self.head(&buffer) == nil)
  }

  @Test(arguments: ["POST", "PUT", "PATCH", "DELETE"]) func bodyIsReadAsItArrives(method: String) throws {
    let parser = try Parser(limits: .init())

    #expect(parser.read(Array("\(method) / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n".utf8)) == 1)
    #expect(parser.collector.events == ["\(method) / false true [\"Host=a\", \"Content-Length=4\"]"])
    #expect(parser.read(Array("GE".utf8)) == 0)
    #expect(parser.collector.events.dropFirst() == ["body 47.45"])
    #expect(parser.read(Array("T GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8)) == 1)
    #expect(parser.collector.events.dropFirst() == ["body 47.45.54.20", "end", "GET / false true [\"Host=a\"]", "end"])
    parser.finish()
  }

  @Test func moreFieldsThanThereIsRoomForAreLeftToTheParser() {
    for count in [31, 32, 33, 1000] {
      var buffer = ByteBuffer(string: "GET / HTTP/1.1\r\n\(String(repeating: "X: a\r\n", count: count))\r\n")

      #expect((Self.head(&buffer) == nil) == (count > 32))
    }
  }

  /// An upgrade ends the parser, and so does a connection that does not persist.
  @Test(arguments: ["Connection: close", "Connection: upgrade\r\nUpgrade: x", "Upgrade: x"])
  func nothingIsReadBehindTheLastRequest(field: String) throws {
    let parser = try Parser(limits: .init())
    let plain = Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8)

    #expect(parser.read(plain) == 1)
    #expect(parser.read(Array("GET / HTTP/1.1\r\nHost: a\r\n\(field)\r\n\r\n".utf8)) == 0)
    #expect(parser.read(plain) == 0)
    parser.finish()
  }

  @Test func nothingIsReadWithinARequestOrBehindAnError() throws {
    let plain = Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
    for beginning in [
      "POST / HTTP/1.1\r\nHost: a\r\nX:\r\nContent-Length: 100\r\n\r\n", "G", "POST / HTTP/1.1\r\nX: ", "\r", "\n",
      "G\0",
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
    ] {
      let parser = try Parser(limits: .init())

      #expect(parser.read(Array(beginning.utf8)) == 0)
      #expect(parser.read(plain) == 0, "\(beginning.debugDescription)")
      parser.finish()
    }
  }

  @Test func plainHeadIsReadBehindABody() throws {
    let parser = try Parser(limits: .init())

    #expect(parser.read(Array("POST / HTTP/1.1\r\nHost: a\r\nX:\r\nContent-Length: 2\r\n\r\nab\r\n".utf8)) == 0)
    #expect(parser.read(Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8)) == 1)
    parser.finish()
  }

  @Test(arguments: ["Connection: close", "proxy-connection: close"])
  func nothingIsReadBehindTrailersAboutTheConnection(field: String) throws {
    let parser = try Parser(limits: .init())
    let chunked = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\(field)\r\n\r\n"

    #expect(parser.read(Array(chunked.utf8)) == 0)
    #expect(parser.read(Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8)) == 0)
    parser.finish()
  }
}

@Suite struct RequestFieldsTests {
  @Test(arguments: 0..<20 as Range<UInt64>) func fieldsAreThoseOfNIO(seed: UInt64) {
    var random = SplitMix(seed: seed)
    let names = ["accept", "Accept", "ACCEPT", "x", "x-a", "", "accept-encoding", "^"]
    let values = [
      "", "a", "a,b", " a , b ", ",,", "é, ü", "\u{FFFD}", "a,\u{301}b", String(repeating: "x,", count: 50),
    ]
    var expected = HTTPHeaders()
    for _ in 0..<Int.random(in: 0...12, using: &random) {
      expected.add(
        name: names.randomElement(using: &random) ?? "", value: values.randomElement(using: &random) ?? "")
    }
    let fields = RequestFields(expected)

    #expect(fields.count == expected.count)
    #expect(fields.map(\.name) == expected.map(\.name))
    #expect(fields.map(\.value) == expected.map(\.value))
    for name in names + ["ACCEPT-encoding", "none"] {
      #expect(fields.contains(name: name) == expected.contains(name: name))
      #expect(fields.first(name: name) == expected.first(name: name))
      #expect(fields[name] == expected[name])
      #expect(fields[canonicalForm: name] == expected[canonicalForm: name])
      #expect(fields.only(name: name) == (expected[name].count == 1 ? expected[name][0] : nil))
      for value in ["a", ""] {
        #expect(
          fields.allValues(of: name) { $0.elementsEqual(value.utf8) } == expected[name].allSatisfy { $0 == value })
      }
    }
    #expect(fields.firstName { $0.first == UInt8(ascii: "x") } == expected.first { $0.name.hasPrefix("x") }?.name)
  }
}
