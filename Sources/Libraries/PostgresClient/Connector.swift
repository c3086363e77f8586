import CLibPQ

/// A factory of connections.
struct Connector: Sendable {
  /// The libpq connection string. It may contain a password and must not be logged.
  let connectionInfo: String

  /// The settings of the connection's statements; `nil` for a connection whose transactions bring their own.
  var settings: StatementSettings?

  /// The choice whether statements are prepared.
  var preparedStatements = PostgresConfiguration.PreparedStatements.automatic

  /// The connection timeout for each host, where the connection string sets none.
  static let defaultTimeoutSeconds = 5

  /// The oldest supported server version. The change log needs 64-bit transaction numbers.
  private static let oldestServerVersion: Int32 = 130_000

  /// Connects on a separate thread, and passes the connection to a handler on the polling thread.
  ///
  /// libpq's non-blocking connect still blocks to resolve host names and to read certificates and password files. On a
  /// thread of its own it may block, and its timeout applies to each host.
  ///
  /// - Parameter completion: called on the polling thread.
  func connect(
    handingOverOn thread: PollingThread,
    completion: @escaping @Sendable (Result<Connection, ConnectionFailure>) -> Void
  ) {
    let hasStarted = DetachedThread.start {
      let result = connectBlocking()
      // This thread doesn't use the connection after this point.
      nonisolated(unsafe) let handedOver = result
      thread.submit { completion(handedOver) }
    }
    if !hasStarted {
      thread.submit {
        completion(.failure(ConnectionFailure(reason: "the system could not create a thread to connect")))
      }
    }
  }

  private func connectBlocking() -> Result<Connection, ConnectionFailure> {
    // Later values override earlier ones, and those in the connection string override at the position of `dbname`.
    let options: KeyValuePairs = [
      "connect_timeout": String(Self.defaultTimeoutSeconds),
      "fallback_application_name": "waymark",
      "dbname": connectionInfo,
      "client_encoding": "UTF8",
    ]
    let keywords = CStrings(options.map(\.key))
    let values = CStrings(options.map(\.value))
    guard let handle = PQconnectdbParams(keywords.pointers, values.pointers, 1) else {
      return .failure(ConnectionFailure(reason: "out of memory"))
    }
    if let reason = Self.incompatibility(of: handle) {
      PQfinish(handle)
      return .failure(ConnectionFailure(reason: reason))
    }
    // Before the settings, whose timeouts are for later statements.
    guard var endpoint = Self.endpoint(of: handle) else {
      let reason = Connection.oneLine(PQerrorMessage(handle))
      PQfinish(handle)
      return .failure(ConnectionFailure(reason: reason))
    }
    endpoint.preparesStatements =
      preparedStatements == .always || (preparedStatements == .automatic && !endpoint.isPooled)
    if endpoint.isPooled || preparedStatements == .never {
      endpoint.preamble = settings?.preamble
      // The backend may serve another client's statement by the time it would be terminated.
      endpoint.backend = nil
    } else if let settings, let reason = Self.run(settings.script, on: handle) {
      PQfinish(handle)
      return .failure(ConnectionFailure(reason: reason))
    }
    return .success(Connection(handle, endpoint))
  }

  private static let endpointQuery =
    "SELECT server.*, backend.* FROM (\(ServerIdentity.query)) AS server, (\(Backend.query)) AS backend"

  private static func endpoint(of handle: OpaquePointer) -> Connection.Endpoint? {
    guard let result = PQexec(handle, endpointQuery) else { return nil }
    defer { PQclear(result) }
    guard PQresultStatus(result) == PGRES_TUPLES_OK, PQntuples(result) == 1 else { return nil }
    func text(_ column: Int32) -> String? { PQgetvalue(result, 0, column).map { String(cString: $0) } }
    guard let identity = text(0), let server = ServerIdentity(identity) else { return nil }
    return Connection.Endpoint(
      server: server, identity: identity, backend: Backend(of: handle, processID: text(1), start: text(2)),
      // A pooler invents the process id of its cancel keys.
      isPooled: text(1) != String(PQbackendPID(handle)))
  }

  private static func incompatibility(of handle: OpaquePointer) -> String? {
    PQsetNoticeReceiver(handle, { _, _ in }, nil)
    guard PQstatus(handle) == CONNECTION_OK else {
      let reason = Connection.oneLine(PQerrorMessage(handle))
      // An option that libpq rejects before it connects: it quotes the value.
      return reason.hasPrefix("invalid ") ? PostgresConfiguration.withoutQuotations(reason) : reason
    }
    if PQserverVersion(handle) < oldestServerVersion { return "the server is older than PostgreSQL 13" }
    let encoding = PQparameterStatus(handle, "server_encoding").map { String(cString: $0) }
    return encoding == "UTF8" ? nil : "the database's encoding is \(encoding ?? "unknown"); it must be UTF8"
  }

  /// Terminates a backend, unless it has committed and waits for a synchronous standby. Blocks for a few seconds at
  /// most.
  func terminate(_ backend: Backend) -> TerminationResult {
    // The exact host of the connection, whatever other hosts the connection string lists.
    let options: KeyValuePairs = [
      "fallback_application_name": "waymark", "dbname": connectionInfo, "client_encoding": "UTF8",
      "connect_timeout": "2", "host": backend.host, "hostaddr": backend.address, "port": backend.port,
      "target_session_attrs": "any",
    ]
    let keywords = CStrings(options.map(\.key))
    let values = CStrings(options.map(\.value))
    guard let handle = PQconnectdbParams(keywords.pointers, values.pointers, 1) else {
      return .failed(reason: "out of memory")
    }
    defer { PQfinish(handle) }
    PQsetNoticeReceiver(handle, { _, _ in }, nil)
    return backend.terminate(through: handle)
  }

  private static func run(_ script: String, on handle: OpaquePointer) -> String? {
    guard let result = PQexec(handle, script) else { return Connection.oneLine(PQerrorMessage(handle)) }
    return QueryResult(result).error?.summary
  }
}

extension Connection {
  /// The destination of a connection, and the way in which statements are sent to it.
  struct Endpoint {
    let server: ServerIdentity
    /// The result of ``ServerIdentity/query``.
    let identity: String
    /// The server process; `nil` behind a proxy that shares backends among connections.
    var backend: Backend?
    /// A Boolean value that indicates whether the connection leads to a pooler, so that each transaction may run in
    /// another session.
    let isPooled: Bool
    /// A Boolean value that indicates whether statements with a generic plan are prepared.
    var preparesStatements = true
    /// The statement that sets up each transaction; `nil` where the session has been set up.
    var preamble: Statement?
  }
}

/// The error of a failed attempt to connect.
struct ConnectionFailure: Error, Hashable, Sendable {
  /// The reason, for operators. It contains no secrets.
  let reason: String
}

/// An array of C strings that ends with a null pointer.
private final class CStrings {
  let pointers: UnsafePointer<UnsafePointer<CChar>?>
  private let buffers: [UnsafeMutablePointer<CChar>]

  init(_ strings: [String]) {
    buffers = strings.map { string in
      let characters = string.utf8CString
      let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: characters.count)
      for (index, character) in characters.enumerated() { buffer[index] = character }
      return buffer
    }
    let pointers = UnsafeMutablePointer<UnsafePointer<CChar>?>.allocate(capacity: buffers.count + 1)
    for (index, buffer) in buffers.enumerated() { pointers[index] = UnsafePointer(buffer) }
    pointers[buffers.count] = nil
    self.pointers = UnsafePointer(pointers)
  }

  deinit {
    for buffer in buffers { buffer.deallocate() }
    pointers.deallocate()
  }
}
