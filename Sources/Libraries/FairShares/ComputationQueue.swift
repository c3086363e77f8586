import Basics
package import NIOCore
import NIOPosix
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The computations of clients that may take long, on threads of their own.
///
/// Event loops do everything else meanwhile, and Swift's global executor everything else that is asynchronous.
/// The threads are fewer than the cores where there are several, and have a lower priority, so that event loops take
/// precedence. ``ComputationSchedule`` decides which computation is next.
package final class ComputationQueue<Client: Hashable & Sendable, Connection: Hashable & Sendable>: Sendable {
  package typealias Schedule = ComputationSchedule<Client, Connection>

  private typealias Waiter = CheckedContinuation<Void, any Error>

  /// The reason why a computation was not started.
  package enum Rejection: Error {
    case overloaded
  }

  private struct State {
    var schedule: Schedule
    var waiters: [Int: (waiter: Waiter, since: ContinuousClock.Instant)] = [:]
    var lastID = 0
    var rejections = 0
    var waited = Duration.zero

    mutating func takeWaiter(_ id: Int, isRejected: Bool) -> Waiter? {
      guard let (waiter, since) = waiters.removeValue(forKey: id) else { return nil }
      waited += ContinuousClock.now - since
      if isRejected { rejections += 1 }
      return waiter
    }
  }

  /// The longest time for which a computation waits and runs.
  package let timeout: Duration

  /// An executor with the threads of computations.
  private let executor: BackgroundExecutor

  /// An executor for the pieces of long transfers, each of which takes little: rows of an import, places of an export.
  /// It has threads of its own, so that the system divides the processors between transfers and computations.
  package let transfers: BackgroundExecutor

  private let eventLoop: any EventLoop
  private let state: Mutex<State>

  /// Creates a queue without computations.
  ///
  /// - Parameters:
  ///   - threads: the maximum number of computations that run; `nil` for one less than there are cores.
  ///   - capacity: the number of places in the queue.
  ///   - timeout: the longest time for which a computation waits and runs.
  ///   - eventLoop: an event loop that outlives the last computation.
  package init(threads: Int? = nil, capacity: Int, timeout: Duration, eventLoop: any EventLoop) {
    let threads = threads ?? max(1, System.coreCount - 1)
    self.timeout = timeout
    self.eventLoop = eventLoop
    executor = BackgroundExecutor(threads: threads)
    transfers = BackgroundExecutor(threads: threads)
    state = Mutex(State(schedule: Schedule(threads: threads, capacity: capacity)))
  }

  /// Ends the threads, after the last computation.
  package func shutDown() {
    executor.shutDown()
    transfers.shutDown()
  }

  package var load: ComputationLoad {
    state.withLock { state in
      ComputationLoad(
        running: state.schedule.runningCount, waiting: state.schedule.waitingCount, rejections: state.rejections,
        waited: state.waited)
    }
  }

  /// Runs a computation, and returns to the caller's executor.
  ///
  /// - Throws: ``Rejection`` or `CancellationError` where it was not started.
  package func run<Value>(from sender: Schedule.Sender, _ body: () -> Value) async throws -> Value {
    let deadline = ContinuousClock.now + timeout
    let id = try await start(from: sender, deadline: deadline)
    return await withTaskExecutorPreference(executor) { () async -> Value in
      // The thread is free for the next one before the caller continues.
      defer { end(id) }
      return ComputationDeadline.$current.withValue(deadline, operation: body)
    }
  }

  /// Waits for a free thread.
  private func start(from sender: Schedule.Sender, deadline: ContinuousClock.Instant) async throws -> Int {
    let id = state.withLock { state in
      state.lastID += 1
      return state.lastID
    }
    var expiry: Scheduled<Void>?
    defer { expiry?.cancel() }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { (waiter: Waiter) in
        // In the lock: a task that is cancelled later finds its computation in the queue.
        let decision = state.withLock { state -> Schedule.Decision? in
          if Task.isCancelled { return nil }
          let now = ContinuousClock.now
          let decision = state.schedule.arrived(id, from: sender, deadline: deadline, at: now)
          switch decision {
          case .start: break
          case .wait: state.waiters[id] = (waiter, now)
          case .reject: state.rejections += 1
          }
          return decision
        }
        switch decision {
        case .start: waiter.resume()
        case .wait: expiry = eventLoop.scheduleTask(in: TimeAmount(timeout)) { self.remove(id, Rejection.overloaded) }
        case .reject: waiter.resume(throwing: Rejection.overloaded)
        case nil: waiter.resume(throwing: CancellationError())
        }
      }
    } onCancel: {
      remove(id, CancellationError())
    }
    return id
  }

  /// Fails a computation that waits.
  private func remove(_ id: Int, _ error: any Error) {
    let waiter = state.withLock { state -> Waiter? in
      guard state.schedule.remove(id) else { return nil }
      return state.takeWaiter(id, isRejected: error is Rejection)
    }
    waiter?.resume(throwing: error)
  }

  /// Ends a computation, and starts the next one.
  private func end(_ id: Int) {
    let (started, expired) = state.withLock { state -> (Waiter?, [Waiter]) in
      let next = state.schedule.finished(id, at: .now)
      let expired = next.expired.compactMap { state.takeWaiter($0, isRejected: true) }
      return (next.started.flatMap { state.takeWaiter($0, isRejected: false) }, expired)
    }
    started?.resume()
    for waiter in expired { waiter.resume(throwing: Rejection.overloaded) }
  }
}

/// The load of a queue of computations.
package struct ComputationLoad: Hashable, Sendable {
  /// The number of computations that run.
  package var running: Int

  /// The number of computations that wait for a thread.
  package var waiting: Int

  /// The number of computations so far that were rejected, at once or after they had waited for too long.
  package var rejections: Int

  /// The time for which computations have waited so far.
  package var waited: Duration
}

/// An executor of tasks on threads of its own, with a lower priority than the event loops'.
package final class BackgroundExecutor: TaskExecutor {
  private let pool: NIOThreadPool

  init(threads: Int) {
    pool = NIOThreadPool(numberOfThreads: threads)
    pool.start()
  }

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    pool.submit { state in
      #if os(Linux)
        // Of the calling thread: PRIO_PROCESS, whose type differs between C libraries, is 0, and so is "this one". A
        // pool that is shut down runs the job on the thread that submits it, whose priority stays.
        if state == .active { _ = setpriority(0, 0, Self.niceness) }
      #endif
      job.runSynchronously(on: self.asUnownedTaskExecutor())
    }
  }

  /// The priority of the threads. On a busy processor they get a third of the time that event loops get.
  private static let niceness: Int32 = 5

  func shutDown() { pool.shutdownGracefully { _ in } }
}
