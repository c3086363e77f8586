import Logging
import NIOCore
import NIOExtras
import NIOHPACK
import NIOHTTP2
import NIOSSL

/// A connection of HTTP/2: counts its streams, admits their requests, and ends it.
///
/// Its streams are concurrent, each with a ``HTTP2StreamHandler`` of its own. What a client can do with frames alone is
/// bounded: streams, resets, pings and settings by NIO's own counts, current work and responses that the client does
/// not take here.
final class HTTP2Connection: ChannelDuplexHandler, DeadlineKeeper, OutputHolder {
  typealias InboundIn = HTTP2Frame
  typealias OutboundIn = HTTP2Frame
  typealias OutboundOut = HTTP2Frame

  /// The time after which the final GOAWAY is sent, even if the client has not acknowledged the PING.
  private static let drainPingTimeout = TimeAmount.seconds(1)

  private static let drainPing = HTTP2PingData(withInteger: 0x6661_7265_7765_6C6C)

  let server: ServerContext
  let eventLoop: any EventLoop
  let executor: EventLoopExecutor
  let remoteAddress: SocketAddress?
  let date = DateField.current
  let deadline = Deadline()
  var ids = RequestIDGenerator()

  private let channel: any Channel
  private let start: NIODeadline
  private var context: ChannelHandlerContext?
  private(set) var isInputClosed = false
  /// A Boolean value that indicates whether the client has sent its last byte so long ago that it has probably gone.
  private(set) var hasHungUp = false
  private var streams: [ObjectIdentifier: HTTP2StreamHandler] = [:]
  private var isDraining = false
  /// A Boolean value that indicates whether the GOAWAY with the last stream's identifier was sent.
  private var hasSentFinalGoAway = false
  private var hasFailed = false
  private var silence: SilenceAllowance
  private var delivery: Delivery?
  private(set) var isOver = false

  private var openStreams = 0
  private var lastStream = HTTP2StreamID.rootStream
  /// The number of responders at work: those of streams that were reset count until they return.
  private var running = 0
  private var unsentBytes = 0
  private var takenBytes = 0
  private let ledger: OutputLedger
  /// The number of bytes that the peer's system had acknowledged at the last query.
  private var lastAcknowledgedBytes = 0
  /// The bytes that were acknowledged while the socket took no more: progress of every stream that has more to send.
  private(set) var creditedBytes = 0
  private var waiting: [HTTP2StreamHandler] = []
  private var isServingWaiting = false

  /// Creates the handler of a connection.
  ///
  /// - Parameter start: the time at which the connection was opened.
  init(server: ServerContext, channel: any Channel, start: NIODeadline) {
    self.server = server
    self.channel = channel
    self.start = start
    silence = SilenceAllowance(server.configuration.timeouts, at: start)
    eventLoop = channel.eventLoop
    executor = EventLoopExecutor(channel.eventLoop)
    ledger = server.budget.ledger(of: channel.eventLoop)
    remoteAddress = channel.remoteAddress
    executor.turnBegan = { [weak self] in self?.serveWaiting() }
  }

  /// Returns the counter of the frames that NIO does not count; its place is before the multiplexer.
  func makeFrameCounter() -> FrameCounter {
    FrameCounter(maximumCount: server.configuration.limits.controlFrames, window: .seconds(10)) { [weak self] _ in
      self?.endForFlood()
    }
  }

  /// Ends a connection whose client sends too much, and reads nothing more.
  private func endForFlood() {
    guard !hasFailed, !isOver else { return }
    hasFailed = true
    server.logger.debug("a connection of HTTP/2 was ended", metadata: ["error": "excessive frames"])
    write(.goAway(lastStreamID: lastStream, errorCode: .enhanceYourCalm, opaqueData: nil))
    context?.flush()
    endOutput()
  }

  /// Returns the handler that decodes frames and streams; its place is before this handler.
  func makeMultiplexer() -> NIOHTTP2Handler {
    let limits = server.configuration.limits
    var connection = NIOHTTP2Handler.ConnectionConfiguration()
    // More than is allowed is still read, so that the response can be 431; far more ends the connection.
    let listBytes = limits.uriBytes + 2 * limits.headerBytes + 64 * limits.headerCount
    connection.initialSettings = [
      HTTP2Setting(parameter: .maxConcurrentStreams, value: limits.concurrentStreams),
      HTTP2Setting(parameter: .maxHeaderListSize, value: listBytes),
    ]
    connection.controlFrameRateLimit.maximumCount = limits.controlFrames
    connection.controlFrameRateLimit.windowLength = .seconds(10)
    // Acknowledgements that the client does not take; it may wait for no more than these at once anyway.
    connection.maximumBufferedControlFrames = 1000
    // Counted by the window and not by the connection's life, which a proxy's may be long.
    connection.maximumConnectionGlitches = .max
    var stream = NIOHTTP2Handler.StreamConfiguration()
    stream.outboundBufferSizeHighWatermark = 64 * 1024
    stream.outboundBufferSizeLowWatermark = 32 * 1024
    stream.streamResetFrameRateLimit.maximumCount = limits.streamResets
    stream.streamResetFrameRateLimit.windowLength = .seconds(10)
    stream.streamErrorRateLimit.maximumCount = limits.streamResets
    stream.streamErrorRateLimit.windowLength = .seconds(10)
    let bound = NIOLoopBound(self, eventLoop: eventLoop)
    return NIOHTTP2Handler(
      mode: .server,
      eventLoop: eventLoop,
      connectionConfiguration: connection,
      streamConfiguration: stream,
      streamDelegate: StreamCounter(connection: bound)
    ) { stream in
      stream.eventLoop.makeCompletedFuture {
        try stream.pipeline.syncOperations.addHandler(HTTP2StreamHandler(connection: bound.value))
      }
    }
  }

  // MARK: The channel's life

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    ledger.insert(self)
    watch(.header, since: start)
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    self.context = nil
    ledger.remove(self)
  }

  func channelInactive(context: ChannelHandlerContext) {
    isOver = true
    deadline.cancel()
    ledger.remove(self)
    waiting.removeAll()
    context.fireChannelInactive()
  }

  func read(context: ChannelHandlerContext) {
    if !hasFailed { context.read() }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data).payload {
    case .settings(.settings) where deadline.kind == .header:
      watch(openStreams == 0 ? .idle : .nothing)
    case .ping(Self.drainPing, ack: true):
      sendFinalGoAway()
    default: break
    }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    switch event {
    case is ChannelShouldQuiesceEvent:
      drain()
      server.graceEnded.futureResult.hop(to: eventLoop).assumeIsolated().whenComplete { _ in self.close() }
    case ChannelEvent.inputClosed:
      isInputClosed = true
      if openStreams == 0 || hasFailed || deadline.kind == .linger { return close() }
      for stream in streams.values where stream.isLive { stream.hangUp() }
      eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(server.configuration.timeouts.hangUp)) { self.hangUp() }
    default:
      context.fireUserInboundEventTriggered(event)
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    switch error {
    case NIOSSLError.uncleanShutdown: break  // The frames tell whether something is missing.
    case _ where error.isConfinedToAStream: break
    default:
      guard !hasFailed, !isOver else { return }
      // The client has been sent GOAWAY. Nothing is read any more; it may still read what is sent.
      hasFailed = true
      server.logger.debug("a connection of HTTP/2 was ended", metadata: ["error": "\(error)"])
      endOutput()
    }
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    if context.channel.isWritable {
      if deadline.kind == .write { watch(openStreams == 0 ? .idle : .nothing) }
    } else if deadline.kind != .linger, !streams.values.allSatisfy(\.isLive) {
      watch(.write)
    }
    context.fireChannelWritabilityChanged()
  }

  func progress(of kind: Deadline.Kind) -> Int { takenBytes + creditedBytes }

  /// Counts acknowledged bytes as progress of all streams while the socket's send buffer is full. The socket becomes
  /// writable only when a third of that buffer, which may be megabytes, is free, so that writes alone would not show
  /// the progress. While the socket is writable, only flow-control windows can stall a stream.
  func refreshProgress() {
    guard let progress = SendProgress(of: channel) else { return }
    if channel.bufferedBytes > 0 { creditedBytes += progress.acknowledgedBytes - lastAcknowledgedBytes }
    lastAcknowledgedBytes = progress.acknowledgedBytes
  }

  func remainingSilence() -> TimeAmount {
    let remaining = silence.remaining(acknowledgedBytes: lastAcknowledgedBytes, at: .now())
    // A window that is shut opens when the client's program wants it to.
    return channel.bufferedBytes > 0 ? remaining : .zero
  }

  // MARK: Memory

  var heldBytes: Int { unsentBytes }

  var takenMark: Int {
    refreshProgress()
    return takenBytes + creditedBytes
  }

  func cutForMemory() {
    server.logger.debug("cut a connection that took too little while memory was short")
    channel.closeWithReset()
  }

  func expire(_ kind: Deadline.Kind) {
    switch kind {
    case .nothing, .body: break
    case .header, .idle, .firstRequest, .lastRequest:
      sendFinalGoAway()
      endOutput()
    case .linger where delivery?.isUnderWay(on: channel) == true:
      watch(.linger)
    case .linger, .write, .hangUp:
      close()
    }
  }

  // MARK: Streams

  fileprivate func streamOpened(_ id: HTTP2StreamID) {
    openStreams += 1
    lastStream = max(lastStream, id)
    if deadline.kind == .idle || deadline.kind == .header { watch(.nothing) }
  }

  fileprivate func streamClosed() {
    openStreams -= 1
    guard openStreams == 0, !isOver else { return }
    if hasSentFinalGoAway || isInputClosed {
      // What the last stream wrote is sent at the end of this turn of the event loop.
      eventLoop.assumeIsolated().execute { self.endOutput() }
    } else if deadline.kind == .nothing {
      watch(.idle)
    }
  }

  func add(_ stream: HTTP2StreamHandler) { streams[ObjectIdentifier(stream)] = stream }

  func remove(_ stream: HTTP2StreamHandler) { streams[ObjectIdentifier(stream)] = nil }

  /// Cancels the responders of a client that has probably gone, where the response has not begun.
  private func hangUp() {
    hasHungUp = true
    for stream in streams.values { stream.hangUp() }
  }

  /// A Boolean value that indicates whether the connection may begin with another request: its share is not used up, and
  /// it is its turn.
  private var canAdmit: Bool {
    let limits = server.configuration.limits
    return running < limits.concurrentStreams && unsentBytes < limits.unsentBytes && !executor.mustWait
  }

  /// Admits a request if the connection may begin with one; otherwise it starts later.
  func admit(_ stream: HTTP2StreamHandler) -> Bool {
    guard canAdmit else {
      waiting.append(stream)
      return false
    }
    running += 1
    return true
  }

  /// Ends an admitted request, whose response is complete.
  func responderEnded() {
    running -= 1
    serveWaiting()
  }

  /// Removes a stream that may be waiting for its turn.
  func removeWaiting(_ stream: HTTP2StreamHandler) {
    waiting.removeAll { $0 === stream }
  }

  /// Counts bytes of responses that are to be sent.
  func record(unsent bytes: Int) {
    unsentBytes += bytes
    ledger.add(bytes, of: self)
  }

  /// Counts bytes of responses that are no longer kept.
  ///
  /// - Parameter areTaken: a Boolean value that indicates whether the client has taken them.
  func record(gone bytes: Int, areTaken: Bool) {
    unsentBytes -= bytes
    ledger.add(-bytes, of: self)
    if areTaken { takenBytes += bytes }
    serveWaiting()
  }

  private func serveWaiting() {
    guard !isServingWaiting, !waiting.isEmpty, !isOver else { return }
    isServingWaiting = true
    defer { isServingWaiting = false }
    while !waiting.isEmpty, canAdmit {
      running += 1
      waiting.removeFirst().start()
    }
  }

  // MARK: Shutdown

  /// Begins a graceful shutdown (RFC 9113, section 6.8): sends GOAWAY with the greatest stream identifier, and the
  /// final GOAWAY when the client has acknowledged a PING, so that requests in transit are still served.
  private func drain() {
    guard !isDraining, !isOver else { return }
    isDraining = true
    write(.goAway(lastStreamID: .maxID, errorCode: .noError, opaqueData: nil))
    write(.ping(Self.drainPing, ack: false))
    context?.flush()
    eventLoop.assumeIsolated().scheduleTask(in: Self.drainPingTimeout) { self.sendFinalGoAway() }
  }

  private func sendFinalGoAway() {
    guard !hasSentFinalGoAway, !isOver else { return }
    hasSentFinalGoAway = true
    write(.goAway(lastStreamID: lastStream, errorCode: .noError, opaqueData: nil))
    context?.flush()
    if openStreams == 0 { endOutput() }
  }

  private func write(_ payload: HTTP2Frame.FramePayload) {
    context?.write(wrapOutboundOut(HTTP2Frame(streamID: .rootStream, payload: payload)), promise: nil)
  }

  /// Closes the output, and lets the client read it before the connection ends.
  private func endOutput() {
    guard let context, !isOver, deadline.kind != .linger else { return }
    guard !isInputClosed else { return close() }
    // A client that breaks the rules must not be able to stay.
    if !hasFailed { delivery = Delivery(server.configuration.timeouts, silence) }
    watch(.linger)
    context.close(mode: .output, promise: nil)
  }

  private func close() { context?.close(promise: nil) }
}

private struct StreamCounter: NIOHTTP2StreamDelegate {
  let connection: NIOLoopBound<HTTP2Connection>

  func streamCreated(_ id: HTTP2StreamID, channel: any Channel) { connection.value.streamOpened(id) }

  func streamClosed(_ id: HTTP2StreamID, channel: any Channel) { connection.value.streamClosed() }
}

extension Error {
  /// A Boolean value that indicates whether this is an error of one stream, which is reset, and leaves the others
  /// alone. Any other error ends the connection, and so does an unknown one.
  var isConfinedToAStream: Bool {
    switch self {
    case is NIOHTTP2Errors.StreamClosed, is NIOHTTP2Errors.StreamError, is NIOHTTP2Errors.NoSuchStream,
      is NIOHTTP2Errors.BadStreamStateTransition, is NIOHTTP2Errors.TrailersWithoutEndStream,
      is NIOHTTP2Errors.FlowControlViolation, is NIOHTTP2Errors.InvalidFlowControlWindowSize,
      is NIOHTTP2Errors.InvalidPseudoHeaders, is NIOHTTP2Errors.UnknownPseudoHeader,
      is NIOHTTP2Errors.UnsupportedPseudoHeader, is NIOHTTP2Errors.DuplicatePseudoHeader,
      is NIOHTTP2Errors.PseudoHeaderAfterRegularHeader, is NIOHTTP2Errors.EmptyPathHeader,
      is NIOHTTP2Errors.InvalidPseudoHeaderValue, is NIOHTTP2Errors.MissingPseudoHeader,
      is NIOHTTP2Errors.ForbiddenHeaderField, is NIOHTTP2Errors.InvalidHTTP2HeaderFieldName,
      is NIOHTTP2Errors.InvalidHTTP2HeaderFieldValue,
      is NIOHTTP2Errors.ContentLengthViolated, is NIOHTTP2Errors.ContentLengthHeadersMismatch,
      is NIOHTTP2Errors.ContentLengthHeaderNegative, is NIOHTTP2Errors.ContentLengthHeaderMalformedValue:
      true
    default: false
    }
  }
}

/// A counter of the frames of a connection that NIO's own counts leave out: GOAWAY, and frames of unknown types, which
/// are ignored (RFC 9113, section 5.5) and cost work all the same.
///
/// It follows the lengths of frames in the bytes on their way to NIO's parser, and passes everything on unchanged.
final class FrameCounter: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer

  private static let prefaceBytes = 24
  private static let headBytes = 9
  /// The types that NIO counts or that requests consist of (RFC 9113, section 6; RFC 7838 and RFC 8336).
  private static let goAway: UInt8 = 7
  private static let knownTypes: Set<UInt8> = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12]

  private let maximumCount: Int
  private let window: TimeAmount
  private let exceeded: (ChannelHandlerContext) -> Void
  /// The number of bytes of the preface or of a payload that are still to come.
  private var skipped = prefaceBytes
  private var head = ByteBuffer()
  private var count = 0
  private var windowStart = NIODeadline.uptimeNanoseconds(0)
  private var isOver = false

  /// Creates a counter at the beginning of a connection.
  ///
  /// - Parameters:
  ///   - maximumCount: the greatest number of such frames in a window.
  ///   - window: the length of a window.
  ///   - exceeded: a function that is called once when there are more; nothing is passed on after it.
  init(maximumCount: Int, window: TimeAmount, exceeded: @escaping (ChannelHandlerContext) -> Void) {
    self.maximumCount = maximumCount
    self.window = window
    self.exceeded = exceeded
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !isOver else { return }
    follow(unwrapInboundIn(data))
    guard count <= maximumCount else {
      isOver = true
      return exceeded(context)
    }
    context.fireChannelRead(data)
  }

  private func follow(_ bytes: ByteBuffer) {
    var rest = bytes
    while rest.readableBytes > 0 {
      if skipped > 0 {
        let length = min(skipped, rest.readableBytes)
        rest.moveReaderIndex(forwardBy: length)
        skipped -= length
      } else if head.readableBytes == 0, rest.readableBytes >= Self.headBytes {
        record(&rest)
      } else if let chunk = rest.readSlice(length: min(Self.headBytes - head.readableBytes, rest.readableBytes)) {
        head.writeImmutableBuffer(chunk)
        if head.readableBytes == Self.headBytes {
          record(&head)
          head.clear()
        }
      }
    }
  }

  private func record(_ bytes: inout ByteBuffer) {
    guard let high = bytes.readInteger(as: UInt8.self), let low = bytes.readInteger(as: UInt16.self),
      let type = bytes.readInteger(as: UInt8.self)
    else { return }
    bytes.moveReaderIndex(forwardBy: Self.headBytes - 4)
    skipped = Int(high) << 16 | Int(low)
    guard type == Self.goAway || !Self.knownTypes.contains(type) else { return }
    let now = NIODeadline.now()
    if now - windowStart >= window {
      windowStart = now
      count = 0
    }
    count += 1
  }
}
