import Logging
import NIOCore
import NIOHPACK
import NIOHTTP1
import NIOHTTP2

/// A stream of HTTP/2: passes its request to the responder and writes the response.
///
/// ``ExchangeState`` decides, and this acts. While a body's reader is slow the client's window for it stays shut.
final class HTTP2StreamHandler: ChannelDuplexHandler, ResponseSink {
  typealias InboundIn = HTTP2Frame.FramePayload
  typealias OutboundIn = Never
  typealias OutboundOut = HTTP2Frame.FramePayload

  /// The number of bytes of a response in a frame, which is how finely its progress is seen.
  private static let chunkBytes = 8 * 1024

  let connection: HTTP2Connection
  var server: ServerContext { connection.server }
  var eventLoop: any EventLoop { connection.eventLoop }
  var executor: EventLoopExecutor { connection.executor }

  private var state = ExchangeState()
  let deadline = Deadline()
  private var context: ChannelHandlerContext?
  private var receivedBodyBytes = 0

  var exchange: Exchange?

  /// The part of a whole response that the connection has not taken yet.
  private var pending = ByteBuffer()
  private var isWriting = false
  /// The number of bytes of the response that are kept, here or further on.
  private var unsentBytes = 0
  private var takenBytes = 0
  var waitingWriters: [CheckedContinuation<Void, any Error>] = []

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
    if exchange?.undispatched != nil { connection.removeWaiting(self) }
    endExchange(.disconnected)?.cancel()
    pending = ByteBuffer()
    connection.record(gone: unsentBytes, areTaken: false)
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
    if state.wantRead() { context.read() }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .headers(let block):
      if !state.hasBegun { begin(block.headers, isWhole: block.endStream) } else if block.endStream { endBody() }
    case .data(let data):
      if case .byteBuffer(let chunk) = data.data, chunk.readableBytes > 0 { take(chunk) }
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
      exchange = Exchange(rejected: id)
      let response = server.response(to: error)
      server.reportRejection(id: id, response)
      return send(response)
    }
    state.begin(hasBody: !isWhole, awaitsContinue: head.awaitsContinue)
    exchange = Exchange(
      id: head.requestID ?? connection.ids.next(), method: head.method, target: head.target, headers: head.headers,
      body: isWhole ? nil : makeBody(), bodyLength: head.bodyLength, remoteAddress: connection.remoteAddress,
      server: server)
  }

  private func take(_ chunk: ByteBuffer) {
    receivedBodyBytes += chunk.readableBytes
    switch state.receive(bytes: chunk.readableBytes) {
    case .deliver:
      if let body = exchange?.body, !body.append(chunk) { state.pauseBody() }
    case .discard: break
    case .stop: reset(.noError)
    }
  }

  private func endBody() {
    guard state.receiveEnd() else { return }
    exchange?.body?.finish()
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

  private func resumeReading() {
    if state.resumeBody() { context?.read() }
  }

  // MARK: The request

  private func dispatchIfReady() {
    guard exchange?.undispatched != nil, !isAwaitingTurn else { return }
    if connection.admit(self) { start() } else { isAwaitingTurn = true }
  }

  private var isAwaitingTurn = false

  /// Passes the request to the responder; the connection has admitted it.
  func start() {
    guard let request = exchange?.undispatched.take() else { return connection.responderEnded() }
    guard admitsRequest(), startResponder(on: request) else { return }
    watchNext()
    if connection.hasHungUp { hangUp() }
  }

  /// Cancels the responder of a client that has probably gone, unless the response has begun. A response without an end
  /// is ended.
  func hangUp() {
    if owesResponse { exchange?.task?.cancel() } else if isResponding, isLive { reset(.cancel) }
  }

  // MARK: Timeouts

  var isOver: Bool { state.isClosed }

  /// A Boolean value that indicates whether the response is one of ``HTTPResponseBody/live(_:)``.
  var isLive: Bool { exchange?.isLive == true }

  private func watchNext() {
    if unsentBytes > 0, !isLive {
      if deadline.kind != .write { watch(.write) }
    } else {
      watch(state.awaitsBody ? .body : .nothing)
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
      exchange?.failBody(.timedOut)
      watchNext()
    case .cut: reset(.cancel)
    case .stop: reset(.noError)
    case .none: watchNext()
    }
  }

  private func reset(_ code: HTTP2ErrorCode) {
    context?.writeAndFlush(wrapOutboundOut(.rstStream(code)), promise: nil)
  }
}

// MARK: - Responses

extension HTTP2StreamHandler {
  var owesResponse: Bool { state.owesResponse }
  var isResponding: Bool { state.isResponding }

  // MARK: Whole responses

  func finish(_ response: HTTPResponse) {
    if let rejection = server.rejection(of: response) { send(rejection) } else { send(response) }
    responderEnded()
  }

  func responderEnded() { connection.responderEnded() }

  private func send(_ response: HTTPResponse) {
    guard owesResponse, beginResponse(response), case .bytes(let bytes) = response.body else { return }
    pending = bytes
    record(unsent: bytes.readableBytes)
    responseIsComplete()
    writePending()
    watchNext()
  }

  /// Writes the head. Where it must not be sent as it is, a problem is sent in its place.
  ///
  /// - Returns: a Boolean value that indicates whether a body is to follow; if not, the response has ended.
  private func beginResponse(_ response: HTTPResponse) -> Bool {
    guard let exchange, let context else { return false }
    guard response.status.code >= 200, let head = head(of: response, to: exchange) else {
      exchange.logInvalid(response, to: server.logger)
      send(server.response(to: .internal))
      return false
    }
    let hasBody = !exchange.isHead && Self.mayHaveBody(response.status) && response.body.length != 0
    state.beginResponse()
    exchange.begin(response)
    guard hasBody else {
      responseIsComplete()
      context.writeAndFlush(
        wrapOutboundOut(.headers(.init(headers: head, endStream: true))), promise: promiseOfLast())
      return false
    }
    context.write(wrapOutboundOut(.headers(.init(headers: head))), promise: nil)
    return true
  }

  private func head(of response: HTTPResponse, to exchange: Exchange) -> HPACKHeaders? {
    HTTP2ResponseEncoder(serverName: server.configuration.serverName).head(
      of: response,
      length: Self.mayHaveBody(response.status) ? response.body.length : nil,
      keepsLength: exchange.isHead || response.status == .notModified,
      requestID: exchange.id,
      date: connection.date.value
    )
  }

  private static func mayHaveBody(_ status: HTTPResponseStatus) -> Bool {
    status != .noContent && status != .notModified
  }

  // MARK: Streamed responses

  func beginStream(_ response: HTTPResponse, length: Int?) -> Bool {
    if isLive, connection.isInputClosed {
      reset(.cancel)
      responderEnded()
      return false
    }
    guard owesResponse, beginResponse(response) else {
      responderEnded()
      return false
    }
    exchange?.beginStream(length: length)
    // The part of the body that is written in this turn of the event loop is sent with the head.
    eventLoop.assumeIsolated().execute { self.context?.flush() }
    return true
  }

  func writeStream(_ bytes: ByteBuffer) throws -> Bool {
    guard isResponding, let context else { throw HTTPConnectionClosed() }
    guard bytes.readableBytes > 0 else { return context.channel.isWritable && !isPausedForMemory }
    try exchange?.addStreamed(bytes: bytes.readableBytes)
    record(unsent: bytes.readableBytes)
    var rest = bytes
    while let chunk = rest.readSlice(length: min(rest.readableBytes, Self.chunkBytes)), chunk.readableBytes > 0 {
      write(chunk, isLast: false)
    }
    context.flush()
    watchNext()
    return isResponding && context.channel.isWritable && !isPausedForMemory
  }

  func completeStream() {
    responseIsComplete()
    write(ByteBuffer(), isLast: true)
    context?.flush()
  }

  func cut() { reset(.internalError) }

  // MARK: Writing

  private func writePending() {
    guard pending.readableBytes > 0, !isWriting, !state.isClosed, let context else { return }
    isWriting = true
    defer { isWriting = false }
    while pending.readableBytes > 0, context.channel.isWritable {
      while let chunk = pending.readSlice(length: min(pending.readableBytes, Self.chunkBytes)),
        chunk.readableBytes > 0
      {
        write(chunk, isLast: pending.readableBytes == 0)
        guard context.channel.isWritable else { break }
      }
      context.flush()
    }
  }

  private func write(_ chunk: ByteBuffer, isLast: Bool) {
    guard let context else { return }
    let promise = isLast ? promiseOfLast() : eventLoop.makePromise(of: Void.self)
    let count = chunk.readableBytes
    if count > 0 { promise.futureResult.assumeIsolated().whenSuccess { self.isTaken(bytes: count) } }
    context.write(
      wrapOutboundOut(.data(.init(data: .byteBuffer(chunk), endStream: isLast))), promise: promise)
  }

  /// A Boolean value that indicates whether nothing more is produced until the client has taken what there is.
  private var isPausedForMemory: Bool { unsentBytes > 0 && server.budget.isShort }

  /// Returns a promise that completes when the whole response is handed to the socket.
  private func promiseOfLast() -> EventLoopPromise<Void> {
    let promise = eventLoop.makePromise(of: Void.self)
    promise.futureResult.assumeIsolated().whenSuccess { self.isSent() }
    return promise
  }

  private func record(unsent bytes: Int) {
    unsentBytes += bytes
    exchange?.add(bodyBytes: bytes)
    connection.record(unsent: bytes)
  }

  private func isTaken(bytes: Int) {
    guard !state.isClosed else { return }
    unsentBytes -= bytes
    takenBytes += bytes
    connection.record(gone: bytes, areTaken: true)
    guard unsentBytes == 0 else { return }
    watchNext()
    if !waitingWriters.isEmpty { resumeWriters() }
  }

  /// Ends the response; the rest of the request is discarded.
  private func responseIsComplete() {
    state.endResponse()
    exchange?.end(isWhole: true, to: server.responder)
    exchange?.failBody(.cancelled)
    resumeReading()
  }

  private func isSent() {
    guard !state.isClosed else { return }
    if state.responseIsSent() { reset(.noError) } else { watchNext() }
  }
}
