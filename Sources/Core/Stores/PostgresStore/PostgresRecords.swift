import Basics
package import Points
import PostgresClient

/// The SQL of the records of features.
private enum RecordStatements {
  /// The condition of a query. Values: the collection, the id or null, the fields, and the times at which the records
  /// have not expired, and have expired; null for any.
  private static let matches = """
    collection = $1::text AND ($2::text IS NULL OR id = $2::text) AND fields @> $3::text::jsonb
      AND ($4::timestamptz IS NULL OR expires_at IS NULL OR expires_at > $4::timestamptz)
      AND ($5::timestamptz IS NULL OR expires_at <= $5::timestamptz)
    """

  /// The statement for a page. Further values: the id before or null, the limit or null, and the number of bytes above
  /// which the page ends, or null.
  static let page = Statement(
    "records", planning: .eachTime,
    """
    SELECT id, revision, fields::text, expires_at, kept_until, document
    FROM (
      SELECT id, revision, fields, expires_at, kept_until, document::text AS document,
        sum(octet_length(document::text)) OVER (ORDER BY id) - octet_length(document::text) AS bytes_before
      FROM (
        SELECT id, revision, fields, expires_at, kept_until, document
        FROM records
        WHERE \(matches) AND ($6::text IS NULL OR id > $6::text)
        ORDER BY id
        LIMIT $7::int8
      ) AS page
    ) AS sized
    WHERE $8::int8 IS NULL OR bytes_before <= $8::int8
    ORDER BY id
    """)

  static let summary = Statement(
    "record_summary", planning: .eachTime,
    "SELECT count(*), md5(coalesce(string_agg(id, ' ' ORDER BY id), '')) FROM records WHERE \(matches)")

  /// A time of an array, in microseconds since 1970: null if it is negative.
  private static func time(_ column: String) -> String {
    """
    CASE WHEN \(column) >= 0 THEN
      timestamptz 'epoch' + \(column) / 1000000 * interval '1 second' + \(column) % 1000000 * interval '1 microsecond'
    END
    """
  }

  /// The statement that changes records, if they are as expected. Values: the collections, the ids, what is expected (0
  /// for a new record, the revision of one to replace, -1 for one to remove), the fields, the expiries, the times of
  /// removal and the documents; and of the limits the collection or null, the time, the fields and the maxima.
  ///
  /// It returns whether the records are as expected, and the number of the first limit that is reached, or null; nothing
  /// is changed then. A record that was added after it was looked for violates a constraint, so that the statement is
  /// rolled back and retried. Concurrent additions may exceed a maximum by their number.
  static let commit = Statement(
    "record_commit", planning: .eachTime,
    """
    WITH change AS MATERIALIZED (
      SELECT *
      FROM unnest($1::text[], $2::text[], $3::int8[], $4::text[], $5::int8[], $6::int8[], $7::text[])
        AS change (collection, id, expected, fields, expires_at, kept_until, document)
    ), old AS MATERIALIZED (
      SELECT records.collection, records.id, records.revision
      FROM records JOIN change USING (collection, id)
      ORDER BY records.collection, records.id
      FOR UPDATE OF records
    ), state AS MATERIALIZED (
      SELECT
        NOT EXISTS (
          SELECT FROM change LEFT JOIN old USING (collection, id)
          WHERE CASE WHEN expected < 0 THEN revision IS NULL ELSE coalesce(revision, 0) <> expected END
        ) AS is_current,
        (
          SELECT min(number)
          FROM unnest($10::text[], $11::int8[]) WITH ORDINALITY AS maximum (fields, count, number)
          WHERE count <= (
            SELECT count(*)
            FROM records
            WHERE collection = $8::text AND fields @> maximum.fields::jsonb
              AND (expires_at IS NULL OR expires_at > $9::timestamptz))
        ) AS full_limit
    ), removed AS (
      DELETE FROM records
      USING change CROSS JOIN state
      WHERE records.collection = change.collection AND records.id = change.id AND expected < 0
        AND is_current AND full_limit IS NULL
    ), replaced AS (
      UPDATE records
      SET revision = records.revision + 1, fields = change.fields::jsonb, expires_at = \(time("change.expires_at")),
        kept_until = \(time("change.kept_until")), document = change.document::json
      FROM change CROSS JOIN state
      WHERE records.collection = change.collection AND records.id = change.id AND expected > 0
        AND is_current AND full_limit IS NULL
    ), inserted AS (
      INSERT INTO records (collection, id, revision, fields, expires_at, kept_until, document)
      SELECT collection, id, 1, fields::jsonb, \(time("expires_at")), \(time("kept_until")), document::json
      FROM change CROSS JOIN state
      WHERE expected = 0 AND is_current AND full_limit IS NULL
    )
    SELECT is_current, full_limit FROM state
    """)

  /// Values: the collection and the time.
  static let remove = Statement(
    "record_remove", "DELETE FROM records WHERE collection = $1::text AND kept_until <= $2::timestamptz")
}

extension PostgresStore: RecordStore {
  package var isShared: Bool { true }

  package func records(matching query: RecordQuery) async throws(PointStoreError) -> [Record] {
    let result = try await read(
      RecordStatements.page,
      Parameters {
        $0.add(conditionsOf: query)
        $0.add(query.after?.text)
        $0.add(optional: query.limit.map { Int64($0) })
        $0.add(optional: query.maximumBytes.map { Int64($0) })
      })
    return try await offThreadPool { [damagedRows] in
      Result { () throws(PointStoreError) -> [Record] in
        var records: [Record] = []
        for row in result.rows { records.append(try row.record(of: query.collection, damagedRows)) }
        return records
      }
    }.get()
  }

  package func summary(of query: RecordQuery) async throws(PointStoreError) -> RecordSummary {
    let result = try await read(RecordStatements.summary, Parameters { $0.add(conditionsOf: query) })
    guard let row = result.rows.first else { throw .unexpected(reason: "a count of records returned no row") }
    return RecordSummary(count: Int(try row.integer(0)), mark: try row.text(1))
  }

  /// Commits changes of records; see ``Points/RecordStore/commit(applying:within:_:)``. Of concurrent commits of one
  /// record the later ones wait for the lock of its row, and find another revision.
  package func commit(
    applying batch: PointBatch?, within limits: RecordLimits?,
    _ changes: @escaping @Sendable ([PointOperationResult]) throws(PointStoreError) -> [RecordChange]
  ) async throws(PointWriteError) -> RecordOutcome {
    try await retrying(orThrow: .store(.overloaded)) { () async throws(PointWriteError) -> RecordOutcome? in
      do {
        guard let batch else {
          let parameters = Parameters(try changes([]), within: limits)
          let result = try await pool.run(RecordStatements.commit, parameters, isRead: false)
          return try Self.outcome(of: result, [])
        }
        return try await withTransaction(for: batch.client) { session -> RecordOutcome? in
          guard let results = try await apply(batch, in: session) else { return nil }
          if let last = results.last, last.isFailure { return .failed(last) }
          let parameters = Parameters(try changes(results), within: limits)
          let outcome = try Self.outcome(of: try await session.run(RecordStatements.commit.sql, parameters), results)
          if outcome.isCommitted { try await commit(session) }
          return outcome
        }
      } catch {
        if Self.isConflict(error) { return nil }
        throw await writeError(error)
      }
    }
  }

  private static func outcome(
    of result: QueryResult, _ results: [PointOperationResult]
  ) throws(PointStoreError) -> RecordOutcome {
    guard let row = result.rows.first else { throw .unexpected(reason: "a commit of records returned no row") }
    if try !row.boolean(0) { return .conflict }
    if let number = row.optionalInteger(1) { return .full(Int(number) - 1) }
    return .committed(results)
  }

  package func removeRecords(
    of collection: RecordCollection, keptUntil now: Timestamp
  ) async throws(PointStoreError) -> Int {
    try await write(
      RecordStatements.remove,
      Parameters {
        $0.add(collection.name.text)
        $0.add(now)
      }
    ).affectedRows
  }
}

extension QueryResult.Row {
  /// Returns a record, from the columns of ``RecordStatements/page``. Of a damaged row, the fields are left out.
  fileprivate func record(
    of collection: RecordCollection, _ damagedRows: DamagedRows?
  ) throws(PointStoreError) -> Record {
    let id = ExactText(try text(0))
    let fields = Record.fields(of: try text(2))
    if fields == nil { damagedRows?.note(record: id, in: collection, reason: "fields are not an object of strings") }
    return Record(
      collection, id: id, revision: try integer(1), fields: fields ?? [:],
      expiresAt: isNull(3) ? nil : try timestamp(3), keptUntil: isNull(4) ? nil : try timestamp(4),
      document: try text(5))
  }
}

extension Parameters {
  /// Adds the conditions of a query.
  fileprivate mutating func add(conditionsOf query: RecordQuery) {
    add(query.collection.name.text)
    add(query.id?.text)
    add(Record.text(of: query.fields))
    if case .unexpired(let now)? = query.expiry { add(now) } else { add(nil as String?) }
    if case .expired(let now)? = query.expiry { add(now) } else { add(nil as String?) }
  }

  /// Creates the values of ``RecordStatements/commit``.
  fileprivate init(_ changes: [RecordChange], within limits: RecordLimits?) {
    var (expected, fields, expiries): ([Int64], [String], [Int64]) = ([], [], [])
    var (ends, documents): ([Int64], [String]) = ([], [])
    for change in changes {
      var record: Record?
      switch change {
      case .insert(let new):
        record = new
        expected.append(0)
      case .replace(let new):
        record = new
        expected.append(new.revision)
      case .remove: expected.append(-1)
      }
      fields.append(Record.text(of: record?.fields ?? [:]))
      expiries.append(record?.expiresAt?.microsecondsSinceEpoch ?? -1)
      ends.append(record?.keptUntil?.microsecondsSinceEpoch ?? -1)
      documents.append(record?.document ?? "")
    }
    self.init()
    add(changes.map(\.collection.name.text))
    add(changes.map(\.id.text))
    add(expected)
    add(fields)
    add(expiries)
    add(ends)
    add(documents)
    add(limits?.collection.name.text)
    if let limits { add(limits.now) } else { add(nil as String?) }
    add((limits?.counts ?? []).map { Record.text(of: $0.fields) })
    add((limits?.counts ?? []).map { Int64($0.maximum) })
  }
}
