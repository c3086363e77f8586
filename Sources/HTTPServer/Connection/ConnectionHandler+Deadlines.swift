import NIOCore
import NIOHTTP1

extension ConnectionHandler: DeadlineKeeper {
  var isOver: Bool { state.isClosed }

  /// What is to be waited for as things stand.
  var nextDeadline: Deadline.Kind {
    if state.isWaiting {
      if hasBegunHead { return .header }
      guard state.isDrained, !hasQueued else { return .idle }
      return hasBegunRequests ? .lastCall : .firstCall
    }
    if state.isReceiving { return !isBodyPaused && !state.awaitsContinue ? .body : .nothing }
    return state.isInputClosed && state.owesAnswer ? .hangUp : .nothing
  }

  func progress(of kind: Deadline.Kind) -> Int {
    switch kind {
    case .body: return receivedBodyBytes
    case .write: return acknowledgedBytes
    default: return 0
    }
  }

  /// How many bytes wait for the client to take what was sent before them.
  var unsentBytes: Int { (context?.channel.bufferedBytes ?? 0) + output.readableBytes }

  /// The number of bytes that the client's system has acknowledged; where this one does not tell, that its socket has
  /// taken. A socket takes nothing until a third of its buffer, which may be megabytes, is free.
  var acknowledgedBytes: Int {
    context.flatMap { SendProgress(of: $0.channel)?.acknowledgedBytes } ?? writtenBytes - unsentBytes
  }

  func remainingSilence() -> TimeAmount {
    silence.remaining(acknowledgedBytes: acknowledgedBytes, at: .now())
  }

  func expire(_ kind: Deadline.Kind) {
    switch kind {
    case .nothing: break
    case .header where hasBegunHead:
      failInput(Problem(.requestTimeout, code: "request-timeout", detail: "the request did not arrive in time"))
    case .body:
      failInput(Problem(.requestTimeout, code: "request-timeout", detail: "the body did not arrive in time"))
    case .header, .idle, .firstCall, .lastCall:
      closeIdle()
    case .linger:
      endLinger()
    case .write:
      close()
    case .hangUp:
      task?.cancel()
    }
  }
}
