/// One connection of its own for a task that needs several statements in a row: a migration, an import.
///
/// One caller uses it, one call at a time. A cancelled caller's command is stopped, and the session ended.
actor Session {
  private typealias Continuation = CheckedContinuation<Result<QueryResult?, DatabaseError>, Never>

  private nonisolated let thread: PollingThread
  private let onEnd: @Sendable () -> Void
  private var connection: Connection?
  private var continuation: Continuation?
  /// What is left to be handed to libpq of a `COPY`.
  private var copying: Copying?
  private var isCommitting = false
  /// The session itself while it waits for the outcome of a commit that its caller no longer waits for.
  private var selfWhileAbandoned: Session?
  private var endReason = "the session is closed"

  private enum Copying {
    case rows([UInt8], from: Int)
    case end(error: String?)
  }

  /// libpq is handed rows in pieces of this many bytes, and the next piece once the last one is on its way.
  private static let pieceLength = 1 << 16

  nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

  /// Connects.
  ///
  /// - Parameter onEnd: called once the server has ended the session's connection too; not where this throws.
  /// - Throws: ``DatabaseError``.
  static func open(
    on thread: PollingThread,
    connector: Connector,
    onEnd: @escaping @Sendable () -> Void = {}
  ) async throws(DatabaseError) -> Session {
    let session = Session(thread: thread, onEnd: onEnd)
    let failure: ConnectionFailure? = await withCheckedContinuation { continuation in
      connector.connect(handingOverOn: thread) { result in
        nonisolated(unsafe) let result = result
        continuation.resume(returning: session.assumeIsolated { $0.connected(result) })
      }
    }
    if let failure { throw .lost(reason: failure.reason) }
    return session
  }

  private init(thread: PollingThread, onEnd: @escaping @Sendable () -> Void) {
    self.thread = thread
    self.onEnd = onEnd
  }

  // MARK: Commands

  /// Runs statements without values.
  ///
  /// - Returns: what the last one gave.
  /// - Throws: ``DatabaseError``; a failed statement leaves an open transaction failed, and the session usable.
  @discardableResult
  func run(script: String) async throws(DatabaseError) -> QueryResult {
    try await command { $0.send(script: script) }
  }

  /// Runs a statement.
  ///
  /// - Throws: ``DatabaseError``.
  @discardableResult
  func run(_ sql: String, _ parameters: Parameters = Parameters()) async throws(DatabaseError) -> QueryResult {
    let statement = Statement("", planning: .eachTime, sql)
    return try await command { $0.send(statement, parameters) }
  }

  /// Commits the transaction. Once that has been sent it is not cancelled with its caller: PostgreSQL keeps a commit that
  /// is cancelled while it waits for a standby, and the standby may lack it. Where it takes longer than the limit, the
  /// caller is told so, and the session ends once the server has answered.
  ///
  /// - Throws: ``DatabaseError``; after `lost` the transaction may have been committed or not, and may yet be; after any
  ///   other it was rolled back.
  func commit(within limit: Duration) async throws(DatabaseError) {
    guard let connection, continuation == nil else { throw .undone(reason: endReason) }
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
    // A transaction that has failed is rolled back at its commit, which is no error.
    guard let tag = try result.get()?.commandTag, tag == "COMMIT" else {
      throw .undone(reason: "the server rolled the transaction back")
    }
  }

  private func abandonCommit(after limit: Duration) {
    guard isCommitting, continuation != nil else { return }
    selfWhileAbandoned = self
    answer(.failure(.lost(reason: "the server has not confirmed the commit within \(limit)")))
  }

  /// Starts a `COPY … FROM STDIN`; ``put(copy:)`` and ``endCopy(error:)`` follow.
  ///
  /// - Throws: ``DatabaseError``.
  func startCopy(_ sql: String) async throws(DatabaseError) {
    _ = try await perform { $0.send(script: sql) }.get()
  }

  /// Hands over rows, and returns when they are on their way.
  ///
  /// - Throws: ``DatabaseError`` when the connection is gone; a row that the server refuses shows at the end.
  func put(copy bytes: [UInt8]) async throws(DatabaseError) {
    _ = try await copy(.rows(bytes, from: 0)).get()
  }

  /// Ends the rows.
  ///
  /// - Parameter error: why the rows are not to be taken, or `nil` to have them taken.
  /// - Throws: ``DatabaseError``; always where there is an error.
  func endCopy(error: String? = nil) async throws(DatabaseError) {
    _ = try await copy(.end(error: error)).get()
  }

  /// Ends the session; a transaction that is open is rolled back. One whose commit the server has not confirmed ends when
  /// that is done, or the connection is gone: until then it is one of the server's connections.
  func close() {
    guard selfWhileAbandoned == nil else { return }
    end(.lost(reason: endReason))
  }

  /// Ends the session after its work. A pooler would close the server's connection with a session whose transaction is
  /// open, so that is ended first.
  func finish() async {
    if let connection, connection.isPooled, connection.isInTransaction { _ = try? await run(script: "ROLLBACK") }
    close()
  }

  /// A Boolean value that indicates whether a pooler stands between.
  var isPooled: Bool { connection?.isPooled ?? false }

  private func command(
    _ start: (Connection) -> Connection.Progress
  ) async throws(DatabaseError) -> QueryResult {
    guard let result = try await perform(start).get() else { throw .lost(reason: "the server waits for rows") }
    return result
  }

  private func perform(
    _ start: (Connection) -> Connection.Progress
  ) async -> Result<QueryResult?, DatabaseError> {
    guard let connection, continuation == nil else { return .failure(.lost(reason: endReason)) }
    return await wait { handle(start(connection)) }
  }

  private func copy(_ copying: Copying) async -> Result<QueryResult?, DatabaseError> {
    guard connection != nil, continuation == nil else { return .failure(.lost(reason: endReason)) }
    return await wait {
      self.copying = copying
      copyOn()
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
    if copying == nil || readiness.contains(.readable) { handle(connection.advance()) }
    copyOn()
  }

  private func handle(_ progress: Connection.Progress) {
    switch progress {
    case .waiting: break
    case .finished where selfWhileAbandoned != nil: end(.lost(reason: endReason))
    case .finished(let result):
      copying = nil
      answer(result.map(Optional.some).mapError(DatabaseError.refused))
    case .copying:
      if copying == nil { answer(.success(nil)) }
    case .lost(let reason), .unreplicated(let reason): end(.lost(reason: reason))
    case .undone(let reason), .refused(let reason), .readOnly(let reason): end(.undone(reason: reason))
    }
    setInterest()
  }

  /// Hands libpq the next piece whenever the one before is on its way.
  private func copyOn() {
    defer { setInterest() }
    while let connection, let copying {
      var acceptance = connection.flushCopy()
      if case .accepted = acceptance {
        switch copying {
        case .rows(let bytes, let start) where start == bytes.count:
          self.copying = nil
          return answer(.success(nil))
        case .rows(let bytes, let start):
          let end = min(start + Self.pieceLength, bytes.count)
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
      case .full: return
      case .lost(let reason): return end(.lost(reason: reason))
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

  private func answer(_ result: Result<QueryResult?, DatabaseError>) {
    continuation?.resume(returning: result)
    continuation = nil
  }

  private func end(_ error: DatabaseError) {
    let isBusy = continuation != nil && !isCommitting
    if let ending = connection.take() {
      thread.unwatch(ending.socket)
      Connection.end(ending, isBusy: isBusy, completion: onEnd)
    }
    copying = nil
    selfWhileAbandoned = nil
    switch error {
    case .lost(let reason), .undone(let reason): endReason = reason
    case .refused, .cancelled: break
    }
    answer(.failure(error))
  }
}
