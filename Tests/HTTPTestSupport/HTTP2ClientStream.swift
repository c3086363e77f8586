import NIOCore
import NIOHPACK
import NIOHTTP2

/// A request of an ``HTTP2Client`` and its response.
package struct HTTP2ClientStream: Sendable {
  let channel: any Channel
  let response: EventLoopFuture<HTTP2Client.Response>

  /// Sends a part of the body.
  package func write(_ bytes: [UInt8], endsStream: Bool = false) {
    let data = HTTP2Frame.FramePayload.Data(data: .byteBuffer(ByteBuffer(bytes: bytes)), endStream: endsStream)
    channel.writeAndFlush(HTTP2Frame.FramePayload.data(data), promise: nil)
  }

  /// Resets the stream.
  package func cancel() {
    channel.writeAndFlush(HTTP2Frame.FramePayload.rstStream(.cancel), promise: nil)
  }

  /// Returns the complete response.
  ///
  /// - Throws: an error if the server resets the stream.
  package func receiveResponse() async throws -> HTTP2Client.Response { try await response.get() }
}

/// A handler that assembles a response.
final class StreamCollector: ChannelInboundHandler, Sendable {
  typealias InboundIn = HTTP2Frame.FramePayload

  var response: EventLoopFuture<HTTP2Client.Response> { promise.futureResult }

  private let promise: EventLoopPromise<HTTP2Client.Response>
  private let state: NIOLoopBoundBox<(headers: HPACKHeaders, body: [UInt8], error: (any Error)?)>

  init(eventLoop: any EventLoop) {
    promise = eventLoop.makePromise()
    state = .makeBoxSendingValue((HPACKHeaders(), [], nil), eventLoop: eventLoop)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .headers(let block):
      if block.headers.first(name: ":status")?.hasPrefix("1") == false { state.value.headers = block.headers }
      if block.endStream { finish() }
    case .data(let data):
      if case .byteBuffer(let bytes) = data.data { state.value.body.append(contentsOf: bytes.readableBytesView) }
      if data.endStream { finish() }
    default: break
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { state.value.error = error }

  func channelInactive(context: ChannelHandlerContext) {
    promise.fail(state.value.error ?? HTTP2Client.Broken())
  }

  /// Fails the response, unless it is complete.
  func fail(_ error: any Error) { promise.fail(error) }

  private func finish() {
    let status = state.value.headers.first(name: ":status").flatMap { Int($0) }
    promise.succeed(.init(status: status ?? 0, headers: state.value.headers, body: state.value.body))
  }
}
