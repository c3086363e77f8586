import Logging
import NIOCore
import NIOExtras
import NIOHPACK
import NIOHTTP2
import NIOSSL

/// One connection of HTTP/2: counts its streams, says which may be served, and ends it.
///
/// Its streams run at the same time, each with a ``HTTP2StreamHandler`` of its own. What a client could do to a server
/// with frames alone is bounded: streams, resets, pings and settings by NIO's own counts, work that is on and answers
/// that nobody takes here.
final class HTTP2Connection: ChannelDuplexHandler, DeadlineKeeper, OutputHolder {
  typealias InboundIn = HTTP2Frame
  typealias OutboundIn = HTTP2Frame
  typealias OutboundOut = HTTP2Frame

  /// How long the client may take to acknowledge that no more requests are wanted.
  private static let farewellPatience = TimeAmount.seconds(1)

  private static let farewell = HTTP2PingData(withInteger: 0x6661_7265_7765_6C6C)

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
  private var isInputClosed = false
  /// Whether the client has sent its last byte so long ago that it has probably gone.
  private(set) var hasHungUp = false
  private var streams: [ObjectIdentifier: HTTP2StreamHandler] = [:]
  private var isDraining = false
  /// Whether the client knows which request was the last.
  private var hasSaidFarewell = false
  private var hasFailed = false
  /// The time for which the client may acknowledge nothing.
  private var silence: SilenceAllowance
  /// What becomes of the last bytes, once they are written.
  private var delivery: Delivery?
  private(set) var isOver = false

  private var openStreams = 0
  private var lastStream = HTTP2StreamID.rootStream
  /// How many responders are at work: those of streams that were broken off count until they notice.
  private var running = 0
  private var unsentBytes = 0
  private var takenBytes = 0
  private let ledger: OutputLedger
  /// What the peer's system had acknowledged when that was last asked for.
  private var lastAcknowledgedBytes = 0
  /// The bytes that were acknowledged while the socket took no more: progress of every stream that has more to send.
  private(set) var creditedBytes = 0
  private var waiting: [HTTP2StreamHandler] = []
  private var isServingWaiting = false

  /// Creates the handler of a connection.
  ///
  /// - Parameter start: since when the connection is open.
  init(server: ServerContext, channel: any Channel, start: NIODeadline) {
    self.server = server
    self.channel = channel
    self.start = start
    silence = SilenceAllowance(server.configuration.timeouts, at: start)
    eventLoop = channel.eventLoop
    executor = EventLoopExecutor(channel.eventLoop)
    ledger = server.budget.ledger(of: channel.eventLoop)
    remoteAddress = channel.remoteAddress
  }

  /// Creates what counts frames that NIO does not; its place is before the multiplexer.
  func makeFrameCounter() -> FrameCounter {
    FrameCounter(maximumCount: server.configuration.limits.controlFrames, window: .seconds(10)) { [weak self] _ in
      self?.endForFlood()
    }
  }

  /// Tells the client that it sends too much, and reads nothing more.
  private func endForFlood() {
    guard !hasFailed, !isOver else { return }
    hasFailed = true
    server.logger.debug("a connection of HTTP/2 was ended", metadata: ["error": "excessive frames"])
    write(.goAway(lastStreamID: lastStream, errorCode: .enhanceYourCalm, opaqueData: nil))
    context?.flush()
    endOutput()
  }

  /// What makes frames of bytes and streams of frames; its place is before this handler.
  func makeMultiplexer() -> NIOHTTP2Handler {
    let limits = server.configuration.limits
    var connection = NIOHTTP2Handler.ConnectionConfiguration()
    // More than is allowed is still read, so that it can be answered with 431; far more ends the connection.
    let listBytes = limits.uriBytes + 2 * limits.headerBytes + 64 * limits.headerCount
    connection.initialSettings = [
      HTTP2Setting(parameter: .maxConcurrentStreams, value: limits.concurrentStreams),
      HTTP2Setting(parameter: .maxHeaderListSize, value: listBytes),
    ]
    connection.controlFrameRateLimit.maximumCount = limits.controlFrames
    connection.controlFrameRateLimit.windowLength = .seconds(10)
    // Acknowledgements that the client does not take; it may ask for no more than these at once anyway.
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
    case .ping(Self.farewell, ack: true):
      sayFarewell()
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
      // The client has been told by GOAWAY. Nothing is read any more; what is sent it may still read.
      hasFailed = true
      server.logger.debug("a connection of HTTP/2 was ended", metadata: ["error": "\(error)"])
      endOutput()
    }
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    if context.channel.isWritable {
      if deadline.kind == .write { watch(openStreams == 0 ? .idle : .nothing) }
    } else if deadline.kind != .linger {
      watch(.write)
    }
    context.fireChannelWritabilityChanged()
  }

  func progress(of kind: Deadline.Kind) -> Int { takenBytes + creditedBytes }

  /// Credits what was acknowledged to the streams, where it is the socket that they wait for and not a window of theirs: a
  /// socket takes nothing until a third of its buffer, which may be megabytes, is free.
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
    server.logger.debug("cut a connection that took nothing while memory was short")
    channel.closeWithReset()
  }

  func expire(_ kind: Deadline.Kind) {
    switch kind {
    case .nothing, .body: break
    case .header, .idle, .firstCall, .lastCall:
      sayFarewell()
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
    if hasSaidFarewell || isInputClosed {
      // What the last stream wrote is sent at the end of this turn of the event loop.
      eventLoop.assumeIsolated().execute { self.endOutput() }
    } else if deadline.kind == .nothing {
      watch(.idle)
    }
  }

  /// A stream is there.
  func add(_ stream: HTTP2StreamHandler) { streams[ObjectIdentifier(stream)] = stream }

  /// A stream has ended.
  func remove(_ stream: HTTP2StreamHandler) { streams[ObjectIdentifier(stream)] = nil }

  /// Nobody seems to wait for the answers that have not begun.
  private func hangUp() {
    hasHungUp = true
    for stream in streams.values { stream.hangUp() }
  }

  /// Counts a request in where the connection's share is not used up; else it is told to start later.
  func admit(_ stream: HTTP2StreamHandler) -> Bool {
    let limits = server.configuration.limits
    guard running < limits.concurrentStreams, unsentBytes < limits.unsentBytes else {
      waiting.append(stream)
      return false
    }
    running += 1
    return true
  }

  /// A responder that was admitted has given its whole answer.
  func responderEnded() {
    running -= 1
    serveWaiting()
  }

  /// A stream that may wait has ended.
  func forget(_ stream: HTTP2StreamHandler) {
    waiting.removeAll { $0 === stream }
  }

  /// Bytes of answers are there to be sent.
  func note(unsent bytes: Int) {
    unsentBytes += bytes
    ledger.add(bytes)
  }

  /// Bytes of answers need not be kept any more.
  ///
  /// - Parameter areTaken: whether the client has taken them.
  func note(gone bytes: Int, areTaken: Bool) {
    unsentBytes -= bytes
    ledger.add(-bytes)
    if areTaken { takenBytes += bytes }
    serveWaiting()
  }

  private func serveWaiting() {
    guard !isServingWaiting, !waiting.isEmpty, !isOver else { return }
    isServingWaiting = true
    defer { isServingWaiting = false }
    let limits = server.configuration.limits
    while !waiting.isEmpty, running < limits.concurrentStreams, unsentBytes < limits.unsentBytes {
      running += 1
      waiting.removeFirst().start()
    }
  }

  // MARK: The end

  /// Tells the client to send its further requests elsewhere. Those that are on their way are still answered: it is
  /// told which was the last when it has heard (RFC 9113, section 6.8).
  private func drain() {
    guard !isDraining, !isOver else { return }
    isDraining = true
    write(.goAway(lastStreamID: .maxID, errorCode: .noError, opaqueData: nil))
    write(.ping(Self.farewell, ack: false))
    context?.flush()
    eventLoop.assumeIsolated().scheduleTask(in: Self.farewellPatience) { self.sayFarewell() }
  }

  private func sayFarewell() {
    guard !hasSaidFarewell, !isOver else { return }
    hasSaidFarewell = true
    write(.goAway(lastStreamID: lastStream, errorCode: .noError, opaqueData: nil))
    context?.flush()
    if openStreams == 0 { endOutput() }
  }

  private func write(_ payload: HTTP2Frame.FramePayload) {
    context?.write(wrapOutboundOut(HTTP2Frame(streamID: .rootStream, payload: payload)), promise: nil)
  }

  /// Says that this was all, and lets the client read it before the connection ends.
  private func endOutput() {
    guard let context, !isOver, deadline.kind != .linger else { return }
    guard !isInputClosed else { return close() }
    // Who breaks the rules must not be able to stay.
    if !hasFailed { delivery = Delivery(server.configuration.timeouts, silence) }
    watch(.linger)
    context.close(mode: .output, promise: nil)
  }

  private func close() { context?.close(promise: nil) }
}

/// Tells a connection of its streams' beginnings and ends.
private struct StreamCounter: NIOHTTP2StreamDelegate {
  let connection: NIOLoopBound<HTTP2Connection>

  func streamCreated(_ id: HTTP2StreamID, channel: any Channel) { connection.value.streamOpened(id) }

  func streamClosed(_ id: HTTP2StreamID, channel: any Channel) { connection.value.streamClosed() }
}
