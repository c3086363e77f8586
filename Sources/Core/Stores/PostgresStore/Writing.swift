package import Basics
import Geo
package import Points
import PostgresClient

/// The SQL that changes one place, or deletes a batch of them. Each statement is a transaction of its own; triggers
/// write it to the change log.
///
/// No statement depends on an earlier read. It locks the current row, whatever its snapshot contains, and decides by
/// that: of two changes that require the same version, the second finds the next one. The result shows which part had
/// an effect.
enum WriteStatements {
  /// Returns the common table expression of the id of a new place: that of the deleted place of the same origin, if any
  /// and if a flag allows it, or else the given one. Values: id, place, and the flag.
  ///
  /// The lock lets the version that is drawn after it be greater than that of every deleted place of the id.
  private static func newID(reusingIf flag: String) -> String {
    """
    former AS MATERIALIZED (
      SELECT id, \(VersionStatements.lock(of: "id"))
      FROM former_ids
      WHERE source = $7::text AND source_id = $8::text AND \(flag)::bool
    ), new_id AS MATERIALIZED (
      SELECT coalesce(
        (SELECT id FROM former WHERE NOT EXISTS (SELECT FROM points WHERE points.id = former.id)), $1::uuid
      ) AS id
    )
    """
  }

  /// The statement that creates a place. Values: id, place, a flag that allows the id of a deleted place.
  static let create = Statement(
    "create",
    """
    WITH \(newID(reusingIf: "$9"))
    INSERT INTO points (id, \(PointColumns.draft), version)
    SELECT id, \(PointColumns.draftValues), \(VersionStatements.next)
    FROM new_id
    RETURNING \(PointColumns.all)
    """
  )

  /// The statement that creates a place if its idempotency key is new. Values: id, place, key, hash of the request, a
  /// flag that allows the id of a deleted place, and one that allows a new key.
  ///
  /// It returns the columns of ``knownOutcome(of:)``, and whether the key was known; nulls where another request with
  /// the key is in progress; or nothing where such a request has just succeeded, in which case the statement must be
  /// retried, and where the key is new and none is allowed.
  ///
  /// The key is inserted first, and the place is created because of it, so that neither exists without the other.
  static let createOnce = Statement(
    "create_once",
    """
    WITH known AS (
      \(knownOutcome(of: "$9::text"))
    ), confirmed AS MATERIALIZED (
      \(confirmation) WHERE EXISTS (SELECT FROM known)
    ), turn AS MATERIALIZED (
      SELECT pg_try_advisory_xact_lock(\(keyLockClass), hashtext($9::text)) AS is_ours
      WHERE NOT EXISTS (SELECT FROM known) AND $12::bool
    ), \(newID(reusingIf: "$11")), new_place AS MATERIALIZED (
      SELECT id, \(VersionStatements.next) AS version FROM turn CROSS JOIN new_id WHERE is_ours
    ), claimed AS (
      INSERT INTO idempotency_keys (key, request_hash, outcome)
      SELECT $9::text, $10::int8, json_build_object('created', id, 'version', version) FROM new_place
      \(replacingExpired)
      RETURNING request_hash, outcome, created_at
    ), inserted AS (
      INSERT INTO points (id, \(PointColumns.draft), version, created_at, updated_at)
      SELECT id, \(PointColumns.draftValues), version, created_at, created_at
      FROM claimed CROSS JOIN new_place
    ), pruned AS (
      \(prune(besides: "$9::text"))
    )
    SELECT request_hash, outcome, created_at, false
    FROM claimed
    UNION ALL
    SELECT request_hash, outcome, created_at, true
    FROM known CROSS JOIN confirmed
    UNION ALL
    SELECT NULL, NULL, NULL, false
    FROM turn
    WHERE NOT is_ours
    """
  )

  /// The statement that replaces or creates a place. Values: id, place, a flag that allows creation, the versions that
  /// may be replaced.
  ///
  /// It returns the resulting place and the effect; `kept` means that the place was unchanged or had none of the
  /// versions. It returns nothing where there is no place and none may be created, and also after a concurrent
  /// creation, in which case the statement must be retried.
  static let put = Statement(
    "put",
    """
    WITH old AS (
      SELECT \(PointColumns.all)
      FROM points
      WHERE id = $1::uuid
      FOR UPDATE
    ), turn AS MATERIALIZED (
      SELECT \(VersionStatements.lock(of: "$1::uuid"))
      WHERE $9::bool AND NOT EXISTS (SELECT FROM old)
    ), inserted AS (
      INSERT INTO points (id, \(PointColumns.draft), version)
      SELECT $1::uuid, \(PointColumns.draftValues), \(VersionStatements.next)
      FROM turn
      ON CONFLICT (id) DO NOTHING
      RETURNING \(PointColumns.all)
    ), updated AS (
      UPDATE points
      SET (\(PointColumns.draft)) = ROW (\(PointColumns.draftValues)),
        version = \(VersionStatements.next(after: "old.version")),
        -- Not before the change that this one had to wait for.
        updated_at = greatest(now(), old.updated_at)
      FROM old
      WHERE points.id = old.id
        AND ($10::int8[] IS NULL OR old.version = ANY ($10::int8[]))
        AND (
          (old.lat, old.long, old.name, old.tags::text) <> ($2::float8, $3::float8, $4::text, $6::json::text)
          OR (old.category, old.source, old.source_id) IS DISTINCT FROM ($5::text, $7::text, $8::text)
        )
      RETURNING \(PointColumns.qualified(PointColumns.all, by: "points"))
    )
    SELECT \(PointColumns.all), 'created' FROM inserted
    UNION ALL
    SELECT \(PointColumns.all), 'updated' FROM updated
    UNION ALL
    SELECT \(PointColumns.all), 'kept' FROM old WHERE NOT EXISTS (SELECT FROM updated)
    """
  )

  /// The statement that deletes a place. Values: id, the versions that may be deleted. It returns the current version
  /// and whether the place was deleted; the version is null where there is no place.
  static let delete = Statement(
    "delete",
    """
    WITH turn AS MATERIALIZED (
      SELECT \(VersionStatements.lock(of: "$1::uuid"))
    ), old AS (
      SELECT id, version
      FROM points
      WHERE id = (SELECT $1::uuid FROM turn)
      FOR UPDATE
    ), deleted AS (
      DELETE FROM points
      USING old
      WHERE points.id = old.id AND ($2::int8[] IS NULL OR old.version = ANY ($2::int8[]))
      RETURNING points.id
    ), confirmed AS MATERIALIZED (
      \(confirmation) WHERE NOT EXISTS (SELECT FROM old)
    )
    SELECT version, EXISTS (SELECT FROM deleted), (\(VersionStatements.pass("old.version")))
    FROM old
    UNION ALL
    SELECT NULL, false, NULL
    FROM confirmed
    """
  )

  /// The maximum number of places in a batch deletion. Each takes a lock on its id, and the server has room for some
  /// thousands of locks.
  static let deleteBatchLength = 250

  /// The statement that deletes places of a data set. Values: the data set's name, and the `source_id` after which to
  /// begin, or null for the beginning. It returns the number of deleted places and the `source_id` after which to
  /// continue, null at the end.
  ///
  /// The places are read in the order of the index of origins, so the cost of a batch doesn't depend on how many places
  /// exist or were deleted before. Like ``delete``, it takes the lock on each id before it locks the row. All
  /// transactions that take several of these locks do so in the order of the locks' numbers. Row locks have no common
  /// order; PostgreSQL resolves a deadlock by rolling back one transaction, which is retried.
  static let deleteBatch = Statement(
    "delete_batch",
    planning: .eachTime,
    """
    WITH batch AS MATERIALIZED (
      SELECT id, source_id
      FROM points
      WHERE source = $1::text AND ($2::text IS NULL OR source_id > $2::text)
      ORDER BY source_id
      LIMIT \(deleteBatchLength)
    ), turns AS MATERIALIZED (
      SELECT id, \(VersionStatements.lock(of: "id"))
      FROM (SELECT id FROM batch ORDER BY uuid_hash(id)) AS sorted
    ), old AS MATERIALIZED (
      SELECT id, version
      FROM points
      WHERE id IN (SELECT id FROM turns) AND source = $1::text
      ORDER BY id
      FOR UPDATE
    ), deleted AS (
      DELETE FROM points
      USING old
      WHERE points.id = old.id
      RETURNING points.id
    ), confirmed AS MATERIALIZED (
      \(confirmation) WHERE NOT EXISTS (SELECT FROM old)
    ), greatest_version AS (
      SELECT coalesce(max(version), 0) AS version FROM old WHERE version < \(PointOfInterest.maximumCountedVersion)
    )
    SELECT
      (SELECT count(*) FROM deleted),
      (SELECT max(source_id) FROM batch HAVING count(*) = \(deleteBatchLength)),
      (SELECT (\(VersionStatements.pass("version"))) FROM greatest_version),
      (SELECT position FROM confirmed)
    """
  )

  /// The name of the constraint that makes the origin of a place unique.
  static let originConstraint = "points_origin"

  /// The name of the constraint that makes the id of a place unique.
  static let idConstraint = "points_pkey"

  /// The first half of the numbers of the locks that are held while the first request with a key is in progress.
  static let keyLockClass = 0x7765

  /// The creation time before which keys have expired.
  static let expiry = "now() - interval '24 hours'"

  /// Returns a query for the outcome of an earlier request with a key: the hash of the request, the outcome and the time.
  static func knownOutcome(of key: String) -> String {
    "SELECT request_hash, outcome, created_at FROM idempotency_keys WHERE key = \(key) AND created_at >= \(expiry)"
  }

  /// The end of an insertion of a key, which replaces one that has expired.
  static let replacingExpired = """
    ON CONFLICT (key) DO UPDATE
    SET request_hash = excluded.request_hash, outcome = excluded.outcome, created_at = excluded.created_at
    WHERE idempotency_keys.created_at < \(expiry)
    """

  /// Returns a statement that deletes a few expired keys, but for one. Each new key does, so that no separate job is
  /// needed.
  static func prune(besides key: String) -> String {
    """
    DELETE FROM idempotency_keys
    WHERE key IN (
      SELECT key
      FROM idempotency_keys
      WHERE created_at < \(expiry) AND key <> \(key)
      ORDER BY created_at
      LIMIT 4
      FOR UPDATE SKIP LOCKED
    )
    """
  }

  /// The statement that returns the outcome of an earlier request with a key, with the columns of
  /// ``knownOutcome(of:)``. Value: key. It also deletes that key if it has expired.
  ///
  /// It updates the key's row without a change: a commit that has written something waits for the standbys, so that the
  /// response to a repeat is as durable as the first one should have been.
  static let outcome = Statement(
    "outcome",
    """
    WITH pruned AS (
      \(prune(besides: "$1::text"))
    ), expired AS (
      DELETE FROM idempotency_keys WHERE key = $1::text AND created_at < \(expiry)
    )
    UPDATE idempotency_keys
    SET request_hash = request_hash
    WHERE key = $1::text AND created_at >= \(expiry)
    RETURNING request_hash, outcome, created_at
    """
  )

  /// A query of one row whose commit waits as that of a write does: for the disk, and for synchronous standbys.
  ///
  /// The rows that a statement finds may have been committed without that wait, because PostgreSQL keeps a commit whose
  /// wait was cancelled or interrupted by a restart. A response that reports them must be as durable as the original
  /// one, but a transaction that has written nothing does not wait. This query writes a message to the write-ahead log
  /// after the rows that it found, so that waiting for the message includes them.
  static let confirmation = "SELECT pg_logical_emit_message(true, 'waymark', '') AS position"
}

extension PostgresStore {
  /// Creates a place under a new id; see ``Points/PointStore/create(_:once:)``.
  ///
  /// - Throws: ``PointWriteError``.
  package func create(
    _ draft: PointDraft, once key: IdempotencyKey?, reusingID reusesID: Bool
  ) async throws(PointWriteError) -> PointOfInterest {
    try await retrying(orThrow: .store(.overloaded)) { () async throws(PointWriteError) in
      var generator = SystemRandomNumberGenerator()
      var parameters = Parameters()
      parameters.add(PointID(at: SystemClock().now(), using: &generator))
      parameters.add(draft)
      guard let key else {
        parameters.add(reusesID)
        guard let row = try await change(WriteStatements.create, parameters)?.rows.first else { return nil }
        return try Self.decoding { () throws(PointStoreError) in try row.point() }
      }
      parameters.add(key.text)
      parameters.add(Int64(bitPattern: key.requestHash))
      parameters.add(reusesID)
      let outcomeBytes = IdempotencyRecord.Outcome.creationBytes
      let mayAdd = hasRoom(forKey: key.text, of: key.client, outcome: outcomeBytes)
      parameters.add(mayAdd)
      guard let result = try await change(WriteStatements.createOnce, parameters) else { return nil }
      guard let row = result.rows.first else {
        if mayAdd { return nil }
        throw .store(.keysExhausted)
      }
      if row.isNull(0) { throw .keyInFlight }
      let isRepeat = try Self.decoding { () throws(PointStoreError) in try row.boolean(3) }
      if !isRepeat { count(key: key.text, of: key.client, outcome: outcomeBytes) }
      return try repeated(key, row) { $0.point(draft) }
    }
  }

  /// Returns what a closure takes from the outcome of an earlier request with a key, in the columns of
  /// ``WriteStatements/knownOutcome(of:)``.
  ///
  /// - Throws: ``PointWriteError``: `keyReused` for another request, and, after a line in the log, if the outcome can't
  ///   be decoded or the closure returns `nil`. The request was done, and must not be done again.
  func repeated<Value>(
    _ key: IdempotencyKey, _ row: QueryResult.Row, _ value: (IdempotencyRecord) -> Value?
  ) throws(PointWriteError) -> Value {
    let (hash, time) = try Self.decoding { () throws(PointStoreError) in (try row.integer(0), try row.timestamp(2)) }
    if UInt64(bitPattern: hash) != key.requestHash { throw .keyReused }
    if Timestamp.storedMicroseconds.contains(time.microsecondsSinceEpoch),
      let outcome = row.optionalText(1).flatMap({ IdempotencyRecord.Outcome(json: $0) }),
      let value = value(IdempotencyRecord(key: key, time: time, outcome: outcome))
    {
      return value
    }
    damagedRows?.note(key: key.text, in: "idempotency_keys", reason: "the outcome is not that of such a request")
    throw .keyReused
  }

  /// Replaces the place with an id, or creates it; see ``Points/PointStore/put(_:id:if:)``.
  ///
  /// - Throws: ``PointWriteError``.
  package func put(
    _ draft: PointDraft,
    id: PointID,
    if condition: WriteCondition
  ) async throws(PointWriteError) -> (point: PointOfInterest, wasCreated: Bool) {
    let mayCreate = condition.holds(of: nil)
    var parameters = Parameters()
    parameters.add(id)
    parameters.add(draft)
    parameters.add(mayCreate)
    parameters.addVersions(condition)
    return try await retrying(orThrow: .store(.overloaded)) { () async throws(PointWriteError) in
      guard let result = try await change(WriteStatements.put, parameters) else { return nil }
      guard let row = result.rows.first else {
        if mayCreate { return nil }
        throw .conditionFailed(currentVersion: nil)
      }
      let (point, outcome) = try Self.decoding { () throws(PointStoreError) in
        (try row.point(), try row.text(PointColumns.count))
      }
      if outcome == "kept", !condition.holds(of: point.version) {
        throw .conditionFailed(currentVersion: point.version)
      }
      return (point, outcome == "created")
    }
  }

  /// Deletes the place with an id; see ``Points/PointStore/delete(id:if:)``.
  ///
  /// - Throws: ``PointWriteError``.
  package func delete(id: PointID, if condition: WriteCondition) async throws(PointWriteError) {
    var parameters = Parameters()
    parameters.add(id)
    parameters.addVersions(condition)
    try await retrying(orThrow: .store(.overloaded)) { () async throws(PointWriteError) -> Void? in
      guard let result = try await change(WriteStatements.delete, parameters) else { return nil }
      guard let row = result.rows.first, !row.isNull(0) else { throw .notFound }
      let (version, wasDeleted) = try Self.decoding { () throws(PointStoreError) in
        (try row.integer(0), try row.boolean(1))
      }
      if !wasDeleted { throw .conditionFailed(currentVersion: version) }
      return ()
    }
  }

  /// Deletes a batch of a data set's places, up to 250; see ``Points/PointStore/deleteBatch(ofSource:after:)``.
  ///
  /// - Throws: ``PointWriteError``.
  package func deleteBatch(
    ofSource source: String, after position: ExactText?
  ) async throws(PointWriteError) -> DeletedBatch {
    var parameters = Parameters()
    parameters.add(source)
    parameters.add(position?.text)
    return try await retrying(orThrow: .store(.overloaded)) { () async throws(PointWriteError) in
      guard let row = try await change(WriteStatements.deleteBatch, parameters)?.rows.first else { return nil }
      return try Self.decoding { () throws(PointStoreError) in
        DeletedBatch(count: Int(try row.integer(0)), next: row.isNull(1) ? nil : ExactText(try row.text(1)))
      }
    }
  }

  /// Runs a statement that writes, once.
  ///
  /// - Returns: the result after the commit; `nil` where the server rolled the statement back because of a concurrent
  ///   transaction, so that it may be retried.
  /// - Throws: ``PointWriteError``, including ``PointStoreError/outcomeUnknown(reason:)`` where the change may have
  ///   been committed.
  private func change(
    _ statement: Statement,
    _ parameters: Parameters
  ) async throws(PointWriteError) -> QueryResult? {
    do {
      let result = try await runOnFollowedServer(statement, parameters)
      notifyOfChanges()
      return result
    } catch .rejected(let error) where error.constraint == WriteStatements.originConstraint {
      throw .originTaken
    } catch .rejected(let error)
      where ["40P01", "40001"].contains(error.sqlState) || error.constraint == WriteStatements.idConstraint
    {
      // Deadlock, serialization failure, or the former id of a place that has just been created under it.
      return nil
    } catch {
      throw .store(await pool.storeError(error))
    }
  }

  func runOnFollowedServer(
    _ statement: Statement, _ parameters: Parameters
  ) async throws(DatabaseError) -> QueryResult {
    let server = try await followClock(again: false)
    do {
      return try await pool.run(statement, parameters, isRead: false, onlyOn: server)
    } catch .wrongServer {
      _ = try await followClock(again: true)
      return try await pool.run(statement, parameters, isRead: false)
    }
  }

  private static func decoding<Value>(_ body: () throws(PointStoreError) -> Value) throws(PointWriteError) -> Value {
    do {
      return try body()
    } catch {
      throw .store(error)
    }
  }
}

extension Parameters {
  /// Adds a draft: latitude, longitude, name, category, tags, source and source id.
  mutating func add(_ draft: PointDraft) {
    add(draft.coordinate.latitude)
    add(draft.coordinate.longitude)
    add(draft.name)
    add(draft.category)
    add(draft.tags.json)
    add(draft.origin?.source)
    add(draft.origin?.sourceID)
  }

  /// Adds a `uuid`.
  mutating func add(_ id: PointID) { add((id.high, id.low)) }

  /// Adds a `uuid`, or null.
  mutating func add(optional id: PointID?) {
    if let id { add(id) } else { add(String?.none) }
  }

  /// Adds a `uuid[]`.
  mutating func add(_ ids: [PointID]) { add(ids.map { (high: $0.high, low: $0.low) }) }

  /// Adds a `timestamptz`.
  mutating func add(_ time: Timestamp) {
    add(time.microsecondsSinceEpoch &- BinaryFormat.microsecondsToPostgresEpoch)
  }

  /// Adds the versions of a place that may be changed, an `int8[]`: null for any, and an empty array if the place must
  /// not exist.
  mutating func addVersions(_ condition: WriteCondition) {
    switch condition {
    case .none, .exists: add(nil as String?)
    case .absent: add([] as [Int64])
    case .versions(let versions): add(versions.sorted())
    }
  }
}

extension BinaryFormat {
  /// Appends an id's 16 bytes.
  static func append(_ id: PointID, to bytes: inout [UInt8]) {
    append(id.high, to: &bytes)
    append(id.low, to: &bytes)
  }
}
