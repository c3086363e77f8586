import Synchronization

/// A connection pool for one database, which carries out the decisions of ``PoolStateMachine``.
///
/// It runs on its polling thread and owns its connections there.
package actor ConnectionPool {
  private typealias ConnectionID = PoolStateMachine.ConnectionID
  private typealias RequestID = PoolStateMachine.RequestID
  private typealias Continuation<Value: Sendable> = CheckedContinuation<Result<Value, DatabaseError>, Never>

  private struct Request {
    let statement: Statement
    let parameters: Parameters
    let isRead: Bool
    /// The only server that may run the request; `nil` for any.
    let server: ServerIdentity?
    let continuation: Continuation<QueryResult>
  }

  /// The servers that the connections lead to.
  package nonisolated let servers = ServerWatch()

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
  /// The callers that wait for a connection of their own.
  private var admissions: [RequestID: Continuation<Void>] = [:]
  /// The request that each connection runs.
  private var running: [ConnectionID: RequestID] = [:]
  /// The cancel requests in progress. A connection is free once its cancel request was sent and its command has ended.
  private var cancellations: [ConnectionID: Cancellation] = [:]
  private var timerDeadline: ContinuousClock.Instant?

  private struct Cancellation {
    var requestWasSent = false
    var commandHasEnded = false
  }

  package nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

  /// Creates a pool without connections to the configured database.
  ///
  /// - Parameter isDurable: a Boolean value that indicates whether a write is on disk before it is acknowledged.
  package init(
    on thread: PollingThread, _ configuration: PostgresConfiguration, connections: Int, waiters: Int,
    isDurable: Bool = true
  ) {
    var limits = PoolStateMachine.Limits()
    limits.connections = connections
    limits.waiters = waiters
    limits.waitTimeout = .milliseconds(configuration.waitTimeoutMilliseconds)
    limits.requestTimeout = .milliseconds(
      configuration.statementTimeoutMilliseconds + configuration.silenceToleranceMilliseconds)
    limits.exports = configuration.exportConnections
    limits.imports = configuration.importConnections
    limits.sessions = configuration.bulkConnections
    limits.sessionWaiters = configuration.maximumBulkWaiters
    self.thread = thread
    timer = thread.makeTimerID()
    machine = PoolStateMachine(limits: limits)
    connector = Connector(
      connectionInfo: configuration.connectionInfo,
      settings: StatementSettings(
        timeoutMilliseconds: configuration.statementTimeoutMilliseconds, isDurable: isDurable),
      preparedStatements: configuration.preparedStatements)
  }

  /// Runs a statement on the next free connection.
  ///
  /// - Parameters:
  ///   - isRead: a Boolean value that indicates whether the statement is read-only, so that it is retried after a
  ///   connection failure.
  ///   - isUrgent: a Boolean value that indicates whether the request goes to the front of the wait queue.
  ///   - server: the only server that may run the statement. On a connection that leads to another one it is not sent,
  ///   and the error is ``DatabaseError/wrongServer``.
  /// - Throws: ``DatabaseError``. For a cancelled task that is `.cancelled`, or `.outcomeUnknown` if a write was sent,
  ///   which is not stopped.
  package nonisolated func run(
    _ statement: Statement,
    _ parameters: Parameters,
    isRead: Bool,
    isUrgent: Bool = false,
    onlyOn server: ServerIdentity? = nil
  ) async throws(DatabaseError) -> QueryResult {
    guard isUrgent || !isOverloaded.load(ordering: .relaxed) else { throw .overloaded }
    return try await waiting { pool, id, continuation in
      pool.requests[id] = Request(
        statement: statement, parameters: parameters, isRead: isRead, server: server, continuation: continuation)
      pool.perform(pool.machine.arrived(id, isRetryable: isRead, isUrgent: isUrgent, at: .now))
    }
  }

  /// Runs an operation on a connection of its own, which is closed afterwards. It counts until the server has closed it,
  /// so that the number of backends never exceeds the limits.
  ///
  /// - Parameters:
  ///   - client: the client on whose behalf it runs, which gets at most all connections of the use but one, and the only
  ///     one if there is one; `nil` for one that may have all.
  ///   - isShort: a Boolean value that indicates whether the operation takes a moment, so that its connection does not
  ///     count among the client's.
  /// - Throws: ``DatabaseError``, or the body's error.
  package nonisolated func withSession<Value>(
    for use: SessionUse, of client: String?, isShort: Bool = false, _ body: (Session) async throws -> Value
  ) async throws -> Value {
    try await waiting { (pool, id, continuation: Continuation<Void>) in
      pool.admissions[id] = continuation
      pool.perform(pool.machine.arrived(id, for: use, of: client, isShort: isShort, at: .now))
    }
    let release: @Sendable () -> Void = { [self] in
      thread.submit { self.assumeIsolated { $0.perform($0.machine.closed(use, of: isShort ? nil : client)) } }
    }
    let session: Session
    do {
      session = try await Session.open(
        on: thread, connector: Connector(connectionInfo: connector.connectionInfo), onEnd: release)
    } catch {
      release()
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

  /// Has an operation with a connection of its own give way if a request could then be admitted that waits, and returns
  /// whether it does. One operation gives way for each request.
  ///
  /// - Parameter end: ends the operation, or returns `false` if it must not end.
  package func giveWay(_ use: SessionUse, of client: String?, _ end: @Sendable () -> Bool) -> Bool {
    guard machine.isAwaited(use, of: client), end() else { return false }
    machine.giveWay(use, of: client)
    return true
  }

  /// Waits for the result of a request, which is passed on to the pool under a new identifier unless the task has been
  /// cancelled.
  private nonisolated func waiting<Value: Sendable>(
    _ arrive: @escaping @Sendable (isolated ConnectionPool, RequestID, Continuation<Value>) -> Void
  ) async throws(DatabaseError) -> Value {
    let id = RequestID(number: lastRequestNumber.wrappingAdd(1, ordering: .relaxed).newValue)
    let isCancelled = Flag()
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { (continuation: Continuation<Value>) in
        thread.submit {
          self.assumeIsolated { pool in
            if isCancelled.isSet {
              continuation.resume(returning: .failure(.cancelled))
            } else {
              arrive(pool, id, continuation)
            }
          }
        }
      }
    } onCancel: {
      // The flag is for a request that has not arrived yet.
      isCancelled.set()
      thread.submit { self.assumeIsolated { $0.perform($0.machine.cancelled(id)) } }
    }
    return try result.get()
  }

  /// Handles a statement that was run by a primary: connections that were made before its promotion are replaced.
  package nonisolated func foundPrimary() async {
    if servers.areStandbys { await replaceStandbys() }
  }

  private func replaceStandbys() {
    perform(machine.foundPrimary(at: .now))
  }

  package var load: PoolLoad { machine.load }

  /// Closes all connections and fails all current and later requests.
  package func shutDown() {
    perform(machine.shutDown())
  }

  // MARK: Events

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
      case .admit(let id): admissions.removeValue(forKey: id)?.resume(returning: .success(()))
      case .fail(let id, let error):
        complete(id, .failure(error))
        admissions.removeValue(forKey: id)?.resume(returning: .failure(error))
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
      complete(requestID, .failure(.wrongServer))
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
    if let request = running.removeValue(forKey: id) { complete(request, result.mapError(DatabaseError.rejected)) }
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
  private func complete(_ id: RequestID, _ result: Result<QueryResult, DatabaseError>) {
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
