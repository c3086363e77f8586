import Points
import PostgresClient

/// The SQL of the idempotency keys of imports. They share the table with those of created places, so that a key belongs
/// to one request; their place id is null.
private enum ImportKeyStatements {
  /// The query that claims a key until the transaction ends. Value: key. It returns whether the lock was acquired.
  ///
  /// ``find``, a later statement, sees what was committed before the lock was acquired.
  static let claim = "SELECT pg_try_advisory_xact_lock(\(WriteStatements.keyLockClass), hashtext($1::text))"

  static let find = """
    SELECT 1 FROM idempotency_keys WHERE key = $1::text AND created_at >= \(WriteStatements.expiry)
    """

  /// The statement that stores the report of an import. Values: key, hash, four counts, numbers and details of rejected
  /// rows, and the number of deleted places or null.
  static let storeReport = """
    INSERT INTO idempotency_keys (
      key, request_hash, created, updated, unchanged, rejected, rejected_rows, rejected_details, deleted, created_at
    )
    VALUES ($1::text, $2::int8, $3::int8, $4::int8, $5::int8, $6::int8, $7::int8[], $8::text[], $9::int8, now())
    ON CONFLICT (key) DO UPDATE
    SET request_hash = excluded.request_hash, created = excluded.created, updated = excluded.updated,
      unchanged = excluded.unchanged, rejected = excluded.rejected, rejected_rows = excluded.rejected_rows,
      rejected_details = excluded.rejected_details, deleted = excluded.deleted, created_at = excluded.created_at,
      point_id = NULL
    WHERE idempotency_keys.created_at < \(WriteStatements.expiry)
    """

  /// The statement that returns the stored report of a key, one row for each rejected row, or nothing. Values: key,
  /// hash.
  ///
  /// It updates the key's row without a change: a commit that has written something waits for the standbys, so that the
  /// replayed response is as durable as the first one should have been.
  static let report = Statement(
    "import_report",
    """
    WITH known AS (
      UPDATE idempotency_keys
      SET request_hash = request_hash
      WHERE key = $1::text AND created_at >= \(WriteStatements.expiry)
      RETURNING request_hash = $2::int8 AND point_id IS NULL AS is_same, created, updated, unchanged, rejected,
        rejected_rows, rejected_details, deleted
    )
    SELECT is_same, created, updated, unchanged, rejected, number, detail, deleted
    FROM known LEFT JOIN LATERAL unnest(rejected_rows, rejected_details) AS rejections (number, detail) ON true
    ORDER BY number
    """
  )
}

extension PostgresStore {
  /// Claims the idempotency key of an import until the transaction ends.
  ///
  /// - Returns: `true` if a request with the key has succeeded before.
  /// - Throws: ``PointWriteError/keyInFlight``.
  func claim(_ key: ImportKey, _ session: Session) async throws -> Bool {
    let parameters = Parameters { $0.add(key.text) }
    guard try await session.run(ImportKeyStatements.claim, parameters).rows.first?.boolean(0) == true else {
      throw PointWriteError.keyInFlight
    }
    return try await session.run(ImportKeyStatements.find, parameters).count > 0
  }

  /// Stores the report of an import in its transaction.
  func storeReport(_ key: IdempotencyKey, _ report: ImportReport, _ session: Session) async throws {
    try await session.run(
      ImportKeyStatements.storeReport,
      Parameters {
        $0.add(key.text)
        $0.add(Int64(bitPattern: key.requestHash))
        for count in [report.created, report.updated, report.unchanged, report.rejected] { $0.add(Int64(count)) }
        $0.add(report.rejections.map { Int64($0.number) })
        $0.add(report.rejections.map(\.detail))
        $0.add(optional: report.deleted.map { Int64($0) })
      }
    )
  }

  /// Returns the report of an import that has succeeded before.
  ///
  /// - Throws: ``PointWriteError/keyReused``, ``PointStoreError``.
  func storedReport(_ key: IdempotencyKey) async throws -> ImportReport {
    let result = try await write(
      ImportKeyStatements.report,
      Parameters {
        $0.add(key.text)
        $0.add(Int64(bitPattern: key.requestHash))
      }
    )
    guard let first = result.rows.first else {
      throw PointStoreError.unavailable(
        reason: "the idempotency key of an import has expired, or is missing on another server")
    }
    guard try first.boolean(0) else { throw PointWriteError.keyReused }
    var rejections: [RejectedRow] = []
    for row in result.rows where !row.isNull(5) {
      rejections.append(RejectedRow(number: Int(try row.integer(5)), detail: try row.text(6)))
    }
    return ImportReport(
      created: Int(try first.integer(1)),
      updated: Int(try first.integer(2)),
      unchanged: Int(try first.integer(3)),
      deleted: first.isNull(7) ? nil : Int(try first.integer(7)),
      rejected: Int(try first.integer(4)),
      rejections: rejections
    )
  }
}
