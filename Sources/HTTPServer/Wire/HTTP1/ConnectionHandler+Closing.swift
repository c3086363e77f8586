import Logging
import NIOCore
import NIOHTTP1

extension Problem {
  static var endedEarly: Problem { .malformedRequest("the request ended early") }
}

extension ConnectionHandler {
  /// Handles input of which the rest is unusable.
  func failInput(_ problem: Problem) {
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
  func reject(_ problem: Problem) {
    let response = server.response(to: problem)
    let id = ids.next()
    _ = output.appendHead(
      of: response, id: id, framing: .length(response.body.length ?? 0), keepsLength: false, persistence: .close)
    if case .bytes(let bytes) = response.body { output.append(bytes) }
    server.reportRejection(id: id, response)
    closeGracefully()
  }

  func endInput() {
    switch state.endInput(hasQueued: hasQueued) {
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
  func closeGracefully() {
    guard let context, !state.isClosed else { return }
    state.linger()
    queue.removeAll()
    endExchange(.cancelled)
    flush()
    watch(.write)
    output.sent()?.assumeIsolated().whenSuccess { self.endOutput() }
    wantsRead = false
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

  func close() {
    flush()
    context?.close(promise: nil)
  }
}

// MARK: - Timeouts

extension ConnectionHandler: DeadlineKeeper {
  var isOver: Bool { state.isClosed }

  var nextDeadline: Deadline.Kind {
    if state.isWaiting {
      if hasBegunHead { return .header }
      guard state.isDrained, !hasQueued else { return .idle }
      return requestsBegun > 0 ? .lastRequest : .firstRequest
    }
    if state.isReceiving { return !isBodyPaused && !state.awaitsContinue ? .body : .nothing }
    return state.isInputClosed && owesResponse ? .hangUp : .nothing
  }

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
    case .header where hasBegunHead:
      failInput(Problem(.requestTimeout, code: "request-timeout", detail: "the request did not arrive in time"))
    case .body:
      failInput(Problem(.requestTimeout, code: "request-timeout", detail: "the body did not arrive in time"))
    case .header, .idle, .firstRequest, .lastRequest:
      closeIdle()
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
    server.logger.debug("cut a connection that took nothing while memory was short")
    cut()
  }

  /// Counts the bytes that the socket did not take, until it has.
  func measureHeld() {
    guard !state.isClosed else { return }
    output.measure()?.assumeIsolated().whenComplete { _ in self.endDrain() }
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
