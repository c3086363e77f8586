import Points
import Synchronization

/// Connections to one database, shared by all who ask it: what ``PoolStateMachine`` decides, done.
///
/// It runs on its polling thread and owns its connections there.
actor ConnectionPool {
  private typealias ConnectionID = PoolStateMachine.ConnectionID
  private typealias RequestID = PoolStateMachine.RequestID
  private typealias Continuation = CheckedContinuation<Result<Answer, PointStoreError>, Never>

  /// What the server said, where it said something.
  typealias Answer = Result<QueryResult, ServerError>

  private struct Request {
    let question: Question
    let isRead: Bool
    /// The only server that it may be sent to; `nil` for any.
    let server: ServerIdentity?
    let continuation: Continuation
  }

  /// What is asked.
  private enum Question {
    case statement(Statement, Parameters)
    case shared(SharedRead)

    /// What it has in common with those that it can be asked together with.
    var group: PoolStateMachine.Group? {
      switch self {
      case .statement: nil
      case .shared(let read): read.group
      }
    }
  }

  /// Where the connections lead.
  nonisolated let servers = ServerWatch()

  private nonisolated let thread: PollingThread
  private nonisolated let timer: PollingThread.TimerID
  private nonisolated let requestsMade = Atomic<Int>(0)
  /// Whether who comes is turned away, known outside too, so that turning someone away takes no change of threads.
  private nonisolated let isCrowded = Atomic<Bool>(false)
  private let connector: Connector
  private var machine: PoolStateMachine
  private var connections: [ConnectionID: Connection] = [:]
  private var requests: [RequestID: Request] = [:]
  /// Which requests a connection is busy with, in the order in which they were sent.
  private var running: [ConnectionID: [RequestID]] = [:]
  /// What the server is being asked to stop; the connection is free once that is done and the answer is in.
  private var cancellations: [ConnectionID: Cancellation] = [:]
  private var timerDeadline: ContinuousClock.Instant?

  private struct Cancellation {
    var isSent = false
    var isAnswered = false
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
  ///   - isRead: whether it only reads, so that it is run a second time where the connection breaks off.
  ///   - isUrgent: whether it goes before all that wait.
  /// - Throws: ``PointStoreError``; for a task that is cancelled `.timeout`, or `.outcomeUnknown` where a write was sent,
  ///   which goes on.
  nonisolated func run(
    _ statement: Statement,
    _ parameters: Parameters,
    isRead: Bool,
    isUrgent: Bool = false
  ) async throws(PointStoreError) -> QueryResult {
    try await answer(to: .statement(statement, parameters), isRead: isRead, isUrgent: isUrgent).mapError(
      PointStoreError.init
    ).get()
  }

  /// Reads with a statement that others may be asked with at the same time, and hands over this one's rows.
  ///
  /// - Throws: ``PointStoreError``; `.timeout` for a task that is cancelled.
  nonisolated func run(_ read: SharedRead) async throws(PointStoreError) -> QueryResult {
    try await answer(to: .shared(read), isRead: true).mapError(PointStoreError.init).get()
  }

  /// Runs a statement on the next free connection, and hands over the server's answer, be it a refusal.
  ///
  /// - Parameters:
  ///   - isRead: whether it only reads, so that it is run a second time where the connection breaks off.
  ///   - server: the only server that it may be run on; on a connection that leads to another one it is not sent, and the
  ///     failure is ``ServerError/elsewhere``.
  /// - Throws: ``PointStoreError`` where there is no answer; for a task that is cancelled `.timeout`, or `.outcomeUnknown`
  ///   where a write was sent, which goes on.
  nonisolated func answer(
    to statement: Statement,
    _ parameters: Parameters,
    isRead: Bool,
    onlyOn server: ServerIdentity? = nil
  ) async throws(PointStoreError) -> Answer {
    try await answer(to: .statement(statement, parameters), isRead: isRead, onlyOn: server)
  }

  private nonisolated func answer(
    to question: Question,
    isRead: Bool,
    isUrgent: Bool = false,
    onlyOn server: ServerIdentity? = nil
  ) async throws(PointStoreError) -> Answer {
    let answer = try await unexplainedAnswer(to: question, isRead: isRead, isUrgent: isUrgent, onlyOn: server)
    guard case .failure(let error) = answer, error.isDenial else { return answer }
    return .failure(await explained(error))
  }

  /// Returns a denial with the privileges that the role lacks, or as it is where these are not to be learned.
  nonisolated func explained(_ error: ServerError) async -> ServerError {
    let wanted = MissingPrivileges.serving + MissingPrivileges.analytics
    let question = Question.statement(MissingPrivileges.statement, MissingPrivileges.parameters(for: wanted))
    guard case .success(let result) = try? await unexplainedAnswer(to: question, isRead: true),
      let explanation = try? MissingPrivileges.explanation(of: error, by: result)
    else { return error }
    return explanation
  }

  private nonisolated func unexplainedAnswer(
    to question: Question,
    isRead: Bool,
    isUrgent: Bool = false,
    onlyOn server: ServerIdentity? = nil
  ) async throws(PointStoreError) -> Answer {
    guard isUrgent || !isCrowded.load(ordering: .relaxed) else { throw .overloaded }
    let id = RequestID(number: requestsMade.wrappingAdd(1, ordering: .relaxed).newValue)
    let isCancelled = Flag()
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let request = Request(question: question, isRead: isRead, server: server, continuation: continuation)
        thread.submit {
          self.assumeIsolated {
            $0.accept(request, as: id, isUrgent: isUrgent, isCancelled: isCancelled.isSet)
          }
        }
      }
    } onCancel: {
      // Seen by `accept` where that has not yet been run, and followed by `cancel` where it has.
      isCancelled.set()
      thread.submit { self.assumeIsolated { $0.cancel(id) } }
    }
    return try result.get()
  }

  /// What its connections do at the moment.
  var load: PoolLoad { machine.load }

  /// Closes all connections; what is under way or comes later fails.
  func shutDown() {
    perform(machine.shutDown())
  }

  // MARK: Events

  private func accept(_ request: Request, as id: RequestID, isUrgent: Bool, isCancelled: Bool) {
    guard !isCancelled else { return request.continuation.resume(returning: .failure(.timeout)) }
    requests[id] = request
    perform(
      machine.arrived(
        id, mayBeRepeated: request.isRead, group: request.question.group, isUrgent: isUrgent, at: .now))
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
      case .run(let requests, let connection): run(requests, on: connection)
      case .fail(let request, let error): answer(request, .failure(error))
      case .cancel(let id): stopCommand(of: id)
      case .end(let id): end(id)
      case .close(let id): close(id)
      }
    }
    isCrowded.store(machine.isCrowded(at: .now), ordering: .relaxed)
    setTimer()
  }

  private func connect(_ id: ConnectionID) {
    connector.connect(handingOverOn: thread) { [weak self] result in
      nonisolated(unsafe) let result = result
      self?.assumeIsolated { $0.connected(id, result) }
    }
  }

  private func run(_ ids: [RequestID], on id: ConnectionID) {
    let ids = ids.filter { requests[$0] != nil }
    guard let connection = connections[id], let first = ids.first.flatMap({ requests[$0] }) else { return }
    if let server = first.server, server != connection.server {
      for id in ids { answer(id, .success(.failure(.elsewhere))) }
      return free(id)
    }
    // A write that is sent to a server that has just gone could not be told from one that was made.
    if !first.isRead, let reason = connection.endReason() { return lose(id, reason, .refused) }
    running[id] = ids
    switch first.question {
    case .statement(let statement, let parameters):
      handle(connection.send(statement, parameters, isRead: first.isRead), of: id, connection)
    case .shared(let read):
      let reads = ids.compactMap { id -> SharedRead? in
        if case .shared(let read)? = requests[id]?.question { read } else { nil }
      }
      handle(connection.send(read.statement, SharedRead.parameters(of: reads)), of: id, connection)
    }
  }

  private func handle(_ progress: Connection.Progress, of id: ConnectionID, _ connection: Connection) {
    switch progress {
    case .waiting:
      thread.setInterest(connection.wantsToWrite ? [.readable, .writable] : .readable, of: connection.socket)
    case .finished(let result):
      thread.setInterest(.readable, of: connection.socket)
      if connection.takeMove() { moved(id, to: connection.server) }
      finish(id, result)
    case .copying: lose(id, "the server waits for rows", .unknown)
    case .lost(let reason): lose(id, reason, .unknown)
    case .undone(let reason): lose(id, reason, .undone)
    case .refused(let reason): lose(id, reason, .refused)
    case .readOnly(let reason):
      running[id] = nil
      perform(machine.foundReadOnly(id, reason: reason, at: .now))
    case .unreplicated(let reason):
      thread.setInterest(.readable, of: connection.socket)
      for request in running.removeValue(forKey: id) ?? [] {
        answer(request, .failure(.outcomeUnknown(reason: reason)))
      }
      free(id)
    }
  }

  /// Notes that a pooler leads a connection to another server, before anyone is answered by that.
  private func moved(_ id: ConnectionID, to server: ServerIdentity) {
    servers.connected(id, to: server)
    perform(machine.moved(id, to: server))
  }

  private func lose(_ id: ConnectionID, _ reason: String, _ fate: StatementFate) {
    running[id] = nil
    perform(machine.lost(id, reason: reason, fate: fate, at: .now))
  }

  private func finish(_ id: ConnectionID, _ result: Result<QueryResult, ServerError>) {
    if let ids = running.removeValue(forKey: id) { answer(ids, result) }
    free(id)
  }

  private func free(_ id: ConnectionID) {
    if cancellations[id] != nil {
      cancellations[id]?.isAnswered = true
      freeIfCancelled(id)
    } else {
      perform(machine.finished(id, at: .now))
    }
  }

  private func answer(_ id: RequestID, _ result: Result<Answer, PointStoreError>) {
    requests.removeValue(forKey: id)?.continuation.resume(returning: result)
  }

  /// Gives each its part of the answer. One that has stopped waiting is no longer among the requests.
  private func answer(_ ids: [RequestID], _ result: Result<QueryResult, ServerError>) {
    guard ids.count > 1, case .success(let rows) = result else {
      for id in ids { answer(id, .success(result)) }
      return
    }
    for (id, part) in zip(ids, rows.parts(count: ids.count)) { answer(id, .success(.success(part))) }
  }

  private func close(_ id: ConnectionID) {
    running[id] = nil
    cancellations[id] = nil
    guard let connection = connections.removeValue(forKey: id) else { return }
    servers.closed(id)
    thread.unwatch(connection.socket)
  }

  /// Terminates the backend of a connection from another thread, for that blocks.
  private func end(_ id: ConnectionID) {
    guard let backend = connections[id]?.backend else {
      return perform(machine.mayNotEnd(id, reason: "the server behind the proxy is not known", at: .now))
    }
    let hasStarted = DetachedThread.start { [thread, connector] in
      let outcome = connector.end(backend)
      thread.submit { self.assumeIsolated { $0.ended(id, outcome) } }
    }
    if !hasStarted {
      perform(machine.mayNotEnd(id, reason: "the system has no thread to end the statement on", at: .now))
    }
  }

  private func ended(_ id: ConnectionID, _ outcome: BackendEnding) {
    switch outcome {
    // The connection tells the rest.
    case .signalled: break
    case .waitsForStandby: perform(machine.waitsForStandby(id, at: .now))
    case .failed(let reason): perform(machine.mayNotEnd(id, reason: reason, at: .now))
    }
  }

  /// Asks the server to stop, which blocks, from another thread.
  private func stopCommand(of id: ConnectionID) {
    running[id] = nil
    guard let canceller = connections[id]?.makeCanceller() else { return }
    cancellations[id] = Cancellation()
    let hasStarted = DetachedThread.start { [thread] in
      canceller.cancel()
      thread.submit { self.assumeIsolated { $0.cancellationWasSent(id) } }
    }
    if !hasStarted { cancellations[id] = nil }
  }

  private func cancellationWasSent(_ id: ConnectionID) {
    cancellations[id]?.isSent = true
    freeIfCancelled(id)
  }

  private func freeIfCancelled(_ id: ConnectionID) {
    guard let cancellation = cancellations[id], cancellation.isSent, cancellation.isAnswered else { return }
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

/// Something that happens once.
private final class Flag: Sendable {
  private let state = Atomic<Bool>(false)

  /// Whether it has happened.
  var isSet: Bool { state.load(ordering: .acquiring) }

  /// It happens.
  func set() { state.store(true, ordering: .releasing) }
}
