import CLibPQ

/// A factory of connections.
struct Connector: Sendable {
  /// What libpq is given to connect with. It may hold a password: it is shown to nobody.
  let connectionInfo: String

  /// The settings of its statements; `nil` for a connection whose transactions bring their own.
  var settings: StatementSettings?

  /// Whether statements are prepared.
  var preparedStatements = PostgresConfiguration.PreparedStatements.automatic

  /// How long one host may take, where the connection info doesn't say.
  static let defaultTimeoutSeconds = 5

  /// The oldest server whose features the schema needs (generated columns).
  private static let oldestServerVersion: Int32 = 120_000

  /// Connects on a thread of its own, and hands the connection over on the polling thread.
  ///
  /// libpq's non-blocking way to connect looks up host names, reads certificates and password files and goes from one
  /// host to the next all the same; on its own thread it may take its time, and its time-out holds for each host.
  ///
  /// - Parameter completion: called on the polling thread.
  func connect(
    handingOverOn thread: PollingThread,
    completion: @escaping @Sendable (Result<Connection, ConnectionFailure>) -> Void
  ) {
    let hasStarted = DetachedThread.start {
      let result = connectBlocking()
      // This thread lets go of the connection here.
      nonisolated(unsafe) let handedOver = result
      thread.submit { completion(handedOver) }
    }
    if !hasStarted {
      thread.submit { completion(.failure(ConnectionFailure(reason: "the system has no thread to connect on"))) }
    }
  }

  private func connectBlocking() -> Result<Connection, ConnectionFailure> {
    // Later ones win over earlier ones, and those in the connection info (`dbname`) count at its place.
    let options: KeyValuePairs = [
      "connect_timeout": String(Self.defaultTimeoutSeconds),
      "fallback_application_name": "waymark",
      "dbname": connectionInfo,
      "client_encoding": "UTF8",
    ]
    let keywords = CStrings(options.map(\.key))
    let values = CStrings(options.map(\.value))
    guard let handle = PQconnectdbParams(keywords.pointers, values.pointers, 1) else {
      return .failure(ConnectionFailure(reason: "no memory for a connection"))
    }
    if let reason = Self.complaint(about: handle) {
      PQfinish(handle)
      return .failure(ConnectionFailure(reason: reason))
    }
    // Before the set-up, whose time-outs are for what is asked later.
    guard var origin = Self.origin(of: handle) else {
      let reason = Connection.oneLine(PQerrorMessage(handle))
      PQfinish(handle)
      return .failure(ConnectionFailure(reason: reason))
    }
    origin.preparesStatements = preparedStatements == .always || (preparedStatements == .automatic && !origin.isPooled)
    if origin.isPooled || preparedStatements == .never {
      origin.preamble = settings?.preamble
      // By the time that it is to be ended it may run another client's statement.
      origin.backend = nil
    } else if let settings, let reason = Self.run(settings.script, on: handle) {
      PQfinish(handle)
      return .failure(ConnectionFailure(reason: reason))
    }
    return .success(Connection(handle, origin))
  }

  private static let originQuery =
    "SELECT server.*, backend.* FROM (\(ServerIdentity.query)) AS server, (\(Backend.query)) AS backend"

  private static func origin(of handle: OpaquePointer) -> Connection.Origin? {
    guard let result = PQexec(handle, originQuery) else { return nil }
    defer { PQclear(result) }
    guard PQresultStatus(result) == PGRES_TUPLES_OK, PQntuples(result) == 1 else { return nil }
    func text(_ column: Int32) -> String? { PQgetvalue(result, 0, column).map { String(cString: $0) } }
    guard let identity = text(0), let server = ServerIdentity(identity) else { return nil }
    return Connection.Origin(
      server: server, identity: identity, backend: Backend(of: handle, processID: text(1), start: text(2)),
      // A pooler makes the numbers up that a client may cancel by.
      isPooled: text(1) != String(PQbackendPID(handle)))
  }

  private static func complaint(about handle: OpaquePointer) -> String? {
    PQsetNoticeReceiver(handle, { _, _ in }, nil)
    guard PQstatus(handle) == CONNECTION_OK else { return Connection.oneLine(PQerrorMessage(handle)) }
    if PQserverVersion(handle) < oldestServerVersion { return "the server is older than PostgreSQL 12" }
    let encoding = PQparameterStatus(handle, "server_encoding").map { String(cString: $0) }
    return encoding == "UTF8" ? nil : "the database's encoding is \(encoding ?? "unknown"); it must be UTF8"
  }

  /// Terminates a backend, unless it has committed and waits for a synchronous standby. It blocks for some seconds at
  /// most.
  func end(_ backend: Backend) -> BackendEnding {
    // The very host that the connection leads to, whatever others the connection info names and whichever takes writes.
    let options: KeyValuePairs = [
      "fallback_application_name": "waymark", "dbname": connectionInfo, "client_encoding": "UTF8",
      "connect_timeout": "2", "host": backend.host, "hostaddr": backend.address, "port": backend.port,
      "target_session_attrs": "any",
    ]
    let keywords = CStrings(options.map(\.key))
    let values = CStrings(options.map(\.value))
    guard let handle = PQconnectdbParams(keywords.pointers, values.pointers, 1) else {
      return .failed(reason: "no memory for a connection")
    }
    defer { PQfinish(handle) }
    PQsetNoticeReceiver(handle, { _, _ in }, nil)
    return backend.end(through: handle)
  }

  private static func run(_ script: String, on handle: OpaquePointer) -> String? {
    guard let result = PQexec(handle, script) else { return Connection.oneLine(PQerrorMessage(handle)) }
    return QueryResult(result).error?.summary
  }
}

extension Connection {
  /// Where a connection leads, and how statements are sent to there.
  struct Origin {
    let server: ServerIdentity
    /// The result of ``ServerIdentity/query``.
    let identity: String
    /// The server's process; `nil` behind a proxy that shares processes among connections.
    var backend: Backend?
    /// A Boolean value that indicates whether a pooler stands between, so that each transaction may run in another session.
    let isPooled: Bool
    /// A Boolean value that indicates whether statements that are planned once are prepared.
    var preparesStatements = true
    /// Sets up each transaction; `nil` where the session has been set up.
    var preamble: Statement?
  }
}

/// Why there is no connection.
struct ConnectionFailure: Error, Hashable, Sendable {
  /// For operators; without secrets.
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
