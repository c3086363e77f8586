import NIOCore

/// Until when a connection or a stream may stay as it is.
///
/// One task of the event loop at most is scheduled for it. A deadline that moves to later, as it does with each request
/// of a busy connection, costs nothing: the task finds out when it runs. It is a class so that looking at it by way of
/// ``DeadlineKeeper`` copies nothing.
final class Deadline {
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
    /// The first request of a connection, when the server drains.
    case firstCall
    /// A request that was on its way when the server began to drain.
    case lastCall
    /// The client to take what is written, in periods in each of which it must take something.
    case write
    /// The client to close.
    case linger
    /// The responder, for a client that may have gone.
    case hangUp
  }

  fileprivate(set) var kind = Kind.nothing
  fileprivate var time = NIODeadline.distantFuture
  fileprivate var mark = 0
  fileprivate var scheduled: (task: Scheduled<Void>, time: NIODeadline)?

  /// Lets go of what is scheduled.
  func cancel() {
    scheduled?.task.cancel()
    scheduled = nil
    kind = .nothing
  }
}

/// What has a deadline. It lives on an event loop.
protocol DeadlineKeeper: AnyObject {
  var server: ServerContext { get }
  var eventLoop: any EventLoop { get }
  var deadline: Deadline { get }

  /// Whether nothing is waited for any more.
  var isOver: Bool { get }

  /// How far a matter has come that is waited for in periods, in bytes.
  func progress(of kind: Deadline.Kind) -> Int

  /// Brings up to date what ``progress(of:)`` returns and takes a call of the system to know. A period has ended.
  func refreshProgress()

  /// Returns how much longer a client may take nothing of what is written, beyond a period that has ended; see
  /// ``SilenceAllowance``.
  func remainingSilence() -> TimeAmount

  /// The time is over.
  func expire(_ kind: Deadline.Kind)
}

extension DeadlineKeeper {
  func refreshProgress() {}

  func remainingSilence() -> TimeAmount { .zero }

  /// Waits for something.
  ///
  /// - Parameter start: since when it is waited for; by default from now on.
  func watch(_ kind: Deadline.Kind, since start: NIODeadline? = nil) {
    let deadline = deadline
    deadline.kind = kind
    guard let period = period(of: kind), !isOver else {
      deadline.time = .distantFuture
      return
    }
    deadline.mark = progress(of: kind)
    deadline.time = (start ?? .now()) + period
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
    guard !isOver, deadline.time < .distantFuture else { return }
    guard deadline.time <= .now() else { return schedule(at: deadline.time) }
    switch deadline.kind {
    case .body, .write:
      refreshProgress()
      let silence = deadline.kind == .write ? remainingSilence() : .zero
      let advance = progress(of: deadline.kind) - deadline.mark
      if advance >= server.configuration.timeouts.minimumBytesPerPeriod { return watch(deadline.kind) }
      if silence > .zero {
        deadline.time = .now() + silence
        return schedule(at: deadline.time)
      }
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
    case .firstCall: TimeAmount(timeouts.firstCall)
    case .lastCall: TimeAmount(timeouts.lastCall)
    case .write: TimeAmount(timeouts.write)
    case .linger: TimeAmount(timeouts.linger)
    case .hangUp: TimeAmount(timeouts.hangUp)
    }
  }
}
