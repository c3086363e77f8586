import HTTPServer
import HTTPTestSupport
import NIOCore
import NIOHTTP1
import Testing

/// The bound of the memory that clients that read nothing can occupy together, each of them with one connection.
@Suite(.timeLimit(.minutes(5))) struct OutputBudgetTests {
  private static let longBytes = 1024 * 1024

  private static let responder: Router = {
    var routes: [Route] = []
    let long = ByteBuffer(repeating: 97, count: longBytes)
    routes.on(.GET, "/unbounded") { _, _ in HTTPResponse(contentType: "text/plain", bytes: long) }
    routes.on(.GET, "/long") { request, _ in
      let reservation = try await request.reserveMemory(bytes: longBytes)
      defer { extendLifetime(reservation) }
      return HTTPResponse(contentType: "text/plain", bytes: long)
    }
    routes.on(.GET, "/longest") { request, _ in
      let reservation = try await request.reserveMemory(bytes: 3 * longBytes)
      defer { extendLifetime(reservation) }
      return HTTPResponse(contentType: "text/plain", bytes: long)
    }
    routes.on(.GET, "/stream") { request, _ in
      let reservation = try await request.reserveMemory(bytes: longBytes)
      defer { extendLifetime(reservation) }
      return HTTPResponse(body: .stream { writer in while true { try await writer.write(long) } })
    }
    routes.on(.GET, "/short") { _, _ in .text("short") }
    return Router(routes)
  }()

  private static func configure(_ configuration: inout HTTPServerConfiguration) {
    configuration.limits.bufferedBytes = 16 * longBytes
    configuration.timeouts.idleReader = .seconds(300)
    configuration.timeouts.share = .milliseconds(100)
    configuration.sender = { .address(IPAddress("2001:db8::\(String($0.remoteAddress?.port ?? 0, radix: 16))")) }
  }

  /// Opens clients that send a request and read nothing, until one is rejected.
  private func silentClients(_ path: String, port: Int) async throws -> [RawHTTPConnection] {
    var clients: [RawHTTPConnection] = []
    for _ in 0..<400 {
      let client = try await RawHTTPConnection.open(port: port, receiveBufferBytes: 4096)
      try await client.send("GET \(path) HTTP/1.1\r\nHost: test\r\n\r\n")
      clients.append(client)
    }
    return clients
  }

  @Test(arguments: ["/unbounded", "/long"])
  func longResponsesOverTheBudgetAreRejectedAndShortOnesSent(path: String) async throws {
    try await withServer(Self.responder, configure: Self.configure) { server in
      let clients = try await silentClients(path, port: server.port)
      let other = try await RawHTTPConnection.open(port: server.port)
      var refusal = try await other.get(path)
      while refusal.status == 200 { refusal = try await other.get(path) }
      let short = try await other.get("/short")

      #expect(refusal.status == 503)
      #expect(refusal.text.contains(#""code":"overloaded""#))
      #expect(refusal["retry-after"] == "1")
      #expect(short.status == 200)
      #expect(server.bufferedBytes <= 16 * Self.longBytes)
      for client in clients { client.reset() }
    }
  }

  @Test func stalledPeerIsDisconnectedWhileOthersAreServed() async throws {
    func configure(_ configuration: inout HTTPServerConfiguration) {
      Self.configure(&configuration)
      configuration.timeouts.idleReader = .milliseconds(500)
    }
    try await withServer(Self.responder, configure: configure) { server in
      let clients = try await silentClients("/long", port: server.port)
      let other = try await RawHTTPConnection.open(port: server.port)
      while try await other.get("/long").status != 200 {}

      while server.bufferedBytes > 12 * Self.longBytes { try await Task.sleep(for: .milliseconds(10)) }
      for client in clients { client.reset() }
    }
  }

  @Test func slowReadersAreDisconnectedWhileOthersAreServed() async throws {
    func configure(_ configuration: inout HTTPServerConfiguration) {
      Self.configure(&configuration)
      configuration.timeouts.idleReader = .seconds(3)
    }
    try await withServer(Self.responder, configure: configure) { server in
      let port = server.port
      let readers = (0..<40).map { _ in
        Task {
          let client = try await RawHTTPConnection.open(port: port, receiveBufferBytes: 4096)
          try await client.send("GET /long HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n")
          while try await !client.some(atMost: 256).isEmpty { try await Task.sleep(for: .milliseconds(100)) }
        }
      }
      while server.bufferedBytes <= 10 * Self.longBytes { try await Task.sleep(for: .milliseconds(10)) }

      let other = try await RawHTTPConnection.open(port: port)
      while try await other.get("/longest").status != 200 {}

      for reader in readers { reader.cancel() }
    }
  }

  @Test func clientThatReadsNothingOnManyConnectionsLeavesRoomForOthers() async throws {
    func configure(_ configuration: inout HTTPServerConfiguration) {
      Self.configure(&configuration)
      configuration.sender = { .address(IPAddress("2001:db8::\($0.path == "/long" ? 1 : 2)")) }
    }
    try await withServer(Self.responder, configure: configure) { server in
      let clients = try await silentClients("/long", port: server.port)
      while server.bufferedBytes <= 5 * Self.longBytes { try await Task.sleep(for: .milliseconds(10)) }

      let other = try await RawHTTPConnection.open(port: server.port)
      while try await other.get("/longest").status != 200 {}

      for client in clients { client.reset() }
    }
  }

  @Test func bytesOfClosedConnectionsAreNoLongerCounted() async throws {
    try await withServer(Self.responder, configure: Self.configure) { server in
      let clients = try await silentClients("/long", port: server.port)
      while server.bufferedBytes < 8 * Self.longBytes { try await Task.sleep(for: .milliseconds(10)) }

      for client in clients { client.reset() }

      // Each event loop may keep a sixty-fourth to itself.
      while server.bufferedBytes > Self.longBytes / 2 { try await Task.sleep(for: .milliseconds(10)) }
    }
  }

  @Test func streamsPauseWhileMemoryIsShort() async throws {
    try await withServer(Self.responder, configure: Self.configure) { server in
      let clients = try await silentClients("/stream", port: server.port)
      let other = try await RawHTTPConnection.open(port: server.port)
      // Up to three quarters of the budget are for reservations, and there is no room for another one.
      while server.bufferedBytes <= 11 * Self.longBytes { try await Task.sleep(for: .milliseconds(10)) }
      let refusal = try await other.get("/stream")

      #expect(refusal.status == 503)
      #expect(server.bufferedBytes <= 16 * Self.longBytes)
      for client in clients { client.reset() }
    }
  }

  @Test func responsesOfHTTP2AreCountedToo() async throws {
    try await withServer(Self.responder, configure: Self.configure) { server in
      typealias Frames = RawHTTP2Frames
      var clients: [RawHTTPConnection] = []
      let path = Frames.literal(nameIndex: 4, value: "/unbounded")
      let block = [0x82, 0x86] + path + Frames.literal(nameIndex: 1, value: "a")
      for _ in 0..<40 {
        let client = try await RawHTTPConnection.open(port: server.port)
        let request = Frames.frame(type: Frames.headers, flags: 5, stream: 1, block)
        try await client.send(bytes: Frames.preface + request)
        clients.append(client)
      }
      let other = try await RawHTTPConnection.open(port: server.port)
      while try await other.get("/unbounded").status == 200 {}

      #expect(try await other.get("/short").status == 200)
      #expect(server.bufferedBytes <= 16 * Self.longBytes)
      for client in clients { client.reset() }
    }
  }
}
