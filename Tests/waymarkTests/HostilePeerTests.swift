import AccessControl
import AsyncHTTPClient
import Foundation
import HTTPServer
import HTTPTestSupport
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Points
import ServerFeatures
import Testing
import Tokens

@testable import Hosting
@testable import Webhooks
@testable import waymark

/// Responses of peers of the program, as the receiver of a webhook, the issuer of tokens, and a server that commands
/// call: at most an attempt fails.
@Suite(.timeLimit(.minutes(10))) struct HostilePeerTests {
  /// The outcome of a request.
  enum Outcome: Hashable, Sendable {
    /// There is no response.
    case none
    /// There may be a response, whose body can't be read.
    case cut
    case response(Int)
    /// The parser decides.
    case any
  }

  /// The bytes that a peer sends to each connection.
  struct Script: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let text: String

    /// The bytes that follow without end.
    var repeated: String?

    /// A Boolean value that indicates whether the connection stays open after the text.
    var isHeld = false

    /// A Boolean value that indicates whether the peer does not wait for a request.
    var isEarly = false
    let outcome: Outcome

    /// A Boolean value that indicates whether only a time limit ends the request.
    var needsTimeLimit: Bool { isHeld && outcome == .none || testDescription.hasSuffix("(slowly)") }

    init(
      _ description: String, _ text: String, repeating repeated: String? = nil, isHeld: Bool = false,
      isEarly: Bool = false, _ outcome: Outcome
    ) {
      testDescription = description
      self.text = text
      self.repeated = repeated
      self.isHeld = isHeld
      self.isEarly = isEarly
      self.outcome = outcome
    }
  }

  private static let ok = "HTTP/1.1 200 OK\r\n"

  private static let statuses =
    ["099", "000", "001", "050", "600", "999", "1000", "65635", "99", "9", "-10", "+20", "2e2", "2 0", " 20", ""].map {
      Script("the status '\($0)'", "HTTP/1.1 \($0) x\r\ncontent-length: 0\r\n\r\n", .none)
    }

  private static let heads = [
    Script("099 with a body", "HTTP/1.1 099 x\r\ncontent-length: 2\r\n\r\nok", .none),
    Script("099 with chunks", "HTTP/1.1 099 x\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", .none),
    Script("099 until the end of the connection", "HTTP/1.1 099 x\r\n\r\nok", .none),
    Script("099 after 100", "HTTP/1.1 100 x\r\n\r\nHTTP/1.1 099 x\r\ncontent-length: 0\r\n\r\n", .none),
    Script("099 before 200", "HTTP/1.1 099 x\r\ncontent-length: 0\r\n\r\n\(ok)content-length: 0\r\n\r\n", .none),
    Script("101", "HTTP/1.1 101 x\r\n\r\n", .none),
    Script("101 with another protocol", "HTTP/1.1 101 x\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\nabc", .none),
    Script("100 without end", "", repeating: "HTTP/1.1 100 Continue\r\n\r\n", .none),
    Script("103 with a length without end", "", repeating: "HTTP/1.1 103 x\r\ncontent-length: 3\r\n\r\n", .none),
    Script("100 alone", "HTTP/1.1 100 Continue\r\n\r\n", .none),
    Script("HTTP/2.0", "HTTP/2.0 200 OK\r\n\r\n", .none),
    Script("HTTP/0.9", "HTTP/0.9 200 OK\r\n\r\n", .none),
    Script("another protocol", "ICY 200 OK\r\n\r\n", .none),
    Script("frames of HTTP/2", "\0\0\0\u{4}\0\0\0\0\0", .none),
    Script("an alert of TLS", "\u{15}\u{3}\u{1}\0\u{2}\u{2}\u{28}", .none),
    Script("nothing", "", .none),
    Script("half a status line", "HTTP/1.1 20", .none),
    Script("half a head", "\(ok)content-le", .none),
    Script("a field without end", "\(ok)x: ", repeating: "a", .none),
    Script("a name of a field without end", ok, repeating: "a", .none),
    Script("fields without end", ok, repeating: "x: y\r\n", .none),
    Script("a field without a name", "\(ok): x\r\n\r\n", .none),
    Script("two lengths", "\(ok)content-length: 1\r\ncontent-length: 2\r\n\r\nab", .none),
    Script("a negative length", "\(ok)content-length: -1\r\n\r\n", .none),
    Script("a length that is no number", "\(ok)content-length: 1e5\r\n\r\n", .none),
    Script("a length of 20 digits", "\(ok)content-length: 99999999999999999999\r\n\r\n", .none),
    Script("a length and chunks", "\(ok)content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", .any),
    Script("chunks before another coding", "\(ok)transfer-encoding: chunked, gzip\r\n\r\n0\r\n\r\n", .any),
    Script("NUL in a field", "\(ok)x: a\0b\r\ncontent-length: 0\r\n\r\n", .any),
    Script("lines without CR", "HTTP/1.1 200 OK\ncontent-length: 0\n\n", .any),
    Script("a folded field", "\(ok)x: a\r\n b\r\ncontent-length: 0\r\n\r\n", .any),
    Script("099 before a request", "HTTP/1.1 099 x\r\ncontent-length: 0\r\n\r\n", isEarly: true, .none),
    Script("200 before a request", "\(ok)content-length: 0\r\n\r\n", isEarly: true, .any),
    Script("100 before a request without end", "", repeating: "HTTP/1.1 100 x\r\n\r\n", isEarly: true, .none),
    Script("nothing and no end", "", isHeld: true, .none),
    Script("half a head and no end", "\(ok)x:", isHeld: true, .none),
    Script("a reason without end (slowly)", "HTTP/1.1 200 ", repeating: "a", .none),
    Script("empty lines without end (slowly)", "", repeating: "\r\n", .none),
  ]

  private static let bodies = [
    Script("a chunk whose size is no number", "\(ok)transfer-encoding: chunked\r\n\r\nzz\r\n", .cut),
    Script("a chunk of 2^68 bytes", "\(ok)transfer-encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\n", .cut),
    Script("a chunk that is longer than its size", "\(ok)transfer-encoding: chunked\r\n\r\n1\r\nabc\r\n", .cut),
    Script("half a body", "\(ok)content-length: 10\r\n\r\nabc", .cut),
    Script("chunks without the last", "\(ok)transfer-encoding: chunked\r\n\r\n1\r\na\r\n", .cut),
    Script("a body without end", "\(ok)\r\n", repeating: "a", .cut),
    Script("chunks without end", "\(ok)transfer-encoding: chunked\r\n\r\n", repeating: "1\r\na\r\n", .cut),
    Script("trailers without end", "\(ok)transfer-encoding: chunked\r\n\r\n0\r\n", repeating: "x: y\r\n", .cut),
    Script(
      "an extension of a chunk without end (slowly)", "\(ok)transfer-encoding: chunked\r\n\r\n1;", repeating: "a", .cut),
  ]

  private static let responses = [
    Script("200 after 100", "HTTP/1.1 100 x\r\n\r\n\(ok)content-length: 0\r\n\r\n", .response(200)),
    Script(
      "204 after two of 103", "HTTP/1.1 103 x\r\n\r\nHTTP/1.1 103 x\r\n\r\nHTTP/1.1 204 x\r\n\r\n", .response(204)),
    Script("204 with a body", "HTTP/1.1 204 x\r\ncontent-length: 2\r\n\r\nok", .response(204)),
    Script("304 with chunks", "HTTP/1.1 304 x\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n", .response(304)),
    Script("099 after 200", "\(ok)content-length: 0\r\n\r\nHTTP/1.1 099 x\r\n\r\n", .response(200)),
    Script("099 after 204", "HTTP/1.1 204 x\r\n\r\nHTTP/1.1 099 x\r\n\r\n", isHeld: true, .response(204)),
    Script("two responses", "\(ok)content-length: 1\r\n\r\na\(ok)content-length: 1\r\n\r\na", .response(200)),
    Script("599", "HTTP/1.1 599 x\r\ncontent-length: 0\r\n\r\n", .response(599)),
    Script(
      "302 to another place", "HTTP/1.1 302 x\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n",
      .response(302)),
  ]

  static let scripts = statuses + heads + bodies + responses

  private static let patience = Duration.seconds(1)

  private static func requests(_ script: Script? = nil, authorities: AuthorityFile? = nil) throws -> WebhookRequests {
    let network = try #require(IPNetwork("127.0.0.0/8"))
    return WebhookRequests(
      networks: WebhookNetworks(allowed: [network]), authorities: authorities,
      timeLimit: script?.needsTimeLimit == true ? patience : .seconds(120),
      resolve: { _ in [try SocketAddress(ipAddress: "127.0.0.1", port: 0)] })
  }

  /// The length of a body that commands read.
  private static let bodyLimit = 1 << 20

  /// Returns the status of the response to a command's request, after its body.
  ///
  /// - Parameter time: the time after which the request is cancelled, as the user of a command interrupts it.
  private static func status(
    of url: String, isUpload: Bool = false, within time: Duration = .seconds(120)
  ) async throws -> Int {
    let call = Task { try await uninterruptedStatus(of: url, isUpload: isUpload) }
    let limit = Task {
      try await Task.sleep(for: time)
      call.cancel()
    }
    defer { limit.cancel() }
    return try await call.value
  }

  private static func uninterruptedStatus(of url: String, isUpload: Bool) async throws -> Int {
    let target = try ServerTarget(url: url, apiKey: nil)
    return try await target.withClient { client -> Int in
      var request = target.request(isUpload ? .POST : .GET, "/x")
      if isUpload {
        let pieces = AsyncStream { continuation in
          for _ in 0..<64 { continuation.yield(ByteBuffer(repeating: 0x61, count: 1 << 16)) }
          continuation.finish()
        }
        request.body = .stream(pieces, length: .unknown)
      }
      let response = try await client.execute(request, deadline: .distantFuture)
      _ = try await response.body.collect(upTo: bodyLimit)
      return Int(response.status.code)
    }
  }

  @Test(arguments: scripts)
  func receiverOfAWebhookFailsAnAttemptAtMost(_ script: Script) async throws {
    let outcome = try await HostilePeer.serving(script) { port in
      await (try Self.requests(script)).send("{}", headers: [], to: "http://127.0.0.1:\(port)/hook")
    }

    switch (script.outcome, outcome) {
    case (.none, .response(let status, _)): Issue.record("the response has the status \(status)")
    case (.response(let expected), .response(let status, _)): #expect(status == expected)
    case (.response, .failure(let reason)): Issue.record("\(reason)")
    default: break
    }
  }

  @Test(arguments: scripts)
  func issuerOfTokensFailsAFetchAtMost(_ script: Script) async throws {
    _ = try await HostilePeer.serving(script) { port in
      let request = try TokenKeyRequest(try #require(URL(string: "http://127.0.0.1:\(port)/jwks")), authorities: nil)
      switch script.outcome {
      case .none, .cut: await #expect(throws: TokenKeyFetchError.self) { try await request.fetch() }
      case .response, .any: _ = try? await request.fetch()
      }
    }
  }

  @Test(arguments: scripts, [false, true])
  func serverOfACommandFailsACallAtMost(_ script: Script, _ isUpload: Bool) async throws {
    let result = try await HostilePeer.serving(script) { port in
      do {
        let time = script.needsTimeLimit ? Self.patience : .seconds(120)
        return Outcome.response(
          try await Self.status(of: "http://127.0.0.1:\(port)", isUpload: isUpload, within: time))
      } catch {
        return .none
      }
    }
    switch script.outcome {
    case .none, .cut: #expect(result == .none)
    // An upload may have been interrupted before.
    case .response(let status): #expect(result == .response(status) || isUpload)
    case .any: break
    }
  }

  @Test(arguments: [[], ["h2"], ["h2", "http/1.1"]], [0, 1, 2])
  func statusIsCheckedOverTLS(_ protocols: [String], _ number: Int) async throws {
    let certificate = try TestCertificate()
    let files = try TestCertificateFiles(certificate)
    let authorities = AuthorityFile(variable: "SSL_CERT_FILE", path: files.certificate)
    let script = [Self.statuses[0], Self.heads[0], Self.responses[0]][number]

    let outcome = try await HostilePeer.serving(script, tls: certificate, protocols: protocols) { port in
      await (try Self.requests(authorities: authorities)).send("{}", headers: [], to: "https://localhost:\(port)/hook")
    }

    switch outcome {
    case .response(let status, _): #expect(script.outcome == .response(status))
    case .failure(let reason): #expect(script.outcome == .none && reason.contains("the status 99"), "\(reason)")
    }
  }

  /// Valid responses with bytes changed, inserted and left out.
  @Test(arguments: 0..<8)
  func alteredResponsesEndNoProcess(_ seed: Int) async throws {
    var random = Alterations(state: UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 | 1)
    let valid = [
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 5\r\nretry-after: 1\r\n\r\nhello",
      "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncache-control: max-age=60\r\n\r\n3\r\nabc\r\n0\r\nx: y\r\n\r\n",
      "HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n", "HTTP/1.0 503 Busy\r\nretry-after: 10\r\n\r\nhello",
    ]
    for round in 0..<40 {
      let text = random.altered(valid[round % valid.count])
      let script = Script("altered", "", isEarly: round % 8 == 7, .any)
      _ = try await HostilePeer.serving(script, bytes: text) { port in
        _ = await (try Self.requests()).send("{}", headers: [], to: "http://127.0.0.1:\(port)/")
        _ = try? await Self.status(of: "http://127.0.0.1:\(port)", isUpload: round % 2 == 0)
      }
    }
  }

  // MARK: Contents

  @Test func exportWithALineWithoutEndIsRejected() async throws {
    let script = Script("a line", "\(Self.ok)waymark-position: 1.2\r\n\r\n", repeating: "a", .cut)
    let error = try await HostilePeer.serving(script) { port in
      let target = try ServerTarget(url: "http://127.0.0.1:\(port)", apiKey: nil)
      return await #expect(throws: FollowError.self) {
        try await target.withClient { client in
          let server = FollowedServer(target: target, query: try FollowQuery(""), client: client)
          _ = try await server.export { _ in Issue.record("there is no place") }
        }
      }
    }
    #expect(error == .denied("the export has a line of more than \(FollowedServer.maximumLineBytes) bytes"))
  }

  @Test(arguments: [403, 404]) func deniedDataSetsAndAreasEndTheFollower(status: Int) async throws {
    let head = "HTTP/1.1 \(status) x\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
    let errors = try await HostilePeer.serving(Script("a denial", head, .response(status))) { port in
      let target = try ServerTarget(url: "http://127.0.0.1:\(port)", apiKey: nil)
      return try await target.withClient { client in
        let server = FollowedServer(target: target, query: try FollowQuery(""), client: client)
        return [
          await #expect(throws: FollowError.self) { try await server.sources() },
          await #expect(throws: FollowError.self) { try await server.areasTag(known: nil) },
        ]
      }
    }
    #expect(errors.map { $0?.exitCode } == [Exit.failed, Exit.failed])
  }

  @Test(arguments: ["", "1", "a\\\"b", "1.2&limit=1", "1.2 x", "1.2~\\u000a", "1.2~\\\""])
  func positionThatIsNoneIsRejected(_ position: String) async throws {
    let body = #"{"changes":[],"position":"\#(position)","more":false}"#
    let script = Script("a page", "\(Self.ok)content-length: \(body.utf8.count)\r\n\r\n\(body)", .response(200))
    let error = try await HostilePeer.serving(script) { port in
      let target = try ServerTarget(url: "http://127.0.0.1:\(port)", apiKey: nil)
      return await #expect(throws: FollowError.self) {
        try await target.withClient { client in
          let server = FollowedServer(target: target, query: try FollowQuery(""), client: client)
          _ = try await server.changes(after: "1.2", waits: false)
        }
      }
    }
    #expect(error == .denied("the server did not respond as Waymark does"))
  }

  @Test(arguments: [Int.max, Int.min, -1, 1 << 53 + 1])
  func reportWithImpossibleNumbersIsNotAdded(_ number: Int) throws {
    let texts = ["created", "rejected", "deleted", "kept", "implausible"].map { name in
      var counts = ["created": 1, "updated": 1, "unchanged": 1, "rejected": 1]
      counts[name] = number
      return counts.map { #""\#($0)":\#($1)"# }.joined(separator: ",") + #","errors":[]"#
    }
    let row = #""created":1,"updated":1,"unchanged":1,"rejected":1,"errors":[{"row":\#(number),"detail":"x"}]"#
    for text in texts + [row] {
      let report = try JSONDecoder().decode(ServerReport.self, from: Data("{\(text)}".utf8))
      #expect(!report.isPlausible, "\(text)")
    }
  }

  @Test(arguments: [-1e300, 1e300, -1, 1e9])
  func distanceThatNoPlaceHasIsLeftOut(_ distance: Double) throws {
    let place = try JSONDecoder().decode(
      FoundPlace.self, from: Data(#"{"id":"1","name":"a","distance":\#(distance)}"#.utf8))
    #expect(!FoundPlace.table(of: [place]).contains { $0.contains("m ") })
  }
}

/// A server that sends the bytes of a script, whatever is requested.
private final class HostilePeer: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private let script: HostilePeerTests.Script
  private let bytes: ByteBuffer
  private var hasSent = false
  private var request: [UInt8] = []

  private init(_ script: HostilePeerTests.Script, _ bytes: ByteBuffer) {
    self.script = script
    self.bytes = bytes
  }

  /// The threads of the peers. Peers that send without end would keep the common ones from other connections.
  private static let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)

  /// The time between the pieces of a text without end.
  private static let pause = TimeAmount.milliseconds(1)

  /// Serves the script while a closure is called.
  ///
  /// - Parameters:
  ///   - bytes: the bytes in place of the script's text.
  ///   - protocols: the protocols of TLS that the server offers.
  static func serving<Value>(
    _ script: HostilePeerTests.Script, bytes: [UInt8]? = nil, tls certificate: TestCertificate? = nil,
    protocols: [String] = [], _ body: (_ port: Int) async throws -> Value
  ) async throws -> Value {
    let buffer = ByteBuffer(bytes: bytes ?? Array(script.text.utf8))
    let context = try certificate.map { certificate in
      var configuration = TLSConfiguration.makeServerConfiguration(
        certificateChain: [
          .certificate(try NIOSSLCertificate(bytes: Array(certificate.certificatePEM.utf8), format: .pem))
        ],
        privateKey: .privateKey(try NIOSSLPrivateKey(bytes: Array(certificate.privateKeyPEM.utf8), format: .pem)))
      configuration.applicationProtocols = protocols
      return try NIOSSLContext(configuration: configuration)
    }
    let server = try await ServerBootstrap(group: group)
      .serverChannelOption(ChannelOptions.socketOption(.so_reuseaddr), value: 1)
      .childChannelOption(ChannelOptions.allowRemoteHalfClosure, value: true)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          if let context {
            try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
          }
          try channel.pipeline.syncOperations.addHandler(HostilePeer(script, buffer))
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    do {
      let value = try await body(server.localAddress?.port ?? 0)
      try await server.close()
      return value
    } catch {
      try? await server.close()
      throw error
    }
  }

  func channelActive(context: ChannelHandlerContext) {
    if script.isEarly { send(context) }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !hasSent else { return }
    request += unwrapInboundIn(data).readableBytesView
    // The whole head and, of a message, its body.
    let text = String(decoding: request, as: UTF8.self)
    if text.contains("\r\n\r\n"), !text.hasPrefix("POST /hook") || text.hasSuffix("{}") { send(context) }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

  private func send(_ context: ChannelHandlerContext) {
    guard !hasSent else { return }
    hasSent = true
    let written = context.eventLoop.makePromise(of: Void.self)
    context.writeAndFlush(wrapOutboundOut(bytes), promise: written)
    let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    written.futureResult.whenSuccess {
      let (handler, context) = bound.value
      if handler.script.repeated != nil {
        handler.repeatForever(context)
      } else if !handler.script.isHeld {
        // What was sent arrives also if the rest of a request was not read.
        context.close(mode: .output, promise: nil)
      }
    }
  }

  private func repeatForever(_ context: ChannelHandlerContext) {
    guard let text = script.repeated else { return }
    let piece = String(repeating: text, count: max(1, (1 << 14) / text.utf8.count))
    let written = context.eventLoop.makePromise(of: Void.self)
    context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: piece)), promise: written)
    let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    written.futureResult.whenSuccess {
      bound.eventLoop.scheduleTask(in: Self.pause) {
        let (handler, context) = bound.value
        handler.repeatForever(context)
      }
    }
    written.futureResult.whenFailure { _ in bound.value.1.close(promise: nil) }
  }
}

/// Alterations of a text, which a seed determines.
private struct Alterations: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return state &* 0x2545_F491_4F6C_DD1D
  }

  mutating func altered(_ text: String) -> [UInt8] {
    var bytes = Array(text.utf8)
    for _ in 0..<Int.random(in: 1...3, using: &self) {
      guard !bytes.isEmpty else { break }
      let index = Int.random(in: 0..<bytes.count, using: &self)
      let other: [UInt8] = [0, 9, 10, 13, 32, 45, 48, 49, 57, 58, 65, 0x7F, 0xFF]
      switch Int.random(in: 0..<6, using: &self) {
      case 0: bytes[index] = other.randomElement(using: &self) ?? 0
      case 1: bytes.insert(other.randomElement(using: &self) ?? 0, at: index)
      case 2: bytes.remove(at: index)
      case 3: bytes.removeSubrange(index...)
      case 4: bytes.insert(contentsOf: bytes[index...], at: index)
      default:
        // A digit of the status.
        let digit = 9 + Int.random(in: 0..<3, using: &self)
        if digit < bytes.count { bytes[digit] = UInt8.random(in: 48...57, using: &self) }
      }
    }
    return bytes
  }
}
