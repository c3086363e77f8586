import Points
import PostgresClient

// The translation of the client's errors, and of values of unexpected types, to those of a store.

extension PointStoreError {
  init(_ error: DatabaseError) {
    switch error {
    case .rejected(let error): self.init(error)
    case .unavailable(let reason): self = .unavailable(reason: reason)
    case .outcomeUnknown(let reason): self = .outcomeUnknown(reason: reason)
    case .readOnly(let reason): self = .readOnly(reason: reason)
    case .wrongServer: self = .unavailable(reason: "the connection leads to another server")
    case .overloaded: self = .overloaded
    // A cancelled caller no longer waits for the result.
    case .timeout, .cancelled: self = .timeout
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

extension ConnectionPool {
  /// Runs a statement; see ``run(_:_:isRead:isUrgent:onlyOn:)``.
  nonisolated func query(
    _ statement: Statement, _ parameters: Parameters, isRead: Bool, isUrgent: Bool = false
  ) async throws(PointStoreError) -> QueryResult {
    do {
      return try await run(statement, parameters, isRead: isRead, isUrgent: isUrgent)
    } catch {
      throw await storeError(error)
    }
  }

  /// Returns the store error for an error. That for a missing privilege names the privileges that the role lacks, where
  /// they can be found.
  nonisolated func storeError(_ error: DatabaseError) async -> PointStoreError {
    guard case .rejected(let rejection) = error, rejection.isPermissionError else { return PointStoreError(error) }
    let parameters = MissingPrivileges.parameters(for: MissingPrivileges.serving + MissingPrivileges.analytics)
    guard let result = try? await run(MissingPrivileges.statement, parameters, isRead: true),
      let explanation = try? MissingPrivileges.explanation(of: rejection, by: result)
    else { return PointStoreError(error) }
    return PointStoreError(explanation)
  }
}

extension QueryResult.Row {
  /// Returns a `uuid`.
  func id(_ column: Int32) throws(PointStoreError) -> PointID {
    let id = try found(optionalID(column), "uuid", column)
    return PointID(high: id.high, low: id.low)
  }

  /// Returns an `int8`.
  func integer(_ column: Int32) throws(PointStoreError) -> Int64 {
    try found(optionalInteger(column), "int8", column)
  }

  /// Returns a `float8`.
  func double(_ column: Int32) throws(PointStoreError) -> Double {
    Double(bitPattern: UInt64(bitPattern: try found(optionalInteger(column), "float8", column)))
  }

  /// Returns a `timestamptz`.
  func timestamp(_ column: Int32) throws(PointStoreError) -> Timestamp {
    let microseconds = try found(optionalInteger(column), "timestamptz", column)
    return Timestamp(microsecondsSinceEpoch: microseconds &+ BinaryFormat.microsecondsToPostgresEpoch)
  }

  func text(_ column: Int32) throws(PointStoreError) -> String {
    try found(optionalText(column), "text", column)
  }

  /// Returns a `boolean`.
  func boolean(_ column: Int32) throws(PointStoreError) -> Bool {
    try found(optionalBoolean(column), "boolean", column)
  }

  /// Returns the tags of a `json` value.
  func tags(_ column: Int32) throws(PointStoreError) -> Tags {
    try found(bytes(column).map { Tags(stored: $0) }, "json", column)
  }

  private func found<Value>(_ value: Value?, _ type: String, _ column: Int32) throws(PointStoreError) -> Value {
    guard let value else { throw .unexpected(reason: "column \(column) of a result is not of type \(type)") }
    return value
  }
}
