import Logging
import NIOCore
import NIOHPACK
import NIOHTTP1
import NIOHTTP2

extension HTTP2StreamHandler {
  var isAnswering: Bool { state.isAnswering }

  // MARK: Whole answers

  func finish(_ response: HTTPResponse) {
    send(response)
    connection.responderEnded()
  }

  /// Sends an answer that is not streamed.
  func send(_ response: HTTPResponse) {
    guard state.owesAnswer else { return }
    let response = server.withinBudget(response)
    guard beginAnswer(response), case .bytes(let bytes) = response.body else { return }
    pending = bytes
    note(unsent: bytes.readableBytes)
    answerIsMade()
    writePending()
    watchNext()
  }

  /// Writes the head. Answers whether a body is to follow; where not, the answer is over, and where the head may not be
  /// sent as it is, that answer is a problem.
  private func beginAnswer(_ response: HTTPResponse) -> Bool {
    guard let current, let context else { return false }
    guard response.status.code >= 200, let head = head(of: response, to: current) else {
      logger(of: current).error(
        "an answer can't be sent: its status or a header field is not valid",
        metadata: ["status": .stringConvertible(response.status.code), "headers": "\(response.headers)"]
      )
      send(HTTPResponse(.internal, typePrefix: server.configuration.problemTypePrefix))
      return false
    }
    let hasBody = !current.isHead && Self.mayHaveBody(response.status) && response.body.length != 0
    state.beginAnswer()
    observed?.answered(by: response)
    guard hasBody else {
      answerIsMade()
      context.writeAndFlush(
        wrapOutboundOut(.headers(.init(headers: head, endStream: true))), promise: promiseOfLast())
      return false
    }
    context.write(wrapOutboundOut(.headers(.init(headers: head))), promise: nil)
    return true
  }

  private func head(of response: HTTPResponse, to current: Current) -> HPACKHeaders? {
    HTTP2ResponseEncoder(serverName: server.configuration.serverName).head(
      of: response,
      length: Self.mayHaveBody(response.status) ? response.body.length : nil,
      keepsLength: current.isHead || response.status == .notModified,
      requestID: current.id,
      date: connection.date.value
    )
  }

  private static func mayHaveBody(_ status: HTTPResponseStatus) -> Bool {
    status != .noContent && status != .notModified
  }

  private func logger(of current: Current) -> Logger {
    var logger = server.logger
    logger[metadataKey: "request-id"] = .string(current.id)
    return logger
  }

  // MARK: Streamed answers

  func beginStream(_ response: HTTPResponse, length: Int?) -> Bool {
    guard state.owesAnswer, beginAnswer(response) else {
      connection.responderEnded()
      return false
    }
    streamRemaining = length
    // What comes of the body in this turn of the event loop goes out with the head.
    eventLoop.assumeIsolated().execute { self.context?.flush() }
    return true
  }

  func writeStream(_ bytes: ByteBuffer) throws -> Bool {
    guard state.isAnswering, let context else { throw HTTPConnectionClosed() }
    guard bytes.readableBytes > 0 else { return context.channel.isWritable && !isPausedForMemory }
    if let remaining = streamRemaining {
      guard bytes.readableBytes <= remaining else { throw StreamLengthMismatch() }
      streamRemaining = remaining - bytes.readableBytes
    }
    note(unsent: bytes.readableBytes)
    var rest = bytes
    while let piece = rest.readSlice(length: min(rest.readableBytes, Self.pieceBytes)), piece.readableBytes > 0 {
      write(piece, isLast: false)
    }
    context.flush()
    watchNext()
    return state.isAnswering && context.channel.isWritable && !isPausedForMemory
  }

  func endStream(_ result: Result<Void, any Error>) {
    defer { connection.responderEnded() }
    guard state.isAnswering, let context else { return }
    var result = result
    if let remaining = streamRemaining, remaining > 0, case .success = result {
      result = .failure(StreamLengthMismatch())
    }
    switch result {
    case .success:
      answerIsMade()
      write(ByteBuffer(), isLast: true)
      context.flush()
    case .failure(let error):
      if let current {
        logger(of: current).error("an answer broke off", metadata: ["error": "\(String(reflecting: error))"])
      }
      reset(.internalError)
    }
  }

  // MARK: Writing

  /// Hands on what of a whole answer the connection takes.
  func writePending() {
    guard pending.readableBytes > 0, !isWriting, !state.isClosed, let context else { return }
    isWriting = true
    defer { isWriting = false }
    while pending.readableBytes > 0, context.channel.isWritable {
      while let piece = pending.readSlice(length: min(pending.readableBytes, Self.pieceBytes)),
        piece.readableBytes > 0
      {
        write(piece, isLast: pending.readableBytes == 0)
        guard context.channel.isWritable else { break }
      }
      context.flush()
    }
  }

  private func write(_ piece: ByteBuffer, isLast: Bool) {
    let promise = isLast ? promiseOfLast() : eventLoop.makePromise(of: Void.self)
    let count = piece.readableBytes
    if count > 0 { promise.futureResult.assumeIsolated().whenSuccess { self.isTaken(bytes: count) } }
    context?.write(
      wrapOutboundOut(.data(.init(data: .byteBuffer(piece), endStream: isLast))), promise: promise)
  }

  /// A Boolean value that indicates whether nothing more is produced until the client has taken what there is.
  private var isPausedForMemory: Bool { unsentBytes > 0 && server.budget.isShort }

  /// Kept when the client's side of the socket has the whole answer.
  private func promiseOfLast() -> EventLoopPromise<Void> {
    let promise = eventLoop.makePromise(of: Void.self)
    promise.futureResult.assumeIsolated().whenSuccess { self.isSent() }
    return promise
  }

  private func note(unsent bytes: Int) {
    unsentBytes += bytes
    observed?.bodyBytes += bytes
    connection.note(unsent: bytes)
  }

  private func isTaken(bytes: Int) {
    guard !state.isClosed else { return }
    unsentBytes -= bytes
    takenBytes += bytes
    connection.note(gone: bytes, areTaken: true)
    guard unsentBytes == 0 else { return }
    watchNext()
    if !waitingWriters.isEmpty { resumeWriters() }
  }

  /// What still comes of the request is thrown away.
  private func answerIsMade() {
    state.endAnswer()
    server.end(&observed, isWhole: true)
    current?.body?.finish(.failure(.cancelled))
    resumeReading()
  }

  private func isSent() {
    guard !state.isClosed else { return }
    if state.answerIsSent() { reset(.noError) } else { watchNext() }
  }
}
