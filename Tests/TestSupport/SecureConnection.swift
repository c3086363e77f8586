import NIOCore
import NIOPosix
import NIOSSL

/// A connection over TLS to a server of HTTP/1.1 on this machine. It belongs to one task.
public final class SecureConnection {
  private let channel: any Channel
  private var pieces: AsyncThrowingStream<ByteBuffer, any Error>.AsyncIterator
  private var received: [UInt8] = []

  private init(channel: any Channel, pieces: AsyncThrowingStream<ByteBuffer, any Error>) {
    self.channel = channel
    self.pieces = pieces.makeAsyncIterator()
  }

  /// Connects, and shakes hands with `localhost`.
  ///
  /// - Throws: what stands in the way of the handshake.
  public static func open(port: Int, context: NIOSSLContext) async throws -> SecureConnection {
    let (pieces, continuation) = AsyncThrowingStream.makeStream(of: ByteBuffer.self)
    let handshake = MultiThreadedEventLoopGroup.singleton.any().makePromise(of: String?.self)
    let channel: any Channel
    do {
      channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
        .channelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            let tls = try NIOSSLClientHandler(context: context, serverHostname: "localhost")
            let collector = PieceCollector(pieces: continuation, handshake: handshake)
            try channel.pipeline.syncOperations.addHandlers(tls, collector)
          }
        }
        .connect(host: "127.0.0.1", port: port)
        .get()
    } catch {
      handshake.fail(error)
      throw error
    }
    _ = try await handshake.futureResult.get()
    return SecureConnection(channel: channel, pieces: pieces)
  }

  /// Sends the text as it is.
  public func send(_ text: String) async throws {
    try await channel.writeAndFlush(ByteBuffer(string: text)).get()
  }

  /// Sends a request without a body and reads its answer.
  public func get(_ target: String) async throws -> RawHTTPResponse {
    try await send("GET \(target) HTTP/1.1\r\nHost: localhost\r\n\r\n")
    return try await response()
  }

  /// The next answer.
  public func response() async throws -> RawHTTPResponse {
    while true {
      if let (response, length) = try RawHTTPResponse.parse(received, method: "GET", isAtEnd: false) {
        received.removeFirst(length)
        return response
      }
      guard let piece = try await pieces.next() else { throw RawHTTPConnection.Failure.ended }
      received.append(contentsOf: piece.readableBytesView)
    }
  }

  /// Everything up to the end of the connection.
  public func rest() async throws -> [UInt8] {
    while let piece = try await pieces.next() { received.append(contentsOf: piece.readableBytesView) }
    defer { received = [] }
    return received
  }

  /// Ends the connection.
  public func close() { channel.close(promise: nil) }
}
