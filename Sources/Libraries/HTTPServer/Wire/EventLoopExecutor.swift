import NIOCore

/// An executor of a connection's tasks on its event loop: a task that resumes there after a wait, for a database say,
/// writes to the socket with no other thread in between.
///
/// The requests that a client has sent at once, pipelined or as streams, would hold up the other connections of the
/// event loop until all are answered. Therefore a connection has turns: after ``turn`` of work it waits in the event
/// loop's ``TurnQueue``, with its further requests and the jobs of those in progress.
final class EventLoopExecutor: TaskExecutor {
  /// The time of work after which other connections are served.
  private static let turn = TimeAmount.milliseconds(1)

  /// A turn that has not ended after this time is begun again: others were served meanwhile.
  private static let window = TimeAmount.milliseconds(2)

  private final class State {
    let queue = TurnQueue.current
    var start = NIODeadline.uptimeNanoseconds(0)
    var work = TimeAmount.zero
    var isMeasuring = false
    /// The time until which the work in progress is counted.
    var countedUntil = NIODeadline.uptimeNanoseconds(0)
    /// A Boolean value that indicates whether the connection waits in the queue for its next turn.
    var isWaiting = false
    /// The jobs that wait for the next turn.
    var jobs: [UnownedJob] = []
    var turnBegan: () -> Void = {}
  }

  private let eventLoop: any EventLoop
  private let state: NIOLoopBound<State>

  /// The action of the connection when its turn begins after a wait. It is accessed on the event loop.
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
    eventLoop.execute {
      if self.mustWait { self.state.value.jobs.append(job) } else { self.run(job) }
    }
  }

  private func run(_ job: UnownedJob) {
    measuring { job.runSynchronously(on: asUnownedTaskExecutor()) }
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
    }
    return work()
  }

  private func count(_ state: State) {
    let now = NIODeadline.now()
    if now - state.start > Self.window {
      state.start = state.countedUntil
      state.work = .zero
    }
    let time = now - state.countedUntil
    state.work = state.work + time
    state.countedUntil = now
    state.queue.count(time, on: eventLoop)
    if state.work > Self.turn { wait(state) }
  }

  private func wait(_ state: State) {
    guard !state.isWaiting else { return }
    state.isWaiting = true
    state.queue.append(self, on: eventLoop)
  }

  /// A Boolean value that indicates whether the connection's next request must wait for ``turnBegan``, which is called
  /// later if so. Work in progress is counted first.
  var mustWait: Bool {
    let state = state.value
    if state.isMeasuring { count(state) }
    if state.queue.isExhausted { wait(state) }
    return state.isWaiting
  }

  fileprivate func beginTurn() {
    let state = state.value
    state.isWaiting = false
    (state.start, state.work) = (.now(), .zero)
    while !state.jobs.isEmpty, !mustWait { run(state.jobs.removeFirst()) }
    if !state.isWaiting { state.turnBegan() }
  }
}

/// The queue of an event loop's connections that wait for their turns. It lives on the event loop.
///
/// NIO's event loop looks at its sockets only when no task is due. If each of many connections rested by itself, a task
/// of one of them would always be due. Therefore the event loop rests as a whole. After a rest, the first connections
/// in the queue have one turn each, up to ``limit`` of work; then it rests again. Connections that are not in the queue
/// begin at once with requests that come meanwhile, until they have taken ``limit`` too; from then on they enter the
/// queue.
private final class TurnQueue {
  /// The time of work after which the event loop looks at its sockets.
  private static let limit = TimeAmount.milliseconds(5)

  /// The time for which the event loop rests. It only has to be so long that it waits for its sockets.
  private static let rest = TimeAmount.microseconds(50)

  private var waiting = CircularBuffer<EventLoopExecutor>()
  /// The time of work since the last rest, or since the turns after it.
  private var work = TimeAmount.zero
  private var workBeforeRest = TimeAmount.zero
  /// A Boolean value that indicates whether the end of a rest is scheduled, or turns are given after it.
  private var isResting = false

  private static let perThread = PerThread { TurnQueue() }

  /// The queue of the event loop whose thread calls; it must not leave the thread.
  static var current: TurnQueue { perThread.current }

  /// A Boolean value that indicates whether the event loop must look at its sockets before it begins with further work.
  var isExhausted: Bool { work > Self.limit }

  func count(_ time: TimeAmount, on eventLoop: any EventLoop) {
    work = work + time
    if isExhausted { rest(on: eventLoop) }
  }

  /// Adds a connection, whose turn begins after those of the connections before it.
  func append(_ executor: EventLoopExecutor, on eventLoop: any EventLoop) {
    waiting.append(executor)
    rest(on: eventLoop)
  }

  private func rest(on eventLoop: any EventLoop) {
    guard !isResting else { return }
    isResting = true
    beginRest(on: eventLoop)
  }

  private func beginRest(on eventLoop: any EventLoop) {
    // The rest begins after the tasks that are due already: they may take longer than it does.
    eventLoop.assumeIsolated().execute {
      self.workBeforeRest = self.work
      eventLoop.assumeIsolated().scheduleTask(in: Self.rest) { self.endRest(on: eventLoop) }
    }
  }

  private func endRest(on eventLoop: any EventLoop) {
    // Connections that were not in the queue have worked, perhaps so long that this was due before the sockets were
    // looked at. They cannot do so for ever: at the limit they wait too.
    guard work == workBeforeRest else { return beginRest(on: eventLoop) }
    work = .zero
    // Those that enter the queue from now on wait for the next rest.
    var count = waiting.count
    while count > 0, !isExhausted {
      count -= 1
      waiting.removeFirst().beginTurn()
    }
    work = .zero
    if waiting.isEmpty { isResting = false } else { beginRest(on: eventLoop) }
  }
}
