import CLibPQ

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A connection to PostgreSQL in libpq's non-blocking mode.
///
/// It has one owner, which runs on one thread and calls ``advance()`` whenever the socket is ready. No method blocks.
/// At most one command is in progress at a time.
final class Connection {
  enum Progress {
    /// The connection waits for a response, or for room in the socket's send buffer.
    case waiting

    /// The server has responded with the last statement's rows, or with the first error.
    case finished(Result<QueryResult, ServerError>)

    /// The server waits for the rows of a `COPY … FROM STDIN`.
    case copying

    /// The server sends the rows of a `COPY … TO STDOUT`; see ``Connection/receiveCopy(_:)``.
    case sendingCopy

    /// The connection is closed, and the statement may have been executed.
    case connectionLost(reason: String)

    /// The connection is closed, and the statement was not executed or was rolled back.
    case rolledBack(reason: String)

    /// The connection must be replaced: the server no longer has the prepared statement and has done nothing. The
    /// statement can be retried on a new connection.
    case rejected(reason: String)

    /// The server is read-only and has done nothing. The connection can be used for reads; another one may lead to the
    /// primary.
    case readOnly(reason: String)

    /// The connection must be replaced: the server is not the one that the connection led to before, and has done
    /// nothing.
    case rerouted(reason: String)

    /// The server has committed the statement without confirmation by its synchronous standby.
    case unreplicated(reason: String)
  }

  /// The result of an attempt to send data.
  enum SendResult {
    /// The data was passed to libpq.
    case accepted
    /// The send buffer is full: retry when the socket is writable.
    case bufferFull
    case connectionLost(reason: String)
  }

  private enum Command {
    case none
    case preparing(Statement, Parameters)
    case running
    /// A transaction of several statements that were sent in one pipeline, with the results that are still to come.
    case pipeline([Step])
  }

  /// One statement of a pipeline.
  private enum Step {
    case preparing(Statement)
    case preamble
    case statement
  }

  let socket: Int32

  /// The server that the connection led to last. A pooler may route the next transaction to another one.
  private(set) var server: ServerIdentity

  /// The server process; `nil` behind a proxy that shares backends among connections.
  var backend: Backend? { endpoint.backend }

  /// A Boolean value that indicates whether the connection leads to a pooler.
  var isPooled: Bool { endpoint.isPooled }

  /// A Boolean value that indicates whether a transaction is open.
  var isInTransaction: Bool { PQtransactionStatus(handle) != PQTRANS_IDLE }

  /// A Boolean value that indicates whether a command is in progress: between two calls, a copy.
  var isExecuting: Bool { PQtransactionStatus(handle) == PQTRANS_ACTIVE }

  /// A Boolean value that indicates whether unsent data remains, so that the socket must be polled for writability.
  private(set) var wantsToWrite = false

  private let handle: OpaquePointer
  private var command = Command.none
  private var prepared: Set<Statement> = []
  private var lastResult: QueryResult?
  private var failure: ServerError?
  private var isUnreplicated = false
  private let endpoint: Endpoint
  /// The result of ``ServerIdentity/query`` on ``server``.
  private var identity: String
  private var hasChangedServer = false

  /// Creates a connection that takes ownership of an established `PGconn`.
  init(_ handle: OpaquePointer, _ endpoint: Endpoint) {
    self.handle = handle
    self.endpoint = endpoint
    server = endpoint.server
    identity = endpoint.identity
    socket = PQsocket(handle)
    PQsetnonblocking(handle, 1)
    // libpq calls the receiver only within calls on this handle, which this object outlives.
    let connection = Unmanaged.passUnretained(self).toOpaque()
    PQsetNoticeReceiver(handle, { Connection.receive($1, for: $0) }, connection)
  }

  deinit {
    PQfinish(handle)
  }

  /// Creates a cancel request for the connection, which can be sent from another thread.
  func makeCanceller() -> Canceller? {
    PQgetCancel(handle).map(Canceller.init)
  }

  // MARK: Commands

  /// Records a notice that a commit did not wait for its standby. The notice's text depends on the server's language;
  /// its source function does not.
  private static func receive(_ notice: OpaquePointer?, for connection: UnsafeMutableRawPointer?) {
    guard let notice, let connection else { return }
    let source = PQresultErrorField(notice, ServerError.sourceFunction).map { String(cString: $0) }
    if source == "SyncRepWaitForLSN" {
      Unmanaged<Connection>.fromOpaque(connection).takeUnretainedValue().isUnreplicated = true
    }
  }

  /// Sends a statement.
  ///
  /// - Parameter isRead: a Boolean value that indicates whether the statement is read-only and may therefore run on any
  ///   server behind a pooler.
  func send(_ statement: Statement, _ parameters: Parameters, isRead: Bool = true) -> Progress {
    guard PQstatus(handle) == CONNECTION_OK else { return .rolledBack(reason: lastError) }
    if let preamble = endpoint.preamble {
      return send(statement, parameters, after: preamble, Parameters { $0.add(isRead ? nil : identity) })
    }
    if mustPrepare(statement) {
      command = .preparing(statement, parameters)
      return started(PQsendPrepare(handle, statement.name, statement.sql, 0, nil))
    }
    command = .running
    return started(sendValues(of: statement, parameters))
  }

  /// Sends a statement and the settings of its transaction in one pipeline: an implicit transaction, which is committed
  /// if both succeed.
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
    endpoint.preparesStatements && statement.planning == .once
  }

  private func mustPrepare(_ statement: Statement) -> Bool {
    isPrepared(statement) && !prepared.contains(statement)
  }

  /// Returns whether a pooler has routed the last statement to another server than the one before, and resets the flag.
  /// The new server is ``server``.
  func takeServerChange() -> Bool {
    defer { hasChangedServer = false }
    return hasChangedServer
  }

  /// Sends one or more statements without parameters. They are one transaction unless the script says otherwise.
  func send(script: String) -> Progress {
    command = .running
    return started(PQsendQuery(handle, script))
  }

  /// Returns the reason for which an idle connection has been closed; `nil` while it is open.
  func endReason() -> String? {
    // The first call consumes a last message, and the second detects the end of the stream.
    for _ in 0..<2 where PQconsumeInput(handle) != 1 || PQstatus(handle) != CONNECTION_OK { return lastError }
    return nil
  }

  /// Continues the command after the socket became ready.
  func advance() -> Progress {
    guard PQconsumeInput(handle) == 1, PQstatus(handle) == CONNECTION_OK else { return progressAfterLoss(lastError) }
    return proceed()
  }

  private func started(_ status: Int32) -> Progress {
    lastResult = nil
    failure = nil
    isUnreplicated = false
    return status == 1 ? proceed() : progressAfterLoss(lastError)
  }

  /// Returns the progress after the connection broke: a statement that is still being prepared has not been sent.
  private func progressAfterLoss(_ reason: String) -> Progress {
    if case .preparing = command { .rolledBack(reason: reason) } else { .connectionLost(reason: reason) }
  }

  /// Returns the progress after an error that closes the connection.
  private func progressAfterClosing(_ error: ServerError) -> Progress {
    if error.isStalePreparedStatement { return .rejected(reason: error.summary) }
    // A result precedes the commit, so a committed statement would have had one.
    if error.isBackendTermination, lastResult == nil { return .rolledBack(reason: error.summary) }
    return progressAfterLoss(error.summary)
  }

  private func proceed() -> Progress {
    guard flush() else { return progressAfterLoss(lastError) }
    switch command {
    case .none: return .waiting
    case .pipeline(let steps): return proceed(in: steps)
    case .preparing, .running: break
    }
    while PQisBusy(handle) == 0 {
      if let result = PQgetResult(handle).map(QueryResult.init) {
        if result.isCopyIn { return .copying }
        if result.isCopyOut { return .sendingCopy }
        if let error = result.error {
          if error.endsConnection { return progressAfterClosing(error) }
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

  /// Processes the results of a pipeline.
  ///
  /// - Parameter steps: the steps whose results are still to come, in reverse order.
  private func proceed(in steps: [Step]) -> Progress {
    var steps = steps
    var isBetweenResults = false
    while PQisBusy(handle) == 0 {
      guard let next = PQgetResult(handle) else {
        if isBetweenResults { return progressAfterLoss(lastError) }
        isBetweenResults = true
        continue
      }
      isBetweenResults = false
      let result = QueryResult(next)
      if result.isEndOfPipeline { return finish() }
      // A result after the last step is an error of the commit.
      let step = steps.popLast()
      command = .pipeline(steps)
      if let error = result.error {
        if error.endsConnection { return progressAfterClosing(error) }
        if case .preamble? = step, error.isInvalidSetting {
          return .rerouted(reason: "the pooler routed the connection to another server")
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
      (self.server, identity, hasChangedServer) = (server, found, true)
    case .statement?: lastResult = result
    case nil: break
    }
  }

  private func finish() -> Progress {
    command = .none
    defer { lastResult = nil }
    if let failure, failure.isReadOnly {
      return .readOnly(reason: server.isPrimary ? failure.summary : ServerIdentity.standbyReason)
    }
    if let failure { return .finished(.failure(failure)) }
    guard let lastResult else { return .connectionLost(reason: "the server sent no result") }
    if isUnreplicated { return .unreplicated(reason: "the server committed without its synchronous standby") }
    return .finished(.success(lastResult))
  }

  private func flush() -> Bool {
    let status = PQflush(handle)
    wantsToWrite = status == 1
    return status >= 0
  }

  /// Sends a statement's values, with its text where it is not prepared. All values and results are binary.
  private func sendValues(of statement: Statement, _ parameters: Parameters) -> Int32 {
    let count = parameters.ranges.count
    return parameters.bytes.withUnsafeBytes { bytes in
      // An empty value needs a non-null address, or libpq would send null.
      let start = bytes.baseAddress ?? UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque())
      return withUnsafeTemporaryAllocation(of: UnsafePointer<CChar>?.self, capacity: count) { values in
        withUnsafeTemporaryAllocation(of: Int32.self, capacity: 2 * count) { lengthsAndFormats in
          for (index, range) in parameters.ranges.enumerated() {
            values.initializeElement(
              at: index,
              to: range.map { (start + $0.lowerBound).assumingMemoryBound(to: CChar.self) })
            lengthsAndFormats.initializeElement(at: index, to: Int32(range?.count ?? 0))
            lengthsAndFormats.initializeElement(at: count + index, to: 1)
          }
          let (lengths, formats) = (lengthsAndFormats.baseAddress, lengthsAndFormats.baseAddress.map { $0 + count })
          if isPrepared(statement) {
            return PQsendQueryPrepared(
              handle, statement.name, Int32(count), values.baseAddress, lengths, formats, 1)
          }
          return PQsendQueryParams(handle, statement.sql, Int32(count), nil, values.baseAddress, lengths, formats, 1)
        }
      }
    }
  }

  private var lastError: String { Self.oneLine(PQerrorMessage(handle)) }

  /// Returns a message of libpq on one line.
  static func oneLine(_ message: UnsafePointer<CChar>?) -> String {
    let lines = message.map { String(cString: $0) }?.split(whereSeparator: \.isNewline) ?? []
    let text = lines.map { $0.drop(while: \.isWhitespace) }.joined(separator: " ")
    return text.isEmpty ? "the connection was lost" : text
  }
}

// MARK: Copying and notifications

extension Connection {
  /// Sends data of a `COPY … FROM STDIN` that is in progress.
  func put(copy bytes: UnsafeRawBufferPointer) -> SendResult {
    acceptance(of: PQputCopyData(handle, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(bytes.count)))
  }

  /// Ends the data of a `COPY … FROM STDIN`; the server's response follows.
  ///
  /// - Parameter error: the reason for which the copy is to fail, or `nil` to complete it.
  func endCopy(error: String?) -> SendResult {
    acceptance(of: PQputCopyEnd(handle, error))
  }

  /// Flushes the send buffer; ``wantsToWrite`` indicates whether unsent data remains.
  func flushCopy() -> SendResult {
    flush() ? (wantsToWrite ? .bufferFull : .accepted) : .connectionLost(reason: lastError)
  }

  /// Passes the rows of a `COPY … TO STDOUT` that have arrived to a closure, one at a time; the bytes are valid during
  /// the call.
  ///
  /// - Returns: ``Progress/sendingCopy`` while there are more to come; after the last one, the progress of the command.
  func receiveCopy(_ consume: (UnsafeRawBufferPointer) -> Void) -> Progress {
    guard PQconsumeInput(handle) == 1 else { return progressAfterLoss(lastError) }
    while true {
      var row: UnsafeMutablePointer<CChar>?
      let count = PQgetCopyData(handle, &row, 1)
      defer { PQfreemem(row) }
      switch count {
      case 0: return .sendingCopy
      case 1...: consume(UnsafeRawBufferPointer(start: row, count: Int(count)))
      // After the last row, and after an error, the result follows.
      default: return proceed()
      }
    }
  }

  /// Returns the number of notifications that have arrived since the last call.
  func takeNotifications() -> Int {
    var count = 0
    while let notification = PQnotifies(handle) {
      PQfreemem(notification)
      count += 1
    }
    return count
  }

  private func acceptance(of status: Int32) -> SendResult {
    guard status >= 0, flush() else { return .connectionLost(reason: lastError) }
    return status == 1 ? .accepted : .bufferFull
  }
}

// MARK: Disconnecting

extension Connection {
  /// The maximum time to wait for the server to close its side.
  private static let closeTimeout = Duration.seconds(30)

  /// Closes the connection and waits, on a separate thread, until the server has closed it too. The backend then no
  /// longer counts towards `max_connections`.
  ///
  /// A busy backend notices a closed connection only when it has something to send, so its command is cancelled.
  ///
  /// - Parameters:
  ///   - connection: the connection; the caller must hold the only reference.
  ///   - isBusy: a Boolean value that indicates whether the server may be executing a command, which is then cancelled.
  ///   - completion: called once the server has closed the connection, or after 30 seconds.
  static func disconnect(_ connection: Connection, isBusy: Bool, completion: @escaping @Sendable () -> Void) {
    let canceller = isBusy ? connection.makeCanceller() : nil
    // The duplicate outlives the connection's own descriptor, so that the end of the stream can still be read.
    let socket = dup(connection.socket)
    let closing = ClosingConnection(connection)
    let hasStarted = DetachedThread.start {
      canceller?.cancel()
      closing.close()
      if socket >= 0 {
        waitForClose(of: socket)
        _ = close(socket)
      }
      completion()
    }
    if !hasStarted {
      closing.close()
      if socket >= 0 { _ = close(socket) }
      completion()
    }
  }

  private static func waitForClose(of socket: Int32) {
    shutdown(socket, Int32(SHUT_WR))
    let deadline = ContinuousClock.now + closeTimeout
    var bytes = [UInt8](repeating: 0, count: 1 << 14)
    while true {
      let left = (deadline - ContinuousClock.now) / .milliseconds(1)
      guard left > 0 else { return }
      var event = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
      let ready = poll(&event, 1, Int32(left.rounded(.up)))
      if ready < 0, errno == EINTR { continue }
      guard ready > 0 else { return }
      // Remaining data is discarded; 0 is the end of the stream.
      let count = recv(socket, &bytes, bytes.count, Int32(MSG_DONTWAIT))
      if count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR)) { continue }
      return
    }
  }
}

/// A connection that is handed to the thread that closes it.
///
/// `@unchecked Sendable`: it is created on one thread and afterwards used by exactly one.
private final class ClosingConnection: @unchecked Sendable {
  private var connection: Connection?

  init(_ connection: Connection) {
    self.connection = connection
  }

  func close() {
    connection = nil
  }
}

/// A cancel request for a connection's command, which can be sent from any thread.
///
/// `@unchecked Sendable`: a `PGcancel` shares no state with its connection and is immutable.
final class Canceller: @unchecked Sendable {
  private let handle: OpaquePointer

  init(_ handle: OpaquePointer) {
    self.handle = handle
  }

  deinit {
    PQfreeCancel(handle)
  }

  /// Sends the cancel request and returns when the server has received it. Blocks the calling thread.
  func cancel() {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { message in
      _ = PQcancel(handle, message.baseAddress, Int32(message.count))
    }
  }
}

@available(*, unavailable)
extension Connection: Sendable {}
