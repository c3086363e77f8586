import Points

/// What PostgreSQL says went wrong.
struct ServerError: Error, Hashable, Sendable {
  /// The five characters of the SQL standard's and PostgreSQL's own error codes; empty where libpq made the error.
  let sqlState: String

  /// The message, without detail or hint: it may name tables and columns, but carries no row's values and no secrets.
  let message: String

  /// The constraint that was violated, by its name.
  let constraint: String?

  /// Whether the connection is still in step with the server.
  let isComplete: Bool

  /// A Boolean value that indicates whether the server has ended the connection, and not just the statement.
  let isFatal: Bool

  /// The name of the function of the server that the error comes from.
  let source: String?

  /// Creates an error.
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

  /// The error of a statement that was not sent, because the connection leads to another server than it is for.
  static let elsewhere = ServerError(sqlState: "", message: "the connection leads to another server")

  /// Returns the same error with another message.
  func withMessage(_ message: String) -> ServerError {
    ServerError(
      sqlState: sqlState, message: message, constraint: constraint, isFatal: isFatal, source: source,
      isComplete: isComplete)
  }

  /// A Boolean value that indicates whether the role lacks a privilege (`insufficient_privilege`).
  var isDenial: Bool { isComplete && sqlState == "42501" }

  /// The code of the field ``source``: `PG_DIAG_SOURCE_FUNCTION`, a macro that Swift doesn't import.
  static let sourceFunction = Int32(UInt8(ascii: "R"))

  /// A Boolean value that indicates whether the server has lost a prepared statement or its plan, so that it did nothing
  /// and a new connection can run it.
  var isRefusal: Bool { isComplete && !isFatal && ["26000", "0A000"].contains(sqlState) }

  /// A Boolean value that indicates whether the backend was told to end, and has rolled back what it had not yet
  /// committed. A proxy that ends a connection names no such function.
  var isTermination: Bool { isComplete && isFatal && source == "ProcessInterrupts" }

  /// A Boolean value that indicates whether a setting was given a value that it can't have (`invalid_parameter_value`).
  var isInvalidSetting: Bool { isComplete && !isFatal && sqlState == "22023" }

  /// Whether the server refuses to write anything at all: it is a standby, or was made one, or was set so.
  ///
  /// Nothing was done then, so that a write may be tried on another connection, which libpq makes to a server that
  /// takes writes where the URL asks for one.
  var isReadOnly: Bool { isComplete && sqlState == "25006" }

  /// Whether the server ends the connection with this error, so that what was asked may be asked again on another one.
  var endsConnection: Bool {
    guard isComplete, !sqlState.isEmpty else { return true }
    switch sqlState {
    case "57P01", "57P02", "57P03", "57P05": return true  // shut down, crashed, starting up, idle for too long
    case "25P03": return true  // idle in a transaction for too long
    // A prepared statement that is gone or has outlived its tables, behind a proxy or after a migration: a new
    // connection prepares it anew.
    case "26000": return true
    case "0A000": return message.contains("cached plan")
    default: return sqlState.hasPrefix("08")
    }
  }
}

/// Why a statement did not do what it should.
enum DatabaseError: Error, Hashable, Sendable {
  /// The server refused it; the connection lives.
  case refused(ServerError)

  /// The connection is gone; what it was asked may have been done.
  case lost(reason: String)

  /// The connection is gone; what it was asked was not done or was rolled back.
  case undone(reason: String)

  /// The caller was cancelled.
  case cancelled
}

extension PointStoreError {
  /// What a failure means for who asked the store.
  init(_ error: DatabaseError) {
    switch error {
    case .refused(let error): self.init(error)
    // What a transaction did that was never committed is rolled back.
    case .lost(let reason), .undone(let reason): self = .unavailable(reason: reason)
    // Whoever cancels has stopped waiting.
    case .cancelled: self = .timeout
    }
  }

  /// What an error code means for who asked the store (PostgreSQL's manual, appendix A).
  init(_ error: ServerError) {
    switch error.sqlState {
    case "57014", "55P03", "25P04":  // query_canceled, lock_not_available, transaction_timeout
      self = .timeout
    case "53300", "53400":  // too_many_connections, configuration_limit_exceeded
      self = .overloaded
    case "42P01", "42703", "42883", "42704", "3F000":  // undefined table, column, function, object; no such schema
      self = .schemaMismatch(reason: "the database has not the tables of this version: run `waymark migrate`")
    case _ where error.isDenial || error.sqlState == "42P05":  // duplicate_prepared_statement
      self = .misconfigured(reason: error.summary)
    case let state where error.endsConnection || ["53", "57", "58", "25", "40"].contains(state.prefix(2)):
      self = .unavailable(reason: error.summary)
    default:
      self = .unexpected(reason: error.summary)
    }
  }
}

extension ServerError {
  /// One line for operators.
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
