import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

@testable import HTTPServer

/// The reader of plain heads, compared with NIO's parser behind the inspection of its input.
@Suite struct PlainHeadTests {
  /// A request, or the end of the input that was understood, as text.
  private static func text(_ head: RequestHead) -> String {
    let fields = head.fields.map { "\($0.name)=\($0.value)" }
    return "\(head.method) \(head.target) \(head.isHTTP10) \(head.persists) \(fields)"
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
      case .head(let head): events.append(PlainHeadTests.text(RequestHead(head)))
      case .body(let bytes): events.append("body \(String(buffer: bytes))")
      case .end: events.append("end")
      }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { events.append("error \(error)") }
  }

  /// NIO's parser with the server's inspection.
  private struct Parser {
    let channel = EmbeddedChannel()
    let decoder: RequestDecoder
    let collector: Collector
    let limits: HTTPServerConfiguration.Limits

    init(limits: HTTPServerConfiguration.Limits) throws {
      let framing = RequestFraming()
      self.limits = limits
      decoder = RequestDecoder(limits: limits, framing: framing)
      collector = Collector(framing: framing)
      try channel.pipeline.syncOperations.addHandlers(ByteToMessageHandler(decoder), collector)
    }

    /// Passes bytes to the parser alone.
    func parse(_ bytes: [UInt8]) { _ = try? channel.writeInbound(ByteBuffer(bytes: bytes)) }

    /// Passes bytes to the reader of plain heads, and the rest to the parser. Returns the number of plain heads.
    func read(_ bytes: [UInt8]) -> Int {
      var buffer = ByteBuffer(bytes: bytes)
      var count = 0
      while decoder.isBetweenRequests, let head = PlainHead.read(from: &buffer, limits: limits) {
        collector.events += [PlainHeadTests.text(head), "end"]
        count += 1
      }
      if buffer.readableBytes > 0 { _ = try? channel.writeInbound(buffer) }
      return count
    }

    func finish() { _ = try? channel.finish(acceptAlreadyClosed: true) }
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

  private static let targets = [
    "/", "/locations?lat=1.5&long=-2", "/a%20b/c", "*", "http://h/a", "/a#b", "/é", "//x?y?z", "/\u{7F}", "/\"<>{}|",
  ]
  private static let versions = ["1.1", "1.1", "1.1", "1.0", "2.0", "0.9", "9.9"]
  private static let fields = [
    "Accept: */*", "X: a b\tc", "user-agent:\tx/1 (y; z)", "Connection: keep-alive", "X-Request-Id: abc",
    "!#$%&'*+-.^_`|~9: v", "Cookie: a=b; c=d", "X: :", "X-Empty:", "X-Spaces:  a \t", "Connection: close",
    "Connection: Keep-Alive, x", "Proxy-Connection: close",
    "Upgrade: h2c", "Connection: upgrade", "Content-Length: 0", "Content-Length: 3", "Transfer-Encoding: chunked",
    "Expect: 100-continue", "Content-Type: a/b", "bad name: v", ": v",
    "X : v", "X: é", "X: \u{1}", "noColon", " folded", "If-None-Match: \"1\"",
  ]
  /// The number of those before the unusual ones.
  private static let usualFields = 8
  private static let ends = Array(repeating: "\r\n", count: 40) + ["\n", "\r", ""]

  private static func request(using random: inout SplitMix) -> [UInt8] {
    func end() -> String { ends.randomElement(using: &random) ?? "" }
    // Half of the requests are usual ones.
    let isUsual = Bool.random(using: &random)
    var text =
      isUsual ? "GET" : ["GET", "HEAD", "POST", "get", "CONNECT", "OPTIONS"].randomElement(using: &random) ?? ""
    text += " \(isUsual ? targets[1] : targets.randomElement(using: &random) ?? "")"
    text += " HTTP/\(isUsual ? "1.1" : versions.randomElement(using: &random) ?? "")\(end())Host: a\r\n"
    for _ in 0..<Int.random(in: 0...3, using: &random) {
      text += (fields.prefix(isUsual ? usualFields : fields.count).randomElement(using: &random) ?? "") + end()
    }
    text += end()
    var bytes = Array(text.utf8)
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

  @Test(arguments: 0..<8 as Range<UInt64>) func plainHeadsAreThoseOfTheParser(seed: UInt64) throws {
    var random = SplitMix(seed: seed)
    var limits = HTTPServerConfiguration.Limits()
    var plainCount = 0
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

      #expect(
        subject.collector.events == parser.collector.events,
        "\(String(decoding: input, as: UTF8.self).debugDescription)")
    }
    #expect(plainCount > 50)
  }

  @Test func headIsReadOnlyIfWhole() throws {
    let text = "GET /a?b HTTP/1.1\r\nHost: a\r\nAccept:*/*\r\n\r\n"
    let bytes = Array(text.utf8)
    for count in bytes.indices {
      var buffer = ByteBuffer(bytes: bytes[..<count])
      #expect(PlainHead.read(from: &buffer, limits: .init()) == nil)
      #expect(buffer.readableBytes == count)
    }
    var buffer = ByteBuffer(bytes: bytes + bytes)
    let head = try #require(PlainHead.read(from: &buffer, limits: .init()))

    #expect(Self.text(head) == "GET /a?b false true [\"Host=a\", \"Accept=*/*\"]")
    #expect(buffer.readableBytes == bytes.count)
  }

  @Test(arguments: [
    "Expect: 100-continue", "UPGRADE: x", "Connection: close", "connection: keep-alive, upgrade", "Content-Length: 0",
    "Proxy-Connection: close", "Transfer-Encoding: chunked", "X:", "X: a ", "X: \u{0}", "X: \u{80}", "X : a",
  ])
  func unusualFieldIsLeftToTheParser(field: String) {
    var buffer = ByteBuffer(string: "GET / HTTP/1.1\r\nHost: a\r\n\(field)\r\n\r\n")

    #expect(PlainHead.read(from: &buffer, limits: .init()) == nil)
  }

  @Test func moreFieldsThanThereIsRoomForAreLeftToTheParser() {
    for count in [31, 32, 33, 1000] {
      var buffer = ByteBuffer(string: "GET / HTTP/1.1\r\n\(String(repeating: "X: a\r\n", count: count))\r\n")

      #expect((PlainHead.read(from: &buffer, limits: .init()) == nil) == (count > 32))
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
      "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n", "G", "POST / HTTP/1.1\r\nX: ", "\r", "\n", "G\0",
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

    #expect(parser.read(Array("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab\r\n".utf8)) == 0)
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
    }
  }
}
