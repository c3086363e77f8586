import NIOCore
import NIOPosix
import PostgresClient
import Synchronization

/// Look-ups of names, each on a thread of its own: the system's resolver blocks its caller until the servers of the name
/// respond. Concurrent look-ups of one name share a thread, so that of slow names each takes one.
final class NameLookups: Sendable {
  /// The error of a look-up without a result.
  enum Failure: Error {
    case timeout
    /// Too many look-ups are in progress.
    case overloaded
  }

  private let maximumThreads: Int
  private let timeLimit: Duration
  private let resolve: @Sendable (String) throws -> [SocketAddress]

  /// The callers that wait, by name.
  private let waiting = Mutex<[String: [EventLoopPromise<[SocketAddress]>]]>([:])

  /// - Parameter resolve: returns the addresses of a name, after any time; it may block.
  init(
    maximumThreads: Int, timeLimit: Duration, resolve: @escaping @Sendable (String) throws -> [SocketAddress]
  ) {
    self.maximumThreads = maximumThreads
    self.timeLimit = timeLimit
    self.resolve = resolve
  }

  /// Returns the addresses of a name, within the time limit.
  ///
  /// - Throws: ``Failure``, the resolver's error, or `CancellationError`.
  func addresses(of name: String) async throws -> [SocketAddress] {
    let eventLoop = MultiThreadedEventLoopGroup.singleton.any()
    let promise = eventLoop.makePromise(of: [SocketAddress].self)
    let isFirst = waiting.withLock { waiting -> Bool? in
      let others = waiting[name]
      guard others != nil || waiting.count < maximumThreads else { return nil }
      waiting[name, default: []].append(promise)
      return others == nil
    }
    switch isFirst {
    case true?:
      let isStarted = DetachedThread.start { [self] in end(name, Result { try resolve(name) }) }
      if !isStarted { end(name, .failure(Failure.overloaded)) }
    case false?: break
    case nil: promise.fail(Failure.overloaded)
    }
    let timer = eventLoop.scheduleTask(in: .nanoseconds(Int64(timeLimit / .nanoseconds(1)))) {
      promise.fail(Failure.timeout)
    }
    defer { timer.cancel() }
    return try await withTaskCancellationHandler {
      try await promise.futureResult.get()
    } onCancel: {
      promise.fail(CancellationError())
    }
  }

  /// Passes a result to the callers that wait. It has no effect on those that have ended.
  private func end(_ name: String, _ result: Result<[SocketAddress], any Error>) {
    for promise in waiting.withLock({ $0.removeValue(forKey: name) }) ?? [] { promise.completeWith(result) }
  }
}
