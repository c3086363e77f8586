import Logging
import NIOCore
import NIOHPACK
import NIOHTTP1
import NIOHTTP2

/// One stream of HTTP/2: hands its request to the responder and writes the answer.
///
/// ``StreamState`` decides, this does. While a body's reader is slow the client's window for it stays shut.
final class HTTP2StreamHandler: ChannelDuplexHandler, AnswerSink, DeadlineKeeper {
  typealias InboundIn = HTTP2Frame.FramePayload
  typealias OutboundIn = Never
  typealias OutboundOut = HTTP2Frame.FramePayload

  /// How many bytes of an answer go into a frame; so finely is it seen whether the client takes it.
  static let pieceBytes = 8 * 1024

  let connection: HTTP2Connection
  var server: ServerContext { connection.server }
  var eventLoop: any EventLoop { connection.eventLoop }
  var executor: EventLoopExecutor { connection.executor }

  var state = StreamState()
  let deadline = Deadline()
  var context: ChannelHandlerContext?
  private var wantsRead = false
  private var isBodyPaused = false
  private var receivedBodyBytes = 0

  /// The request that is on.
  private(set) var current: Current?
  /// What the observer will be told of it.
  var observed: EndedRequest?
  private var undispatched: HTTPRequest?
  private var task: Task<Void, Never>?

  /// What of a whole answer is yet to be handed on.
  var pending = ByteBuffer()
  var isWriting = false
  /// How many bytes of the answer are kept, here or further on.
  var unsentBytes = 0
  var takenBytes = 0
  var waitingWriters: [CheckedContinuation<Void, any Error>] = []
  /// How many bytes of a streamed body are to come, where that is known.
  var streamRemaining: Int?

  /// What must be known of a request while it is on.
  struct Current {
    let id: String
    let isHead: Bool
    let body: RequestBodyStream?
  }

  init(connection: HTTP2Connection) {
    self.connection = connection
  }

  // MARK: The channel's life

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    connection.add(self)
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    self.context = nil
    connection.remove(self)
  }

  func channelInactive(context: ChannelHandlerContext) {
    state.close()
    deadline.cancel()
    if undispatched != nil { connection.forget(self) }
    undispatched = nil
    current?.body?.finish(.failure(.disconnected))
    current = nil
    server.end(&observed, isWhole: false)
    task?.cancel()
    task = nil
    pending = ByteBuffer()
    connection.note(gone: unsentBytes, areTaken: false)
    unsentBytes = 0
    failWriters()
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // The stream's end follows, where it is one.
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    if context.channel.isWritable {
      writePending()
      resumeWriters()
    }
    context.fireChannelWritabilityChanged()
  }

  // MARK: Reading

  func read(context: ChannelHandlerContext) {
    if isBodyPaused { wantsRead = true } else { context.read() }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .headers(let block):
      if !state.hasBegun { begin(block.headers, isWhole: block.endStream) } else if block.endStream { endBody() }
    case .data(let data):
      if case .byteBuffer(let piece) = data.data, piece.readableBytes > 0 { take(piece) }
      if data.endStream { endBody() }
    default: break
    }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    dispatchIfReady()
    context.fireChannelReadComplete()
  }

  private func begin(_ block: HPACKHeaders, isWhole: Bool) {
    let head: HTTP2RequestHead
    do throws(Problem) {
      head = try HTTP2RequestHead(block, isWhole: isWhole, limits: server.configuration.limits)
    } catch {
      state.begin(hasBody: !isWhole, awaitsContinue: false)
      let id = connection.ids.next()
      current = Current(id: id, isHead: false, body: nil)
      let response = HTTPResponse(error, typePrefix: server.configuration.problemTypePrefix)
      server.noteRefusal(id: id, response)
      return send(response)
    }
    state.begin(hasBody: !isWhole, awaitsContinue: head.awaitsContinue)
    let body = isWhole ? nil : makeBody()
    let id = head.requestID ?? connection.ids.next()
    undispatched = HTTPRequest(
      method: head.method,
      target: head.target,
      headers: head.headers,
      body: body.map {
        .stream($0, announcedLength: head.bodyLength, limit: server.configuration.limits.bodyBytes)
      } ?? .empty,
      id: id,
      remoteAddress: connection.remoteAddress,
      logger: server.logger,
      server: server
    )
    current = Current(id: id, isHead: head.method == .HEAD, body: body)
    observed = server.observe(id: id, method: head.method)
  }

  private func take(_ piece: ByteBuffer) {
    receivedBodyBytes += piece.readableBytes
    switch state.receive(bytes: piece.readableBytes) {
    case .deliver:
      if let body = current?.body, !body.append(piece) { isBodyPaused = true }
    case .discard: break
    case .stop: reset(.noError)
    }
  }

  private func endBody() {
    guard state.receiveEnd() else { return }
    current?.body?.finish()
    watchNext()
    dispatchIfReady()
  }

  private func makeBody() -> RequestBodyStream {
    let handler = NIOLoopBound(self, eventLoop: eventLoop)
    return RequestBodyStream { [eventLoop] in
      eventLoop.execute { handler.value.bodyIsWanted() }
    }
  }

  private func bodyIsWanted() {
    guard !state.isClosed, let context else { return }
    if state.wantBody() {
      context.writeAndFlush(wrapOutboundOut(.headers(.init(headers: [":status": "100"]))), promise: nil)
    }
    resumeReading()
    if deadline.kind == .nothing { watchNext() }
  }

  /// Reads on where it had stopped.
  func resumeReading() {
    isBodyPaused = false
    guard wantsRead else { return }
    wantsRead = false
    context?.read()
  }

  // MARK: The request

  private func dispatchIfReady() {
    guard undispatched != nil, !isAwaitingTurn else { return }
    if connection.admit(self) { start() } else { isAwaitingTurn = true }
  }

  private var isAwaitingTurn = false

  /// Hands the request to the responder; the connection has admitted it.
  func start() {
    guard let request = undispatched else { return connection.responderEnded() }
    undispatched = nil
    guard server.admitRequest() else {
      return finish(problem: server.overloaded("too many requests are being answered"))
    }
    let started = startResponder(on: request)
    if state.owesAnswer || state.isAnswering {
      task = started
      watchNext()
      if connection.hasHungUp { hangUp() }
    } else if state.isClosed {
      started.cancel()
    }
  }

  /// The client has probably gone: what it waits for is given up, but for an answer that is on its way.
  func hangUp() {
    if state.owesAnswer { task?.cancel() }
  }

  // MARK: Time

  var isOver: Bool { state.isClosed }

  /// Waits for what is to be waited for as things stand.
  func watchNext() {
    if unsentBytes > 0 {
      if deadline.kind != .write { watch(.write) }
    } else {
      let awaitsBody = state.isReceiving && !isBodyPaused && !state.awaitsContinue && !state.hasFailed
      watch(awaitsBody ? .body : .nothing)
    }
  }

  func progress(of kind: Deadline.Kind) -> Int {
    kind == .body ? receivedBodyBytes : takenBytes + connection.creditedBytes
  }

  func refreshProgress() { connection.refreshProgress() }

  func remainingSilence() -> TimeAmount { connection.remainingSilence() }

  func expire(_ kind: Deadline.Kind) {
    guard kind == .body else { return reset(.cancel) }
    switch state.failInput() {
    case .failBody:
      current?.body?.finish(.failure(.timedOut))
      watchNext()
    case .cut: reset(.cancel)
    case .stop: reset(.noError)
    case .none: watchNext()
    }
  }

  /// Ends the stream at once.
  func reset(_ code: HTTP2ErrorCode) {
    context?.writeAndFlush(wrapOutboundOut(.rstStream(code)), promise: nil)
  }
}
