import Points
import Synchronization

/// The connections of exports and imports: few, with a bounded wait queue.
///
/// A connection counts until the server has closed it, so that the number of backends never exceeds the limits.
final class BulkConnections: Sendable {
  private typealias Continuation = CheckedContinuation<Result<Void, any Error>, Never>
  private typealias CallerID = BulkQueue.CallerID

  private struct State {
    var queue: BulkQueue
    var continuations: [CallerID: Continuation] = [:]
    /// The callers that were cancelled before they were queued.
    var cancelled: Set<CallerID> = []
    var isShutDown = false
  }

  private let state: Mutex<State>
  private let waitTimeout: Duration
  private let thread: PollingThread
  private let lastCallerNumber = Atomic<Int>(0)

  /// Creates the admission control of a store's exports and imports.
  ///
  /// - Parameter waitTimeout: the maximum time for which a caller waits for a connection.
  init(on thread: PollingThread, limits: BulkQueue.Limits, waitTimeout: Duration) {
    self.thread = thread
    self.waitTimeout = waitTimeout
    state = Mutex(State(queue: BulkQueue(limits: limits)))
  }

  /// Runs an operation on a dedicated connection, which is closed afterwards.
  ///
  /// - Throws: ``PointStoreError/overloaded`` where the queue is full or the wait timed out, ``DatabaseError`` where no
  ///   connection can be established, `CancellationError`, or the body's error.
  func withSession<Value>(
    for kind: BulkQueue.Kind,
    connector: Connector,
    _ body: (Session) async throws -> Value
  ) async throws -> Value {
    try await admit(kind)
    let session: Session
    do {
      session = try await Session.open(on: thread, connector: connector) { [self] in release(kind) }
    } catch {
      release(kind)
      throw error
    }
    do {
      let value = try await body(session)
      await session.finish()
      return value
    } catch {
      await session.finish()
      throw error
    }
  }

  /// The numbers of connections and waiting callers.
  var load: BulkLoad {
    state.withLock { state in
      func use(_ kind: BulkQueue.Kind) -> BulkLoad.Use {
        BulkLoad.Use(
          connections: state.queue.connections(of: kind), limit: state.queue.limits.connections(of: kind),
          waiting: state.queue.waiters(of: kind))
      }
      return BulkLoad(exports: use(.export), imports: use(.import))
    }
  }

  /// Rejects the waiting callers and all later ones.
  func shutDown() {
    let continuations = state.withLock { state in
      state.isShutDown = true
      return state.queue.removeWaiters().compactMap { state.continuations.removeValue(forKey: $0) }
    }
    for continuation in continuations { continuation.resume(returning: .failure(Self.isShutDown)) }
  }

  private static var isShutDown: PointStoreError { .unavailable(reason: "the store is shut down") }

  private func admit(_ kind: BulkQueue.Kind) async throws {
    let id = CallerID(number: lastCallerNumber.wrappingAdd(1, ordering: .relaxed).newValue)
    let timeout = Task { [waitTimeout] in
      try await Task.sleep(for: waitTimeout)
      fail(id, PointStoreError.overloaded)
    }
    defer {
      timeout.cancel()
      state.withLock { _ = $0.cancelled.remove(id) }
    }
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in enqueue(id, kind, continuation) }
    } onCancel: {
      fail(id, CancellationError())
    }
    try result.get()
  }

  private func enqueue(_ id: CallerID, _ kind: BulkQueue.Kind, _ continuation: Continuation) {
    let result: Result<Void, any Error>? = state.withLock { state in
      if state.isShutDown { return .failure(Self.isShutDown) }
      if state.cancelled.contains(id) { return .failure(CancellationError()) }
      switch state.queue.arrived(id, kind) {
      case .admitted: return .success(())
      case .rejected: return .failure(PointStoreError.overloaded)
      case .waits:
        state.continuations[id] = continuation
        return nil
      }
    }
    if let result { continuation.resume(returning: result) }
  }

  private func fail(_ id: CallerID, _ error: any Error) {
    let continuation = state.withLock { state -> Continuation? in
      guard state.queue.left(id) else {
        if error is CancellationError { state.cancelled.insert(id) }
        return nil
      }
      return state.continuations.removeValue(forKey: id)
    }
    continuation?.resume(returning: .failure(error))
  }

  private func release(_ kind: BulkQueue.Kind) {
    let admitted = state.withLock { state in
      state.queue.released(kind).compactMap { state.continuations.removeValue(forKey: $0) }
    }
    for continuation in admitted { continuation.resume(returning: .success(())) }
  }
}

/// The connections and wait queues of a store's exports and imports.
package struct BulkLoad: Hashable, Sendable {
  /// The connections of one kind of operation.
  package struct Use: Hashable, Sendable {
    /// The number of open connections.
    package let connections: Int
    /// The maximum number of connections.
    package let limit: Int
    /// The number of calls that wait for a connection.
    package let waiting: Int
  }

  /// The exports.
  package let exports: Use
  /// The imports.
  package let imports: Use
}
