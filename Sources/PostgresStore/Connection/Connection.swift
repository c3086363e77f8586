import CLibPQ

/// One connection to PostgreSQL, in libpq's non-blocking mode.
///
/// It belongs to one owner, which runs on one thread and calls ``advance()`` whenever the socket is ready. Nothing here
/// waits. One command is under way at a time.
final class Connection {
  /// How far the command has come.
  enum Progress {
    /// The server owes an answer, or the socket room to write.
    case waiting

    /// The server has answered: the last statement's rows, or the first failure.
    case finished(Result<QueryResult, ServerError>)

    /// The server waits for the rows of a `COPY … FROM STDIN`.
    case copying

    /// The connection is of no more use, and the statement may have been run.
    case lost(reason: String)

    /// The connection is of no more use, and the statement was not run or was rolled back.
    case undone(reason: String)

    /// The connection is of no more use: the server has lost the statement and has done nothing. A new connection can
    /// run it.
    case refused(reason: String)

    /// The server takes no writes, or is not the one that the connection led to before, and has done nothing: another
    /// connection may lead to the right one.
    case readOnly(reason: String)

    /// The server has committed the statement without its synchronous standby.
    case unreplicated(reason: String)
  }

  /// What became of bytes that were to be sent.
  enum Acceptance {
    /// They are on their way.
    case accepted
    /// They are not taken now: try again when the socket is writable.
    case full
    /// The connection is of no more use.
    case lost(reason: String)
  }

  private enum Command {
    case none
    case preparing(Statement, Parameters)
    case running
    /// A transaction of several statements that were sent at once, and the results that are still to come.
    case pipeline([Step])
  }

  /// One statement of a pipeline.
  private enum Step {
    case preparing(Statement)
    case preamble
    case statement
  }

  /// The socket, to wait on.
  let socket: Int32

  /// The server that it leads to, as far as that is known: a pooler may lead the next transaction to another one.
  private(set) var server: ServerIdentity

  /// The server's process; `nil` behind a proxy that shares processes among connections.
  var backend: Backend? { origin.backend }

  /// A Boolean value that indicates whether a pooler stands between.
  var isPooled: Bool { origin.isPooled }

  /// A Boolean value that indicates whether a transaction is open.
  var isInTransaction: Bool { PQtransactionStatus(handle) != PQTRANS_IDLE }

  /// Whether bytes are left to be sent, so that the socket is to be watched for room.
  private(set) var wantsToWrite = false

  private let handle: OpaquePointer
  private var command = Command.none
  private var prepared: Set<Statement> = []
  private var lastResult: QueryResult?
  private var failure: ServerError?
  private var isUnreplicated = false
  private let origin: Origin
  /// The result of ``ServerIdentity/query`` on ``server``.
  private var identity: String
  private var hasMoved = false

  /// Takes over an established `PGconn`.
  init(_ handle: OpaquePointer, _ origin: Origin) {
    self.handle = handle
    self.origin = origin
    server = origin.server
    identity = origin.identity
    socket = PQsocket(handle)
    PQsetnonblocking(handle, 1)
    // It is called while this calls libpq, and no longer than the handle lives.
    let connection = Unmanaged.passUnretained(self).toOpaque()
    PQsetNoticeReceiver(handle, { Connection.receive($1, for: $0) }, connection)
  }

  deinit {
    PQfinish(handle)
  }

  /// What can stop the command from another thread.
  func makeCanceller() -> Canceller? {
    PQgetCancel(handle).map(Canceller.init)
  }

  // MARK: Commands

  /// Takes note of a notice that says that a commit did not wait for its standby. Its text depends on the server's
  /// language; the function that it comes from does not.
  private static func receive(_ notice: OpaquePointer?, for connection: UnsafeMutableRawPointer?) {
    guard let notice, let connection else { return }
    let source = PQresultErrorField(notice, ServerError.sourceFunction).map { String(cString: $0) }
    if source == "SyncRepWaitForLSN" {
      Unmanaged<Connection>.fromOpaque(connection).takeUnretainedValue().isUnreplicated = true
    }
  }

  /// Starts a statement.
  ///
  /// - Parameter isRead: a Boolean value that indicates whether it only reads, and may so be run on any server that the
  ///   connection is led to.
  func send(_ statement: Statement, _ parameters: Parameters, isRead: Bool = true) -> Progress {
    guard PQstatus(handle) == CONNECTION_OK else { return .undone(reason: lastError) }
    if let preamble = origin.preamble {
      return send(statement, parameters, after: preamble, Parameters { $0.add(isRead ? nil : identity) })
    }
    if mustPrepare(statement) {
      command = .preparing(statement, parameters)
      return started(PQsendPrepare(handle, statement.name, statement.sql, 0, nil))
    }
    command = .running
    return started(sendValues(of: statement, parameters))
  }

  /// Starts a statement and what sets up its transaction, in one message: a transaction that no `BEGIN` opens, and that
  /// is committed where both succeed.
  private func send(
    _ statement: Statement, _ parameters: Parameters, after preamble: Statement, _ values: Parameters
  ) -> Progress {
    var steps: [Step] = []
    var isSent = PQenterPipelineMode(handle) == 1
    for (step, next, parameters) in [(Step.preamble, preamble, values), (.statement, statement, parameters)] {
      if mustPrepare(next) {
        isSent = isSent && PQsendPrepare(handle, next.name, next.sql, 0, nil) == 1
        steps.append(.preparing(next))
      }
      isSent = isSent && sendValues(of: next, parameters) == 1
      steps.append(step)
    }
    isSent = isSent && PQpipelineSync(handle) == 1
    steps.reverse()
    command = .pipeline(steps)
    return started(isSent ? 1 : 0)
  }

  private func isPrepared(_ statement: Statement) -> Bool {
    origin.preparesStatements && statement.planning == .once
  }

  private func mustPrepare(_ statement: Statement) -> Bool {
    isPrepared(statement) && !prepared.contains(statement)
  }

  /// Returns whether a pooler has led the last statement to another server than those before, which ``server`` is now.
  func takeMove() -> Bool {
    defer { hasMoved = false }
    return hasMoved
  }

  /// Starts one or more statements without values; they are one transaction where the text says no other.
  func send(script: String) -> Progress {
    command = .running
    return started(PQsendQuery(handle, script))
  }

  /// Returns why an idle connection has ended; `nil` where it has not.
  func endReason() -> String? {
    // The first time takes in a last message, and the second finds the end.
    for _ in 0..<2 where PQconsumeInput(handle) != 1 || PQstatus(handle) != CONNECTION_OK { return lastError }
    return nil
  }

  /// Goes on after the socket became ready.
  func advance() -> Progress {
    guard PQconsumeInput(handle) == 1, PQstatus(handle) == CONNECTION_OK else { return lost(lastError) }
    return proceed()
  }

  private func started(_ status: Int32) -> Progress {
    lastResult = nil
    failure = nil
    isUnreplicated = false
    return status == 1 ? proceed() : lost(lastError)
  }

  /// Returns what a loss of the connection means: a statement that is being prepared has not been sent.
  private func lost(_ reason: String) -> Progress {
    if case .preparing = command { .undone(reason: reason) } else { .lost(reason: reason) }
  }

  /// Returns what an error means that ends the connection.
  private func ended(by error: ServerError) -> Progress {
    if error.isRefusal { return .refused(reason: error.summary) }
    // A result comes before the commit, and so this one would have come.
    if error.isTermination, lastResult == nil { return .undone(reason: error.summary) }
    return lost(error.summary)
  }

  private func proceed() -> Progress {
    guard flush() else { return lost(lastError) }
    switch command {
    case .none: return .waiting
    case .pipeline(let steps): return proceed(in: steps)
    case .preparing, .running: break
    }
    while PQisBusy(handle) == 0 {
      if let result = PQgetResult(handle).map(QueryResult.init) {
        if result.isCopyIn { return .copying }
        if let error = result.error {
          if error.isReadOnly { return .readOnly(reason: error.summary) }
          if error.endsConnection { return ended(by: error) }
          failure = failure ?? error
        } else {
          lastResult = result
        }
      } else if case .preparing(let statement, let parameters) = command, failure == nil {
        prepared.insert(statement)
        return send(statement, parameters)
      } else {
        return finish()
      }
    }
    return .waiting
  }

  /// Takes the results of a pipeline.
  ///
  /// - Parameter steps: the steps whose results are still to come, the next one last.
  private func proceed(in steps: [Step]) -> Progress {
    var steps = steps
    var isBetweenResults = false
    while PQisBusy(handle) == 0 {
      guard let next = PQgetResult(handle) else {
        if isBetweenResults { return lost(lastError) }
        isBetweenResults = true
        continue
      }
      isBetweenResults = false
      let result = QueryResult(next)
      if result.isEndOfPipeline { return finish() }
      // What comes behind all of them is an error of the commit.
      let step = steps.popLast()
      command = .pipeline(steps)
      if let error = result.error {
        if error.isReadOnly { return .readOnly(reason: error.summary) }
        if error.endsConnection { return ended(by: error) }
        if case .preamble? = step, error.isInvalidSetting {
          return .readOnly(reason: "the pooler leads to another server than before")
        }
        failure = failure ?? error
      } else if failure == nil {
        take(result, of: step)
      }
    }
    return .waiting
  }

  private func take(_ result: QueryResult, of step: Step?) {
    switch step {
    case .preparing(let statement)?: prepared.insert(statement)
    case .preamble?:
      guard let found = result.rows.first?.optionalText(0), found != identity, let server = ServerIdentity(found) else {
        return
      }
      (self.server, identity, hasMoved) = (server, found, true)
    case .statement?: lastResult = result
    case nil: break
    }
  }

  private func finish() -> Progress {
    command = .none
    defer { lastResult = nil }
    if let failure { return .finished(.failure(failure)) }
    guard let lastResult else { return .lost(reason: "the server gave no answer") }
    if isUnreplicated { return .unreplicated(reason: "the server committed without its synchronous standby") }
    return .finished(.success(lastResult))
  }

  private func flush() -> Bool {
    let status = PQflush(handle)
    wantsToWrite = status == 1
    return status >= 0
  }

  /// Sends the values of a statement, with its text where it is not prepared; every value and every answer is binary.
  private func sendValues(of statement: Statement, _ parameters: Parameters) -> Int32 {
    let count = parameters.ranges.count
    return parameters.bytes.withUnsafeBytes { bytes in
      // An empty value needs an address as well, or it would be null.
      let start = bytes.baseAddress ?? UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque())
      return withUnsafeTemporaryAllocation(of: UnsafePointer<CChar>?.self, capacity: count) { values in
        withUnsafeTemporaryAllocation(of: Int32.self, capacity: 2 * count) { lengthsAndFormats in
          for (index, range) in parameters.ranges.enumerated() {
            values.initializeElement(
              at: index,
              to: range.map { (start + $0.lowerBound).assumingMemoryBound(to: CChar.self) }
            )
            lengthsAndFormats.initializeElement(at: index, to: Int32(range?.count ?? 0))
            lengthsAndFormats.initializeElement(at: count + index, to: 1)
          }
          let lengths = lengthsAndFormats.baseAddress
          let formats = lengths.map { $0 + count }
          if isPrepared(statement) {
            return PQsendQueryPrepared(
              handle,
              statement.name,
              Int32(count),
              values.baseAddress,
              lengths,
              formats,
              1
            )
          } else {
            return PQsendQueryParams(
              handle,
              statement.sql,
              Int32(count),
              nil,
              values.baseAddress,
              lengths,
              formats,
              1
            )
          }
        }
      }
    }
  }

  private var lastError: String { Self.oneLine(PQerrorMessage(handle)) }

  /// What libpq said, on one line.
  static func oneLine(_ message: UnsafePointer<CChar>?) -> String {
    let lines = message.map { String(cString: $0) }?.split(whereSeparator: \.isNewline) ?? []
    let text = lines.map { $0.drop(while: \.isWhitespace) }.joined(separator: " ")
    return text.isEmpty ? "the connection broke off" : text
  }
}

// MARK: Copying in

extension Connection {
  /// Hands rows to a `COPY … FROM STDIN` that is under way.
  func put(copy bytes: UnsafeRawBufferPointer) -> Acceptance {
    acceptance(of: PQputCopyData(handle, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(bytes.count)))
  }

  /// Ends a `COPY … FROM STDIN`; its answer is then to be waited for.
  ///
  /// - Parameter error: why the rows are not to be taken, or `nil` to have them taken.
  func endCopy(error: String?) -> Acceptance {
    acceptance(of: PQputCopyEnd(handle, error))
  }

  /// Sends what is left to be sent; ``wantsToWrite`` says whether anything still is.
  func flushCopy() -> Acceptance {
    flush() ? (wantsToWrite ? .full : .accepted) : .lost(reason: lastError)
  }

  private func acceptance(of status: Int32) -> Acceptance {
    guard status >= 0, flush() else { return .lost(reason: lastError) }
    return status == 1 ? .accepted : .full
  }
}

@available(*, unavailable)
extension Connection: Sendable {}
