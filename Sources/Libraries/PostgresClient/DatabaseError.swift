/// An error that PostgreSQL or libpq reported.
package struct ServerError: Error, Hashable, Sendable {
  /// The five-character SQLSTATE code; empty where libpq reported the error.
  package let sqlState: String

  /// The message without detail and hint. It may name tables and columns, but contains no row values and no secrets.
  package let message: String

  /// The name of the violated constraint.
  package let constraint: String?

  /// A Boolean value that indicates whether the connection is still in sync with the protocol.
  package let isComplete: Bool

  /// A Boolean value that indicates whether the server has closed the connection, and not only failed the statement.
  package let isFatal: Bool

  /// The name of the server's source function that raised the error.
  package let source: String?

  package init(
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

  /// Returns the same error with another message.
  package func withMessage(_ message: String) -> ServerError {
    ServerError(
      sqlState: sqlState, message: message, constraint: constraint, isFatal: isFatal, source: source,
      isComplete: isComplete)
  }

  /// A Boolean value that indicates whether the role lacks a privilege (`insufficient_privilege`).
  package var isPermissionError: Bool { isComplete && sqlState == "42501" }

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
  package var endsConnection: Bool {
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

/// The failure of a statement, or of an attempt to get a connection for it.
package enum DatabaseError: Error, Hashable, Sendable {
  /// The server rejected the statement; the connection stays usable.
  case rejected(ServerError)

  /// The connection leads to another server than the required one. Nothing was sent.
  case wrongServer

  /// There is no connection, or it broke. A request was not executed or was rolled back, and so is a transaction.
  case unavailable(reason: String)

  /// The connection broke, or the caller has stopped waiting; the statement may have been committed, or may still be.
  case outcomeUnknown(reason: String)

  /// The server is read-only, and has done nothing.
  case readOnly(reason: String)

  /// No connection was free in time, or the wait queue is full.
  case overloaded

  /// The server did not respond in time. Nothing was changed.
  case timeout

  /// The caller was cancelled. A write had not been sent.
  case cancelled

  /// Returns the reason for an operator, which is the given one for a cancelled caller.
  package func reason(ofCancellation cancellation: String) -> String {
    switch self {
    case .rejected(let error): error.summary
    case .unavailable(let reason), .outcomeUnknown(let reason), .readOnly(let reason): reason
    case .wrongServer: "the connection leads to another server"
    case .overloaded: "no connection was free in time"
    case .timeout: "the server did not respond in time"
    case .cancelled: cancellation
    }
  }
}

extension ServerError {
  /// The error on one line, for operators.
  package var summary: String {
    let line = message.split(whereSeparator: \.isNewline).joined(separator: "; ")
    switch sqlState {
    case "": return line
    case "26000", "42P05":
      return "\(line) (SQLSTATE \(sqlState)); a pooler that shares connections needs DATABASE_PREPARED_STATEMENTS=off"
    default: return "\(line) (SQLSTATE \(sqlState))"
    }
  }
}
