import Crypto
import Foundation
import HTTPServer
import HTTPTestSupport
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization
import Testing

/// Tests of the built program with endpoints that receive changes.
@Suite(.timeLimit(.minutes(5))) struct WebhookTests {
  /// An endpoint whose responses a test sets.
  private final class Receiver: HTTPResponder {
    struct Message: Sendable {
      let headers: RequestFields
      let body: Data
      let status: HTTPResponseStatus

      var id: String { headers.first(name: "webhook-id") ?? "" }

      /// The names of the places, and the ids of the removed ones.
      var names: [String] {
        let object = try? JSONSerialization.jsonObject(with: body) as? [String: Any]
        let changes = (object?["data"] as? [String: Any])?["changes"] as? [[String: Any]] ?? []
        return changes.compactMap { change in
          (change["place"] as? [String: Any])?["name"] as? String ?? change["id"] as? String
        }
      }

      /// Returns a Boolean value that indicates whether one of the signatures is that of the secret.
      func isSigned(with secret: String) -> Bool {
        guard let key = Data(base64Encoded: String(secret.dropFirst("whsec_".count))),
          let timestamp = headers.first(name: "webhook-timestamp"),
          let signatures = headers.first(name: "webhook-signature")
        else { return false }
        let signed = Data("\(id).\(timestamp).".utf8) + body
        let code = HMAC<SHA256>.authenticationCode(for: signed, using: SymmetricKey(data: key))
        return signatures.split(separator: " ").contains { $0 == "v1," + Data(code).base64EncodedString() }
      }
    }

    private let state = Mutex((messages: [Message](), status: HTTPResponseStatus.noContent, redirect: String?.none))

    var messages: [Message] { state.withLock { $0.messages } }

    func respond(_ status: HTTPResponseStatus, redirectingTo target: String? = nil) {
      state.withLock { ($0.status, $0.redirect) = (status, target) }
    }

    func respond(to request: HTTPRequest) async -> HTTPResponse {
      let body = (try? await request.body.collect()).map { Data($0.readableBytesView) } ?? Data()
      let (status, redirect) = state.withLock { state in
        state.messages.append(Message(headers: request.headers, body: body, status: state.status))
        return (state.status, state.redirect)
      }
      var response = HTTPResponse(status: status)
      if let redirect { response.headers.add(name: "location", value: redirect) }
      return response
    }

    /// Waits until messages meet a condition.
    func wait(for condition: ([Message]) -> Bool) async throws {
      let deadline = ContinuousClock.now + .seconds(120)
      while !condition(messages) {
        guard ContinuousClock.now < deadline else {
          Issue.record("the messages did not come: \(messages.map { ($0.status.code, $0.names) })")
          return
        }
        try await Task.sleep(for: .milliseconds(20))
      }
    }
  }

  private func withReceiver(
    _ receiver: Receiver, tls: TLSIdentity? = nil, _ body: (_ port: Int) async throws -> Void
  ) async throws {
    var configuration = HTTPServerConfiguration(port: 0)
    configuration.threads = 1
    configuration.tls = tls
    let server = try await HTTPServer.bind(
      configuration: configuration, responder: receiver,
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    do {
      try await body(server.port)
    } catch {
      await server.shutdown(gracePeriod: .zero)
      throw error
    }
    await server.shutdown(gracePeriod: .zero)
  }

  private static let json = ["Content-Type": "application/json"]
  private static let allowed = ["WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8"]

  private struct Created: Decodable {
    let id: String
    let secret: String
  }

  private func create(_ driver: ServerDriver, _ url: String, members: String = "") async throws -> Created {
    let response = try await driver.send(
      "POST", "/webhooks", headers: Self.json, body: Data(#"{"url":"\#(url)"\#(members)}"#.utf8))
    try #require(response.status == 201, "\(String(decoding: response.body, as: UTF8.self))")
    return try JSONDecoder().decode(Created.self, from: response.body)
  }

  private func put(_ driver: ServerDriver, _ number: Int, _ name: String, category: String = "cafe") async throws {
    let response = try await driver.send(
      "PUT", "/locations/0199a1b2-0000-7000-8000-00000000000\(number)", headers: Self.json,
      body: Data(#"{"name":"\#(name)","lat":1,"long":2,"category":"\#(category)"}"#.utf8))
    try #require([200, 201].contains(response.status))
  }

  private func text(_ driver: ServerDriver, _ target: String) async throws -> String {
    String(decoding: try await driver.get(target).body, as: UTF8.self)
  }

  /// Returns the text of a response when it contains another.
  private func text(_ driver: ServerDriver, _ target: String, containing part: String) async throws -> String {
    for _ in 0..<1_200 {
      let text = try await text(driver, target)
      if text.contains(part) { return text }
      try await Task.sleep(for: .milliseconds(50))
    }
    Issue.record("'\(part)' is not in \(target)")
    return ""
  }

  // MARK: Delivery

  @Test(arguments: StoreKind.allCases)
  func everyChangeArrivesSignedThroughFailuresAndAKilledServer(_ kind: StoreKind) async throws {
    let store = try await EmptyStore(kind)
    let receiver = Receiver()
    try await withReceiver(receiver) { port in
      let first = try await store.serve(Self.allowed)
      var driver = ServerDriver(port: try await first.port())
      let webhook = try await create(driver, "http://127.0.0.1:\(port)/hook?token=1")
      receiver.respond(.serviceUnavailable)
      try await put(driver, 1, "a")
      try await receiver.wait { $0.count >= 1 }
      first.send(SIGKILL)
      _ = try await first.outcome()
      receiver.respond(.noContent)

      let second = try await store.serve(Self.allowed)
      driver = ServerDriver(port: try await second.port())
      try await put(driver, 2, "b")
      // A sender that was killed has the lease for half a minute, and the pause after a failure is five seconds.
      try await receiver.wait { messages in messages.contains { $0.status == .noContent && $0.names.contains("b") } }

      let messages = receiver.messages
      #expect(messages.allSatisfy { $0.isSigned(with: webhook.secret) })
      #expect(messages.allSatisfy { $0.headers.first(name: "content-type") == "application/json" })
      let delivered = messages.filter { $0.status == .noContent }
      #expect(delivered.map(\.names) == [["a"], ["b"]] && delivered.first?.id == messages.first?.id)
      #expect(delivered.first?.body == messages.first?.body)
      // The sender notes a delivery after the receiver has it.
      let metrics = try await text(driver, "/metrics", containing: #"webhook_deliveries_total{outcome="ok"} 2"#)
      let shown = try await text(driver, "/webhooks/\(webhook.id)", containing: #""status":204"#)
      #expect(!shown.contains("whsec_"))
      #expect(metrics.contains("webhooks_disabled 0"))
      second.send(SIGTERM)
      #expect(try await second.outcome().status == 0)
    }
  }

  @Test func serverThatIsStoppedHandsTheLeaseOverAtOnce() async throws {
    let store = try await EmptyStore(.postgres)
    let receiver = Receiver()
    try await withReceiver(receiver) { port in
      let first = try await store.serve(Self.allowed)
      let driver = ServerDriver(port: try await first.port())
      _ = try await create(driver, "http://127.0.0.1:\(port)/")
      try await put(driver, 1, "a")
      // A delivery that is not noted yet is repeated.
      _ = try await text(driver, "/metrics", containing: #"webhook_deliveries_total{outcome="ok"} 1"#)
      first.send(SIGTERM)
      #expect(try await first.outcome().status == 0)

      let second = try await store.serve(Self.allowed)
      try await put(ServerDriver(port: try await second.port()), 2, "b")
      try await receiver.wait { $0.count == 2 }

      #expect(receiver.messages.map(\.names) == [["a"], ["b"]])
      second.send(SIGTERM)
      _ = try await second.outcome()
    }
  }

  @Test(arguments: StoreKind.allCases)
  func placesThatDoNotConcernTheFilterAreNotSent(_ kind: StoreKind) async throws {
    let store = try await EmptyStore(kind)
    let receiver = Receiver()
    try await withReceiver(receiver) { port in
      let server = try await store.serve(Self.allowed)
      let driver = ServerDriver(port: try await server.port())
      _ = try await text(driver, "/health/ready", containing: #""status":"ok""#)
      _ = try await create(driver, "http://127.0.0.1:\(port)/", members: #","filter":{"category":["cafe"]}"#)
      // From the first message on, the sender knows what a place was before.
      try await put(driver, 1, "a")
      try await receiver.wait { $0.contains { $0.names.contains("a") } }
      try await put(driver, 2, "b", category: "bar")
      try await put(driver, 3, "c")
      try await receiver.wait { $0.contains { $0.names.contains("c") } }
      try await put(driver, 1, "a", category: "bar")
      try await put(driver, 2, "b2", category: "bar")
      try await put(driver, 4, "d")
      try await receiver.wait { $0.contains { $0.names.contains("d") } }

      let names = receiver.messages.flatMap(\.names)
      #expect(names.sorted() == ["0199a1b2-0000-7000-8000-000000000001", "a", "c", "d"])
      server.send(SIGTERM)
      _ = try await server.outcome()
    }
  }

  @Test func commandListsTestsAndReplays() async throws {
    let store = try await EmptyStore(.memory)
    let receiver = Receiver()
    try await withReceiver(receiver) { port in
      let server = try await store.serve(Self.allowed)
      let driver = ServerDriver(port: try await server.port())
      let url = "http://127.0.0.1:\(try await server.port())"
      let webhook = try await create(driver, "http://127.0.0.1:\(port)/")
      let position = try #require(
        try await text(driver, "/webhooks/\(webhook.id)").firstMatch(of: #/"position":"([^"]+)"/#)?.output.1)
      try await put(driver, 1, "a")
      try await receiver.wait { $0.count == 1 }

      let list = try await WaymarkProcess.run(["webhooks", "--url", url])
      let test = try await WaymarkProcess.run(["webhooks", "test", "--url", url, webhook.id])
      let replay = try await WaymarkProcess.run(
        ["webhooks", "replay", "--url", url, "--since", String(position), webhook.id])
      try await receiver.wait { $0.count == 3 }
      receiver.respond(.notFound)
      let failed = try await WaymarkProcess.run(["webhooks", "test", "--url", url, webhook.id])
      let invalid = try await WaymarkProcess.run(["webhooks", "test", "--url", url, "x"])

      #expect(list.status == 0 && list.output.hasPrefix("\(webhook.id)\thttp://127.0.0.1:\(port)/\t"))
      #expect(test.status == 0 && test.output.hasPrefix("the status 204"), "\(test.log)")
      #expect(replay.status == 0 && replay.output.contains(position), "\(replay.log)")
      #expect(receiver.messages.prefix(3).map(\.names) == [["a"], [], ["a"]])
      #expect(failed.status == 1 && failed.output.hasPrefix("the status 404"))
      #expect(invalid.status == 64)
      server.send(SIGTERM)
      _ = try await server.outcome()
    }
  }

  // MARK: Endpoints

  @Test func certificateIsVerified() async throws {
    let store = try await EmptyStore(.memory)
    let receiver = Receiver()
    let certificate = try TestCertificate()
    let files = try TestCertificateFiles(certificate)
    let identity = try TLSIdentity(certificateFile: files.certificate, privateKeyFile: files.privateKey)
    try await withReceiver(receiver, tls: identity) { port in
      let url = "https://localhost:\(port)/"
      let networks = ["WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8,::1"]
      let suspicious = try await store.serve(networks)
      let driver = ServerDriver(port: try await suspicious.port())
      let webhook = try await create(driver, url)
      let rejected = try await driver.send("POST", "/webhooks/\(webhook.id)/test")
      suspicious.send(SIGTERM)
      _ = try await suspicious.outcome()
      #expect(String(decoding: rejected.body, as: UTF8.self).contains("certificate"))
      #expect(receiver.messages.isEmpty)

      let trusting = try await store.serve(networks.merging(["SSL_CERT_FILE": files.certificate]) { $1 })
      let accepted = try await ServerDriver(port: try await trusting.port()).send(
        "POST", "/webhooks/\(webhook.id)/test")
      #expect(String(decoding: accepted.body, as: UTF8.self).contains(#""status":204"#))
      #expect(receiver.messages.first?.isSigned(with: webhook.secret) == true)
      trusting.send(SIGTERM)
      _ = try await trusting.outcome()
    }
  }

  @Test func redirectIsNotFollowed() async throws {
    let store = try await EmptyStore(.memory)
    let receiver = Receiver()
    try await withReceiver(receiver) { port in
      let server = try await store.serve(Self.allowed)
      let driver = ServerDriver(port: try await server.port())
      let webhook = try await create(driver, "http://127.0.0.1:\(port)/")
      for status in [HTTPResponseStatus.movedPermanently, .found, .seeOther, .temporaryRedirect, .permanentRedirect] {
        receiver.respond(status, redirectingTo: "http://127.0.0.1:\(port)/elsewhere")
        let response = try await driver.send("POST", "/webhooks/\(webhook.id)/test")
        #expect(String(decoding: response.body, as: UTF8.self).contains(#""status":\#(status.code)"#))
      }
      #expect(receiver.messages.count == 5)
      server.send(SIGTERM)
      _ = try await server.outcome()
    }
  }

  /// The behaviour of an endpoint whose response does not end as it should.
  enum Behaviour: String, CaseIterable {
    case silence, endlessHead, slowHead, endlessBody, longBody, garbage, closing

    var sendsStatus: Bool { [.endlessBody, .longBody].contains(self) }
  }

  @Test(arguments: Behaviour.allCases)
  func endpointThatMisbehavesHoldsUpNothing(_ behaviour: Behaviour) async throws {
    let store = try await EmptyStore(.memory)
    let channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(MisbehavingEndpoint(behaviour))
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    let port = try #require(channel.localAddress?.port)
    let server = try await store.serve(Self.allowed)
    let driver = ServerDriver(port: try await server.port())
    let webhook = try await create(driver, "http://127.0.0.1:\(port)/")

    let response = String(
      decoding: try await driver.send("POST", "/webhooks/\(webhook.id)/test").body, as: UTF8.self)

    #expect(response.contains(behaviour.sendsStatus ? #""status":200"# : #""error":"#), "\(response)")
    #expect(try await driver.get("/health/ready").status == 200)
    try await channel.close()
    server.send(SIGTERM)
    #expect(try await server.outcome().status == 0)
  }

  private final class MisbehavingEndpoint: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let behaviour: Behaviour
    private var hasBegun = false

    init(_ behaviour: Behaviour) { self.behaviour = behaviour }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      guard !hasBegun else { return }
      hasBegun = true
      switch behaviour {
      case .silence: break
      case .closing: context.close(promise: nil)
      case .garbage: write("\u{16}\u{3} nonsense\r\n\r\n", context)
      case .endlessHead:
        write("HTTP/1.1 200 OK\r\n", context)
        repeatWriting("x: \(String(repeating: "y", count: 1000))\r\n", context, pause: .milliseconds(1))
      case .slowHead:
        write("HTTP/1.1 200 OK\r\n", context)
        repeatWriting("x: y\r\n", context, pause: .milliseconds(500))
      case .endlessBody:
        write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", context)
        repeatWriting("3e8\r\n\(String(repeating: "y", count: 1000))\r\n", context, pause: .milliseconds(1))
      case .longBody:
        write(
          "HTTP/1.1 200 OK\r\ncontent-length: 10000000\r\n\r\n\(String(repeating: "y", count: 10_000_000))", context)
      }
    }

    private func write(_ text: String, _ context: ChannelHandlerContext) {
      context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
    }

    private func repeatWriting(_ text: String, _ context: ChannelHandlerContext, pause: TimeAmount) {
      let channel = context.channel
      channel.eventLoop.scheduleRepeatedTask(initialDelay: .zero, delay: pause) { task in
        guard channel.isActive else { return task.cancel() }
        channel.writeAndFlush(ByteBuffer(string: text), promise: nil)
      }
    }
  }

  @Test(arguments: [
    "http://127.0.0.1/", "https://127.0.0.1/", "https://[::ffff:10.0.0.1]/", "https://localhost/",
    "https://2130706433/",
    "https://0x7f.1/", "https://[::1]/", "https://169.254.169.254/latest",
  ])
  func ownNetworkIsNotReached(_ url: String) async throws {
    let store = try await EmptyStore(.memory)
    let server = try await store.serve()
    let driver = ServerDriver(port: try await server.port())
    let response = try await driver.send(
      "POST", "/webhooks", headers: Self.json, body: Data(#"{"url":"\#(url)"}"#.utf8))
    #expect(response.status == 400, "\(String(decoding: response.body, as: UTF8.self))")
    server.send(SIGTERM)
    _ = try await server.outcome()
  }
}
