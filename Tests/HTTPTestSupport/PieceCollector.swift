import NIOCore
import NIOTLS

/// A handler that forwards received data and the protocol that was negotiated in the handshake.
final class PieceCollector: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private let pieces: AsyncThrowingStream<ByteBuffer, any Error>.Continuation
  private let handshake: EventLoopPromise<String?>

  init(pieces: AsyncThrowingStream<ByteBuffer, any Error>.Continuation, handshake: EventLoopPromise<String?>) {
    self.pieces = pieces
    self.handshake = handshake
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) { pieces.yield(unwrapInboundIn(data)) }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case .handshakeCompleted(let negotiated)? = event as? TLSUserEvent { handshake.succeed(negotiated) }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    handshake.fail(error)
    pieces.finish(throwing: error)
    context.close(promise: nil)
  }

  func channelInactive(context: ChannelHandlerContext) {
    handshake.fail(ChannelError.eof)
    pieces.finish()
  }
}
