import NIOCore
import NIOHTTP1

/// Until when a connection may stay as it is.
///
/// One task of the event loop at most is scheduled for it. A deadline that moves to later, as it does with each request
/// of a busy connection, costs nothing: the task finds out when it runs.
struct Deadline {
  /// What is waited for.
  enum Kind {
    /// Something that only the responder can bring.
    case nothing
    /// The rest of a request's head.
    case header
    /// The rest of a request's body, in periods that must each bring something.
    case body
    /// A request.
    case idle
    /// A request that was on its way when the server began to drain.
    case lastCall
    /// The client to take what is written, in periods in each of which it must take something.
    case write
    /// The client to close.
    case linger
  }

  fileprivate(set) var kind = Kind.nothing
  fileprivate var time = NIODeadline.distantFuture
  fileprivate var mark = 0
  fileprivate var scheduled: (task: Scheduled<Void>, time: NIODeadline)?

  /// Lets go of what is scheduled.
  mutating func cancel() {
    scheduled?.task.cancel()
    scheduled = nil
    kind = .nothing
  }
}

extension ConnectionHandler {
  /// What is to be waited for as things stand.
  var nextDeadline: Deadline.Kind {
    if state.isWaiting {
      if hasBegunHead { return .header }
      return state.isDrained && !hasQueued ? .lastCall : .idle
    }
    return state.isReceiving && !isBodyPaused && !state.awaitsContinue ? .body : .nothing
  }

  /// Waits for something, from now.
  func watch(_ kind: Deadline.Kind) {
    deadline.kind = kind
    guard let period = period(of: kind), !state.isClosed else {
      deadline.time = .distantFuture
      return
    }
    deadline.mark = progress(of: kind)
    deadline.time = .now() + period
    if let scheduled = deadline.scheduled {
      if scheduled.time <= deadline.time { return }
      scheduled.task.cancel()
    }
    schedule(at: deadline.time)
  }

  private func schedule(at time: NIODeadline) {
    let task = eventLoop.assumeIsolated().scheduleTask(deadline: time) { self.wake() }
    deadline.scheduled = (task, time)
  }

  private func wake() {
    deadline.scheduled = nil
    guard !state.isClosed, deadline.time < .distantFuture else { return }
    guard deadline.time <= .now() else { return schedule(at: deadline.time) }
    switch deadline.kind {
    case .body, .write:
      let advance = progress(of: deadline.kind) - deadline.mark
      if advance >= server.configuration.timeouts.minimumBytesPerPeriod { return watch(deadline.kind) }
    default: break
    }
    expire(deadline.kind)
  }

  private func period(of kind: Deadline.Kind) -> TimeAmount? {
    let timeouts = server.configuration.timeouts
    return switch kind {
    case .nothing: nil
    case .header: TimeAmount(timeouts.header)
    case .body: TimeAmount(timeouts.body)
    case .idle: TimeAmount(timeouts.idle)
    case .lastCall: TimeAmount(timeouts.lastCall)
    case .write: TimeAmount(timeouts.write)
    case .linger: TimeAmount(timeouts.linger)
    }
  }

  /// How far the matter has come, in bytes.
  private func progress(of kind: Deadline.Kind) -> Int {
    switch kind {
    case .body: return receivedBodyBytes
    case .write: return writtenBytes - unsentBytes
    default: return 0
    }
  }

  /// How many bytes wait for the client to take what was sent before them.
  var unsentBytes: Int {
    let buffered = try? context?.channel.syncOptions?.getOption(.bufferedWritableBytes)
    return (buffered ?? 0) + output.readableBytes
  }

  private func expire(_ kind: Deadline.Kind) {
    switch kind {
    case .nothing: break
    case .header where hasBegunHead:
      failInput(Problem(.requestTimeout, code: "request-timeout", detail: "the request did not arrive in time"))
    case .body:
      failInput(Problem(.requestTimeout, code: "request-timeout", detail: "the body did not arrive in time"))
    case .header, .idle, .lastCall:
      closeIdle()
    case .linger, .write:
      close()
    }
  }
}
