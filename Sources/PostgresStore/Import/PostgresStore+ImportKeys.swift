import Points

/// The SQL of the keys of imports. They stand among those of created places, so that one key is one request's; the place
/// is null.
private enum ImportKeyStatements {
  /// Claims a key until the transaction ends. Values: key. Answers whether another request with it is in progress, and
  /// whether it is known.
  ///
  /// The second statement sees what was committed before the lock was given.
  static let claim = "SELECT pg_try_advisory_xact_lock(\(WriteStatements.keyLockClass), hashtext($1::text))"

  static let find = """
    SELECT 1 FROM idempotency_keys WHERE key = $1::text AND created_at >= \(WriteStatements.expiry)
    """

  /// Remembers the report of an import. Values: key, hash, four counts, numbers and details of rejected rows.
  static let remember = """
    INSERT INTO idempotency_keys (
      key, request_hash, created, updated, unchanged, rejected, rejected_rows, rejected_details, created_at
    )
    VALUES ($1::text, $2::int8, $3::int8, $4::int8, $5::int8, $6::int8, $7::int8[], $8::text[], now())
    ON CONFLICT (key) DO UPDATE
    SET request_hash = excluded.request_hash, created = excluded.created, updated = excluded.updated,
      unchanged = excluded.unchanged, rejected = excluded.rejected, rejected_rows = excluded.rejected_rows,
      rejected_details = excluded.rejected_details, created_at = excluded.created_at, point_id = NULL
    WHERE idempotency_keys.created_at < \(WriteStatements.expiry)
    """

  /// Returns the report of a key whose hash it is, a row for each rejected row, or nothing. Values: key, hash.
  ///
  /// It writes the key's row as it is: a commit that has written waits for the standbys that the first one was to wait
  /// for, and so what is answered again is as durable as it was to be.
  static let answer = Statement(
    "import_answer",
    """
    WITH known AS (
      UPDATE idempotency_keys
      SET request_hash = request_hash
      WHERE key = $1::text AND created_at >= \(WriteStatements.expiry)
      RETURNING request_hash = $2::int8 AND point_id IS NULL AS is_same, created, updated, unchanged, rejected,
        rejected_rows, rejected_details
    )
    SELECT is_same, created, updated, unchanged, rejected, number, detail
    FROM known LEFT JOIN LATERAL unnest(rejected_rows, rejected_details) AS rejections (number, detail) ON true
    ORDER BY number
    """
  )
}

extension PostgresStore {
  /// Claims the key of an import until the transaction ends.
  ///
  /// - Returns: whether a request with the key has succeeded.
  /// - Throws: ``PointWriteError/keyInFlight``.
  func isKnown(_ key: ImportKey, _ session: Session) async throws -> Bool {
    let parameters = Parameters { $0.add(key.text) }
    guard try await session.run(ImportKeyStatements.claim, parameters).rows.first?.boolean(0) == true else {
      throw PointWriteError.keyInFlight
    }
    return try await session.run(ImportKeyStatements.find, parameters).count > 0
  }

  /// Remembers the report of an import in its transaction.
  func remember(_ key: IdempotencyKey, _ report: ImportReport, _ session: Session) async throws {
    try await session.run(
      ImportKeyStatements.remember,
      Parameters {
        $0.add(key.text)
        $0.add(Int64(bitPattern: key.requestHash))
        for count in [report.created, report.updated, report.unchanged, report.rejected] { $0.add(Int64(count)) }
        $0.add(report.rejections.map { Int64($0.number) })
        $0.add(report.rejections.map(\.detail))
      }
    )
  }

  /// The report of an import that has succeeded before.
  ///
  /// - Throws: ``PointWriteError/keyReused``, ``PointStoreError``.
  func repeated(_ key: IdempotencyKey) async throws -> ImportReport {
    let result = try await write(
      ImportKeyStatements.answer,
      Parameters {
        $0.add(key.text)
        $0.add(Int64(bitPattern: key.requestHash))
      }
    )
    guard let first = result.rows.first else {
      throw PointStoreError.unavailable(reason: "an import's key has expired, or another server lacks it")
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
      rejected: Int(try first.integer(4)),
      rejections: rejections
    )
  }
}
