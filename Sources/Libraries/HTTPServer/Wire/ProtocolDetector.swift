import Logging
import NIOCore
import NIOExtras
import NIOHTTP2
import NIOSSL
import NIOTLS

/// A handler that detects the protocol of a new connection, installs the handlers for it, and removes itself.
///
/// Over TLS the handshake negotiates the protocol (RFC 7301). In the clear the first bytes decide: a client that knows
/// that the server supports HTTP/2 begins with a preface that is no request of HTTP/1.1 (RFC 9113, sections 3.3 and
/// 3.4). Either way the head of the first request, or the preface, is awaited from the connection's start.
final class ProtocolDetector: ChannelInboundHandler, RemovableChannelHandler, DeadlineKeeper {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer

  private static let preface: StaticString = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

  let server: ServerContext
  let eventLoop: any EventLoop
  let deadline = Deadline()
  private(set) var isOver = false

  private let start = NIODeadline.now()
  private let isSecure: Bool
  private var isDraining = false
  private var context: ChannelHandlerContext?
  /// The bytes so far, which are a beginning of the preface.
  private var received = ByteBuffer()

  /// Creates the detector of a connection.
  ///
  /// - Parameter isSecure: a Boolean value that indicates whether TLS negotiates the protocol.
  init(server: ServerContext, eventLoop: any EventLoop, isSecure: Bool) {
    self.server = server
    self.eventLoop = eventLoop
    self.isSecure = isSecure
  }

  // MARK: The channel's life

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    watch(.header)
  }

  func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

  func channelInactive(context: ChannelHandlerContext) {
    isOver = true
    deadline.cancel()
    context.fireChannelInactive()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let bytes = unwrapInboundIn(data)
    guard !isOver else { return context.fireChannelRead(wrapInboundOut(bytes)) }
    received.writeImmutableBuffer(bytes)
    guard !isSecure else { return }
    switch Self.match(received.readableBytesView) {
    case .whole: installHTTP2()
    case .none: installHTTP1()
    case .part: break
    }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    guard !isOver else { return context.fireUserInboundEventTriggered(event) }
    switch event {
    case TLSUserEvent.handshakeCompleted(let negotiated) as TLSUserEvent:
      let notice: Notice = isDraining ? .event(ChannelShouldQuiesceEvent()) : .nothing
      if negotiated == "h2" { installHTTP2(then: notice) } else { installHTTP1(then: notice) }
    case is ChannelShouldQuiesceEvent where isSecure:
      // The first request comes behind the handshake.
      isDraining = true
      watch(.firstRequest)
      server.graceEnded.futureResult.hop(to: eventLoop).assumeIsolated().whenComplete { _ in
        if !self.isOver { self.close() }
      }
    case is ChannelShouldQuiesceEvent, ChannelEvent.inputClosed:
      if isSecure { close() } else { installHTTP1(then: .event(event)) }
    default:
      context.fireUserInboundEventTriggered(event)
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    guard !isOver else { return context.fireErrorCaught(error) }
    server.logger.debug("a connection failed before it spoke HTTP", metadata: ["error": "\(error)"])
    close()
  }

  func progress(of kind: Deadline.Kind) -> Int { 0 }

  func expire(_ kind: Deadline.Kind) {
    guard received.readableBytes > 0, !isSecure else { return close() }
    // A beginning of the preface is one of a request too, whose timeout has passed.
    installHTTP1(then: .readComplete)
  }

  private func close() {
    isOver = true
    deadline.cancel()
    context?.close(promise: nil)
  }

  // MARK: Detection

  private enum Match {
    case none
    case part
    case whole
  }

  private static func match(_ bytes: ByteBufferView) -> Match {
    let preface = UnsafeBufferPointer(start: preface.utf8Start, count: preface.utf8CodeUnitCount)
    guard zip(bytes, preface).allSatisfy({ $0 == $1 }) else { return .none }
    return bytes.count >= preface.count ? .whole : .part
  }

  /// The event that the rest of the pipeline receives after the bytes that came.
  private enum Notice {
    case nothing
    case readComplete
    case event(Any)
  }

  private func installHTTP1(then notice: Notice = .nothing) {
    install(then: notice) { _, pipeline in
      try RequestReader.addHandlers(to: pipeline, server: server, start: start)
    }
  }

  private func installHTTP2(then notice: Notice = .nothing) {
    install(then: notice) { context, pipeline in
      let connection = HTTP2Connection(server: server, channel: context.channel, start: start)
      try pipeline.addHandlers(connection.makeFrameCounter(), connection.makeMultiplexer(), connection)
    }
  }

  /// Installs the rest of the pipeline, passes it the bytes that came, and removes this handler.
  private func install(
    then notice: Notice,
    _ addHandlers: (ChannelHandlerContext, ChannelPipeline.SynchronousOperations) throws -> Void
  ) {
    guard let context, !isOver else { return }
    isOver = true
    deadline.cancel()
    do {
      try addHandlers(context, context.pipeline.syncOperations)
    } catch {
      return context.close(promise: nil)
    }
    if received.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(received)) }
    received = ByteBuffer()
    switch notice {
    case .nothing: break
    case .readComplete: context.fireChannelReadComplete()
    case .event(let event): context.fireUserInboundEventTriggered(event)
    }
    context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
  }
}
