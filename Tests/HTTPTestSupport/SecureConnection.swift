import NIOCore
import NIOPosix
package import NIOSSL

/// A TLS connection to an HTTP/1.1 server on this machine, for use by one task.
package final class SecureConnection {
  private let channel: any Channel
  private var chunks: AsyncThrowingStream<ByteBuffer, any Error>.AsyncIterator
  private var received: [UInt8] = []

  private init(channel: any Channel, chunks: AsyncThrowingStream<ByteBuffer, any Error>) {
    self.channel = channel
    self.chunks = chunks.makeAsyncIterator()
  }

  /// Connects and performs the handshake with `localhost`.
  ///
  /// - Throws: the error of the handshake.
  package static func open(port: Int, context: NIOSSLContext) async throws -> SecureConnection {
    let (chunks, continuation) = AsyncThrowingStream.makeStream(of: ByteBuffer.self)
    let handshake = MultiThreadedEventLoopGroup.singleton.any().makePromise(of: String?.self)
    let channel: any Channel
    do {
      channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
        .channelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            let tls = try NIOSSLClientHandler(context: context, serverHostname: "localhost")
            let collector = ChunkCollector(chunks: continuation, handshake: handshake)
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
    return SecureConnection(channel: channel, chunks: chunks)
  }

  /// Sends the text unchanged.
  package func send(_ text: String) async throws {
    try await channel.writeAndFlush(ByteBuffer(string: text)).get()
  }

  /// Sends a request without a body and returns the response.
  package func get(_ target: String) async throws -> RawHTTPResponse {
    try await send("GET \(target) HTTP/1.1\r\nHost: localhost\r\n\r\n")
    return try await response()
  }

  /// Returns the next response.
  package func response() async throws -> RawHTTPResponse {
    while true {
      if let (response, length) = try RawHTTPResponse.parse(received, method: "GET", isAtEnd: false) {
        received.removeFirst(length)
        return response
      }
      guard let chunk = try await chunks.next() else { throw RawHTTPConnection.Failure.ended }
      received.append(contentsOf: chunk.readableBytesView)
    }
  }

  /// Returns all data up to the end of the connection.
  package func rest() async throws -> [UInt8] {
    while let chunk = try await chunks.next() { received.append(contentsOf: chunk.readableBytesView) }
    defer { received = [] }
    return received
  }

  /// Closes the connection.
  package func close() { channel.close(promise: nil) }
}
