import CLibPQ
import Points

/// The rows and the row count of a statement's result.
struct QueryResult: Sendable {
  private let owner: Owner

  /// The number of rows.
  let count: Int

  /// `@unchecked Sendable`: libpq's `PGresult` is not modified after initialization, and the last owner frees it.
  fileprivate final class Owner: @unchecked Sendable {
    let handle: OpaquePointer

    init(_ handle: OpaquePointer) {
      self.handle = handle
    }

    deinit {
      PQclear(handle)
    }
  }

  private var handle: OpaquePointer { owner.handle }

  /// Creates a result that takes ownership of a `PGresult`.
  init(_ handle: OpaquePointer) {
    owner = Owner(handle)
    count = Int(PQntuples(handle))
  }

  /// The number of rows that an `INSERT`, `UPDATE`, `DELETE` or `COPY` affected.
  var affectedRows: Int {
    PQcmdTuples(handle).flatMap { Int(String(cString: $0)) } ?? 0
  }

  /// The rows, in order.
  var rows: LazyMapSequence<Range<Int>, Row> {
    (0..<count).lazy.map { [owner] index in Row(owner: owner, index: Int32(index)) }
  }

  /// Returns the row with an index from ``rows``.
  func row(_ index: Int32) -> Row { Row(owner: owner, index: index) }

  /// The command tag, such as `COMMIT` or `INSERT 0 1`.
  var commandTag: String { PQcmdStatus(handle).map { String(cString: $0) } ?? "" }

  var columnCount: Int32 { PQnfields(handle) }

  /// The error that the result reports; `nil` for a success.
  var error: ServerError? {
    let status = PQresultStatus(handle)
    guard status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE || status == PGRES_NONFATAL_ERROR else {
      return nil
    }
    func field(_ code: Int32) -> String? {
      PQresultErrorField(handle, code).map { String(cString: $0) }
    }
    return ServerError(
      // PG_DIAG_SQLSTATE and similar fields are character constants in a macro, which Swift doesn't import.
      sqlState: field(Int32(UInt8(ascii: "C"))) ?? "",
      message: field(Int32(UInt8(ascii: "M"))) ?? String(cString: PQresultErrorMessage(handle)),
      constraint: field(Int32(UInt8(ascii: "n"))),
      isFatal: field(Int32(UInt8(ascii: "V"))) != "ERROR",
      source: field(ServerError.sourceFunction),
      isComplete: status != PGRES_BAD_RESPONSE
    )
  }

  /// A Boolean value that indicates whether the server waits for the data of a `COPY … FROM STDIN`.
  var isCopyIn: Bool { PQresultStatus(handle) == PGRES_COPY_IN }

  /// A Boolean value that indicates whether the server sends the data of a `COPY … TO STDOUT`.
  var isCopyOut: Bool { PQresultStatus(handle) == PGRES_COPY_OUT }

  /// A Boolean value that indicates whether this is the end of a pipeline and not a statement's result.
  var isEndOfPipeline: Bool { PQresultStatus(handle) == PGRES_PIPELINE_SYNC }

  /// One row of binary values, whose columns are numbered from 0.
  struct Row {
    fileprivate let owner: Owner
    /// The row's number in the statement's result.
    let index: Int32

    /// Calls the body with the value's bytes; `nil` is SQL's null.
    @inline(__always)
    fileprivate func withBytes<Value>(_ column: Int32, _ body: (UnsafeRawBufferPointer?) -> Value) -> Value {
      guard PQgetisnull(owner.handle, index, column) == 0, let start = PQgetvalue(owner.handle, index, column) else {
        return body(nil)
      }
      return body(UnsafeRawBufferPointer(start: start, count: Int(PQgetlength(owner.handle, index, column))))
    }
  }
}

extension QueryResult.Row {
  /// Returns whether the value is null.
  func isNull(_ column: Int32) -> Bool { withBytes(column) { $0 == nil } }

  /// Returns the value's bytes, which are valid as long as the result; `nil` for null.
  func bytes(_ column: Int32) -> UnsafeBufferPointer<UInt8>? {
    withBytes(column) { $0?.assumingMemoryBound(to: UInt8.self) }
  }

  /// Returns a `uuid`.
  func id(_ column: Int32) throws(PointStoreError) -> PointID {
    let id: PointID? = withBytes(column) { bytes in
      guard let bytes, bytes.count == 16 else { return nil }
      return PointID(
        high: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
        low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
      )
    }
    return try found(id, "uuid", column)
  }

  /// Returns an `int8`.
  func integer(_ column: Int32) throws(PointStoreError) -> Int64 {
    try found(integerIfEight(column), "int8", column)
  }

  /// Returns a `float8`.
  func double(_ column: Int32) throws(PointStoreError) -> Double {
    let bits = try found(integerIfEight(column), "float8", column)
    return Double(bitPattern: UInt64(bitPattern: bits))
  }

  /// Returns a `timestamptz`.
  func timestamp(_ column: Int32) throws(PointStoreError) -> Timestamp {
    let microseconds = try found(integerIfEight(column), "timestamptz", column)
    return Timestamp(microsecondsSinceEpoch: microseconds &+ BinaryFormat.microsecondsToPostgresEpoch)
  }

  /// Returns a `text`, or `nil` for null.
  func optionalText(_ column: Int32) -> String? {
    withBytes(column) { bytes in bytes.map { String(decoding: $0, as: UTF8.self) } }
  }

  /// Returns a `text`.
  func text(_ column: Int32) throws(PointStoreError) -> String {
    try found(optionalText(column), "text", column)
  }

  /// Returns a `boolean`.
  func boolean(_ column: Int32) throws(PointStoreError) -> Bool {
    let value: Bool? = withBytes(column) { bytes in
      guard let bytes, bytes.count == 1 else { return nil }
      return bytes[0] != 0
    }
    return try found(value, "boolean", column)
  }

  /// Returns the tags of a `json` value.
  func tags(_ column: Int32) throws(PointStoreError) -> Tags {
    let tags: Tags? = withBytes(column) { bytes in
      bytes.map { Tags(stored: $0.assumingMemoryBound(to: UInt8.self)) }
    }
    return try found(tags, "json", column)
  }

  fileprivate func integerIfEight(_ column: Int32) -> Int64? {
    withBytes(column) { bytes in
      guard let bytes, bytes.count == 8 else { return nil }
      return Int64(bigEndian: bytes.loadUnaligned(as: Int64.self))
    }
  }

  private func found<Value>(_ value: Value?, _ type: String, _ column: Int32) throws(PointStoreError) -> Value {
    guard let value else { throw .unexpected(reason: "column \(column) of a result is not of type \(type)") }
    return value
  }
}
