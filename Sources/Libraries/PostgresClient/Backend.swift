import CLibPQ

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A server process that serves one connection, identified precisely enough to terminate that process and no other.
struct Backend: Sendable {
  /// The server's host as libpq resolved it.
  let host: String
  let address: String
  let port: String
  let processID: Int32
  /// The process's start time in microseconds since 1970, because process ids are reused.
  let start: Int64

  private static let microseconds = "(extract(epoch FROM backend_start) * 1000000)::int8"

  /// The query for the process id and start time of the current backend.
  static let query = """
    SELECT pg_backend_pid(), \(microseconds) FROM pg_stat_get_activity(pg_backend_pid())
    """

  /// Creates a backend from a result of ``query``; `nil` where its process id is not the connection's own, which is the
  /// case behind a proxy that shares backends among connections.
  init?(of handle: OpaquePointer, processID: String?, start: String?) {
    guard let processID = processID.flatMap(Int32.init), let start = start.flatMap(Int64.init),
      PQbackendPID(handle) == processID
    else {
      return nil
    }
    func text(_ value: UnsafeMutablePointer<CChar>?) -> String { value.map { String(cString: $0) } ?? "" }
    host = text(PQhost(handle))
    address = text(PQhostaddr(handle))
    port = text(PQport(handle))
    self.processID = processID
    self.start = start
  }

  /// Terminates the process through another connection to its server, unless it waits for a synchronous standby: the
  /// commit would be kept, and the standby might lack it.
  func terminate(through handle: OpaquePointer) -> TerminationResult {
    guard PQstatus(handle) == CONNECTION_OK else {
      return .failed(reason: "the statement could not be terminated: \(Connection.oneLine(PQerrorMessage(handle)))")
    }
    let query = """
      SELECT CASE WHEN wait_event = 'SyncRep' THEN 'waits' WHEN pg_terminate_backend(pid) THEN 'signalled' END
      FROM pg_stat_activity
      WHERE pid = \(processID) AND \(Self.microseconds) = \(start)
      """
    guard PQsendQuery(handle, query) == 1, let result = Self.result(of: handle, milliseconds: 2_000) else {
      return .failed(reason: "the server did not terminate the statement in time")
    }
    defer { PQclear(result) }
    guard PQresultStatus(result) == PGRES_TUPLES_OK else {
      return .failed(
        reason: "the statement could not be terminated: \(Connection.oneLine(PQresultErrorMessage(result)))")
    }
    // A backend that no longer exists has reported its end on its own connection.
    guard PQntuples(result) == 1, let text = PQgetvalue(result, 0, 0) else { return .signalled }
    switch String(cString: text) {
    case "waits": return .waitsForStandby
    case "signalled": return .signalled
    default: return .failed(reason: "the server did not terminate the statement")
    }
  }

  /// Waits for a result, up to the given time.
  private static func result(of handle: OpaquePointer, milliseconds: Int) -> OpaquePointer? {
    let deadline = ContinuousClock.now + .milliseconds(milliseconds)
    while PQisBusy(handle) != 0 {
      var descriptor = pollfd(fd: PQsocket(handle), events: Int16(POLLIN), revents: 0)
      let left = (deadline - .now) / .milliseconds(1)
      guard left > 0 else { return nil }
      _ = poll(&descriptor, 1, Int32(left) + 1)
      guard PQconsumeInput(handle) == 1 else { return nil }
    }
    return PQgetResult(handle)
  }
}

/// The result of the attempt to terminate a backend.
enum TerminationResult: Sendable {
  /// The backend was signalled, or no longer exists.
  case signalled
  /// The backend was not signalled: it has committed and waits for a synchronous standby.
  case waitsForStandby
  /// The backend could not be signalled.
  case failed(reason: String)
}
