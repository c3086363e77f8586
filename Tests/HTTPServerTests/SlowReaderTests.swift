import HTTPServer
import HTTPTestSupport
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization
import Testing

/// Clients that read slowly and steadily are served to the end, and those that stop are cut: progress is what their
/// systems have acknowledged.
@Suite(.timeLimit(.minutes(10))) struct SlowReaderTests {
  private typealias Frames = RawHTTP2Frames

  private static let length = 16 * 1024 * 1024
  private static let period = Duration.seconds(10)
  /// At this rate the server's socket, which holds megabytes and takes more when a third is free, takes nothing for
  /// longer than a period. The client's socket is so small that its system acknowledges something every other second.
  private static let bytesPerSecond = 40_000
  private static let receiveBufferBytes: Int32 = 32 * 1024

  private static let responder = ClosureResponder { _ in
    let piece = ByteBuffer(repeating: 97, count: 64 * 1024)
    return HTTPResponse(
      body: .stream(length: length) { writer in
        for _ in 0..<length / piece.readableBytes { try await writer.write(piece) }
      })
  }

  private static let http1 = Array("GET / HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n".utf8)

  /// A request by a client whose windows are as wide as may be.
  private static let http2: [UInt8] = {
    let window: [UInt8] = [0, 4] + Frames.bytes(of: 0x7FFF_FFFF)
    let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + Frames.frame(type: Frames.settings, window)
    let update = Frames.frame(type: Frames.windowUpdate, Frames.bytes(of: 0x7FFF_0000))
    return preface + update + Frames.frame(type: Frames.headers, flags: 5, stream: 1, Frames.get)
  }()

  private static let requests = [http1, http2]

  @Test(arguments: requests) func steadyReaderIsServedToTheEnd(request: [UInt8]) async throws {
    try await withServer(Self.responder, configure: { $0.timeouts.write = Self.period }) { server in
      let reader = SteadyReader(request, bytesPerSecond: Self.bytesPerSecond, for: Self.period * 3)

      try await reader.read(port: server.port, receiveBufferBytes: Self.receiveBufferBytes)

      #expect(reader.count >= Self.length)
    }
  }

  /// A full receive buffer of a megabyte and more is acknowledged in steps of some hundred kilobytes, which at this
  /// rate take longer than a period.
  @Test(arguments: requests) func steadyReaderWithALargeReceiveBufferIsServedToTheEnd(request: [UInt8]) async throws {
    try await withServer(Self.responder, configure: { $0.timeouts.write = Self.period }) { server in
      let reader = SteadyReader(request, bytesPerSecond: 11_000, for: Self.period * 5)

      try await reader.read(port: server.port, receiveBufferBytes: 1024 * 1024)

      #expect(reader.count >= Self.length)
    }
  }

  @Test func steadyReaderOverTLSIsServedToTheEnd() async throws {
    let certificate = try TestCertificate()
    let files = try TestCertificateFiles(certificate)
    let identity = try TLSIdentity(certificateFile: files.certificate, privateKeyFile: files.privateKey)
    let configure = { (configuration: inout HTTPServerConfiguration) in
      configuration.tls = identity
      configuration.timeouts.write = Self.period
    }
    try await withServer(Self.responder, configure: configure) { server in
      let reader = SteadyReader(Self.http1, bytesPerSecond: Self.bytesPerSecond, for: Self.period * 3)
      let tls = try certificate.clientContext()

      try await reader.read(port: server.port, receiveBufferBytes: Self.receiveBufferBytes, tls: tls)

      #expect(reader.count >= Self.length)
    }
  }

  @Test(arguments: requests) func readerThatStopsIsDisconnected(request: [UInt8]) async throws {
    try await withServer(Self.responder, configure: { $0.timeouts.write = Self.period }) { server in
      let reader = SteadyReader(request, bytesPerSecond: Self.bytesPerSecond, stopsAt: 256 * 1024)
      let channel = try await reader.start(port: server.port, receiveBufferBytes: Self.receiveBufferBytes)
      while reader.count < 256 * 1024 { try await Task.sleep(for: .milliseconds(50)) }

      while server.openConnections > 0 { try await Task.sleep(for: .milliseconds(50)) }

      #expect(reader.count < Self.length)
      channel.close(promise: nil)
    }
  }

  @Test(arguments: requests) func readerOfALiveResponseThatStopsIsNotDisconnected(request: [UInt8]) async throws {
    let live = ClosureResponder { request in
      var response = await Self.responder.respond(to: request)
      if case .stream(_, let body) = response.body { response.body = .live(body) }
      return response
    }
    let configure = { (configuration: inout HTTPServerConfiguration) in configuration.timeouts.write = Self.period }
    try await withServer(live, configure: configure) { server in
      try await withServer(Self.responder, configure: configure) { other in
        let readers = [server, other].map { _ in
          SteadyReader(request, bytesPerSecond: Self.bytesPerSecond, stopsAt: 256 * 1024)
        }
        let channels = [
          try await readers[0].start(port: server.port, receiveBufferBytes: Self.receiveBufferBytes),
          try await readers[1].start(port: other.port, receiveBufferBytes: Self.receiveBufferBytes),
        ]
        while readers.contains(where: { $0.count < 256 * 1024 }) { try await Task.sleep(for: .milliseconds(50)) }

        while other.openConnections > 0 { try await Task.sleep(for: .milliseconds(50)) }

        #expect(server.openConnections == 1)
        for channel in channels { channel.close(promise: nil) }
      }
    }
  }

  /// A client that sends a request and reads at a steady rate: for some time, after which it reads as fast as possible,
  /// or up to a number of bytes, after which it reads nothing. It closes the connection when it has received as many
  /// bytes as the body has.
  ///
  /// It reads on an event loop, not on Swift's cooperative pool: there it would stop for as long as other tests
  /// compute.
  private final class SteadyReader: Sendable {
    private let request: [UInt8]
    private let bytesPerSecond: Int
    private let duration: Duration
    private let maximumCount: Int
    private let bytes = Atomic(0)

    /// The number of bytes that it has read.
    var count: Int { bytes.load(ordering: .relaxed) }

    init(
      _ request: [UInt8], bytesPerSecond: Int, for duration: Duration = .seconds(3600), stopsAt maximumCount: Int = .max
    ) {
      self.request = request
      self.bytesPerSecond = bytesPerSecond
      self.duration = duration
      self.maximumCount = maximumCount
    }

    /// Sends the request, and returns when the connection is closed.
    func read(port: Int, receiveBufferBytes: Int32, tls: NIOSSLContext? = nil) async throws {
      try await start(port: port, receiveBufferBytes: receiveBufferBytes, tls: tls).closeFuture.get()
    }

    /// Sends the request, begins to read, and returns the connection.
    func start(port: Int, receiveBufferBytes: Int32, tls: NIOSSLContext? = nil) async throws -> any Channel {
      let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
        .channelOption(.autoRead, value: false)
        .channelOption(.socketOption(.so_rcvbuf), value: SocketOptionValue(receiveBufferBytes))
        .channelOption(.maxMessagesPerRead, value: 1)
        .channelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 8 * 1024))
        .channelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            if let tls {
              let handler = try NIOSSLClientHandler(context: tls, serverHostname: "localhost")
              try channel.pipeline.syncOperations.addHandler(handler)
            }
            try channel.pipeline.syncOperations.addHandler(ByteCounter(reader: self))
          }
        }
        .connect(host: "127.0.0.1", port: port)
        .get()
      channel.writeAndFlush(ByteBuffer(bytes: request), promise: nil)
      let start = ContinuousClock.now
      channel.eventLoop.scheduleRepeatedTask(initialDelay: .zero, delay: .milliseconds(20)) { task in
        let elapsed = start.duration(to: .now)
        if self.count >= self.maximumCount {
          task.cancel()
        } else if elapsed >= self.duration {
          task.cancel()
          channel.setOption(.autoRead, value: true).whenFailure { _ in channel.close(promise: nil) }
        } else if Double(self.count) < elapsed / .seconds(1) * Double(self.bytesPerSecond) {
          channel.read()
        }
      }
      return channel
    }

    /// Counts what comes, and throws it away.
    private final class ByteCounter: ChannelInboundHandler {
      typealias InboundIn = ByteBuffer

      private let reader: SteadyReader

      init(reader: SteadyReader) {
        self.reader = reader
      }

      func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let count = unwrapInboundIn(data).readableBytes
        let sum = reader.bytes.wrappingAdd(count, ordering: .relaxed).newValue
        if sum >= SlowReaderTests.length { context.close(promise: nil) }
      }

      func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The server may close without TLS close_notify: the byte count shows whether everything arrived.
        context.close(promise: nil)
      }
    }
  }
}
