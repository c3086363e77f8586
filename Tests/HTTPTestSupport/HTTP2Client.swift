package import NIOCore
package import NIOHPACK
package import NIOHTTP2
import NIOPosix
package import NIOSSL
import NIOTLS
import Synchronization

/// An HTTP/2 client with one connection to a server on this machine.
package final class HTTP2Client: Sendable {
  /// A complete response.
  package struct Response: Sendable {
    /// The status code.
    package let status: Int

    /// The header fields.
    package let headers: HPACKHeaders

    /// The body.
    package let body: [UInt8]

    /// The body as text.
    package var text: String { String(decoding: body, as: UTF8.self) }

    /// The first value of a field.
    package subscript(name: String) -> String? { headers.first(name: name) }
  }

  /// The error of a request that the server has reset.
  package struct Broken: Error {}

  /// The connection's channel.
  package let channel: any Channel

  /// The error codes of the server's GOAWAY frames, in order.
  package var farewells: [HTTP2ErrorCode] { watcher.codes.withLock { $0 } }

  private let multiplexer: NIOHTTP2Handler.StreamMultiplexer
  private let watcher: ConnectionWatcher

  private init(channel: any Channel, multiplexer: NIOHTTP2Handler.StreamMultiplexer, watcher: ConnectionWatcher) {
    self.channel = channel
    self.multiplexer = multiplexer
    self.watcher = watcher
  }

  /// Connects with prior knowledge, or over TLS if a context is given.
  ///
  /// - Parameter windowBytes: the number of bytes of a response that the server may send before they are read; 0 never
  ///   reads any.
  package static func open(
    port: Int,
    context: NIOSSLContext? = nil,
    windowBytes: Int = 65_535
  ) async throws -> HTTP2Client {
    let watcher = ConnectionWatcher()
    let (channel, multiplexer) = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .connect(host: "127.0.0.1", port: port) { channel in
        channel.eventLoop.makeCompletedFuture {
          let pipeline = channel.pipeline.syncOperations
          if let context {
            try pipeline.addHandler(NIOSSLClientHandler(context: context, serverHostname: "localhost"))
          }
          var connection = NIOHTTP2Handler.ConnectionConfiguration()
          connection.initialSettings = [
            HTTP2Setting(parameter: .initialWindowSize, value: windowBytes),
            HTTP2Setting(parameter: .enablePush, value: 0),
          ]
          var stream = NIOHTTP2Handler.StreamConfiguration()
          stream.targetWindowSize = windowBytes
          let handler = NIOHTTP2Handler(
            mode: .client,
            eventLoop: channel.eventLoop,
            connectionConfiguration: connection,
            streamConfiguration: stream
          ) { $0.eventLoop.makeSucceededVoidFuture() }
          try pipeline.addHandlers(handler, watcher)
          return (channel, try handler.syncMultiplexer())
        }
      }
    return HTTP2Client(channel: channel, multiplexer: multiplexer, watcher: watcher)
  }

  /// Sends a ping, and waits for the acknowledgement.
  package func ping() async throws {
    let acknowledged = channel.eventLoop.makePromise(of: Void.self)
    watcher.pings.withLock { $0.append(acknowledged) }
    channel.writeAndFlush(
      HTTP2Frame(streamID: .rootStream, payload: .ping(HTTP2PingData(withInteger: 1), ack: false))
    ).cascadeFailure(to: acknowledged)
    try await acknowledged.futureResult.get()
  }

  /// Begins a request and returns its stream.
  package func start(
    _ method: String,
    _ path: String,
    authority: String? = "localhost",
    headers: [(String, String)] = [],
    endsStream: Bool = true
  ) async throws -> HTTP2ClientStream {
    let collector = StreamCollector(eventLoop: channel.eventLoop)
    let stream: any Channel
    do {
      stream = try await multiplexer.createStreamChannel { channel in
        channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(collector) }
      }.get()
    } catch {
      collector.fail(error)
      throw error
    }
    var block: HPACKHeaders = [":method": method, ":scheme": "http", ":path": path]
    if let authority { block.add(name: ":authority", value: authority) }
    for (name, value) in headers { block.add(name: name, value: value) }
    stream.writeAndFlush(
      HTTP2Frame.FramePayload.headers(.init(headers: block, endStream: endsStream)), promise: nil)
    return HTTP2ClientStream(channel: stream, response: collector.response)
  }

  /// Sends a request and returns the response.
  package func send(
    _ method: String = "GET",
    _ path: String,
    authority: String? = "localhost",
    headers: [(String, String)] = [],
    body: [UInt8]? = nil
  ) async throws -> Response {
    let stream = try await start(method, path, authority: authority, headers: headers, endsStream: body == nil)
    if let body { stream.write(body, endsStream: true) }
    return try await stream.receiveResponse()
  }
}

/// A handler that records events of the connection, as opposed to those of a stream.
private final class ConnectionWatcher: ChannelInboundHandler, Sendable {
  typealias InboundIn = HTTP2Frame

  /// The error codes of the server's GOAWAY frames.
  let codes = Mutex<[HTTP2ErrorCode]>([])

  /// The pings that have not been acknowledged.
  let pings = Mutex<[EventLoopPromise<Void>]>([])

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data).payload {
    case .goAway(_, let code, _): codes.withLock { $0.append(code) }
    case .ping(_, ack: true): pings.withLock { $0.isEmpty ? nil : $0.removeFirst() }?.succeed()
    default: break
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    let waiting = pings.withLock { pings in
      defer { pings = [] }
      return pings
    }
    for ping in waiting { ping.fail(ChannelError.eof) }
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // An error of a stream is reported to that stream.
  }
}
