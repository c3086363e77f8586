import Points

/// The SQL that changes one place, or removes a batch of them: each statement a transaction of its own, with its entries in
/// the change log.
///
/// There is no reading first and writing then. A statement locks the row as it is now, whatever its snapshot says, and
/// decides on that: of two that ask for the same version the second finds the next one. Which of the parts did
/// something is what the statement answers.
enum WriteStatements {
  private static let columns = "lat, long, name, category, tags, source, source_id"

  /// Creates a place. Values: id, place.
  static let create = Statement(
    "create",
    """
    WITH inserted AS (
      INSERT INTO points (id, \(columns))
      VALUES ($1::uuid, $2::float8, $3::float8, $4::text, $5::text, $6::json, $7::text, $8::text)
      RETURNING \(PointColumns.all)
    ), \(logged("SELECT id, 'created', version, updated_at FROM inserted"))
    SELECT \(PointColumns.all)
    FROM inserted
    """
  )

  /// Creates a place where the key is not known. Values: id, place, key, hash of the request.
  ///
  /// Answers with the key's hash, whether the key was known, and the place; or with a hash of null where another
  /// request with the key is under way; or with nothing where that one has just become known, when it is to be asked
  /// again.
  ///
  /// The key is claimed first, and the place created from the claim: nothing is there without the other. A few keys
  /// that have expired are forgotten on the way, so that nobody has to come for them.
  static let createOnce = Statement(
    "create_once",
    """
    WITH known AS (
      SELECT request_hash, point_id, \(columns), version, created_at
      FROM idempotency_keys
      WHERE key = $9::text AND created_at >= \(expiry)
    ), confirmed AS MATERIALIZED (
      \(confirmation) WHERE EXISTS (SELECT FROM known)
    ), turn AS MATERIALIZED (
      SELECT pg_try_advisory_xact_lock(\(keyLockClass), hashtext($9::text)) AS is_ours
      WHERE NOT EXISTS (SELECT FROM known)
    ), claimed AS (
      INSERT INTO idempotency_keys (key, request_hash, point_id, \(columns), version, created_at)
      SELECT $9::text, $10::int8, $1::uuid, $2::float8, $3::float8, $4::text, $5::text, $6::json, $7::text,
        $8::text, \(VersionStatements.next), now()
      FROM turn
      WHERE is_ours
      ON CONFLICT (key) DO UPDATE
      SET request_hash = excluded.request_hash, point_id = excluded.point_id, lat = excluded.lat, long = excluded.long,
        name = excluded.name, category = excluded.category, tags = excluded.tags, source = excluded.source,
        source_id = excluded.source_id, version = excluded.version, created_at = excluded.created_at
      WHERE idempotency_keys.created_at < \(expiry)
      RETURNING request_hash, point_id, \(columns), version, created_at
    ), inserted AS (
      INSERT INTO points (id, \(columns), version, created_at, updated_at)
      SELECT point_id, \(columns), version, created_at, created_at
      FROM claimed
      RETURNING \(PointColumns.all)
    ), \(logged("SELECT id, 'created', version, updated_at FROM inserted")), forgotten AS (
      DELETE FROM idempotency_keys
      WHERE key IN (
        SELECT key
        FROM idempotency_keys
        WHERE created_at < \(expiry) AND key <> $9::text
        ORDER BY created_at
        LIMIT 4
        FOR UPDATE SKIP LOCKED
      )
    )
    SELECT \(PointColumns.all), $10::int8, false
    FROM inserted
    UNION ALL
    SELECT point_id, lat, long, name, category, tags, version, created_at, created_at, source, source_id,
      request_hash, true
    FROM known CROSS JOIN confirmed
    UNION ALL
    SELECT $1::uuid, $2::float8, $3::float8, '', NULL, '{}', 1, now(), now(), NULL, NULL, NULL, false
    FROM turn
    WHERE NOT is_ours
    """
  )

  /// Replaces or creates a place. Values: id, place, whether it may be created, which versions may be replaced.
  ///
  /// Answers with the place as it is then and what was done; a place that was neither replaced nor created was just so
  /// or is not of one of the versions. It answers with nothing where there is no place and none may be created, and
  /// also where another was created just now: it is to be asked again then.
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
      INSERT INTO points (id, \(columns), version)
      SELECT $1::uuid, $2::float8, $3::float8, $4::text, $5::text, $6::json, $7::text, $8::text,
        \(VersionStatements.next)
      FROM turn
      ON CONFLICT (id) DO NOTHING
      RETURNING \(PointColumns.all)
    ), updated AS (
      UPDATE points
      SET lat = $2::float8, long = $3::float8, name = $4::text, category = $5::text, tags = $6::json,
        source = $7::text, source_id = $8::text, version = \(VersionStatements.next(after: "old.version")),
        -- Not before the change that this one had to wait for.
        updated_at = greatest(now(), old.updated_at)
      FROM old
      WHERE points.id = old.id
        AND ($10::int8[] IS NULL OR old.version = ANY ($10::int8[]))
        AND (
          (old.lat, old.long, old.name, old.tags::text) <> ($2::float8, $3::float8, $4::text, $6::json::text)
          OR (old.category, old.source, old.source_id) IS DISTINCT FROM ($5::text, $7::text, $8::text)
        )
      RETURNING \(PointColumns.all(of: "points"))
    ), \(logged(
      """
      SELECT id, 'created', version, updated_at FROM inserted
      UNION ALL
      SELECT id, 'updated', version, updated_at FROM updated
      """
    ))
    SELECT \(PointColumns.all), 'created' FROM inserted
    UNION ALL
    SELECT \(PointColumns.all), 'updated' FROM updated
    UNION ALL
    SELECT \(PointColumns.all), 'kept' FROM old WHERE NOT EXISTS (SELECT FROM updated)
    """
  )

  /// Removes a place. Values: id, which versions may be removed. Answers with the version that there was and whether it
  /// was removed; the version is null where there is no place.
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
      RETURNING points.id, points.version, points.updated_at
    ), \(logged("SELECT id, 'deleted', version, greatest(now(), updated_at) FROM deleted")), confirmed AS MATERIALIZED (
      \(confirmation) WHERE NOT EXISTS (SELECT FROM old)
    )
    SELECT version, EXISTS (SELECT FROM deleted), (\(VersionStatements.pass("old.version")))
    FROM old
    UNION ALL
    SELECT NULL, false, NULL
    FROM confirmed
    """
  )

  /// The maximum number of places that are removed at a time. Each takes a lock for its id, and the server has room for
  /// some thousands of locks.
  static let deletedAtOnce = 250

  /// Removes places of a data set. Values: the data set's name, the `source_id` behind which to begin, null to begin at the
  /// first. Returns the number of places that were removed and the `source_id` behind which to go on, null at the end.
  ///
  /// The places come in the order of the index of origins: a batch costs the same however many places there are, and were
  /// removed before it. As ``delete`` does, it takes the lock of each id before it locks the row; all who take several of
  /// those locks do so in one order, that of the locks' numbers. Those who take several rows have no common order, and of
  /// two that wait for each other PostgreSQL undoes one, which is repeated.
  static let deleteBatch = Statement(
    "delete_batch",
    planning: .eachTime,
    """
    WITH batch AS MATERIALIZED (
      SELECT id, source_id
      FROM points
      WHERE source = $1::text AND ($2::text IS NULL OR source_id > $2::text)
      ORDER BY source_id
      LIMIT \(deletedAtOnce)
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
      RETURNING points.id, points.version, points.updated_at
    ), \(logged("SELECT id, 'deleted', version, greatest(now(), updated_at) FROM deleted")), confirmed AS MATERIALIZED (
      \(confirmation) WHERE NOT EXISTS (SELECT FROM old)
    ), greatest_version AS (
      SELECT coalesce(max(version), 0) AS version FROM old WHERE version < \(PointOfInterest.maximumCountedVersion)
    )
    SELECT
      (SELECT count(*) FROM deleted),
      (SELECT max(source_id) FROM batch HAVING count(*) = \(deletedAtOnce)),
      (SELECT (\(VersionStatements.pass("version"))) FROM greatest_version),
      (SELECT position FROM confirmed)
    """
  )

  /// The constraint that says that an origin is one place's.
  static let originConstraint = "points_origin"

  /// The first half of the numbers of the locks that are held while a key's first request is under way.
  static let keyLockClass = 0x7765

  /// Keys made before this have expired.
  static let expiry = "now() - interval '24 hours'"

  /// Gives one row and has the commit wait as that of a write does: for the disk, and for the standbys that the server
  /// is set to wait for.
  ///
  /// What a statement finds may be there without having been waited for: PostgreSQL keeps a commit whose wait was
  /// cancelled or cut short by a restart. An answer that tells of it as done must be as durable as the first one, but a
  /// transaction that has written nothing waits for nothing. This one writes a message to the write-ahead log, behind
  /// what it found; waiting for one is waiting for both.
  private static let confirmation = "SELECT pg_logical_emit_message(true, 'waymark', '') AS position"

  /// The parts of a statement that write to the change log what a query gives: id, kind, version and time.
  private static func logged(_ changes: String) -> String {
    """
    changed (point_id, kind, version, time) AS (
      \(changes)
    ), announced AS MATERIALIZED (
      \(ChangeStatements.announcement) WHERE EXISTS (SELECT FROM changed)
    ), logged AS (
      INSERT INTO changes (point_id, kind, version, time)
      SELECT point_id, kind, version, time
      FROM changed CROSS JOIN announced
    )
    """
  }
}
