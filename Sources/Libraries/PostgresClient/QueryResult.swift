import CLibPQ

/// The rows and the row count of a statement's result.
package struct QueryResult: Sendable {
  private let owner: Owner

  /// The number of rows.
  package let count: Int

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
  package var affectedRows: Int {
    PQcmdTuples(handle).flatMap { Int(String(cString: $0)) } ?? 0
  }

  /// The rows, in order.
  package var rows: LazyMapSequence<Range<Int>, Row> {
    (0..<count).lazy.map { [owner] index in Row(owner: owner, index: Int32(index)) }
  }

  package func row(_ index: Int32) -> Row { Row(owner: owner, index: index) }

  /// The command tag, such as `COMMIT` or `INSERT 0 1`.
  package var commandTag: String { PQcmdStatus(handle).map { String(cString: $0) } ?? "" }

  package var columnCount: Int32 { PQnfields(handle) }

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
  package struct Row {
    fileprivate let owner: Owner
    /// The row's number in the statement's result.
    package let index: Int32
  }
}

extension QueryResult.Row {
  package func isNull(_ column: Int32) -> Bool { PQgetisnull(owner.handle, index, column) != 0 }

  /// Returns a value's bytes, which are valid as long as the result; `nil` for null.
  package func bytes(_ column: Int32) -> UnsafeBufferPointer<UInt8>? {
    guard !isNull(column), let start = PQgetvalue(owner.handle, index, column) else { return nil }
    let bytes = UnsafeRawBufferPointer(start: start, count: Int(PQgetlength(owner.handle, index, column)))
    return bytes.assumingMemoryBound(to: UInt8.self)
  }

  /// Returns a `text`; `nil` for null.
  package func optionalText(_ column: Int32) -> String? {
    bytes(column).map { String(decoding: $0, as: UTF8.self) }
  }

  /// Returns an `int8`, or the bits of another type of eight bytes; `nil` for null and other types.
  package func optionalInteger(_ column: Int32) -> Int64? {
    guard let bytes = bytes(column), bytes.count == 8 else { return nil }
    return Int64(bigEndian: UnsafeRawBufferPointer(bytes).loadUnaligned(as: Int64.self))
  }

  /// Returns a `uuid`; `nil` for null and other types.
  package func optionalID(_ column: Int32) -> (high: UInt64, low: UInt64)? {
    guard let bytes = bytes(column), bytes.count == 16 else { return nil }
    let raw = UnsafeRawBufferPointer(bytes)
    return (
      UInt64(bigEndian: raw.loadUnaligned(as: UInt64.self)),
      UInt64(bigEndian: raw.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    )
  }

  /// Returns a `boolean`; `nil` for null and other types.
  package func optionalBoolean(_ column: Int32) -> Bool? {
    guard let bytes = bytes(column), bytes.count == 1 else { return nil }
    return bytes[0] != 0
  }
}
