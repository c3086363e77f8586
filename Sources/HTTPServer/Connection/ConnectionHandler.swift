import Logging
import NIOCore
import NIOExtras
import NIOHTTP1
import NIOSSL

/// One connection: hands its requests to the responder one after the other and writes their answers.
///
/// ``ConnectionState`` decides, this does. It lives on the connection's event loop. An answer that needs no waiting is
/// made and written before the read that brought its request returns; those of a burst of pipelined requests leave in
/// one write. While a request waits in the queue, or a body's reader is slow, the socket is not read.
final class ConnectionHandler: ChannelDuplexHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundIn = Never
  typealias OutboundOut = ByteBuffer

  /// How many parts of requests yet to be served are kept: what NIO reads past a pause, when the client ends its
  /// sending, is bounded by the system's buffer only.
  static let maximumQueuedParts = 16_384

  /// From how many bytes on an answer is handed to the socket without waiting for more.
  static let flushThreshold = 64 * 1024

  let server: ServerContext
  let eventLoop: any EventLoop
  let executor: EventLoopExecutor
  let date = DateField.current
  let outputMemory = OutputMemory.current
  let ledger: OutputLedger
  private let framing: RequestFraming

  var state = ConnectionState()
  let deadline = Deadline()
  private(set) var context: ChannelHandlerContext?
  var ids = RequestIDGenerator()
  /// Asking for it is a system call each time.
  private lazy var remoteAddress = context?.remoteAddress

  /// What came after the current request.
  var queue = CircularBuffer<HTTPServerRequestPart>()
  /// Why nothing comes after what is in the queue.
  var queuedProblem: Problem?
  private var isServingQueue = false
  private(set) var isReading = false
  private var hasPartsInBurst = false
  var wantsRead = false
  /// Whether a request has begun to come in whose head is not whole.
  private(set) var hasBegunHead = false

  /// The request that is on.
  var current: Current?
  /// What the observer will be told of it.
  var observed: EndedRequest?
  /// ``current``, as long as it is yet to be handed to the responder: its body, if it is short, comes first.
  private var undispatched: HTTPRequest?
  private var isDispatching = false
  /// How many requests have begun: tells a body's late demand from one of the body that is on.
  private var requestsBegun = 0
  var hasBegunRequests: Bool { requestsBegun > 0 }
  private(set) var isBodyPaused = false
  var task: Task<Void, Never>?

  /// What is to be written.
  var output = ByteBuffer()
  /// Whether the channel holds bytes that it was not yet told to send.
  var needsFlush = false
  /// How many bytes the channel was given in all.
  var writtenBytes = 0
  /// How many bytes of bodies came in all.
  private(set) var receivedBodyBytes = 0
  var waitingWriters: [CheckedContinuation<Void, any Error>] = []
  /// What the channel holds because the socket did not take it.
  var held = HeldOutput()
  /// The time for which the client may acknowledge nothing.
  var silence: SilenceAllowance
  /// What becomes of the last bytes, once they are written.
  var delivery: Delivery?
  /// How a streamed body is framed, while one is sent, and how many bytes of it are to come where that is known.
  var streamFraming: ResponseEncoder.Framing?
  var streamRemaining: Int?

  /// What must be known of a request while it is on.
  struct Current {
    let id: String
    let isHead: Bool
    let isHTTP10: Bool
    let body: RequestBodyStream?
  }

  private let start: NIODeadline
  let isRefused: Bool

  /// Creates the handler of a connection.
  ///
  /// - Parameters:
  ///   - framing: what the connection's decoder inspects its input with.
  ///   - start: since when the connection is open.
  ///   - isRefused: whether its client is only told that there are too many connections.
  init(
    server: ServerContext, eventLoop: any EventLoop, framing: RequestFraming, start: NIODeadline = .now(),
    isRefused: Bool = false
  ) {
    self.framing = framing
    self.server = server
    self.eventLoop = eventLoop
    executor = EventLoopExecutor(eventLoop)
    ledger = server.budget.ledger(of: eventLoop)
    self.start = start
    silence = SilenceAllowance(server.configuration.timeouts, at: start)
    self.isRefused = isRefused
  }

  // MARK: The channel's life

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    ledger.insert(self)
    watch(.header, since: start)
  }

  func channelActive(context: ChannelHandlerContext) {
    if isRefused { refuse(server.overloaded("too many connections are open")) }
    context.fireChannelActive()
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    self.context = nil
    ledger.remove(self)
    ledger.add(held.release())
  }

  func channelInactive(context: ChannelHandlerContext) {
    state.close()
    deadline.cancel()
    queue.removeAll()
    current?.body?.finish(.failure(.disconnected))
    current = nil
    server.end(&observed, isWhole: false)
    undispatched = nil
    task?.cancel()
    task = nil
    failWriters()
    ledger.remove(self)
    ledger.add(held.release())
    context.fireChannelInactive()
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    switch event {
    case is ChannelShouldQuiesceEvent:
      state.drain()
      if state.isWaiting, !hasBegunHead { watch(nextDeadline) }
      server.graceEnded.futureResult.hop(to: eventLoop).assumeIsolated().whenComplete { _ in self.close() }
    case ChannelEvent.inputClosed:
      endInput()
    default:
      context.fireUserInboundEventTriggered(event)
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    switch error {
    case RequestDecoder.Overflow.target:
      failInput(.uriTooLong(limit: server.configuration.limits.uriBytes))
    case RequestDecoder.Overflow.headers:
      failInput(.headersTooLarge(server.configuration.limits))
    case HTTPParserError.invalidVersion:
      failInput(
        Problem(.httpVersionNotSupported, code: "malformed-request", detail: "only HTTP/1.1 and HTTP/1.0 are spoken")
      )
    case RequestFraming.Violation.requestLine:
      failInput(.malformedRequest("a request begins with its method, target and version of HTTP, a space between"))
    case RequestFraming.Violation.chunkExtensions:
      failInput(
        Problem(
          .payloadTooLarge, code: "body-too-large",
          detail: "chunk extensions may have \(RequestFraming.maximumExtensionBytes) bytes in all"))
    case HTTPParserError.invalidMethod:
      failInput(.unknownMethod)
    case HTTPParserError.invalidEOFState where state.isReceiving:
      close()  // Whoever stops in the middle of a body does not wait for an answer.
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
    if (queue.isEmpty && !isBodyPaused) || state.isLingering {
      context.read()
    } else {
      wantsRead = true
    }
  }

  private func resumeReading() {
    guard wantsRead, queue.isEmpty, !isBodyPaused else { return }
    wantsRead = false
    context?.read()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    isReading = true
    hasPartsInBurst = true
    let part = unwrapInboundIn(data)
    framing.note(part)
    guard queue.isEmpty, accepts(part) else {
      guard !state.isLingering, !state.isClosed else { return }
      queue.append(part)
      if queue.count > Self.maximumQueuedParts { close() }
      return
    }
    take(part)
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    isReading = false
    dispatchIfReady()
    serveQueue()
    flush()
    if state.isWaiting, !hasPartsInBurst, !hasBegunHead {
      hasBegunHead = true
      if deadline.kind != .header { watch(.header) }
    }
    hasPartsInBurst = false
    context.fireChannelReadComplete()
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    if context.channel.isWritable {
      if deadline.kind == .write, !state.isLingering { watch(nextDeadline) }
      if held.bytes > 0 { measureHeld() }
      if !isPausedForMemory { resumeWriters() }
      serveQueue()
      flush()
    }
    context.fireChannelWritabilityChanged()
  }

  private func accepts(_ part: HTTPServerRequestPart) -> Bool {
    if case .head = part { return state.isWaiting && context?.channel.isWritable == true && !isPausedForMemory }
    return state.isReceiving
  }

  /// Serves what came in while it could not be served.
  func serveQueue() {
    guard !isServingQueue, !isDispatching else { return }
    isServingQueue = true
    defer { isServingQueue = false }
    while let part = queue.first, accepts(part) {
      queue.removeFirst()
      take(part)
    }
    if !isReading { dispatchIfReady() }
    guard queue.isEmpty else { return }
    if let problem = queuedProblem, state.isWaiting {
      queuedProblem = nil
      failInput(problem)
    } else if state.isInputClosed, state.isWaiting {
      closeGracefully()
    } else {
      resumeReading()
    }
  }

  private func take(_ part: HTTPServerRequestPart) {
    switch part {
    case .head(let head):
      begin(head)
    case .body(let piece):
      receivedBodyBytes += piece.readableBytes
      switch state.receive(bytes: piece.readableBytes) {
      case .deliver:
        if let body = current?.body, !body.append(piece) { isBodyPaused = true }
      case .discard: break
      case .closeGracefully: closeGracefully()
      }
    case .end:
      switch state.receiveEnd() {
      case .endBody:
        current?.body?.finish()
        dispatchIfReady()
      case .nextRequest: requestIsOver()
      case .none: break
      }
    }
  }

  // MARK: Requests

  private func begin(_ head: HTTPRequestHead) {
    hasBegunHead = false
    let target = RequestTarget(head.uri)
    let facts: RequestHeadFacts
    do throws(Problem) {
      facts = try RequestHeadFacts(head, limits: server.configuration.limits)
      guard target.isValid else { throw .malformedRequest("the target must be a path") }
    } catch {
      return failInput(error)
    }
    requestsBegun += 1
    state.begin(bodyLength: facts.bodyLength, persists: facts.persists, awaitsContinue: facts.awaitsContinue)
    let body = facts.bodyLength == 0 ? nil : makeBody()
    let id = facts.requestID ?? ids.next()
    undispatched = HTTPRequest(
      method: head.method,
      target: target,
      headers: head.headers,
      body: body.map {
        .stream($0, announcedLength: facts.bodyLength, limit: server.configuration.limits.bodyBytes)
      } ?? .empty,
      id: id,
      remoteAddress: remoteAddress,
      logger: server.logger,
      server: server
    )
    current = Current(id: id, isHead: head.method == .HEAD, isHTTP10: head.version.isHTTP10, body: body)
    observed = server.observe(id: id, method: head.method)
    isBodyPaused = false
  }

  private func makeBody() -> RequestBodyStream {
    let handler = NIOLoopBound(self, eventLoop: eventLoop)
    return RequestBodyStream { [eventLoop, requestsBegun] in
      eventLoop.execute { handler.value.bodyIsWanted(of: requestsBegun) }
    }
  }

  private func bodyIsWanted(of request: Int) {
    guard context != nil, current != nil, request == requestsBegun else { return }
    if state.wantBody() {
      output.writeStaticString("HTTP/1.1 100 Continue\r\n\r\n")
      flush()
    }
    isBodyPaused = false
    if deadline.kind != .body, deadline.kind != .write { watch(nextDeadline) }
    resumeReading()
  }

  func dispatchIfReady() {
    guard let request = undispatched else { return }
    undispatched = nil
    dispatch(request)
  }

  private func dispatch(_ request: HTTPRequest) {
    guard server.admitRequest() else {
      return finish(problem: server.overloaded("too many requests are being answered"))
    }
    isDispatching = true
    let started = startResponder(on: request)
    isDispatching = false
    if state.owesAnswer || state.isAnswering {
      task = started
      if deadline.kind != .write { watch(nextDeadline) }
    } else if state.isClosed {
      started.cancel()
    }
  }

  /// Whether a request waits its turn.
  var hasQueued: Bool { !queue.isEmpty }

  /// The answer is sent before its request has come in whole: the rest is thrown away.
  func awaitRequestEnd() {
    current?.body?.finish(.failure(.cancelled))
    isBodyPaused = false
    watch(nextDeadline)
    resumeReading()
  }

  /// The current request and its answer are both over.
  func requestIsOver() {
    current?.body?.finish(.failure(.cancelled))
    current = nil
    task = nil
    isBodyPaused = false
    watch(nextDeadline)
    if !isReading { serveQueue() }
  }
}
