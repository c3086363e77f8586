/// A dedicated connection for an operation of several statements, such as a migration or an import.
///
/// It has one caller and runs one command at a time. Cancellation of the caller cancels the command and closes the
/// session.
package actor Session {
  private typealias Continuation = CheckedContinuation<Result<QueryResult?, DatabaseError>, Never>

  private nonisolated let thread: PollingThread
  private let onEnd: @Sendable () -> Void
  private var connection: Connection?
  private var continuation: Continuation?
  /// The data of a `COPY` that has not been passed to libpq yet.
  private var copying: Copying?
  /// The consumer of the rows of a `COPY … TO STDOUT` that is in progress.
  private var rowConsumer: ((UnsafeRawBufferPointer) -> Void)?
  private var isReceivingCopy = false
  private var notificationWaiter: CheckedContinuation<Result<Void, DatabaseError>, Never>?
  private var hasNotifications = false
  private var isCommitting = false
  /// A reference that keeps the session alive while it waits for a commit whose caller has stopped waiting.
  private var selfWhileAbandoned: Session?
  private var endReason = "the session is closed"

  private enum Copying {
    case rows([UInt8], from: Int)
    case end(error: String?)
  }

  /// The number of bytes that are passed to libpq at a time; the next chunk follows once the last one was sent.
  private static let chunkLength = 1 << 16

  package nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

  /// Opens a session on a connection that no pool counts.
  package static func open(
    on thread: PollingThread, _ configuration: PostgresConfiguration
  ) async throws(DatabaseError) -> Session {
    try await open(on: thread, connector: Connector(connectionInfo: configuration.connectionInfo))
  }

  /// Opens a session.
  ///
  /// - Parameter onEnd: called once the server has closed the session's connection; not called if this method throws.
  static func open(
    on thread: PollingThread,
    connector: Connector,
    onEnd: @escaping @Sendable () -> Void = {}
  ) async throws(DatabaseError) -> Session {
    let session = Session(thread: thread, onEnd: onEnd)
    let failure: ConnectionFailure? = await withCheckedContinuation { continuation in
      connector.connect(handingOverOn: thread) { result in
        // The connection is passed on once, on its own thread.
        nonisolated(unsafe) let result = result
        continuation.resume(returning: session.assumeIsolated { $0.connected(result) })
      }
    }
    if let failure { throw .unavailable(reason: failure.reason) }
    return session
  }

  private init(thread: PollingThread, onEnd: @escaping @Sendable () -> Void) {
    self.thread = thread
    self.onEnd = onEnd
  }

  // MARK: Commands

  /// Runs statements without parameters.
  ///
  /// - Returns: the last statement's result.
  /// - Throws: ``DatabaseError``; a failed statement leaves an open transaction failed, and the session usable.
  @discardableResult
  package func run(script: String) async throws(DatabaseError) -> QueryResult {
    try await command { $0.send(script: script) }
  }

  /// Runs a statement.
  ///
  /// - Throws: ``DatabaseError``.
  @discardableResult
  package func run(_ sql: String, _ parameters: Parameters = Parameters()) async throws(DatabaseError) -> QueryResult {
    let statement = Statement("", planning: .eachTime, sql)
    return try await command { $0.send(statement, parameters) }
  }

  /// Commits the transaction. Once the commit was sent it is not cancelled with its caller: PostgreSQL keeps a commit
  /// that is cancelled while it waits for a standby, and the standby may lack it. After the timeout this method throws,
  /// and the session closes when the server has responded.
  ///
  /// - Throws: ``DatabaseError``; after any other than `outcomeUnknown` the transaction was rolled back.
  package func commit(within limit: Duration) async throws(DatabaseError) {
    guard let connection, continuation == nil else { throw .unavailable(reason: endReason) }
    guard !Task.isCancelled else {
      end(.cancelled)
      throw .cancelled
    }
    let timeout = Task {
      try await Task.sleep(for: limit)
      abandonCommit(after: limit)
    }
    defer { timeout.cancel() }
    let result = await withCheckedContinuation { continuation in
      self.continuation = continuation
      isCommitting = true
      handle(connection.send(script: "COMMIT"))
    }
    if selfWhileAbandoned == nil { isCommitting = false }
    // The commit of a failed transaction rolls it back and reports no error.
    guard let tag = try result.get()?.commandTag, tag == "COMMIT" else {
      throw .unavailable(reason: "the server rolled the transaction back")
    }
  }

  private func abandonCommit(after limit: Duration) {
    guard isCommitting, continuation != nil else { return }
    selfWhileAbandoned = self
    complete(.failure(.outcomeUnknown(reason: "the server has not confirmed the commit within \(limit)")))
  }

  /// Starts a `COPY … FROM STDIN`; ``put(copy:)`` and ``endCopy(error:)`` follow.
  ///
  /// - Throws: ``DatabaseError``.
  package func startCopy(_ sql: String) async throws(DatabaseError) {
    _ = try await perform { $0.send(script: sql) }.get()
  }

  /// Sends rows, and returns when they were passed to libpq.
  ///
  /// - Throws: ``DatabaseError`` when the connection broke; an invalid row is reported by ``endCopy(error:)``.
  package func put(copy bytes: [UInt8]) async throws(DatabaseError) {
    _ = try await copy(.rows(bytes, from: 0)).get()
  }

  /// Ends the rows.
  ///
  /// - Parameter error: the reason for which the copy is to fail, or `nil` to complete it.
  /// - Throws: ``DatabaseError``; always if `error` is not `nil`.
  package func endCopy(error: String? = nil) async throws(DatabaseError) {
    _ = try await copy(.end(error: error)).get()
  }

  /// Runs a `COPY … TO STDOUT`, and passes each message of its data to a closure on the session's thread.
  ///
  /// - Throws: ``DatabaseError``; some rows may have been passed then.
  package func copyOut(
    _ sql: String, to consume: @escaping @Sendable (UnsafeRawBufferPointer) -> Void
  ) async throws(DatabaseError) {
    rowConsumer = consume
    defer { rowConsumer = nil }
    _ = try await perform { $0.send(script: sql) }.get()
  }

  /// Waits until a notification arrives on a channel that the session listens on; returns at once if one has arrived
  /// since the last call.
  ///
  /// - Throws: ``DatabaseError`` when the session ends or the caller is cancelled.
  package func waitForNotification() async throws(DatabaseError) {
    guard connection != nil, continuation == nil, notificationWaiter == nil else {
      throw .unavailable(reason: endReason)
    }
    if hasNotifications {
      hasNotifications = false
      return
    }
    let result: Result<Void, DatabaseError> = await withTaskCancellationHandler {
      await withCheckedContinuation { waiter in
        if Task.isCancelled { waiter.resume(returning: .failure(.cancelled)) } else { notificationWaiter = waiter }
      }
    } onCancel: {
      thread.submit { self.assumeIsolated { $0.end(.cancelled) } }
    }
    try result.get()
  }

  private func takeNotifications() {
    guard let connection, connection.takeNotifications() > 0 else { return }
    if let waiter = notificationWaiter.take() {
      waiter.resume(returning: .success(()))
    } else {
      hasNotifications = true
    }
  }

  /// Closes the session and rolls back an open transaction. A session whose commit the server has not confirmed is
  /// closed after the confirmation or when the connection breaks; until then it counts as one of the server's
  /// connections.
  package func close() {
    guard selfWhileAbandoned == nil else { return }
    end(.unavailable(reason: endReason))
  }

  /// Closes the session after its operation, whether that succeeded or not. An open transaction is rolled back first:
  /// otherwise a call that follows could still meet its locks, and a pooler would close its connection to the server.
  /// A commit that the server has not confirmed is left to ``close()``.
  package func finish() async {
    guard selfWhileAbandoned == nil else { return }
    if connection?.isExecuting == true { try? await endCopy(error: "the operation was abandoned") }
    if connection?.isInTransaction == true { _ = try? await run(script: "ROLLBACK") }
    close()
  }

  /// A Boolean value that indicates whether the connection leads to a pooler.
  package var isPooled: Bool { connection?.isPooled ?? false }

  private func command(
    _ start: (Connection) -> Connection.Progress
  ) async throws(DatabaseError) -> QueryResult {
    guard let result = try await perform(start).get() else {
      throw .unavailable(reason: "the server expects COPY data")
    }
    return result
  }

  private func perform(
    _ start: (Connection) -> Connection.Progress
  ) async -> Result<QueryResult?, DatabaseError> {
    guard let connection, continuation == nil else { return .failure(.unavailable(reason: endReason)) }
    return await wait { handle(start(connection)) }
  }

  private func copy(_ copying: Copying) async -> Result<QueryResult?, DatabaseError> {
    guard connection != nil, continuation == nil else { return .failure(.unavailable(reason: endReason)) }
    return await wait {
      self.copying = copying
      continueCopy()
    }
  }

  private func wait(_ start: () -> Void) async -> Result<QueryResult?, DatabaseError> {
    guard !Task.isCancelled else {
      end(.cancelled)
      return .failure(.cancelled)
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        self.continuation = continuation
        start()
      }
    } onCancel: {
      thread.submit { self.assumeIsolated { $0.cancel() } }
    }
  }

  // MARK: Events

  private func connected(_ result: Result<Connection, ConnectionFailure>) -> ConnectionFailure? {
    switch result {
    case .success(let connection):
      self.connection = connection
      thread.watch(connection.socket, for: .readable) { [weak self] readiness in
        self?.assumeIsolated { $0.socketIsReady(readiness) }
      }
      return nil
    case .failure(let failure):
      return failure
    }
  }

  private func socketIsReady(_ readiness: PollingThread.Readiness) {
    guard let connection else { return }
    if let rowConsumer, isReceivingCopy {
      handle(connection.receiveCopy(rowConsumer))
    } else if copying == nil || readiness.contains(.readable) {
      handle(connection.advance())
    }
    takeNotifications()
    continueCopy()
  }

  private func handle(_ progress: Connection.Progress) {
    switch progress {
    case .waiting: break
    case .finished where selfWhileAbandoned != nil: end(.unavailable(reason: endReason))
    case .finished(let result):
      copying = nil
      isReceivingCopy = false
      complete(result.map(Optional.some).mapError(DatabaseError.rejected))
    case .copying:
      if copying == nil { complete(.success(nil)) }
    case .sendingCopy where isReceivingCopy: break
    case .sendingCopy:
      isReceivingCopy = true
      guard let connection, let rowConsumer else { return end(.unavailable(reason: "a COPY was not expected")) }
      return handle(connection.receiveCopy(rowConsumer))
    case .connectionLost(let reason), .unreplicated(let reason):
      end(isCommitting ? .outcomeUnknown(reason: reason) : .unavailable(reason: reason))
    case .readOnly(let reason): end(.readOnly(reason: reason))
    case .rolledBack(let reason), .rejected(let reason), .rerouted(let reason): end(.unavailable(reason: reason))
    }
    setInterest()
  }

  /// Passes the next chunk to libpq whenever the previous one was sent.
  private func continueCopy() {
    defer { setInterest() }
    while let connection, let copying {
      var acceptance = connection.flushCopy()
      if case .accepted = acceptance {
        switch copying {
        case .rows(let bytes, let start) where start == bytes.count:
          self.copying = nil
          return complete(.success(nil))
        case .rows(let bytes, let start):
          let end = min(start + Self.chunkLength, bytes.count)
          acceptance = bytes.withUnsafeBytes { connection.put(copy: .init(rebasing: $0[start..<end])) }
          if case .accepted = acceptance { self.copying = .rows(bytes, from: end) }
        case .end(let error):
          acceptance = connection.endCopy(error: error)
          if case .accepted = acceptance {
            self.copying = nil
            return handle(connection.advance())
          }
        }
      }
      switch acceptance {
      case .accepted: break
      case .bufferFull: return
      case .connectionLost(let reason): return end(.unavailable(reason: reason))
      }
    }
  }

  private func setInterest() {
    guard let connection else { return }
    let wantsRoom = connection.wantsToWrite || copying != nil
    thread.setInterest(wantsRoom ? [.readable, .writable] : .readable, of: connection.socket)
  }

  private func cancel() {
    guard continuation != nil else { return }
    end(.cancelled)
  }

  private func complete(_ result: Result<QueryResult?, DatabaseError>) {
    continuation?.resume(returning: result)
    continuation = nil
  }

  private func end(_ error: DatabaseError) {
    let isBusy = continuation != nil && !isCommitting
    if let closing = connection.take() {
      thread.unwatch(closing.socket)
      Connection.disconnect(closing, isBusy: isBusy, completion: onEnd)
    }
    copying = nil
    selfWhileAbandoned = nil
    switch error {
    case .unavailable(let reason), .outcomeUnknown(let reason), .readOnly(let reason): endReason = reason
    case .rejected, .cancelled, .wrongServer, .overloaded, .timeout: break
    }
    notificationWaiter.take()?.resume(returning: .failure(error))
    complete(.failure(error))
  }
}
