import NIOCore

/// An executor of a connection's tasks on its event loop: a task that resumes there after a wait, for a database say,
/// writes to the socket with no other thread in between.
///
/// The requests that a client has sent at once, pipelined or as streams, would hold up the other connections of the event
/// loop until all are answered. Therefore a connection has turns: after ``turn`` of work, its further requests wait until
/// the event loop has looked at its other connections.
final class EventLoopExecutor: TaskExecutor {
  /// The time of work after which other connections are served.
  private static let turn = TimeAmount.milliseconds(1)

  /// The time for which a connection rests. It only has to be so long that the event loop waits for its sockets, which
  /// it does when no task is due.
  private static let rest = TimeAmount.microseconds(50)

  /// A rest that ends later than this has been one of tasks of other connections, and is repeated: the event loop may not
  /// have looked at its sockets.
  private static let lateness = TimeAmount.microseconds(500)
  private static let maximumRests = 3

  /// A turn that has not ended after this time is begun again: others were served meanwhile.
  private static let window = TimeAmount.milliseconds(2)

  private final class State {
    var start = NIODeadline.uptimeNanoseconds(0)
    var work = TimeAmount.zero
    var isMeasuring = false
    /// The time until which the work in progress is counted.
    var countedUntil = NIODeadline.uptimeNanoseconds(0)
    /// A Boolean value that indicates whether the connection's turn has ended.
    var isResting = false
    /// The number of rests since then.
    var rests = 0
    var turnBegan: () -> Void = {}
  }

  private let eventLoop: any EventLoop
  private let state: NIOLoopBound<State>

  /// The action of the connection when its turn begins after a rest. It is accessed on the event loop.
  var turnBegan: () -> Void {
    get { state.value.turnBegan }
    set { state.value.turnBegan = newValue }
  }

  /// Creates an executor, on the event loop.
  init(_ eventLoop: any EventLoop) {
    self.eventLoop = eventLoop
    state = NIOLoopBound(State(), eventLoop: eventLoop)
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    eventLoop.execute { self.measuring { job.runSynchronously(on: self.asUnownedTaskExecutor()) } }
  }

  /// Does work of the connection on the event loop, and counts its time.
  func measuring<Value>(_ work: () -> Value) -> Value {
    let state = state.value
    if state.isMeasuring { return work() }
    state.isMeasuring = true
    state.countedUntil = .now()
    defer {
      count(state)
      state.isMeasuring = false
      if state.isResting, state.rests == 0 { rest(state) }
    }
    return work()
  }

  private func count(_ state: State) {
    let now = NIODeadline.now()
    if now - state.start > Self.window {
      state.start = state.countedUntil
      state.work = .zero
    }
    state.work = state.work + (now - state.countedUntil)
    state.countedUntil = now
    if state.work > Self.turn { state.isResting = true }
  }

  private func rest(_ state: State) {
    state.rests += 1
    // The rest begins after the tasks that are due already: they may take longer than it does.
    eventLoop.execute {
      let end = NIODeadline.now() + Self.rest
      self.eventLoop.assumeIsolated().scheduleTask(deadline: end) { self.endRest(due: end) }
    }
  }

  private func endRest(due: NIODeadline) {
    let state = state.value
    let now = NIODeadline.now()
    if now - due > Self.lateness, state.rests < Self.maximumRests { return rest(state) }
    (state.rests, state.isResting) = (0, false)
    (state.start, state.work) = (now, .zero)
    state.turnBegan()
  }

  /// A Boolean value that indicates whether the connection's next request must wait for ``turnBegan``. Work in progress
  /// is counted first.
  var mustWait: Bool {
    let state = state.value
    if state.isMeasuring { count(state) }
    return state.isResting
  }
}
