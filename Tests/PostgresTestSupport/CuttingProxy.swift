import NIOCore
import NIOPosix
import Synchronization

/// A TCP proxy between a client and a server on this machine, which can cut a connection in the middle of a response.
package final class CuttingProxy: Sendable {
  /// The number of response bytes to forward before their connection is cut; `nil` for any number.
  private let budget = Budget()
  private let listener: any Channel

  /// The port on which the proxy listens.
  package var port: Int { listener.localAddress?.port ?? 0 }

  /// Creates a proxy in front of a port of 127.0.0.1.
  ///
  /// - Throws: an error if it can't listen.
  package init(to port: Int) async throws {
    let budget = budget
    listener = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .childChannelInitializer { client in
        ClientBootstrap(group: client.eventLoop).connect(host: "127.0.0.1", port: port).flatMapThrowing { server in
          try client.pipeline.syncOperations.addHandler(Pump(to: server, within: nil))
          try server.pipeline.syncOperations.addHandler(Pump(to: client, within: budget))
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
  }

  deinit { listener.close(promise: nil) }

  /// Cuts, once, the connection that has carried this many further bytes of responses.
  package func cut(afterAnswerBytes count: Int) { budget.remaining.withLock { $0 = count } }

  /// A Boolean value that indicates whether the connection has been cut.
  package var hasCut: Bool { budget.remaining.withLock { $0 == nil } }

  private final class Budget: Sendable {
    let remaining = Mutex<Int?>(nil)

    /// Returns the number of bytes that may be forwarded; `nil` for all.
    func take(_ count: Int) -> Int? {
      remaining.withLock { remaining in
        guard let left = remaining else { return nil }
        if count < left {
          remaining = left - count
          return nil
        }
        remaining = nil
        return left
      }
    }
  }

  /// A handler that forwards data from one side to the other.
  private final class Pump: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let partner: any Channel
    private let budget: Budget?

    init(to partner: any Channel, within budget: Budget?) {
      self.partner = partner
      self.budget = budget
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      var bytes = unwrapInboundIn(data)
      guard let count = budget?.take(bytes.readableBytes) else { return partner.writeAndFlush(bytes, promise: nil) }
      partner.writeAndFlush(bytes.readSlice(length: count) ?? ByteBuffer(), promise: nil)
      partner.close(promise: nil)
      context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
      partner.close(promise: nil)
      context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
  }
}
