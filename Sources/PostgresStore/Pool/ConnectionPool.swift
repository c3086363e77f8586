import Points
import Synchronization

/// A connection pool for one database, which carries out the decisions of ``PoolStateMachine``.
///
/// It runs on its polling thread and owns its connections there.
actor ConnectionPool {
  private typealias ConnectionID = PoolStateMachine.ConnectionID
  private typealias RequestID = PoolStateMachine.RequestID
  private typealias Continuation = CheckedContinuation<Result<ServerResult, PointStoreError>, Never>

  /// The server's result, or its error.
  typealias ServerResult = Result<QueryResult, ServerError>

  private struct Request {
    let statement: Statement
    let parameters: Parameters
    let isRead: Bool
    /// The only server that may run the request; `nil` for any.
    let server: ServerIdentity?
    let continuation: Continuation
  }

  /// The servers that the connections lead to.
  nonisolated let servers = ServerWatch()

  private nonisolated let thread: PollingThread
  private nonisolated let timer: PollingThread.TimerID
  private nonisolated let lastRequestNumber = Atomic<Int>(0)
  /// A Boolean value that indicates whether new requests are rejected. It is read from any thread, so that a rejection
  /// needs no executor hop.
  private nonisolated let isOverloaded = Atomic<Bool>(false)
  private let connector: Connector
  private var machine: PoolStateMachine
  private var connections: [ConnectionID: Connection] = [:]
  private var requests: [RequestID: Request] = [:]
  /// The request that each connection runs.
  private var running: [ConnectionID: RequestID] = [:]
  /// The cancel requests in progress. A connection is free once its cancel request was sent and its command has ended.
  private var cancellations: [ConnectionID: Cancellation] = [:]
  private var timerDeadline: ContinuousClock.Instant?

  private struct Cancellation {
    var requestWasSent = false
    var commandHasEnded = false
  }

  nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

  /// Creates a pool without connections.
  init(on thread: PollingThread, connector: Connector, limits: PoolStateMachine.Limits) {
    self.thread = thread
    self.connector = connector
    timer = thread.makeTimerID()
    machine = PoolStateMachine(limits: limits)
  }

  /// Runs a statement on the next free connection.
  ///
  /// - Parameters:
  ///   - isRead: a Boolean value that indicates whether the statement is read-only, so that it is retried after a
  ///   connection failure.
  ///   - isUrgent: a Boolean value that indicates whether the request goes to the front of the wait queue.
  /// - Throws: ``PointStoreError``. For a cancelled task that is `.timeout`, or `.outcomeUnknown` if a write was sent,
  ///   which is not stopped.
  nonisolated func run(
    _ statement: Statement,
    _ parameters: Parameters,
    isRead: Bool,
    isUrgent: Bool = false
  ) async throws(PointStoreError) -> QueryResult {
    try await result(of: statement, parameters, isRead: isRead, isUrgent: isUrgent).mapError(PointStoreError.init).get()
  }

  /// Handles a statement that was run by a primary: connections that were made before its promotion are replaced.
  nonisolated func foundPrimary() async {
    if servers.areStandbys { await replaceStandbys() }
  }

  private func replaceStandbys() {
    perform(machine.foundPrimary(at: .now))
  }

  /// Runs a statement on the next free connection, and returns the server's result or error.
  ///
  /// - Parameters:
  ///   - isRead: a Boolean value that indicates whether the statement is read-only, so that it is retried after a
  ///   connection failure.
  ///   - server: the only server that may run the statement. On a connection that leads to another one it is not sent,
  ///   and the error is ``ServerError/wrongServer``.
  /// - Throws: ``PointStoreError`` where the server did not respond. For a cancelled task that is `.timeout`, or
  ///   `.outcomeUnknown` if a write was sent, which is not stopped.
  nonisolated func result(
    of statement: Statement,
    _ parameters: Parameters,
    isRead: Bool,
    isUrgent: Bool = false,
    onlyOn server: ServerIdentity? = nil
  ) async throws(PointStoreError) -> ServerResult {
    let result = try await rawResult(of: statement, parameters, isRead: isRead, isUrgent: isUrgent, onlyOn: server)
    guard case .failure(let error) = result, error.isPermissionError else { return result }
    return .failure(await addingMissingPrivileges(to: error))
  }

  /// Returns a permission error with the privileges that the role lacks, or the error itself where these can't be
  /// found.
  nonisolated func addingMissingPrivileges(to error: ServerError) async -> ServerError {
    let wanted = MissingPrivileges.serving + MissingPrivileges.analytics
    let parameters = MissingPrivileges.parameters(for: wanted)
    guard case .success(let result) = try? await rawResult(of: MissingPrivileges.statement, parameters, isRead: true),
      let explanation = try? MissingPrivileges.explanation(of: error, by: result)
    else { return error }
    return explanation
  }

  private nonisolated func rawResult(
    of statement: Statement,
    _ parameters: Parameters,
    isRead: Bool,
    isUrgent: Bool = false,
    onlyOn server: ServerIdentity? = nil
  ) async throws(PointStoreError) -> ServerResult {
    guard isUrgent || !isOverloaded.load(ordering: .relaxed) else { throw .overloaded }
    let id = RequestID(number: lastRequestNumber.wrappingAdd(1, ordering: .relaxed).newValue)
    let isCancelled = Flag()
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let request = Request(
          statement: statement, parameters: parameters, isRead: isRead, server: server, continuation: continuation)
        thread.submit {
          self.assumeIsolated {
            $0.accept(request, as: id, isUrgent: isUrgent, isCancelled: isCancelled.isSet)
          }
        }
      }
    } onCancel: {
      // The flag is for an `accept` that has not run yet, and `cancel` for one that has.
      isCancelled.set()
      thread.submit { self.assumeIsolated { $0.cancel(id) } }
    }
    return try result.get()
  }

  var load: PoolLoad { machine.load }

  /// Closes all connections and fails all current and later requests.
  func shutDown() {
    perform(machine.shutDown())
  }

  // MARK: Events

  private func accept(_ request: Request, as id: RequestID, isUrgent: Bool, isCancelled: Bool) {
    guard !isCancelled else { return request.continuation.resume(returning: .failure(.timeout)) }
    requests[id] = request
    perform(machine.arrived(id, isRetryable: request.isRead, isUrgent: isUrgent, at: .now))
  }

  private func cancel(_ id: RequestID) {
    guard requests[id] != nil else { return }
    perform(machine.cancelled(id))
  }

  private func connected(_ id: ConnectionID, _ result: Result<Connection, ConnectionFailure>) {
    switch result {
    case .success(let connection):
      connections[id] = connection
      servers.connected(id, to: connection.server)
      thread.watch(connection.socket, for: .readable) { [weak self] _ in
        self?.assumeIsolated { $0.socketIsReady(id) }
      }
      perform(machine.connected(id, to: connection.server, at: .now))
    case .failure(let failure):
      perform(machine.failedToConnect(id, reason: failure.reason, at: .now, jitter: .random(in: 0...1)))
    }
  }

  private func socketIsReady(_ id: ConnectionID) {
    guard let connection = connections[id] else { return }
    handle(connection.advance(), of: id, connection)
  }

  private func timerFired() {
    timerDeadline = nil
    perform(machine.expired(at: .now, jitter: .random(in: 0...1)))
  }

  // MARK: Actions

  private func perform(_ actions: [PoolStateMachine.Action]) {
    for action in actions {
      switch action {
      case .connect(let id): connect(id)
      case .run(let request, let connection): run(request, on: connection)
      case .fail(let request, let error): complete(request, .failure(error))
      case .cancel(let id): cancelCommand(of: id)
      case .terminate(let id): terminateBackend(of: id)
      case .close(let id): close(id)
      }
    }
    isOverloaded.store(machine.isOverloaded(at: .now), ordering: .relaxed)
    setTimer()
  }

  private func connect(_ id: ConnectionID) {
    connector.connect(handingOverOn: thread) { [weak self] result in
      // The connection is passed on once, on its own thread.
      nonisolated(unsafe) let result = result
      self?.assumeIsolated { $0.connected(id, result) }
    }
  }

  private func run(_ requestID: RequestID, on id: ConnectionID) {
    guard let connection = connections[id], let request = requests[requestID] else { return }
    if let server = request.server, server != connection.server {
      complete(requestID, .success(.failure(.wrongServer)))
      return free(id)
    }
    // If the server had just gone, it could not be known whether a write that is sent now was executed.
    if !request.isRead, let reason = connection.endReason() { return connectionLost(id, reason, .rejected) }
    running[id] = requestID
    handle(connection.send(request.statement, request.parameters, isRead: request.isRead), of: id, connection)
  }

  private func handle(_ progress: Connection.Progress, of id: ConnectionID, _ connection: Connection) {
    switch progress {
    case .waiting:
      thread.setInterest(connection.wantsToWrite ? [.readable, .writable] : .readable, of: connection.socket)
    case .finished(let result):
      thread.setInterest(.readable, of: connection.socket)
      if connection.takeServerChange() { serverChanged(id, to: connection.server) }
      finish(id, result)
    case .copying, .sendingCopy: connectionLost(id, "a COPY was not expected", .unknown)
    case .connectionLost(let reason): connectionLost(id, reason, .unknown)
    case .rolledBack(let reason): connectionLost(id, reason, .rolledBack)
    case .rejected(let reason): connectionLost(id, reason, .rejected)
    case .readOnly(let reason):
      if connection.takeServerChange() { serverChanged(id, to: connection.server) }
      running[id] = nil
      thread.setInterest(.readable, of: connection.socket)
      perform(machine.foundReadOnly(id, reason: reason, isUsable: true, at: .now))
    case .rerouted(let reason):
      running[id] = nil
      perform(machine.foundReadOnly(id, reason: reason, at: .now))
    case .unreplicated(let reason):
      thread.setInterest(.readable, of: connection.socket)
      if let request = running.removeValue(forKey: id) { complete(request, .failure(.outcomeUnknown(reason: reason))) }
      free(id)
    }
  }

  /// Records that a pooler routes a connection to another server, before any caller receives a result from it.
  private func serverChanged(_ id: ConnectionID, to server: ServerIdentity) {
    servers.connected(id, to: server)
    perform(machine.serverChanged(id, to: server))
  }

  private func connectionLost(_ id: ConnectionID, _ reason: String, _ outcome: StatementOutcome) {
    running[id] = nil
    perform(machine.connectionLost(id, reason: reason, outcome: outcome, at: .now))
  }

  private func finish(_ id: ConnectionID, _ result: Result<QueryResult, ServerError>) {
    if let request = running.removeValue(forKey: id) { complete(request, .success(result)) }
    free(id)
  }

  private func free(_ id: ConnectionID) {
    if cancellations[id] != nil {
      cancellations[id]?.commandHasEnded = true
      freeIfCancelled(id)
    } else {
      perform(machine.finished(id, at: .now))
    }
  }

  /// Passes a caller its result, unless it has stopped waiting.
  private func complete(_ id: RequestID, _ result: Result<ServerResult, PointStoreError>) {
    requests.removeValue(forKey: id)?.continuation.resume(returning: result)
  }

  private func close(_ id: ConnectionID) {
    running[id] = nil
    cancellations[id] = nil
    guard let connection = connections.removeValue(forKey: id) else { return }
    servers.closed(id)
    thread.unwatch(connection.socket)
  }

  /// Terminates the backend of a connection, on another thread because that blocks.
  private func terminateBackend(of id: ConnectionID) {
    guard let backend = connections[id]?.backend else {
      return perform(machine.terminationFailed(id, reason: "the server behind the proxy is unknown", at: .now))
    }
    let hasStarted = DetachedThread.start { [thread, connector] in
      let result = connector.terminate(backend)
      thread.submit { self.assumeIsolated { $0.terminated(id, result) } }
    }
    if !hasStarted {
      perform(
        machine.terminationFailed(
          id, reason: "the system could not create a thread to terminate the statement", at: .now))
    }
  }

  private func terminated(_ id: ConnectionID, _ result: TerminationResult) {
    switch result {
    // The connection's own end completes the request.
    case .signalled: break
    case .waitsForStandby: perform(machine.waitsForStandby(id, at: .now))
    case .failed(let reason): perform(machine.terminationFailed(id, reason: reason, at: .now))
    }
  }

  /// Sends a cancel request, on another thread because that blocks.
  private func cancelCommand(of id: ConnectionID) {
    running[id] = nil
    guard let canceller = connections[id]?.makeCanceller() else { return }
    cancellations[id] = Cancellation()
    let hasStarted = DetachedThread.start { [thread] in
      canceller.cancel()
      thread.submit { self.assumeIsolated { $0.cancelRequestWasSent(id) } }
    }
    if !hasStarted { cancellations[id] = nil }
  }

  private func cancelRequestWasSent(_ id: ConnectionID) {
    cancellations[id]?.requestWasSent = true
    freeIfCancelled(id)
  }

  private func freeIfCancelled(_ id: ConnectionID) {
    guard let cancellation = cancellations[id], cancellation.requestWasSent, cancellation.commandHasEnded else {
      return
    }
    cancellations[id] = nil
    perform(machine.finished(id, at: .now))
  }

  private func setTimer() {
    guard let deadline = machine.nextDeadline else { return }
    if let timerDeadline, timerDeadline <= deadline { return }
    timerDeadline = deadline
    thread.setTimer(timer, at: deadline) { [weak self] in
      self?.assumeIsolated { $0.timerFired() }
    }
  }
}

/// A flag that is set once.
private final class Flag: Sendable {
  private let state = Atomic<Bool>(false)

  /// A Boolean value that indicates whether the flag is set.
  var isSet: Bool { state.load(ordering: .acquiring) }

  func set() { state.store(true, ordering: .releasing) }
}
