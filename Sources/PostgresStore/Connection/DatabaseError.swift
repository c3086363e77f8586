import Points

/// An error that PostgreSQL or libpq reported.
struct ServerError: Error, Hashable, Sendable {
  /// The five-character SQLSTATE code; empty where libpq reported the error.
  let sqlState: String

  /// The message without detail and hint. It may name tables and columns, but contains no row values and no secrets.
  let message: String

  /// The name of the violated constraint.
  let constraint: String?

  /// A Boolean value that indicates whether the connection is still in sync with the protocol.
  let isComplete: Bool

  /// A Boolean value that indicates whether the server has closed the connection, and not only failed the statement.
  let isFatal: Bool

  /// The name of the server's source function that raised the error.
  let source: String?

  init(
    sqlState: String, message: String, constraint: String? = nil, isFatal: Bool = false, source: String? = nil,
    isComplete: Bool = true
  ) {
    self.sqlState = sqlState
    self.message = message
    self.constraint = constraint
    self.isFatal = isFatal
    self.source = source
    self.isComplete = isComplete
  }

  /// The error of a statement that was not sent because the connection leads to a different server.
  static let wrongServer = ServerError(sqlState: "", message: "the connection leads to another server")

  /// Returns the same error with another message.
  func withMessage(_ message: String) -> ServerError {
    ServerError(
      sqlState: sqlState, message: message, constraint: constraint, isFatal: isFatal, source: source,
      isComplete: isComplete)
  }

  /// A Boolean value that indicates whether the role lacks a privilege (`insufficient_privilege`).
  var isPermissionError: Bool { isComplete && sqlState == "42501" }

  /// The code of the field ``source``: `PG_DIAG_SOURCE_FUNCTION`, a macro that Swift doesn't import.
  static let sourceFunction = Int32(UInt8(ascii: "R"))

  /// A Boolean value that indicates whether the server no longer has a prepared statement or its plan, so that it did
  /// nothing and a new connection can run it.
  var isStalePreparedStatement: Bool { isComplete && !isFatal && ["26000", "0A000"].contains(sqlState) }

  /// A Boolean value that indicates whether the backend was terminated and has rolled back its uncommitted transaction.
  /// A proxy that closes a connection names no such source function.
  var isBackendTermination: Bool { isComplete && isFatal && source == "ProcessInterrupts" }

  /// A Boolean value that indicates whether a setting was given an invalid value (`invalid_parameter_value`).
  var isInvalidSetting: Bool { isComplete && !isFatal && sqlState == "22023" }

  /// A Boolean value that indicates whether the server is read-only: a standby, a demoted primary, or one that is
  /// configured so.
  ///
  /// The server has done nothing, so that a write may be retried on another connection, which libpq makes to a primary
  /// where the URL asks for one.
  var isReadOnly: Bool { isComplete && sqlState == "25006" }

  /// A Boolean value that indicates whether the server closes the connection with this error, so that the statement may
  /// be retried on another one.
  var endsConnection: Bool {
    guard isComplete, !sqlState.isEmpty else { return true }
    switch sqlState {
    case "57P01", "57P02", "57P03", "57P05": return true  // shut down, crashed, starting up, idle for too long
    case "25P03": return true  // idle in a transaction for too long
    // The prepared statement no longer exists or its tables have changed, behind a proxy or after a migration. A new
    // connection prepares it again.
    case "26000": return true
    case "0A000": return message.contains("cached plan")
    default: return sqlState.hasPrefix("08")
    }
  }
}

/// The failure of a statement.
enum DatabaseError: Error, Hashable, Sendable {
  /// The server rejected the statement; the connection stays usable.
  case rejected(ServerError)

  /// The connection broke; the statement may have been executed.
  case connectionLost(reason: String)

  /// The connection broke; the statement was not executed or was rolled back.
  case rolledBack(reason: String)

  /// The connection was closed because the server is read-only; nothing was done.
  case readOnly(reason: String)

  /// The caller was cancelled.
  case cancelled

  /// Returns the reason for an operator, which is the given one for a cancelled caller.
  func reason(ofCancellation cancellation: String) -> String {
    switch self {
    case .rejected(let error): error.summary
    case .connectionLost(let reason), .rolledBack(let reason), .readOnly(let reason): reason
    case .cancelled: cancellation
    }
  }
}

extension PointStoreError {
  init(_ error: DatabaseError) {
    switch error {
    case .rejected(let error): self.init(error)
    // A transaction that was never committed is rolled back.
    case .connectionLost(let reason), .rolledBack(let reason): self = .unavailable(reason: reason)
    case .readOnly(let reason): self = .readOnly(reason: reason)
    // A cancelled caller no longer waits for the result.
    case .cancelled: self = .timeout
    }
  }

  /// Creates the store error for a server error by its SQLSTATE (PostgreSQL's manual, appendix A).
  init(_ error: ServerError) {
    switch error.sqlState {
    case "57014", "55P03", "25P04":  // query_canceled, lock_not_available, transaction_timeout
      self = .timeout
    case "25006":  // read_only_sql_transaction
      self = .readOnly(reason: error.summary)
    case "53300", "53400":  // too_many_connections, configuration_limit_exceeded
      self = .overloaded
    case "42P01", "42703", "42883", "42704", "3F000":  // undefined table, column, function, object; no such schema
      self = .schemaMismatch(reason: "the database lacks the tables of this version: run `waymark migrate`")
    case _ where error.isPermissionError || error.sqlState == "42P05":  // duplicate_prepared_statement
      self = .misconfigured(reason: error.summary)
    case let state where error.endsConnection || ["53", "57", "58", "25", "40"].contains(state.prefix(2)):
      self = .unavailable(reason: error.summary)
    default:
      self = .unexpected(reason: error.summary)
    }
  }
}

extension ServerError {
  /// The error on one line, for operators.
  var summary: String {
    let line = message.split(whereSeparator: \.isNewline).joined(separator: "; ")
    switch sqlState {
    case "": return line
    case "26000", "42P05":
      return "\(line) (SQLSTATE \(sqlState)); a pooler that shares connections needs DATABASE_PREPARED_STATEMENTS=off"
    default: return "\(line) (SQLSTATE \(sqlState))"
    }
  }
}
