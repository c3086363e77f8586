import NIOCore

/// Runs tasks on a connection's event loop: what resumes there after a wait, a database's answer say, is written to the
/// socket with no other thread in between.
final class EventLoopExecutor: TaskExecutor {
  private let eventLoop: any EventLoop

  /// Creates an executor on that loop.
  init(_ eventLoop: any EventLoop) {
    self.eventLoop = eventLoop
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    eventLoop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
