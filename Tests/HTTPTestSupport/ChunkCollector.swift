import NIOCore
import NIOTLS

/// A handler that forwards received data and the protocol that was negotiated in the handshake.
final class ChunkCollector: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private let chunks: AsyncThrowingStream<ByteBuffer, any Error>.Continuation
  private let handshake: EventLoopPromise<String?>

  init(chunks: AsyncThrowingStream<ByteBuffer, any Error>.Continuation, handshake: EventLoopPromise<String?>) {
    self.chunks = chunks
    self.handshake = handshake
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) { chunks.yield(unwrapInboundIn(data)) }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case .handshakeCompleted(let negotiated)? = event as? TLSUserEvent { handshake.succeed(negotiated) }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    handshake.fail(error)
    chunks.finish(throwing: error)
    context.close(promise: nil)
  }

  func channelInactive(context: ChannelHandlerContext) {
    handshake.fail(ChannelError.eof)
    chunks.finish()
  }
}
