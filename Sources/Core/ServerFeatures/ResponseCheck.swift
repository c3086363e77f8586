import AsyncHTTPClient
import NIOCore
import NIOHTTP1

/// A response that HTTP does not allow.
package struct InvalidResponse: Error, CustomStringConvertible {
  package let description: String
}

/// A check of the heads of responses, between the parser and the HTTP client.
///
/// The parser passes each status of three digits, and the client ends the process at some of them: it ignores a head with
/// a status below 200, but not its body and its end, which the parser passes if the status is below 100. So what no
/// client can use is an error here: a status outside of 100 to 599 (RFC 9110, section 15), a change of the protocol that
/// was not asked for, and interim responses without end.
final class ResponseCheck: ChannelInboundHandler {
  typealias InboundIn = HTTPClientResponsePart
  typealias InboundOut = HTTPClientResponsePart

  /// The maximum number of interim responses before a response.
  private static let maximumInterimCount = 20

  private var interimCount = 0
  private var hasFailed = false

  /// Adds the check to the channel of a connection, to which the client has added its own handlers.
  ///
  /// - Returns: a failed future if the channel has no parser of responses, so that the connection is not used.
  @Sendable
  static func add(to channel: any Channel) -> EventLoopFuture<Void> {
    channel.eventLoop.makeCompletedFuture {
      let pipeline = channel.pipeline.syncOperations
      let parser = try pipeline.handler(type: ByteToMessageHandler<HTTPResponseDecoder>.self)
      try pipeline.addHandler(ResponseCheck(), position: .after(parser))
    }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    // The rest of what was read with an invalid head.
    if hasFailed { return }
    guard case .head(let head) = unwrapInboundIn(data) else { return context.fireChannelRead(data) }
    let status = head.status.code
    switch status {
    case 200...599:
      interimCount = 0
      context.fireChannelRead(data)
    case 101: fail("the response changes the protocol, which was not asked for", context)
    case 100...199:
      interimCount += 1
      if interimCount > Self.maximumInterimCount {
        fail("more than \(Self.maximumInterimCount) interim responses came before the response", context)
      }
    default: fail("the response has the status \(status), which is not one of 100 to 599", context)
    }
  }

  private func fail(_ reason: String, _ context: ChannelHandlerContext) {
    hasFailed = true
    context.fireErrorCaught(InvalidResponse(description: reason))
  }
}
