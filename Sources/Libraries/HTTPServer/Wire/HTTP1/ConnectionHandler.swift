import Logging
import NIOCore
import NIOExtras
import NIOHTTP1
import NIOSSL

/// A connection of HTTP/1.1: passes its requests to the responder one after the other and writes their responses.
///
/// ``ConnectionState`` decides, and this acts. It lives on the connection's event loop. A response that needs no
/// waiting is produced and written before the read that brought its request returns; those of a burst of pipelined
/// requests leave in one write. While a request is queued, or a body's reader is slow, the socket is not read.
final class ConnectionHandler: ChannelDuplexHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundIn = Never
  typealias OutboundOut = ByteBuffer

  /// The maximum number of queued parts of requests: what NIO reads past a pause, when the client ends its sending, is
  /// bounded by the system's buffer only.
  static let maximumQueuedParts = 16_384

  /// The number of gathered bytes from which on a response is handed to the socket without waiting for more.
  private static let flushThreshold = 64 * 1024

  let server: ServerContext
  let eventLoop: any EventLoop
  let executor: EventLoopExecutor
  let deadline = Deadline()
  var waitingWriters: [CheckedContinuation<Void, any Error>] = []

  private let framing: RequestFraming
  private let output: ConnectionOutput
  private var state = ConnectionState()
  private var context: ChannelHandlerContext?
  private var ids = RequestIDGenerator()
  /// Cached, because each query is a system call.
  private(set) lazy var remoteAddress = context?.remoteAddress

  /// The parts that came after the current request.
  private var queue = CircularBuffer<RequestPart>(initialCapacity: 2)
  /// The problem that ends the input after the queued parts.
  private var queuedProblem: Problem?

  var exchange: Exchange?
  private var receivedBodyBytes = 0
  private var streamFraming: ResponseEncoder.Framing?
  /// A Boolean value that indicates whether nothing parses the input any more, which is discarded.
  private var isInputDiscarded = false
  private var delivery: Delivery?

  private let start: NIODeadline
  private let isRejected: Bool

  /// Creates the handler of a connection.
  ///
  /// - Parameters:
  ///   - framing: the inspection of the connection's input, which its decoder uses too.
  ///   - start: the time at which the connection was opened.
  ///   - isRejected: a Boolean value that indicates whether the connection exceeds the limit and only receives 503.
  init(
    server: ServerContext, eventLoop: any EventLoop, framing: RequestFraming, start: NIODeadline = .now(),
    isRejected: Bool = false
  ) {
    self.framing = framing
    self.server = server
    self.eventLoop = eventLoop
    executor = EventLoopExecutor(eventLoop)
    output = ConnectionOutput(server: server, eventLoop: eventLoop, start: start)
    self.start = start
    self.isRejected = isRejected
    executor.turnBegan = { [weak self] in self?.beginTurn() }
  }

  // MARK: The channel's life

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    output.open(context, holder: self)
    watch(.header, since: start)
  }

  func channelActive(context: ChannelHandlerContext) {
    if isRejected { reject(server.overloaded("too many connections are open")) }
    context.fireChannelActive()
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    self.context = nil
    output.close(holder: self)
    output.removeContext()
  }

  func channelInactive(context: ChannelHandlerContext) {
    state.close()
    deadline.cancel()
    queue.removeAll()
    endExchange(.disconnected)?.cancel()
    failWriters()
    output.close(holder: self)
    context.fireChannelInactive()
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    switch event {
    case is ChannelShouldQuiesceEvent:
      state.drain()
      if state.isWaiting, !state.hasBegunHead { watch(nextDeadline) }
      server.graceEnded.futureResult.hop(to: eventLoop).assumeIsolated().whenComplete { _ in self.close() }
    case ChannelEvent.inputClosed:
      endInput()
    default:
      context.fireUserInboundEventTriggered(event)
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if let problem = Problem(inputError: error, limits: server.configuration.limits) { return failInput(problem) }
    switch error {
    case HTTPParserError.invalidEOFState where state.isReceiving:
      break  // The end of the input, or of the connection, is an event of its own.
    case is HTTPParserError:
      failInput(.malformedRequest("this is not a request of HTTP/1.1"))
    case is ByteToMessageDecoderError:
      break  // More came in after a failure; it is thrown away.
    case NIOSSLError.uncleanShutdown:
      break  // The framing of HTTP tells whether something is missing, and the input's end is an event of its own.
    default:
      close()
    }
  }

  // MARK: Reading

  func read(context: ChannelHandlerContext) {
    if state.wantRead(hasQueuedParts: !queue.isEmpty) { context.read() }
  }

  private func resumeReading() {
    if state.resumeReading(hasQueuedParts: !queue.isEmpty) { context?.read() }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !isInputDiscarded else { return }
    let part = unwrapInboundIn(data)
    framing.record(part)
    switch part {
    case .head(let head): receive(.head(RequestHead(head)))
    case .body(let chunk): receive(.body(chunk))
    case .end: receive(.end)
    }
  }

  /// Receives a part of a request.
  func receive(_ part: RequestPart) {
    guard !isInputDiscarded else { return }
    state.receivePart()
    guard queue.isEmpty, accepts(part) else {
      guard !state.isLingering, !state.isClosed else { return }
      queue.append(part)
      if queue.count > Self.maximumQueuedParts { close() }
      return
    }
    take(part)
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    state.endBurst()
    dispatchIfReady()
    serveQueue()
    flush()
    if state.noteBegunHead(), deadline.kind != .header { watch(.header) }
    context.fireChannelReadComplete()
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    if context.channel.isWritable {
      if deadline.kind == .write, !state.isLingering { watch(nextDeadline) }
      if output.heldBytes > 0 { measureHeld() }
      if !output.isPausedForMemory { resumeWriters() }
      serveQueue()
      flush()
    }
    context.fireChannelWritabilityChanged()
  }

  private func accepts(_ part: RequestPart) -> Bool {
    if case .head = part {
      return state.isWaiting && output.isWritable && !output.isPausedForMemory && !executor.mustWait
    }
    return state.isReceiving
  }

  private func beginTurn() {
    guard !state.isClosed else { return }
    serveQueue()
    flush()
  }

  private func serveQueue() {
    guard state.beginServingQueue() else { return }
    defer { state.endServingQueue() }
    while let part = queue.first, accepts(part) {
      queue.removeFirst()
      take(part)
    }
    if !state.isReading { dispatchIfReady() }
    guard queue.isEmpty else { return }
    if let problem = queuedProblem, state.isWaiting || state.isReceiving {
      queuedProblem = nil
      failInput(problem)
    } else if state.isInputClosed, state.isWaiting {
      closeGracefully()
    } else if state.isInputClosed, state.isReceiving {
      failInput(.endedEarly)
    } else {
      resumeReading()
    }
  }

  private func take(_ part: RequestPart) {
    switch part {
    case .head(let head):
      begin(head)
    case .body(let chunk):
      receivedBodyBytes += chunk.readableBytes
      switch state.receive(bytes: chunk.readableBytes) {
      case .deliver:
        if let body = exchange?.body, !body.append(chunk) { state.pauseBody() }
      case .discard: break
      case .stop: closeGracefully()
      }
    case .end:
      switch state.receiveEnd() {
      case .endBody:
        exchange?.body?.finish()
        dispatchIfReady()
      case .nextRequest: requestIsOver()
      case .none: break
      }
    }
  }

  // MARK: Requests

  private func begin(_ head: RequestHead) {
    state.receiveHead()
    let target = RequestTarget(head.target)
    let facts: RequestHeadFacts
    do throws(Problem) {
      facts = try RequestHeadFacts(head, limits: server.configuration.limits)
      guard target.isValid else { throw .malformedRequest("the target must be a path") }
    } catch {
      // At once: the parts in the queue are its own, or come after it.
      return reject(error)
    }
    state.begin(bodyLength: facts.bodyLength, persists: facts.persists, awaitsContinue: facts.awaitsContinue)
    exchange = Exchange(
      id: facts.requestID ?? ids.next(), method: head.method, target: target, headers: head.fields,
      isHTTP10: head.isHTTP10, body: facts.bodyLength == 0 ? nil : makeBody(), bodyLength: facts.bodyLength,
      remoteAddress: remoteAddress, server: server)
  }

  private func makeBody() -> RequestBodyStream {
    let handler = NIOLoopBound(self, eventLoop: eventLoop)
    return RequestBodyStream { [eventLoop, request = state.requestsBegun] in
      eventLoop.execute { handler.value.bodyIsWanted(of: request) }
    }
  }

  private func bodyIsWanted(of request: Int) {
    guard context != nil, exchange != nil, request == state.requestsBegun else { return }
    if state.wantBody() {
      output.append("HTTP/1.1 100 Continue\r\n\r\n")
      flush()
    }
    state.resumeBody()
    if deadline.kind != .body, deadline.kind != .write { watch(nextDeadline) }
    resumeReading()
  }

  private func dispatchIfReady() {
    guard let request = exchange?.undispatched.take(), admitsRequest() else { return }
    state.beginDispatching()
    let isPending = startResponder(on: request)
    state.endDispatching()
    if isPending, deadline.kind != .write { watch(nextDeadline) }
  }

  /// A Boolean value that indicates whether input that gets a response waits for the end of the current request.
  private var hasQueued: Bool { !queue.isEmpty || queuedProblem != nil }

  /// Waits for the end of a request whose response is sent already; the rest is discarded.
  private func awaitRequestEnd() {
    exchange?.failBody(.cancelled)
    watch(nextDeadline)
    resumeReading()
  }

  private func requestIsOver() {
    exchange?.failBody(.cancelled)
    exchange = nil
    watch(nextDeadline)
    if !state.isReading { serveQueue() }
  }
}

// MARK: - Responses

extension ConnectionHandler: ResponseSink {
  var owesResponse: Bool { state.owesResponse }
  var isResponding: Bool { state.isResponding }

  func finish(_ response: HTTPResponse) {
    guard owesResponse, exchange != nil else { return }
    if let rejection = server.rejection(of: response) { send(rejection) } else { send(response) }
  }

  private func send(_ response: HTTPResponse) {
    let (framing, sendsBody) = beginResponse(response)
    if sendsBody, case .bytes(let bytes) = response.body, case .length = framing { append(bytes) }
    endResponse()
  }

  /// Writes the head. Where it must not be sent as it is, a problem is sent in its place, and no body may follow.
  private func beginResponse(_ response: HTTPResponse) -> (framing: ResponseEncoder.Framing, sendsBody: Bool) {
    guard let exchange else { return (.none, false) }
    let framing = ResponseEncoder.Framing(of: response, isHTTP10: exchange.isHTTP10)
    let sent = output.appendHead(
      of: response, id: exchange.id, framing: framing,
      keepsLength: exchange.isHead || response.status == .notModified)
    let wantsClose = framing == .close || sent.asksForClose || exchange.isLive
    let persists = state.beginResponse(hasQueued: hasQueued, wantsClose: wantsClose)
    let persistence: ResponseEncoder.Persistence = !persists ? .close : exchange.isHTTP10 ? .keepAlive : .implied
    exchange.begin(response)
    guard !sent.areValid else {
      output.append(persistence)
      return (framing, !exchange.isHead && framing != .none)
    }
    exchange.logInvalid(response, to: server.logger)
    let problem = server.response(to: .internal)
    exchange.replaceStatus(with: problem.status)
    _ = output.appendHead(of: problem, id: exchange.id, framing: .length(problem.body.length ?? 0), keepsLength: false)
    output.append(persistence)
    if !exchange.isHead, case .bytes(let bytes) = problem.body { append(bytes) }
    return (.none, false)
  }

  private func append(_ bytes: ByteBuffer, isChunk: Bool = false) {
    exchange?.add(bodyBytes: bytes.readableBytes)
    output.append(bytes, isChunk: isChunk)
  }

  private func endResponse() {
    streamFraming = nil
    exchange?.end(isWhole: true, to: server.responder)
    switch state.endResponse(hasQueued: hasQueued) {
    case .nextRequest: requestIsOver()
    case .awaitRequestEnd: awaitRequestEnd()
    case .closeGracefully: closeGracefully()
    }
    if !state.isReading || output.gatheredBytes >= Self.flushThreshold { flush() }
  }

  func beginStream(_ response: HTTPResponse, length: Int?) -> Bool {
    guard owesResponse, exchange != nil else { return false }
    if state.isInputClosed, exchange?.isLive == true {
      close()
      return false
    }
    let (framing, sendsBody) = beginResponse(response)
    guard sendsBody else {
      endResponse()
      return false
    }
    streamFraming = framing
    exchange?.beginStream(length: length)
    if exchange?.isLive == true, !state.isReceiving { discardInput() }
    // The part of the body that is written in this turn of the event loop is sent with the head.
    eventLoop.assumeIsolated().execute { self.flush() }
    return true
  }

  /// Removes the parser of requests, whose memory a connection need not keep for a response without an end: that is the
  /// connection's last.
  private func discardInput() {
    guard let pipeline = context?.pipeline.syncOperations,
      let decoder = try? pipeline.context(handlerType: ByteToMessageHandler<RequestDecoder>.self)
    else { return }
    isInputDiscarded = true
    queue.removeAll()
    try? pipeline.handler(type: RequestReader.self).stop()
    pipeline.removeHandler(context: decoder, promise: nil)
    resumeReading()
  }

  func writeStream(_ bytes: ByteBuffer) throws -> Bool {
    guard isResponding, let streamFraming, context != nil else { throw HTTPConnectionClosed() }
    if bytes.readableBytes > 0 {
      try exchange?.addStreamed(bytes: bytes.readableBytes)
      append(bytes, isChunk: streamFraming == .chunked)
      flush()
    }
    return output.isWritable && !output.isPausedForMemory
  }

  func completeStream() {
    if streamFraming == .chunked { output.append("0\r\n\r\n") }
    endResponse()
  }

  func flush() {
    guard output.hasBytes else { return }
    if output.flush() { measureHeld() }
    if deadline.kind != .write, !state.isClosed, !output.isWritable, exchange?.isLive != true { watch(.write) }
  }
}

// MARK: - The end

extension ConnectionHandler {
  /// Handles input of which the rest is unusable.
  private func failInput(_ problem: Problem) {
    switch state.failInput(hasQueued: hasQueued) {
    case .reject:
      reject(problem)
    case .failBody:
      failBody(problem.status == .requestTimeout ? .timedOut : .disconnected)
    case .postpone:
      queuedProblem = queuedProblem ?? problem
    case .closeGracefully:
      closeGracefully()
    case .none: break
    }
  }

  private func failBody(_ error: HTTPBodyError) {
    exchange?.failBody(error)
    if isResponding { return cut() }
    watch(nextDeadline)
    dispatchIfReady()
  }

  /// Responds to a request that is invalid or exceeds a limit, and ends the connection.
  private func reject(_ problem: Problem) {
    let response = server.response(to: problem)
    let id = ids.next()
    _ = output.appendHead(of: response, id: id, framing: .length(response.body.length ?? 0), keepsLength: false)
    output.append(.close)
    if case .bytes(let bytes) = response.body { output.append(bytes) }
    server.reportRejection(id: id, response)
    closeGracefully()
  }

  private func endInput() {
    switch state.endInput(hasQueued: hasQueued) {
    case .finishResponding where isResponding && exchange?.isLive == true:
      // The client has gone as a rule, and one that reads on would never see the end.
      close()
    case .finishResponding:
      dispatchIfReady()
      serveQueue()
      flush()
      if deadline.kind == .nothing { watch(nextDeadline) }
    case .closeGracefully:
      closeGracefully()
    case .failInput:
      failInput(.endedEarly)
    case .finishClosing:
      // Until the last response is sent, that is awaited.
      if deadline.kind == .linger { close() }
    }
  }

  /// Sends the pending output, closes the output side, and discards further input for a while: closing at once
  /// could take the response from it (RFC 9112, section 9.6).
  private func closeGracefully() {
    guard let context, !state.isClosed else { return }
    state.linger()
    queue.removeAll()
    endExchange(.cancelled)
    flush()
    watch(.write)
    output.sent()?.assumeIsolated().whenSuccess { self.endOutput() }
    context.read()
  }

  private func endOutput() {
    guard !state.isInputClosed else { return close() }
    // A client past the limit of connections must not be able to stay.
    if !isRejected { delivery = Delivery(server.configuration.timeouts, output.silence) }
    watch(.linger)
    context?.close(mode: .output, promise: nil)
  }

  private func closeIdle() {
    if output.isDelivered { close() } else { closeGracefully() }
  }

  private func endLinger() {
    if let context, delivery?.isUnderWay(on: context.channel) == true { watch(.linger) } else { close() }
  }

  func cut() { context?.channel.closeWithReset() }

  private func close() {
    flush()
    context?.close(promise: nil)
  }
}

// MARK: - Timeouts

extension ConnectionHandler: DeadlineKeeper {
  var isOver: Bool { state.isClosed }

  private var nextDeadline: Deadline.Kind { state.nextDeadline(hasQueued: hasQueued) }

  func progress(of kind: Deadline.Kind) -> Int {
    switch kind {
    case .body: return receivedBodyBytes
    case .write: return output.acknowledgedBytes
    default: return 0
    }
  }

  func remainingSilence() -> TimeAmount { output.remainingSilence() }

  func expire(_ kind: Deadline.Kind) {
    switch kind {
    case .nothing: break
    case .header where state.hasBegunHead:
      failInput(Problem(.requestTimeout, code: "request-timeout", detail: "the request did not arrive in time"))
    case .body:
      failInput(Problem(.requestTimeout, code: "request-timeout", detail: "the body did not arrive in time"))
    case .header, .idle, .firstRequest, .lastRequest:
      // A request in the queue waits for the connection's turn.
      if queue.isEmpty { closeIdle() } else { watch(nextDeadline) }
    case .linger:
      endLinger()
    case .write:
      close()
    case .hangUp:
      exchange?.task?.cancel()
    }
  }
}

// MARK: - Memory

extension ConnectionHandler: OutputHolder {
  var heldBytes: Int { output.heldBytes }
  var takenMark: Int { output.acknowledgedBytes }

  func cutForMemory() {
    server.logger.debug("cut a connection that took too little while memory was short")
    cut()
  }

  /// Counts the bytes that the socket did not take, until it has.
  private func measureHeld() {
    guard !state.isClosed else { return }
    output.measure(self)?.assumeIsolated().whenComplete { _ in self.endDrain() }
  }

  private func endDrain() {
    output.endDrain()
    measureHeld()
    guard output.heldBytes == 0, !state.isClosed else { return }
    resumeWriters()
    serveQueue()
    flush()
  }
}

extension Problem {
  static var endedEarly: Problem { .malformedRequest("the request ended early") }
}
