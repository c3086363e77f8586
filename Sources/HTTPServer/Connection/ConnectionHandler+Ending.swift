import NIOCore
import NIOHTTP1

extension ConnectionHandler {
  // MARK: Failure

  /// Takes note that the rest of the input can't be used.
  func failInput(_ problem: Problem) {
    switch state.failInput() {
    case .answer:
      refuse(problem)
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
    current?.body?.finish(.failure(error))
    if state.isAnswering { return cut() }
    watch(nextDeadline)
    dispatchIfReady()
  }

  /// Answers what is not even a request, or more than is allowed, and ends the connection.
  func refuse(_ problem: Problem) {
    let response = HTTPResponse(problem, typePrefix: server.configuration.problemTypePrefix)
    let id = ids.next()
    _ = server.encoder.append(
      response,
      framing: .length(response.body.length ?? 0),
      keepsLength: false,
      persistence: .close,
      requestID: id,
      date: date.bytes,
      to: &output
    )
    if case .bytes(let bytes) = response.body { output.writeImmutableBuffer(bytes) }
    server.noteRefusal(id: id, response)
    closeGracefully()
  }

  // MARK: The end

  /// The client has sent its last byte.
  func endInput() {
    switch state.endInput(hasQueued: hasQueued || queuedProblem != nil) {
    case .finishAnswering:
      dispatchIfReady()
      serveQueue()
      flush()
      if deadline.kind == .nothing { watch(nextDeadline) }
    case .closeGracefully:
      closeGracefully()
    case .close:
      close()
    case .finishClosing:
      // Until the last answer is sent, that is what is waited for.
      if deadline.kind == .linger { close() }
    }
  }

  /// Sends what is to be sent, tells the client that this was all, and throws away what it still sends for a while:
  /// closing at once could take the answer from it (RFC 9112, section 9.6).
  func closeGracefully() {
    guard let context, !state.isClosed else { return }
    state.linger()
    queue.removeAll()
    current?.body?.finish(.failure(.cancelled))
    current = nil
    server.end(&observed, isWhole: false)
    task = nil
    flush()
    watch(.write)
    let sent = eventLoop.makePromise(of: Void.self)
    sent.futureResult.assumeIsolated().whenSuccess { self.endOutput() }
    context.writeAndFlush(wrapOutboundOut(ByteBuffer()), promise: sent)
    wantsRead = false
    context.read()
  }

  private func endOutput() {
    guard !state.isInputClosed else { return close() }
    // Who is one too many must not be able to stay.
    if !isRefused { delivery = Delivery(server.configuration.timeouts, silence) }
    watch(.linger)
    context?.close(mode: .output, promise: nil)
  }

  /// Ends a connection that waits for a request.
  func closeIdle() {
    guard let context else { return }
    let isDelivered = unsentBytes == 0 && SendProgress(of: context.channel)?.isOutstanding != true
    if isDelivered { close() } else { closeGracefully() }
  }

  /// The client has had time to say that it has read the last answer.
  func endLinger() {
    if let context, delivery?.isUnderWay(on: context.channel) == true { watch(.linger) } else { close() }
  }

  /// Ends the connection so that the client can tell that the answer is not whole, however it is framed.
  func cut() {
    context?.channel.closeWithReset()
  }

  /// Ends the connection at once.
  func close() {
    flush()
    context?.close(promise: nil)
  }
}
