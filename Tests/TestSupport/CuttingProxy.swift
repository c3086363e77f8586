import NIOCore
import NIOPosix
import Synchronization

/// What stands between a client and a server on this machine, as a proxy does, and cuts a connection in the middle of an
/// answer when it is told to.
public final class CuttingProxy: Sendable {
  /// How many bytes of answers still pass before the connection that carries them is cut; `nil` for any number.
  private let budget = Budget()
  private let listener: any Channel

  /// The port that it listens on.
  public var port: Int { listener.localAddress?.port ?? 0 }

  /// Stands in front of a port of 127.0.0.1.
  ///
  /// - Throws: where it can't listen.
  public init(to port: Int) async throws {
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

  /// Cuts the connection on which so many more bytes of answers have passed; once.
  public func cut(afterAnswerBytes count: Int) { budget.remaining.withLock { $0 = count } }

  /// Whether that has happened.
  public var hasCut: Bool { budget.remaining.withLock { $0 == nil } }

  private final class Budget: Sendable {
    let remaining = Mutex<Int?>(nil)

    /// How many of so many bytes may pass; `nil` for all of them.
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

  /// Hands what comes from one side to the other.
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
