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

  /// The beginning of the statement that forgets what was known of a place before it is created: the deletion of a
  /// place with its origin, and the edits of its id.
  private static let forgetEdits = """
    DELETE FROM edits
    WHERE (id = (SELECT id FROM new_id)
      OR field = \(EditStatements.deletion) AND source = $7::text AND source_id = $8::text)
    """

  /// Returns the query for the id of the place with the origin of a draft that a client has deleted, unless another place
  /// has the origin now. Values: id, place, and the flag.
  ///
  /// - Parameter flag: the flag of a write as the data set, which does not bring the place back.
  private static func deletedByClient(if flag: String) -> String {
    """
    SELECT id
    FROM edits
    WHERE \(flag)::bool AND field = \(EditStatements.deletion) AND source = $7::text AND source_id = $8::text
      AND NOT EXISTS (SELECT FROM points WHERE points.source = $7::text AND points.source_id = $8::text)
    LIMIT 1
    """
  }

  /// The statement that creates a place. Values: id, place, a flag that allows the id of a deleted place, and one for a
  /// write as the data set. It returns the place, or the id of that which a client has deleted and which stays deleted.
  static let create = Statement(
    "create",
    """
    WITH \(newID(reusingIf: "$9")), refused AS MATERIALIZED (
      \(deletedByClient(if: "$10"))
    ), forgotten AS (
      \(forgetEdits) AND NOT EXISTS (SELECT FROM refused)
    ), inserted AS (
      INSERT INTO points (id, \(PointColumns.draft), version)
      SELECT id, \(PointColumns.draftValues), \(VersionStatements.next)
      FROM new_id
      WHERE NOT EXISTS (SELECT FROM refused)
      RETURNING \(PointColumns.all)
    )
    SELECT \(PointColumns.all), NULL::uuid FROM inserted
    UNION ALL
    SELECT \(PointColumns.nulls), id FROM refused
    """
  )

  /// The statement that creates a place if its idempotency key is new. Values: id, place, key, hash of the request, a
  /// flag that allows the id of a deleted place, one that allows a new key, and one for a write as the data set.
  ///
  /// It returns the columns of ``knownOutcome(of:)``, whether the key was known, and the id of a place that a client has
  /// deleted and which stays deleted; nulls where another request with the key is in progress; or nothing where such a request has just succeeded, in which case the statement must be
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
    ), \(newID(reusingIf: "$11")), refused AS MATERIALIZED (
      \(deletedByClient(if: "$13"))
    ), new_place AS MATERIALIZED (
      SELECT id, \(VersionStatements.next) AS version
      FROM turn CROSS JOIN new_id
      WHERE is_ours AND NOT EXISTS (SELECT FROM refused)
    ), claimed AS (
      INSERT INTO idempotency_keys (key, request_hash, outcome)
      SELECT $9::text, $10::int8, json_build_object('created', id, 'version', version) FROM new_place
      \(replacingExpired)
      RETURNING request_hash, outcome, created_at
    ), inserted AS (
      INSERT INTO points (id, \(PointColumns.draft), version, created_at, updated_at)
      SELECT id, \(PointColumns.draftValues), version, created_at, created_at
      FROM claimed CROSS JOIN new_place
    ), forgotten AS (
      \(forgetEdits) AND EXISTS (SELECT FROM claimed)
    ), pruned AS (
      \(prune(besides: "$9::text"))
    )
    SELECT request_hash, outcome, created_at, false, NULL::uuid
    FROM claimed
    UNION ALL
    SELECT request_hash, outcome, created_at, true, NULL
    FROM known CROSS JOIN confirmed
    UNION ALL
    SELECT NULL, NULL, NULL, false, CASE WHEN is_ours THEN refused.id END
    FROM turn LEFT JOIN refused ON true
    WHERE NOT is_ours OR refused.id IS NOT NULL
    """
  )

  /// The statement that replaces or creates a place. Values: id, place, a flag that allows creation, the versions that
  /// may be replaced, a flag for the changes of a client, which are edits, the maximum number of edits, and a flag for a
  /// write as the data set, which leaves a place of the same origin as it is if it has edits.
  ///
  /// It returns the resulting place and the effect; `kept` means that the place was unchanged or had none of the
  /// versions, `full` that there is no room for its edits, `edited` that it was left as it is because of its edits,
  /// `deleted`, with the id of a place that a client has deleted, that it stays deleted, and `busy`, without a place, that
  /// the statement must be retried, because it has waited for a change whose edits it does not see. It returns nothing where there is no place and none may be created, and also after a concurrent creation,
  /// in which case it must be retried too.
  ///
  /// An edit that another transaction has made while the statement waited stays, also if the place has the base again:
  /// the next import forgets it.
  static let put = Statement(
    "put",
    """
    WITH draft AS (
      SELECT * FROM (VALUES (\(PointColumns.draftValues))) AS draft (\(PointColumns.draft))
    ), known AS MATERIALIZED (
      SELECT version FROM points WHERE id = $1::uuid
    ), old AS MATERIALIZED (
      SELECT \(PointColumns.all)
      FROM points
      WHERE id = $1::uuid
      FOR UPDATE
    ), turn AS MATERIALIZED (
      SELECT \(VersionStatements.lock(of: "$1::uuid"))
      WHERE $9::bool AND NOT EXISTS (SELECT FROM known) AND NOT EXISTS (SELECT FROM old)
    ), change AS MATERIALIZED (
      SELECT old.id, old.source, old.source_id,
        (old.source, old.source_id) IS NOT DISTINCT FROM (draft.source, draft.source_id) AS keeps_origin,
        (old.lat, old.long, old.name, old.tags::text) <> (draft.lat, draft.long, draft.name, draft.tags::text)
          OR (old.category, old.source, old.source_id) IS DISTINCT FROM (draft.category, draft.source, draft.source_id)
          AS is_change,
        old.version = (SELECT version FROM known) AS sees_edits,
        $13::bool AND (old.source, old.source_id) = (draft.source, draft.source_id)
          AND (old.version <> (SELECT version FROM known) OR EXISTS (SELECT FROM edits WHERE edits.id = old.id))
          AS is_edited
      FROM old CROSS JOIN draft
      WHERE $10::int8[] IS NULL OR old.version = ANY ($10::int8[])
    ), refused AS MATERIALIZED (
      SELECT id
      FROM (\(deletedByClient(if: "$13"))) AS deleted
      WHERE EXISTS (SELECT FROM turn) OR EXISTS (SELECT FROM change WHERE NOT keeps_origin AND sees_edits)
    ), inserted AS (
      INSERT INTO points (id, \(PointColumns.draft), version)
      SELECT $1::uuid, \(PointColumns.draftValues), \(VersionStatements.next)
      FROM turn
      WHERE NOT EXISTS (SELECT FROM refused)
      ON CONFLICT (id) DO NOTHING
      RETURNING \(PointColumns.all)
    ), fields AS MATERIALIZED (
      SELECT difference.*
      FROM change JOIN old USING (id) CROSS JOIN draft
      CROSS JOIN LATERAL (\(EditStatements.differences(of: "draft", from: "old"))) AS difference
      WHERE $11::bool AND change.source IS NOT NULL AND keeps_origin
    ), room AS MATERIALIZED (
      SELECT \(EditStatements.hasRoom(for: "$1::uuid", "count", maximum: "$12::int8")) AS is_enough
      FROM (SELECT count(*) AS count FROM fields) AS added
    ), updated AS (
      UPDATE points
      SET (\(PointColumns.draft)) = ROW (\(PointColumns.draftValues)),
        version = \(VersionStatements.next(after: "old.version")),
        -- Not before the change that this one had to wait for.
        updated_at = greatest(now(), old.updated_at)
      FROM old JOIN change USING (id) CROSS JOIN room
      WHERE points.id = old.id AND is_change AND is_enough AND (keeps_origin OR sees_edits) AND is_edited IS NOT TRUE
        AND NOT EXISTS (SELECT FROM refused)
      RETURNING \(PointColumns.qualified(PointColumns.all, by: "points"))
    ), undone AS (
      -- Not an edit that an import has forgotten while the statement waited: the new value is an edit then.
      DELETE FROM edits
      USING updated CROSS JOIN fields
      WHERE edits.id = updated.id AND edits.field = fields.field AND \(EditStatements.isBase(of: "edits", "fields"))
      RETURNING edits.field
    ), noted AS (
      INSERT INTO edits (id, field, source, source_id, base, base_lat, base_long, since)
      SELECT updated.id, fields.field, updated.source, updated.source_id, base, base_lat, base_long, now()
      FROM fields CROSS JOIN updated
      WHERE field NOT IN (SELECT field FROM undone)
      ON CONFLICT (id, field) DO UPDATE SET since = excluded.since, is_conflict = false
    ), confirmed AS (
      UPDATE edits
      SET since = now(), is_conflict = false
      FROM change
      WHERE edits.id = change.id AND is_conflict AND $11::bool AND NOT is_change
    ), ended AS (
      DELETE FROM edits
      USING updated JOIN change USING (id)
      WHERE edits.id = updated.id AND (NOT keeps_origin OR edits.field = \(EditStatements.deletion))
    ), forgotten AS (
      DELETE FROM edits
      WHERE (EXISTS (SELECT FROM inserted) AND id = $1::uuid
        OR field = \(EditStatements.deletion) AND source = $7::text AND source_id = $8::text)
        AND (EXISTS (SELECT FROM inserted) OR EXISTS (SELECT FROM updated))
    )
    SELECT \(PointColumns.all), 'created', NULL::uuid FROM inserted
    UNION ALL
    SELECT \(PointColumns.all), 'updated', NULL FROM updated
    UNION ALL
    SELECT \(PointColumns.all), CASE
      WHEN EXISTS (SELECT FROM change WHERE is_edited) THEN 'edited' WHEN is_enough THEN 'kept' ELSE 'full'
    END, NULL
    FROM old CROSS JOIN room
    WHERE NOT EXISTS (SELECT FROM updated) AND NOT EXISTS (SELECT FROM refused)
      AND NOT EXISTS (SELECT FROM change WHERE is_change AND NOT keeps_origin AND NOT sees_edits)
    UNION ALL
    SELECT \(PointColumns.nulls), 'deleted', id FROM refused
    UNION ALL
    SELECT \(PointColumns.nulls), 'busy', NULL
    FROM known
    WHERE NOT EXISTS (SELECT FROM old)
      OR EXISTS (SELECT FROM change WHERE is_change AND NOT keeps_origin AND NOT sees_edits)
    """
  )

  /// The statement that deletes a place. Values: id, the versions that may be deleted, and the maximum number of edits.
  /// It returns the current version, and whether the place was deleted; the version is null where there is no place. It
  /// returns nothing after a concurrent change, in which case the statement must be retried.
  ///
  /// A deletion for which there is no room among the edits is made too, and not noted.
  static let delete = Statement(
    "delete",
    """
    WITH turn AS MATERIALIZED (
      SELECT \(VersionStatements.lock(of: "$1::uuid"))
    ), known AS MATERIALIZED (
      SELECT version FROM points WHERE id = $1::uuid
    ), locked AS MATERIALIZED (
      SELECT id, version, source, source_id
      FROM points
      WHERE id = (SELECT $1::uuid FROM turn)
      FOR UPDATE
    ), old AS MATERIALIZED (
      -- None if the statement has waited for a change, whose edits it does not see.
      SELECT * FROM locked WHERE source IS NULL OR version = (SELECT version FROM known)
    ), room AS MATERIALIZED (
      SELECT \(EditStatements.hasRoom(for: "$1::uuid", "count", maximum: "$3::int8")) AS is_enough
      FROM (SELECT count(*) AS count FROM old WHERE source IS NOT NULL) AS added
    ), deleted AS (
      DELETE FROM points
      USING old
      WHERE points.id = old.id AND ($2::int8[] IS NULL OR old.version = ANY ($2::int8[]))
      RETURNING points.id, points.source, points.source_id
    ), noted AS (
      \(noteDeletions) SELECT id, \(EditStatements.deletion), source, source_id, now()
      FROM deleted CROSS JOIN room
      WHERE source IS NOT NULL AND is_enough
      \(replacingDeletions)
    ), undone AS (
      DELETE FROM edits USING deleted WHERE edits.id = deleted.id AND field <> \(EditStatements.deletion)
    ), confirmed AS MATERIALIZED (
      \(confirmation) WHERE NOT EXISTS (SELECT FROM locked)
    )
    SELECT version, EXISTS (SELECT FROM deleted), (\(VersionStatements.pass("old.version")))
    FROM old
    UNION ALL
    SELECT NULL, false, NULL
    FROM confirmed
    """
  )

  /// The beginning of an insertion of deletions.
  static let noteDeletions = "INSERT INTO edits (id, field, source, source_id, since)"

  /// The end of an insertion of deletions.
  static let replacingDeletions = """
    ON CONFLICT (id, field) DO UPDATE
    SET source = excluded.source, source_id = excluded.source_id, since = excluded.since
    """

  /// The maximum number of places in a batch deletion. Each takes a lock on its id, and the server has room for some
  /// thousands of locks.
  static let deleteBatchLength = 250

  /// The statement that deletes places of a data set. Values: the data set's name, and the `source_id` after which to
  /// begin, or null for the beginning. It returns the number of deleted places and the `source_id` after which to
  /// continue, null at the end. The last batch forgets the deletions of before, and edits of places that no longer exist.
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
    ), forgotten AS (
      DELETE FROM edits USING deleted WHERE edits.id = deleted.id
    ), forgotten_others AS (
      DELETE FROM edits
      WHERE source = $1::text AND (SELECT count(*) FROM batch) < \(deleteBatchLength)
        AND NOT EXISTS (SELECT FROM points WHERE points.id = edits.id)
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
  /// Creates a place under a new id; see ``Points/PointStore/create(_:once:reusingID:as:)``.
  ///
  /// - Throws: ``PointWriteError``.
  package func create(
    _ draft: PointDraft, once key: IdempotencyKey?, reusingID reusesID: Bool, as author: WriteAuthor
  ) async throws(PointWriteError) -> PointOfInterest {
    try await retrying(orThrow: .store(.overloaded)) { () async throws(PointWriteError) in
      var generator = SystemRandomNumberGenerator()
      var parameters = Parameters()
      parameters.add(PointID(at: SystemClock().now(), using: &generator))
      parameters.add(draft)
      guard let key else {
        parameters.add(reusesID)
        parameters.add(author == .source)
        guard let row = try await change(WriteStatements.create, parameters)?.rows.first else { return nil }
        try Self.checkDeletion(row, PointColumns.count)
        return try Self.decoding { () throws(PointStoreError) in try row.point() }
      }
      parameters.add(key.text)
      parameters.add(Int64(bitPattern: key.requestHash))
      parameters.add(reusesID)
      let outcomeBytes = IdempotencyRecord.Outcome.creationBytes
      let mayAdd = hasRoom(forKey: key.text, of: key.client, outcome: outcomeBytes)
      parameters.add(mayAdd)
      parameters.add(author == .source)
      guard let result = try await change(WriteStatements.createOnce, parameters) else { return nil }
      guard let row = result.rows.first else {
        if mayAdd { return nil }
        throw .store(.keysExhausted)
      }
      try Self.checkDeletion(row, 4)
      if row.isNull(0) { throw .keyInFlight }
      let isRepeat = try Self.decoding { () throws(PointStoreError) in try row.boolean(3) }
      if !isRepeat { count(key: key.text, of: key.client, outcome: outcomeBytes) }
      return try repeated(key, row) { $0.point(draft) }
    }
  }

  /// Checks that a column has no id of a place that a client has deleted.
  ///
  /// - Throws: ``PointWriteError/deletedByClient(id:)``.
  private static func checkDeletion(_ row: QueryResult.Row, _ column: Int32) throws(PointWriteError) {
    if row.isNull(column) { return }
    throw .deletedByClient(id: try decoding { () throws(PointStoreError) in try row.id(column) })
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

  /// Replaces the place with an id, or creates it; see ``Points/PointStore/put(_:id:if:as:)``.
  ///
  /// - Throws: ``PointWriteError``.
  package func put(
    _ draft: PointDraft, id: PointID, if condition: WriteCondition, as author: WriteAuthor
  ) async throws(PointWriteError) -> (point: PointOfInterest, wasCreated: Bool) {
    let parameters = putParameters(draft, id: id, if: condition, by: author)
    let outcome = try await retrying(orThrow: .store(.overloaded)) { () async throws(PointWriteError) -> PutOutcome? in
      guard let result = try await change(WriteStatements.put, parameters) else { return nil }
      return try Self.outcome(ofPut: result, condition)
    }
    switch outcome {
    case .put(let point, let wasCreated): return (point, wasCreated)
    case .edited: return try await putMerging(draft, id: id, if: condition)
    }
  }

  /// The outcome of ``WriteStatements/put``.
  enum PutOutcome {
    case put(PointOfInterest, wasCreated: Bool)
    /// The place was left as it is, because it has edits.
    case edited
  }

  /// Returns the values of ``WriteStatements/put``.
  ///
  /// - Parameter author: who changes the place; `nil` for a change of values that are merged with the edits already.
  func putParameters(
    _ draft: PointDraft, id: PointID, if condition: WriteCondition, by author: WriteAuthor?
  ) -> Parameters {
    Parameters {
      $0.add(id)
      $0.add(draft)
      $0.add(condition.holds(of: nil))
      $0.addVersions(condition)
      $0.add(author == .client)
      $0.add(Int64(maximumEdits))
      $0.add(author == .source)
    }
  }

  /// Returns the outcome of ``WriteStatements/put``; `nil` if it must be retried.
  static func outcome(
    ofPut result: QueryResult, _ condition: WriteCondition
  ) throws(PointWriteError) -> PutOutcome? {
    guard let row = result.rows.first else {
      if condition.holds(of: nil) { return nil }
      throw .conditionFailed(currentVersion: nil)
    }
    let outcome = try decoding { () throws(PointStoreError) in try row.text(PointColumns.count) }
    if outcome == "busy" { return nil }
    if outcome == "full" { throw .store(.editsExhausted) }
    if outcome == "edited" { return .edited }
    try checkDeletion(row, PointColumns.count + 1)
    let point = try decoding { () throws(PointStoreError) in try row.point() }
    if outcome == "kept", !condition.holds(of: point.version) {
      throw .conditionFailed(currentVersion: point.version)
    }
    return .put(point, wasCreated: outcome == "created")
  }

  /// Deletes the place with an id; see ``Points/PointStore/delete(id:if:)``.
  ///
  /// - Throws: ``PointWriteError``.
  package func delete(id: PointID, if condition: WriteCondition) async throws(PointWriteError) {
    var parameters = Parameters()
    parameters.add(id)
    parameters.addVersions(condition)
    parameters.add(Int64(maximumEdits))
    try await retrying(orThrow: .store(.overloaded)) { () async throws(PointWriteError) -> Void? in
      guard let row = try await change(WriteStatements.delete, parameters)?.rows.first else { return nil }
      if row.isNull(0) { throw .notFound }
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
