import NIOCore
import NIOPosix
import Synchronization

/// A server on this machine that greets its clients as PostgreSQL does, and responds to the first statement of each with
/// more rows than a client should take: 256 MiB.
package final class EndlessServer: Sendable {
  private let listener: any Channel
  private let sent = Sent()

  /// The number of bytes of rows that were sent, of all connections.
  package var sentBytes: Int { sent.bytes.load(ordering: .relaxed) }

  /// The address for clients.
  package var url: String {
    "postgresql://user@127.0.0.1:\(listener.localAddress?.port ?? 0)/database?sslmode=disable&gssencmode=disable"
  }

  /// Creates a server that listens.
  ///
  /// - Throws: an error if it can't.
  package init() async throws {
    let sent = sent
    listener = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .childChannelInitializer { client in
        client.eventLoop.makeCompletedFuture { try client.pipeline.syncOperations.addHandler(Responder(sent)) }
      }
      .bind(host: "127.0.0.1", port: 0).get()
  }

  deinit { listener.close(promise: nil) }

  private final class Sent: Sendable {
    let bytes = Atomic<Int>(0)
  }

  private final class Responder: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private static let maximumBytes = 256 << 20

    private let sent: Sent
    private var hasGreeted = false
    private var sentBytes: Int?
    private let rows: ByteBuffer

    init(_ sent: Sent) {
      self.sent = sent
      var rows = ByteBuffer()
      for _ in 0..<64 {
        Self.append("D", to: &rows) { row in
          row.writeInteger(Int16(1))
          row.writeInteger(Int32(1000))
          row.writeRepeatingByte(UInt8(ascii: "x"), count: 1000)
        }
      }
      self.rows = rows
    }

    /// Appends a message of a type (PostgreSQL's manual, "Message Formats").
    private static func append(_ type: String, to bytes: inout ByteBuffer, _ fill: (inout ByteBuffer) -> Void) {
      var content = ByteBuffer()
      fill(&content)
      bytes.writeString(type)
      bytes.writeInteger(Int32(4 + content.readableBytes))
      bytes.writeBuffer(&content)
    }

    private static var greeting: ByteBuffer {
      var bytes = ByteBuffer()
      append("R", to: &bytes) { $0.writeInteger(Int32(0)) }
      for (name, value) in [("server_version", "17.0"), ("server_encoding", "UTF8"), ("client_encoding", "UTF8")] {
        append("S", to: &bytes) { $0.writeString("\(name)\0\(value)\0") }
      }
      append("K", to: &bytes) { $0.writeInteger(Int64(1)) }
      append("Z", to: &bytes) { $0.writeString("I") }
      return bytes
    }

    /// The description of rows of one text.
    private static var description: ByteBuffer {
      var bytes = ByteBuffer()
      append("T", to: &bytes) { description in
        description.writeInteger(Int16(1))
        description.writeString("a\0")
        description.writeInteger(Int32(0))
        description.writeInteger(Int16(0))
        description.writeInteger(Int32(25))
        description.writeInteger(Int16(-1))
        description.writeInteger(Int32(-1))
        description.writeInteger(Int16(0))
      }
      return bytes
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      guard hasGreeted else {
        hasGreeted = true
        return context.writeAndFlush(wrapOutboundOut(Self.greeting), promise: nil)
      }
      guard sentBytes == nil else { return }
      sentBytes = 0
      context.write(wrapOutboundOut(Self.description), promise: nil)
      sendRows(context)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
      if sentBytes != nil, context.channel.isWritable { sendRows(context) }
    }

    private func sendRows(_ context: ChannelHandlerContext) {
      guard var bytes = sentBytes else { return }
      if bytes >= Self.maximumBytes { return context.close(promise: nil) }
      while context.channel.isWritable {
        context.write(wrapOutboundOut(rows), promise: nil)
        bytes += rows.readableBytes
        sent.bytes.add(rows.readableBytes, ordering: .relaxed)
      }
      sentBytes = bytes
      context.flush()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
  }
}
