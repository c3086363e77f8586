import Basics
import NIOCore

/// The deadline of a connection or a stream: this is where timeouts are enforced.
///
/// At most one task of the event loop is scheduled for it. A deadline that moves to later, as it does with each request
/// of a busy connection, costs nothing: the task finds that out when it runs. It is a class so that reading it by way
/// of ``DeadlineKeeper`` copies nothing.
final class Deadline {
  /// The event that must happen before the deadline.
  enum Kind {
    /// None: only the responder can bring the next event.
    case nothing
    /// The rest of a request's head.
    case header
    /// The rest of a request's body, in periods each of which must bring something.
    case body
    /// A request.
    case idle
    /// The first request of a connection, when the server drains.
    case firstRequest
    /// A request that was on its way when the server began to drain.
    case lastRequest
    /// The client takes what is written, in periods in each of which it must take something.
    case write
    /// The client closes the connection.
    case linger
    /// The response for a client that has closed its sending side and may have disconnected.
    case hangUp
  }

  fileprivate(set) var kind = Kind.nothing
  fileprivate var time = NIODeadline.distantFuture
  fileprivate var mark = 0
  fileprivate var scheduled: (task: Scheduled<Void>, time: NIODeadline)?

  func cancel() {
    scheduled?.task.cancel()
    scheduled = nil
    kind = .nothing
  }
}

/// A type that has a deadline. It lives on an event loop.
protocol DeadlineKeeper: AnyObject {
  var server: ServerContext { get }
  var eventLoop: any EventLoop { get }
  var deadline: Deadline { get }
  var isOver: Bool { get }

  /// Returns the progress in bytes towards an event that is awaited in periods.
  func progress(of kind: Deadline.Kind) -> Int

  /// Updates what ``progress(of:)`` returns, where that takes a system call. It is called when a period has ended.
  func refreshProgress()

  /// Returns the time for which a client may take nothing beyond a period that has ended; see ``SilenceAllowance``.
  func remainingSilence() -> TimeAmount

  func expire(_ kind: Deadline.Kind)
}

extension DeadlineKeeper {
  func refreshProgress() {}

  func remainingSilence() -> TimeAmount { .zero }

  /// Sets the deadline for an event.
  ///
  /// - Parameter start: the time from which on it is awaited; by default now.
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
    let period: Duration? =
      switch kind {
      case .nothing: nil
      case .header: timeouts.header
      case .body: timeouts.body
      case .idle: timeouts.idle
      case .firstRequest: timeouts.firstRequest
      case .lastRequest: timeouts.lastRequest
      case .write: timeouts.write
      case .linger: timeouts.linger
      case .hangUp: timeouts.hangUp
      }
    return period.map { .nanoseconds($0.wholeNanoseconds) }
  }
}
