import Logging
import NIOCore
import NIOHTTP1

extension ConnectionHandler: AnswerSink {
  var isAnswering: Bool { state.isAnswering }

  // MARK: Whole answers

  func finish(_ response: HTTPResponse) {
    guard state.owesAnswer, let current else { return }
    let response = server.withinBudget(response)
    let (framing, sendsBody) = beginAnswer(response, to: current)
    if sendsBody, case .bytes(let bytes) = response.body, case .length = framing { append(bytes) }
    endAnswer()
  }

  /// Writes the head; where it may not be sent as it is, a problem goes out instead, and no body may follow.
  private func beginAnswer(
    _ response: HTTPResponse,
    to current: Current
  ) -> (framing: ResponseEncoder.Framing, sendsBody: Bool) {
    let framing = Self.framing(of: response, to: current)
    let wantsClose = framing == .close || response.headers.asksForClose
    let persists = state.beginAnswer(hasQueued: hasQueued, wantsClose: wantsClose)
    let persistence: ResponseEncoder.Persistence =
      !persists ? .close : current.isHTTP10 ? .keepAlive : .implied
    observed?.answered(by: response)
    if output.capacity == 0 { output = outputMemory.take() }
    let isHead = current.isHead
    let isSendable =
      response.status.code >= 200
      && server.encoder.append(
        response,
        framing: framing,
        keepsLength: isHead || response.status == .notModified,
        persistence: persistence,
        requestID: current.id,
        date: date.bytes,
        to: &output
      )
    guard !isSendable else { return (framing, !isHead && framing != .none) }
    logger(of: current).error(
      "an answer can't be sent: its status or a header field is not valid",
      metadata: ["status": .stringConvertible(response.status.code), "headers": "\(response.headers)"]
    )
    let problem = HTTPResponse(.internal, typePrefix: server.configuration.problemTypePrefix)
    _ = server.encoder.append(
      problem,
      framing: .length(problem.body.length ?? 0),
      keepsLength: false,
      persistence: persistence,
      requestID: current.id,
      date: date.bytes,
      to: &output
    )
    observed?.status = problem.status
    if !isHead, case .bytes(let bytes) = problem.body { append(bytes) }
    return (.none, false)
  }

  private func logger(of current: Current) -> Logger {
    var logger = server.logger
    logger[metadataKey: "request-id"] = .string(current.id)
    return logger
  }

  private static func framing(of response: HTTPResponse, to current: Current) -> ResponseEncoder.Framing {
    switch response.status {
    case .noContent, .notModified: .none
    default:
      if let length = response.body.length {
        .length(length)
      } else {
        current.isHTTP10 ? .close : .chunked
      }
    }
  }

  /// The answer is written; what now?
  private func endAnswer() {
    streamFraming = nil
    server.end(&observed, isWhole: true)
    switch state.endAnswer(hasQueued: hasQueued) {
    case .nextRequest: requestIsOver()
    case .awaitRequestEnd: awaitRequestEnd()
    case .closeGracefully: closeGracefully()
    }
    if !isReading || output.readableBytes >= Self.flushThreshold { flush() }
  }

  // MARK: Streamed answers

  func beginStream(_ response: HTTPResponse, length: Int?) -> Bool {
    guard state.owesAnswer, let current else { return false }
    let (framing, sendsBody) = beginAnswer(response, to: current)
    guard sendsBody else {
      endAnswer()
      return false
    }
    streamFraming = framing
    streamRemaining = length
    // What comes of the body in this turn of the event loop goes out with the head.
    eventLoop.assumeIsolated().execute { self.flush() }
    return true
  }

  func writeStream(_ bytes: ByteBuffer) throws -> Bool {
    guard state.isAnswering, let streamFraming, let context else { throw HTTPConnectionClosed() }
    guard bytes.readableBytes > 0 else { return context.channel.isWritable && !isPausedForMemory }
    if let remaining = streamRemaining {
      guard bytes.readableBytes <= remaining else { throw StreamLengthMismatch() }
      streamRemaining = remaining - bytes.readableBytes
    }
    if streamFraming == .chunked {
      output.writeString(String(bytes.readableBytes, radix: 16))
      output.writeStaticString("\r\n")
    }
    append(bytes)
    if streamFraming == .chunked { output.writeStaticString("\r\n") }
    flush()
    return context.channel.isWritable && !isPausedForMemory
  }

  func endStream(_ result: Result<Void, any Error>) {
    guard state.isAnswering, let streamFraming else { return }
    var result = result
    if let remaining = streamRemaining, remaining > 0, case .success = result {
      result = .failure(StreamLengthMismatch())
    }
    switch result {
    case .success:
      if streamFraming == .chunked { output.writeStaticString("0\r\n\r\n") }
      endAnswer()
    case .failure(let error):
      if let current {
        logger(of: current).error("an answer broke off", metadata: ["error": "\(String(reflecting: error))"])
      }
      cut()
    }
  }

  // MARK: Writing

  /// Hands bytes on: short ones are gathered with what stands before them, long ones are not copied.
  private func append(_ bytes: ByteBuffer) {
    observed?.bodyBytes += bytes.readableBytes
    guard bytes.readableBytes > 16 * 1024 else {
      output.writeImmutableBuffer(bytes)
      return
    }
    writeOutput()
    writtenBytes += bytes.readableBytes
    held.note(written: bytes.readableBytes)
    context?.write(wrapOutboundOut(bytes), promise: nil)
    needsFlush = true
  }

  private func writeOutput() {
    guard output.readableBytes > 0, let context else { return }
    writtenBytes += output.readableBytes
    held.note(written: output.readableBytes)
    context.write(wrapOutboundOut(output), promise: nil)
    needsFlush = true
    // The channel may still hold the bytes: then this makes a new buffer, else the old one is used again.
    output.clear()
  }

  /// Sends what is gathered.
  func flush() {
    guard let context, output.readableBytes > 0 || needsFlush else { return }
    // A flush may call back, when the channel becomes writable say: what is written then must find nothing that is
    // already on its way.
    var sent = ByteBuffer()
    swap(&sent, &output)
    let isShort = !needsFlush && held.isEmpty && !server.isSecure
    if sent.readableBytes > 0 {
      writtenBytes += sent.readableBytes
      held.note(written: sent.readableBytes)
      context.write(wrapOutboundOut(sent), promise: nil)
    }
    needsFlush = false
    context.flush()
    // As a rule the socket takes all, and the channel has no part in the buffer any more.
    let isTaken = outputMemory.giveBack(&sent)
    if isShort, isTaken { held.taken() } else { measureHeld() }
    if deadline.kind != .write, !state.isClosed, !context.channel.isWritable { watch(.write) }
  }
}

extension HTTPHeaders {
  /// Whether the answer is to be the connection's last.
  fileprivate var asksForClose: Bool {
    contains { $0.name.equalsIgnoringCase("connection") && $0.value.equalsIgnoringCase("close") }
  }
}
