import Basics
import Geo
package import Points
import PostgresClient
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The SQL of an import. All statements run on one connection, in one transaction.
///
/// Rows are staged in a temporary table as they arrive. Set operations then classify them against the existing places
/// and against later rows.
enum ImportStatements {
  /// The statement that serializes imports by an advisory lock with an arbitrary number.
  static let lock = "SELECT pg_advisory_xact_lock(8602447712365544707)"

  /// The definition of the staging tables: the rows, and the fields of those files that have not all fields.
  static let createStage = """
    CREATE TEMPORARY TABLE import_rows (
      row_number bigint NOT NULL,
      id uuid,
      new_id uuid,
      former_id uuid,
      given integer,
      lat double precision NOT NULL,
      long double precision NOT NULL,
      name text COLLATE "C" NOT NULL,
      category text COLLATE "C",
      tags json NOT NULL,
      source text COLLATE "C",
      source_id text COLLATE "C"
    ) ON COMMIT DROP;
    CREATE TEMPORARY TABLE import_given (
      number integer NOT NULL,
      has_category boolean NOT NULL,
      tag_keys text[]
    ) ON COMMIT DROP
    """

  static let stage = "COPY import_rows (\(CopyRows.columns)) FROM STDIN (FORMAT binary)"

  /// The statement that adds the fields of a file. Values: their number, whether there is a category, and the keys of
  /// the tags, null for any.
  static let addGiven = "INSERT INTO import_given VALUES ($1::int8, $2::boolean, $3::text[])"

  static let analyzeStage = "ANALYZE import_rows"

  // MARK: Judgement

  /// The statement that finds the places that rows mean by their id or their origin.
  static let findCandidates = """
    CREATE TEMPORARY TABLE import_judged (id uuid NOT NULL, is_admitted boolean NOT NULL) ON COMMIT DROP;
    CREATE TEMPORARY TABLE import_candidates ON COMMIT DROP AS
    SELECT points.id
    FROM import_rows AS r JOIN points USING (id)
    UNION ALL
    SELECT points.id
    FROM import_rows AS r JOIN points USING (source, source_id)
    """

  /// The statement that adds the places of a data set. Value: its name.
  static let addCandidatesOfSource = "INSERT INTO import_candidates SELECT id FROM points WHERE source = $1::text"

  static let addCandidatesOfRemovals = "INSERT INTO import_candidates SELECT id FROM import_removals"

  static let analyzeCandidates = "ANALYZE import_candidates"

  /// The query for the places to judge. They stay as they are until the transaction ends.
  static let candidates = """
    SELECT \(PointColumns.all)
    FROM points
    WHERE id IN (SELECT id FROM import_candidates)
    FOR UPDATE
    """

  /// The statement that keeps the decision on places. Values: the ids, and whether they are admitted.
  static let addJudged = "INSERT INTO import_judged SELECT unnest($1::uuid[]), $2::boolean"

  static let analyzeJudged = "ANALYZE import_judged"

  /// The places that are judged and admitted, in place of all. A place that another transaction has created since is
  /// none of them: to create it again violates a constraint, so that the merge is attempted again.
  static let admittedPlaces = "(SELECT points.* FROM points JOIN import_judged USING (id) WHERE is_admitted) AS points"

  /// The statement that rejects the rows with the id or the origin of a place that is not admitted. Values: the reason
  /// for an id, and that for an origin.
  static let rejectTaken = """
    WITH hidden AS NOT MATERIALIZED (SELECT id FROM import_judged WHERE NOT is_admitted)
    INSERT INTO import_rejected (row_number, reason)
    SELECT row_number, CASE WHEN same_id.id IS NULL THEN $2::text ELSE $1::text END
    FROM import_rows AS r
    LEFT JOIN hidden AS same_id ON same_id.id = r.id
    LEFT JOIN (SELECT id, source, source_id FROM points JOIN hidden USING (id)) AS same_origin
      ON same_origin.source = r.source AND same_origin.source_id = r.source_id
    WHERE coalesce(same_id.id, same_origin.id) IS NOT NULL AND \(isNotRejected)
    """

  /// The condition on a row `r` that it is not rejected yet.
  static let isNotRejected =
    "NOT EXISTS (SELECT FROM import_rejected WHERE import_rejected.row_number = r.row_number)"

  /// The query for the places as rows create or change them, each with the number of its row.
  static let changes = """
    SELECT coalesce(target, r.id, new_id), r.lat, r.long, r.name, r.category, r.tags,
      coalesce(points.version, 1), coalesce(points.created_at, now()), greatest(points.updated_at, now()),
      r.source, r.source_id, row_number
    FROM import_rows AS r LEFT JOIN import_matches USING (row_number) LEFT JOIN points ON points.id = target
    WHERE is_unchanged IS NOT TRUE AND \(isNotRejected)
    """

  /// The statement that rejects rows. Values: their numbers, and the reason.
  static let reject = "INSERT INTO import_rejected (row_number, reason) SELECT unnest($1::int8[]), $2::text"

  static let analyzeRejected = "ANALYZE import_rejected"

  static let dropRejectedMatches = """
    DELETE FROM import_matches USING import_rejected WHERE import_matches.row_number = import_rejected.row_number
    """

  // MARK: Merging

  /// Returns the statement that joins rows with the places of the same origin (source and source id).
  static func findOwners(among places: String) -> String {
    """
    CREATE TEMPORARY TABLE import_owners ON COMMIT DROP AS
    SELECT row_number, points.id AS owner
    FROM import_rows
    JOIN \(places) ON points.source = import_rows.source AND points.source_id = import_rows.source_id;
    ANALYZE import_owners
    """
  }

  /// Returns the statement that joins rows of new origins with the places that no row means and that they have a record
  /// in common with (``ImportRemoval/recordKey``). Rejected rows are left out. Values: the data set's name, and the key
  /// of the tag.
  static func findMoved(among places: String) -> String {
    """
    INSERT INTO import_owners
    WITH counting AS NOT MATERIALIZED (
      SELECT row_number, id, source, source_id, tags, owner
      FROM import_rows AS r LEFT JOIN import_owners USING (row_number)
      WHERE \(isNotRejected)
    ), row_records AS (
      SELECT row_number, record
      FROM counting
      CROSS JOIN LATERAL string_to_table(tags ->> $2::text, ';') AS record
      WHERE source = $1::text AND id IS NULL AND owner IS NULL
    ), place_records AS (
      SELECT id, record
      FROM \(places)
      CROSS JOIN LATERAL string_to_table(tags ->> $2::text, ';') AS record
      WHERE source = $1::text
        AND NOT EXISTS (SELECT FROM counting WHERE counting.owner = points.id)
        AND NOT EXISTS (SELECT FROM counting WHERE counting.id = points.id)
        AND NOT EXISTS (SELECT FROM import_kept WHERE import_kept.id = points.id)
    ), pairs AS (
      SELECT DISTINCT row_number, id FROM row_records JOIN place_records USING (record) WHERE record <> ''
    ), counted AS (
      SELECT row_number, id,
        count(*) OVER (PARTITION BY row_number) AS places, count(*) OVER (PARTITION BY id) AS rows
      FROM pairs
    )
    SELECT row_number, id FROM counted WHERE places = 1 AND rows = 1
    """
  }

  /// The statement that finds the ids of deleted places for rows of the same origin that have no id of their own.
  static let findFormerIDs = """
    UPDATE import_rows
    SET former_id = former.id
    FROM (
      SELECT DISTINCT ON (former_ids.id) former_ids.id, former_ids.source, former_ids.source_id
      FROM former_ids
      JOIN import_rows AS r ON r.source = former_ids.source AND r.source_id = former_ids.source_id
      WHERE r.id IS NULL
        AND NOT EXISTS (SELECT FROM points WHERE points.id = former_ids.id)
        AND NOT EXISTS (SELECT FROM import_rows AS other WHERE other.id = former_ids.id)
      ORDER BY former_ids.id, former_ids.source, former_ids.source_id
    ) AS former
    WHERE import_rows.source = former.source AND import_rows.source_id = former.source_id AND import_rows.id IS NULL
    """

  /// The statement that finds the rows that share their id, their place or their origin with another row. It compares
  /// hashes, because few of many rows do; a hash collision of different origins does no harm.
  static let findConflicting = """
    CREATE TEMPORARY TABLE import_conflicts ON COMMIT DROP AS
    WITH keyed AS NOT MATERIALIZED (
      SELECT row_number, coalesce(id, owner) AS key, source, source_id,
        hashtextextended(source_id, hashtext(source)) AS origin
      FROM import_rows LEFT JOIN import_owners USING (row_number)
    )
    SELECT row_number, key, source, source_id, NULL::boolean AS is_kept, NULL::bigint AS superseded_by
    FROM keyed
    WHERE key IN (SELECT key FROM keyed WHERE key IS NOT NULL GROUP BY key HAVING count(*) > 1)
      OR origin IN (SELECT origin FROM keyed WHERE source IS NOT NULL GROUP BY origin HAVING count(*) > 1)
    """

  /// The statement that removes each row whose next row with the same id and origin has the same values.
  static let removeDuplicates = """
    WITH following AS (
      SELECT row_number,
        lead(row_number) OVER (PARTITION BY id, r.source, r.source_id ORDER BY row_number) AS next_number
      FROM import_rows AS r JOIN import_conflicts USING (row_number)
    ), duplicates AS MATERIALIZED (
      SELECT r.row_number
      FROM following
      JOIN import_rows AS r USING (row_number)
      JOIN import_rows AS next ON next.row_number = next_number
      WHERE (r.lat, r.long, r.name, r.tags::text) = (next.lat, next.long, next.name, next.tags::text)
        AND r.category IS NOT DISTINCT FROM next.category
    ), conflicts AS (
      DELETE FROM import_conflicts USING duplicates WHERE import_conflicts.row_number = duplicates.row_number
    ), owners AS (
      DELETE FROM import_owners USING duplicates WHERE import_owners.row_number = duplicates.row_number
    )
    DELETE FROM import_rows USING duplicates WHERE import_rows.row_number = duplicates.row_number
    """

  /// The statement that keeps each unresolved row that is the last of its id or place and the last of its origin.
  static let keepLast = """
    UPDATE import_conflicts AS row
    SET is_kept = true
    FROM (
      SELECT row_number,
        max(row_number) OVER (PARTITION BY key) AS last_of_key,
        max(row_number) OVER (PARTITION BY source, source_id) AS last_of_origin
      FROM import_conflicts
      WHERE is_kept IS NULL
    ) AS last
    WHERE row.row_number = last.row_number
      AND (row.key IS NULL OR row.row_number = last_of_key)
      AND (row.source IS NULL OR row.row_number = last_of_origin)
    """

  /// The statement that rejects the rows that share an id, a place or an origin with a kept row.
  static let supersede = """
    UPDATE import_conflicts AS row
    SET is_kept = false, superseded_by = coalesce(same_key, same_origin)
    FROM (
      SELECT unresolved.row_number, same_key.row_number AS same_key, same_origin.row_number AS same_origin
      FROM import_conflicts AS unresolved
      LEFT JOIN import_conflicts AS same_key ON same_key.is_kept AND same_key.key = unresolved.key
      LEFT JOIN import_conflicts AS same_origin ON same_origin.is_kept
        AND same_origin.source = unresolved.source AND same_origin.source_id = unresolved.source_id
      WHERE unresolved.is_kept IS NULL
    ) AS kept
    WHERE row.row_number = kept.row_number AND coalesce(same_key, same_origin) IS NOT NULL
    """

  static let countUnresolved = "SELECT count(*) FROM import_conflicts WHERE is_kept IS NULL"

  /// The statement that finds the rejected rows: superseded ones, and those whose origin belongs to a place with
  /// another id.
  static let findRejected = """
    CREATE TEMPORARY TABLE import_rejected ON COMMIT DROP AS
    SELECT row_number, superseded_by, NULL::text AS reason
    FROM import_conflicts
    WHERE is_kept IS NOT TRUE
    UNION ALL
    SELECT row_number, NULL, NULL
    FROM import_rows JOIN import_owners USING (row_number)
    WHERE id <> owner AND row_number NOT IN (SELECT row_number FROM import_conflicts WHERE is_kept IS NOT TRUE);
    ANALYZE import_rejected
    """

  static let countRejected = "SELECT count(*) FROM import_rejected"

  static let firstRejected = """
    SELECT row_number, superseded_by, reason
    FROM import_rejected
    ORDER BY row_number
    LIMIT $1::int8
    """

  /// Returns the condition that a place has the values of a row `r`.
  static func isUnchanged(_ place: String) -> String {
    """
    (\(place).lat, \(place).long, \(place).name, \(place).tags::text) = (r.lat, r.long, r.name, r.tags::text)
      AND (\(place).category, \(place).source, \(place).source_id)
        IS NOT DISTINCT FROM (r.category, r.source, r.source_id)
    """
  }

  /// Returns the statement that finds the rows that match an existing place, and whether the place is unchanged.
  static func findMatches(among places: String) -> String {
    """
    CREATE TEMPORARY TABLE import_matches ON COMMIT DROP AS
    SELECT row_number, r.ctid AS row_tid, points.id AS target, points.version, \(isUnchanged("points")) AS is_unchanged
    FROM import_rows AS r
    LEFT JOIN import_owners USING (row_number)
    JOIN \(places) ON points.id = coalesce(r.id, owner)
    WHERE NOT EXISTS (SELECT FROM import_rejected WHERE import_rejected.row_number = r.row_number);
    ANALYZE import_matches
    """
  }

  /// The statement that locks the places that rows change, and forgets the matches.
  static let lockMatches = """
    SELECT count(*)
    FROM (
      SELECT FROM points WHERE id IN (SELECT target FROM import_matches WHERE NOT is_unchanged) ORDER BY id FOR UPDATE
    ) AS locked;
    DROP TABLE import_matches
    """

  static let countMatches = """
    SELECT count(*), count(*) FILTER (WHERE is_unchanged), (SELECT count(*) FROM import_rows)
    FROM import_matches
    """

  // MARK: Exclusive imports

  static let lockOutAll = "LOCK TABLE points IN ACCESS EXCLUSIVE MODE"

  /// The query that returns whether there are places or edits, and whether the role may change the table.
  static let canBeExclusive = """
    SELECT EXISTS (SELECT FROM points) OR EXISTS (SELECT FROM edits), pg_has_role(relowner, 'USAGE')
    FROM pg_class
    WHERE oid = 'points'::regclass
    """

  /// The query for the statements that drop each index of the places, and those that create them again.
  static let indexes = """
    SELECT
      coalesce('ALTER TABLE points DROP CONSTRAINT ' || quote_ident(conname), 'DROP INDEX ' || indexrelid::regclass),
      coalesce(
        'ALTER TABLE points ADD CONSTRAINT ' || quote_ident(conname) || ' ' || pg_get_constraintdef(pg_constraint.oid),
        pg_get_indexdef(indexrelid))
    FROM pg_index LEFT JOIN pg_constraint ON conrelid = indrelid AND conindid = indexrelid
    WHERE indrelid = 'points'::regclass
    ORDER BY indexrelid
    """

  static let settingsOfIndexes = "SET LOCAL maintenance_work_mem = '512MB'"

  /// The statements that log a reset instead of each place that is inserted: who followed the empty table reads all of
  /// it again in either case.
  static let logReset = "TRUNCATE points; ALTER TABLE points DISABLE TRIGGER points_log_insert"

  static let logAgain = "ALTER TABLE points ENABLE ALWAYS TRIGGER points_log_insert"

  // MARK: Removals

  /// The definition of the table of places to delete.
  static let createRemovals = "CREATE TEMPORARY TABLE import_removals (id uuid NOT NULL) ON COMMIT DROP"

  /// The statement that adds the places with some ids in a data set. Values: the data set's name, and the ids.
  static let stageRemovals = """
    INSERT INTO import_removals
    SELECT id FROM points WHERE source = $1::text AND source_id = ANY ($2::text[])
    """

  /// The definition of the table of the places of rows that were rejected before they were staged.
  static let createKept = "CREATE TEMPORARY TABLE import_kept (id uuid NOT NULL) ON COMMIT DROP"

  /// The statement that adds the places with some ids. Value: the ids.
  static let keepIDs = "INSERT INTO import_kept SELECT unnest($1::uuid[])"

  /// The statement that adds the places of some origins, also deleted ones. Values: the sources, and the source ids.
  static let keepOrigins = """
    WITH origin AS MATERIALIZED (
      SELECT source, source_id
      FROM unnest($1::text[] COLLATE "C", $2::text[] COLLATE "C") AS origin (source, source_id)
    )
    INSERT INTO import_kept
    SELECT points.id FROM origin JOIN points USING (source, source_id)
    UNION ALL
    SELECT edits.id FROM origin JOIN edits USING (source, source_id) WHERE field = \(EditStatements.deletion)
    """

  static let analyzeKept = "ANALYZE import_kept"

  /// The query for the ids of the places that rows mean, by their own ids or by their origins, with the rows' numbers.
  private static let keys = """
    SELECT row_number, id FROM import_rows WHERE id IS NOT NULL
    UNION ALL
    SELECT row_number, owner FROM import_owners
    """

  /// The query for the ids of the places that a row means where no later row counts instead of it.
  private static let meant = """
    SELECT key.id
    FROM (\(keys)) AS key
    WHERE NOT EXISTS (
      SELECT FROM import_rejected AS rejected
      WHERE rejected.row_number = key.row_number AND superseded_by IS NOT NULL
    )
    """

  /// Returns the query for the number of places of a data set that only rejected rows mean. Value: the data set's name.
  static func countKept(among places: String) -> String {
    """
    SELECT count(*)
    FROM \(places)
    WHERE source = $1::text
      AND id IN (
        SELECT id FROM import_kept
        UNION ALL
        SELECT key.id
        FROM (\(keys)) AS key JOIN import_rejected AS rejected USING (row_number)
        WHERE superseded_by IS NULL
      )
      AND NOT EXISTS (
        SELECT
        FROM (\(keys)) AS key
        WHERE key.id = points.id
          AND NOT EXISTS (SELECT FROM import_rejected AS rejected WHERE rejected.row_number = key.row_number)
      )
    """
  }

  static let hasRowOfSource = """
    SELECT EXISTS (
      SELECT FROM import_rows AS r
      WHERE source = $1::text
        AND NOT EXISTS (SELECT FROM import_rejected WHERE import_rejected.row_number = r.row_number)
    )
    """

  /// Returns the statement that adds the places of a data set that no row means, and returns the number of all its
  /// places. Value: the data set's name.
  ///
  /// One statement sees one state of the table: beside writes of others, no more places are added than are counted.
  static func stageOthers(among places: String) -> String {
    """
    WITH staged AS (
      INSERT INTO import_removals
      SELECT id
      FROM \(places)
      WHERE source = $1::text AND NOT EXISTS (SELECT FROM (\(meant)) AS meant WHERE meant.id = points.id)
        AND NOT EXISTS (SELECT FROM import_kept WHERE import_kept.id = points.id)
    )
    SELECT count(*) FROM \(places) WHERE source = $1::text
    """
  }

  /// The statement that leaves out the places that a row means.
  static let dropMeantRemovals = """
    DELETE FROM import_removals
    WHERE id IN (\(meant))
    """

  static let dropUnknownRemovals = """
    DELETE FROM import_removals
    WHERE NOT EXISTS (SELECT FROM import_judged AS judged WHERE judged.id = import_removals.id AND is_admitted)
    """

  static let countRemovals = "SELECT count(DISTINCT id) FROM import_removals"

  /// The statement that locks the ids of the places to delete, in the order of the locks' numbers.
  static let lockRemovals = """
    SELECT count(\(VersionStatements.lock(of: "id"))::text)
    FROM (SELECT DISTINCT id, uuid_hash(id) AS hash FROM import_removals ORDER BY hash) AS sorted
    """

  /// The statement that locks the places to delete, and leaves out those that are gone. Row locks take no room in the
  /// lock table.
  static let lockRemovedPlaces = """
    WITH locked AS MATERIALIZED (
      SELECT id FROM points WHERE id IN (SELECT id FROM import_removals) ORDER BY id FOR UPDATE
    )
    DELETE FROM import_removals AS removal
    WHERE NOT EXISTS (SELECT FROM locked WHERE locked.id = removal.id)
    """

  static let clearActivity = "SELECT pg_stat_clear_snapshot()"

  /// The query for the transactions that were writing places when the places to delete had been locked, and whether
  /// each waits for a row or an advisory lock of this one, directly or behind others. Value: the transactions that were
  /// found before, or null.
  ///
  /// A statement locks the table before it takes its snapshot, so one that does not see a locked place is among them,
  /// and one that begins later waits for the place. One that waits so has drawn no version for a new place: that comes
  /// after its locks.
  static let earlierWriters = """
    WITH RECURSIVE waiting AS MATERIALIZED (
      SELECT pid, pg_blocking_pids(pid) AS blockers
      FROM pg_locks AS l
      WHERE NOT granted AND (
        locktype IN ('tuple', 'advisory')
        -- A row, not a key of an index: the transaction has the next turn at it.
        OR locktype = 'transactionid' AND EXISTS (
          SELECT FROM pg_locks AS turn WHERE turn.pid = l.pid AND turn.locktype = 'tuple' AND turn.granted)
      )
    ), held AS (
      SELECT pg_backend_pid() AS pid
      UNION
      SELECT waiting.pid FROM waiting JOIN held ON held.pid = ANY (blockers)
    )
    SELECT virtualtransaction, pid IN (SELECT pid FROM held)
    FROM pg_locks JOIN pg_stat_activity AS activity USING (pid)
    WHERE relation = 'points'::regclass AND mode = 'RowExclusiveLock' AND granted
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND pid <> pg_backend_pid()
      AND backend_xmin IS NOT NULL -- It has a snapshot.
      AND ($1::text[] IS NULL OR virtualtransaction = ANY ($1::text[]))
    """

  /// The statement that lets the sequence pass the versions of the places to delete.
  static let passVersions = """
    SELECT (\(VersionStatements.pass("greatest_version.version")))
    FROM (
      SELECT coalesce(max(version), 0) AS version
      FROM points
      WHERE id IN (SELECT id FROM import_removals) AND version < \(PointOfInterest.maximumCountedVersion)
    ) AS greatest_version
    """

  /// The statement that deletes the places.
  static let remove = "DELETE FROM points WHERE id IN (SELECT id FROM import_removals)"

  /// The statement that draws the version of all places that the import creates or updates, and returns it with the
  /// oldest transaction that was in progress before, as text.
  static let drawVersion = """
    SELECT \(VersionStatements.next), pg_snapshot_xmin(pg_current_snapshot())::text
    """

  /// Returns the statement that updates the matching places that still have the version with which they were compared.
  static func update(version: Int64) -> String {
    update(version: version, where: "points.version = import_matches.version")
  }

  /// Returns the statement that updates the other matching places, which others have changed since.
  static func updateOthers(version: Int64) -> String { update(version: version, where: isOther(version)) }

  private static func update(version: Int64, where condition: String) -> String {
    """
    UPDATE points
    SET (\(PointColumns.draft)) = ROW (\(PointColumns.qualified(PointColumns.draft, by: "r"))),
      version = \(VersionStatements.next(after: "points.version", drawn: "\(version)")),
      updated_at = greatest(now(), points.updated_at)
    FROM import_rows AS r JOIN import_matches USING (row_number)
    WHERE points.id = target AND NOT is_unchanged AND \(condition)
    """
  }

  /// Returns the condition that the import has not updated a place of a match yet: it has not the version that follows
  /// the one with which it was compared.
  private static func isOther(_ version: Int64) -> String {
    "points.version <> \(VersionStatements.next(after: "import_matches.version", drawn: "\(version)"))"
  }

  /// Returns the statement that locks the matching places that the import has not updated yet.
  static func lockOthers(version: Int64) -> String {
    """
    SELECT count(*)
    FROM (
      SELECT
      FROM points JOIN import_matches ON points.id = target
      WHERE NOT is_unchanged AND \(isOther(version))
      ORDER BY points.id
      FOR UPDATE OF points
    ) AS locked
    """
  }

  /// Returns the statement that inserts new places along a Hilbert curve, which is PostGIS's sort order: neighbours
  /// then share pages of the table, and the spatial index, whose quality depends on the order of insertion, is several
  /// times as fast.
  ///
  /// New ids are assigned in the same order, so that they are appended to the index and follow the pages of the table:
  /// their timestamp and the 12 bits after it are one counter (RFC 9562, section 6.2), and the rest is random.
  ///
  /// Rows leave the window function in its order. A second `ORDER BY` would make PostgreSQL sort them again, and only
  /// locality depends on it.
  static func insert(version: Int64) -> String {
    """
    INSERT INTO points (id, \(PointColumns.draft), version)
    SELECT coalesce(
        id,
        former_id,
        (
          lpad(to_hex((SELECT (extract(epoch FROM now()) * 1000)::bigint) + place / 4096), 12, '0')
          || to_hex(x'7000'::int + place % 4096) || substr(new_id::text, 20)
        )::uuid
      ),
      \(PointColumns.draft), \(version)
    FROM (
      SELECT row_number() OVER (ORDER BY ST_SetSRID(ST_MakePoint(long, lat), 4326)) AS place,
        id, former_id, new_id, \(PointColumns.draft)
      FROM import_rows AS r
      WHERE NOT EXISTS (SELECT FROM import_rejected WHERE import_rejected.row_number = r.row_number)
        AND NOT EXISTS (SELECT FROM import_matches WHERE import_matches.row_number = r.row_number)
    ) AS new
    """
  }

  /// Returns the statement that rejects the rows of new places that were not inserted. Value: the reason.
  static func rejectSkipped(version: Int64) -> String {
    """
    INSERT INTO import_rejected (row_number, reason)
    SELECT row_number, $1::text
    FROM import_rows AS r
    WHERE \(isNotRejected)
      AND NOT EXISTS (SELECT FROM import_matches WHERE import_matches.row_number = r.row_number)
      AND NOT EXISTS (SELECT FROM points WHERE id = coalesce(r.id, former_id) AND version = \(version))
      AND NOT EXISTS (
        SELECT FROM points WHERE source = r.source AND source_id = r.source_id AND version = \(version))
      AND num_nonnulls(r.id, former_id, source) > 0
    """
  }

  /// Returns the statement that renews the versions of created places whose id belonged to a place that was deleted
  /// after the import's version was drawn, because the deleted place's version may be the greater one. There are hardly
  /// any: other clients would have to create and delete exactly the imported ids during the import.
  ///
  /// The import has owned the ids since it inserted them, so a concurrent deletion was committed before, and this later
  /// statement sees it in the change log.
  ///
  /// - Parameter transaction: the oldest transaction that was in progress when the version was drawn, or an older one.
  static func renewVersions(_ version: Int64, since transaction: String) -> String {
    """
    UPDATE points
    SET version = \(VersionStatements.next)
    WHERE version = \(version) AND id IN (
      SELECT point_id
      FROM changes
      WHERE transaction >= '\(transaction)'::xid8 AND kind = 'deleted' AND version >= \(version)
        AND EXISTS (SELECT FROM import_rows WHERE id IS NOT NULL OR former_id IS NOT NULL)
    )
    """
  }
}

extension PostgresStore {
  /// Imports all rows, or none; see ``Points/PointStore/importRows(_:options:)``.
  ///
  /// It uses a dedicated connection without a statement timeout; the number of these is limited. It acquires one when
  /// all rows have arrived, or 8 MiB of them, so that a short upload that stalls holds none. A longer one whose next
  /// batch takes longer than ``PostgresConfiguration/uploadToleranceMilliseconds`` gives way to a request that waits for
  /// its connection, and is ``PointStoreError/uploadTooSlow``. Rows are staged as they arrive;
  /// imports are merged one after the other. The memory used doesn't depend on the number of rows.
  ///
  /// - Throws: ``PointStoreError``, including ``PointStoreError/overloaded`` where no connection became free in time or
  ///   concurrent writes conflicted with each attempt, ``PointWriteError``, or the error of the sequence. Nothing has
  ///   been imported then, except that the outcome is unknown after ``PointStoreError/outcomeUnknown(reason:)``: the
  ///   connection broke during the commit, or the server committed without its synchronous standby or did not confirm
  ///   the commit in time.
  package func importRows<Batches: AsyncSequence & Sendable>(
    _ batches: Batches, options: ImportOptions
  ) async throws -> ImportReport where Batches.Element == [ImportRow] {
    let wait = UploadWait()
    return try await withThrowingTaskGroup(of: ImportReport?.self) { group in
      group.addTask { try await self.importRows(batches, options, wait) }
      group.addTask {
        if await self.givesWay(wait, for: options.client) { throw PointStoreError.uploadTooSlow }
        return nil
      }
      defer { group.cancelAll() }
      while let report = try await group.next() {
        if let report { return report }
      }
      throw CancellationError()
    }
  }

  /// Returns `true` once the import has waited for its rows for too long while a request waits for its connection, so
  /// that it is to be rolled back; `false` if the task was cancelled.
  private func givesWay(_ wait: UploadWait, for client: String?) async -> Bool {
    let tolerance = Duration.milliseconds(configuration.uploadToleranceMilliseconds)
    repeat {
      do {
        // Less than an import waits for a connection by default.
        try await Task.sleep(for: .seconds(1))
      } catch {
        return false
      }
    } while await !pool.giveWay(.import, of: client, { wait.end(ifLongerThan: tolerance) })
    return true
  }

  private func importRows<Batches: AsyncSequence & Sendable>(
    _ batches: Batches, _ options: ImportOptions, _ wait: UploadWait
  ) async throws -> ImportReport where Batches.Element == [ImportRow] {
    var rows = try await CollectedBatches(batches.makeAsyncIterator(), options.reserve, wait)
    do {
      if !options.dryRun { _ = try await followClock(again: false) }
      let report = try await pool.withSession(for: .import, of: options.client) { session in
        do throws(DatabaseError) {
          try await session.run(VersionStatements.followClockAtOnce)
        } catch .rejected {
          // Versions still grow from the sequence's current value; see ``followClock(again:)``.
        }
        return try await run(&rows, options, once: options.dryRun ? nil : options.key, session)
      }
      if let report {
        if let key = options.key, !options.dryRun, !report.isFailure {
          count(key: key.text, of: key.client, outcome: IdempotencyRecord.Outcome.imported(report).json.utf8.count)
        }
        return report
      }
    } catch DatabaseError.cancelled {
      throw CancellationError()
    } catch let error as DatabaseError {
      throw await pool.storeError(error)
    }
    guard let key = options.key else {
      throw PointStoreError.unexpected(reason: "an import without an idempotency key was found to be a retry")
    }
    // The request hash covers the whole body.
    try await rows.readToEnd()
    return try await storedReport(key.hashed())
  }

  /// Stages and merges the rows.
  ///
  /// - Returns: the report; `nil` where the idempotency key belongs to an earlier request.
  private func run<Rows: AsyncIteratorProtocol>(
    _ rows: inout CollectedBatches<Rows>,
    _ options: ImportOptions,
    once key: ImportKey?,
    _ session: Session
  ) async throws -> ImportReport? where Rows.Element == [ImportRow] {
    // Nearly all origins differ, and sorting their hashes finds duplicates in a third of the time of a hash table.
    try await session.run(
      script: """
        BEGIN; \(BulkSettings.script); SET LOCAL work_mem = '64MB'; SET LOCAL enable_hashagg = off; \
        \(StatementSettings.durability(isLocal: true))
        """
    )
    if let key {
      if try await claim(key, session) { return nil }
      guard hasRoom(forKey: key.text, of: key.client, outcome: IdempotencyRecord.Outcome.reportBytes) else {
        throw PointStoreError.keysExhausted
      }
    }
    if options.isExclusive { try await checkExclusive(session) }
    try await session.run(script: ImportStatements.createStage)
    try await stage(&rows, session)
    try await session.run(script: ImportStatements.lock)
    if options.isExclusive, !options.dryRun {
      // Not before all rows have arrived.
      try await session.run(script: ImportStatements.lockOutAll)
      try await checkExclusive(session)
    }
    let (report, isDone) = try await merge(options, session)
    if isDone { return report }
    if let key, !report.isFailure { try await storeReport(key.hashed(), report, session) }
    do {
      try await session.commit(within: .milliseconds(configuration.commitTimeoutMilliseconds))
    } catch .outcomeUnknown(let reason) {
      throw PointStoreError.outcomeUnknown(reason: "the import may have been committed: \(reason)")
    }
    notifyOfChanges()
    if report.changedRows >= Self.minimumRowsToAnalyze {
      // The planner would otherwise learn of the new rows only after a minute. The role may lack the privilege, and
      // nothing depends on it.
      _ = try? await session.run(script: "BEGIN; \(BulkSettings.script); ANALYZE points; COMMIT")
    }
    return report
  }

  /// Checks that there are no places, and that the role may drop the indexes.
  ///
  /// - Throws: ``StoreNotEmpty``, ``PointStoreError/misconfigured(reason:)``, or the error of the database.
  private func checkExclusive(_ session: Session) async throws {
    guard let row = try await session.run(ImportStatements.canBeExclusive).rows.first else {
      throw PointStoreError.unexpected(reason: "there is no table points")
    }
    if try row.boolean(0) { throw StoreNotEmpty() }
    guard try row.boolean(1) else {
      throw PointStoreError.misconfigured(reason: "an exclusive import needs the role that owns the table points")
    }
  }

  private static let minimumRowsToAnalyze = 1000

  /// Merges the staged rows, and registers the data sets unless nothing is imported.
  private func merge(_ options: ImportOptions, _ session: Session) async throws -> (report: ImportReport, isDone: Bool)
  {
    if let removal = options.removal { try await stage(removal, options, session) }
    let isAtomic = options.mode == .atomic
    let merge = ImportMerge(session: session, options: options, maximumEdits: maximumEdits)
    let (report, leftOut) = try await merge.report()
    let takesNothing = options.dryRun || (isAtomic && report.rejected > 0)
    if !takesNothing {
      if report.accepted > 0 { try await register(options.namedSources, session) }
      try await recordImport(options, sourcesOfLeftOut: leftOut, session)
    }
    return (report, takesNothing)
  }

  /// Stages the places to delete as far as they are known before the merge, and forgets the deletions of those that
  /// clients have deleted already.
  private func stage(_ removal: ImportRemoval, _ options: ImportOptions, _ session: Session) async throws {
    guard let sourceIDs = removal.sourceIDs else { return }
    let source = removal.source
    try await session.run(script: ImportStatements.createRemovals)
    var rest = sourceIDs[...]
    while !rest.isEmpty {
      let part = Array(rest.prefix(10_000))
      rest = rest.dropFirst(part.count)
      let parameters = Parameters {
        $0.add(source)
        $0.add(part)
      }
      try await session.run(ImportStatements.stageRemovals, parameters)
      if options.admits == nil, !options.dryRun {
        try await session.run(EditMergeStatements.forgetNamedDeletions, parameters)
      }
    }
  }

  private func stage<Rows: AsyncIteratorProtocol>(
    _ source: inout CollectedBatches<Rows>,
    _ session: Session
  ) async throws where Rows.Element == [ImportRow] {
    try await session.startCopy(ImportStatements.stage)
    var rows = CopyRows(time: .now)
    while let batch = try await source.next() {
      for row in batch {
        rows.append(row)
        if rows.bytes.count >= Self.chunkLength {
          try await session.put(copy: rows.bytes)
          rows.removeAll()
        }
      }
    }
    rows.appendEnd()
    try await session.put(copy: rows.bytes)
    try await session.endCopy()
    for (number, fields) in rows.givenFields.enumerated() {
      try await session.run(
        ImportStatements.addGiven,
        Parameters {
          $0.add(Int64(number))
          $0.add(fields.hasCategory)
          if let keys = fields.tagKeys { $0.add(keys.map(\.text)) } else { $0.add(nil as String?) }
        })
    }
  }

  /// The number of bytes of rows that are sent at a time.
  private static let chunkLength = 1 << 18
}

/// An iterator over batches of rows, the first of which have already arrived.
private struct CollectedBatches<Rows: AsyncIteratorProtocol> where Rows.Element == [ImportRow] {
  /// The number of bytes of rows that are waited for.
  private static var collectedBytes: Int { 8 << 20 }

  private var first: [[ImportRow]] = []
  private var taken = 0
  private var bytes = 0
  private var rows: Rows
  private let reserve: (@Sendable (Int) throws -> Void)?
  private let wait: UploadWait

  /// Creates an iterator and waits for the first batches, as far as there is memory for them.
  ///
  /// - Parameters:
  ///   - reserve: see ``Points/ImportOptions/reserve``.
  ///   - wait: notes the waits for further batches.
  /// - Throws: the error of the sequence.
  init(_ rows: Rows, _ reserve: (@Sendable (Int) throws -> Void)?, _ wait: UploadWait) async throws {
    self.rows = rows
    self.reserve = reserve
    self.wait = wait
    while bytes < Self.collectedBytes, let batch = try await self.rows.next() {
      first.append(batch)
      bytes += Self.byteCount(of: batch)
      do {
        try reserve?(bytes)
      } catch {
        break
      }
    }
  }

  /// Returns the next batch; `nil` at the end.
  ///
  /// - Throws: the error of the sequence, or ``PointStoreError/uploadTooSlow`` if the import has given way.
  mutating func next() async throws -> [ImportRow]? {
    guard taken < first.count else {
      wait.begin()
      do {
        let batch = try await rows.next()
        try wait.end()
        return batch
      } catch {
        try wait.end()
        throw error
      }
    }
    var batch: [ImportRow] = []
    swap(&batch, &first[taken])
    taken += 1
    bytes -= Self.byteCount(of: batch)
    // Less never fails for lack of memory.
    _ = try? reserve?(bytes)
    return batch
  }

  /// Reads the rest of the sequence, which is not imported.
  ///
  /// - Throws: the error of the sequence.
  mutating func readToEnd() async throws {
    while try await rows.next() != nil {}
  }

  private static func byteCount(of batch: [ImportRow]) -> Int { batch.reduce(0) { $0 + $1.byteCount } }
}

/// The wait of an import for its rows while it has a connection.
private final class UploadWait: Sendable {
  private enum State {
    case none
    case since(ContinuousClock.Instant)
    case gaveWay
  }

  private let state = Mutex(State.none)

  func begin() { state.withLock { $0 = .since(.now) } }

  /// Ends the wait, as the rows have arrived.
  ///
  /// - Throws: ``PointStoreError/uploadTooSlow`` if the import has given way before.
  func end() throws(PointStoreError) {
    let gaveWay = state.withLock { state in
      if case .gaveWay = state { return true }
      state = .none
      return false
    }
    if gaveWay { throw .uploadTooSlow }
  }

  /// Has the import give way if it has waited for longer than a time, and returns whether it does.
  func end(ifLongerThan tolerance: Duration) -> Bool {
    state.withLock { state in
      guard case .since(let start) = state, start.duration(to: .now) > tolerance else { return false }
      state = .gaveWay
      return true
    }
  }
}

/// The merge of staged rows into the places.
private struct ImportMerge {
  let session: Session
  let options: ImportOptions
  let maximumEdits: Int

  private var removal: ImportRemoval? { options.removal }

  /// The places that the caller may know of, as an SQL expression.
  private var places: String { options.admits == nil ? "points" : ImportStatements.admittedPlaces }

  /// The maximum number of attempts at a merge that conflicts with concurrent writes. The last one rejects the rows
  /// whose places others create meanwhile, so that no import has to lock out other writers.
  private static let attempts = 5

  /// The maximum number of places that are deleted under a lock on the id of each, as the server has room for some
  /// thousands of locks; see ``awaitWriters(_:)`` for more.
  private static let maximumLocks = 1000

  /// The maximum number of rounds for chains of rows of which each shares a key with the next.
  private static let rounds = 100

  /// Merges the rows and returns the report, and the names of the data sets of rows that were left out.
  ///
  /// - Throws: ``PointStoreError/overloaded`` if each attempt conflicts with concurrent writes.
  func report() async throws -> (report: ImportReport, sourcesOfLeftOut: [String]) {
    for attempt in 1...Self.attempts {
      try await session.run(script: "SAVEPOINT merge")
      do {
        return try await merge(isFirst: attempt == 1, isLast: attempt == Self.attempts)
      } catch DatabaseError.rejected(let error) where Self.isConflict(error) {
        try await session.run(script: "ROLLBACK TO SAVEPOINT merge")
      }
    }
    throw PointStoreError.overloaded
  }

  /// Returns whether the error is due to a concurrent write: a unique violation, a deadlock or a serialization failure.
  private static func isConflict(_ error: ServerError) -> Bool {
    ["23505", "40P01", "40001"].contains(error.sqlState)
  }

  /// The error that has the merge attempted again.
  private static func conflict(_ reason: String) -> DatabaseError {
    .rejected(ServerError(sqlState: "40001", message: reason))
  }

  private func merge(isFirst: Bool, isLast: Bool) async throws -> (report: ImportReport, sourcesOfLeftOut: [String]) {
    try await session.run(script: ImportStatements.analyzeStage)
    if let admits = options.admits { try await judgePlaces(by: admits) }
    try await session.run(script: ImportStatements.findOwners(among: places))
    let conflicting = try await session.run(script: ImportStatements.findConflicting).affectedRows
    var duplicates = 0
    if conflicting > 0 {
      duplicates = try await session.run(script: ImportStatements.removeDuplicates).affectedRows
      try await resolveConflicts()
    }
    try await session.run(script: ImportStatements.findRejected)
    if options.admits != nil { try await rejectTaken() }
    let rejected = removal?.limit == nil ? nil : options.rejected?()
    if removal?.limit != nil { try await keep(rejected ?? RejectedPlaces()) }
    // After the rejections: the records of rows that do not count move no place.
    if let removal, let key = removal.recordKey {
      try await session.run(
        ImportStatements.findMoved(among: places),
        Parameters {
          $0.add(removal.source)
          $0.add(key)
        })
    }
    try await session.run(script: ImportStatements.findMatches(among: places))
    if !isFirst {
      // Places were changed by others since they were compared with their rows.
      try await session.run(script: ImportStatements.lockMatches)
      try await session.run(script: ImportStatements.findMatches(among: places))
    }
    let edits = try await EditMerge(session, options)
    if let admits = options.admits { try await judgeChanges(by: admits) }
    var report = try await rejections()
    guard let counts = try await session.run(ImportStatements.countMatches).rows.first else {
      throw PointStoreError.unexpected(reason: "a count returned no row")
    }
    let (matches, unchanged, all) = (try counts.integer(0), try counts.integer(1), try counts.integer(2))
    report.unchanged = Int(unchanged) + duplicates + edits.leftOut
    report.updated = Int(matches - unchanged)
    report.created = Int(all - matches) - report.rejected
    if options.mode == .atomic, report.rejected > 0 {
      report.takeNothing()
      return (report, [])
    }
    let sourcesOfLeftOut = try await edits.sourcesOfLeftOut()
    try await edits.count(in: &report, maximumEdits: maximumEdits)
    if let removal {
      report.deleted = try await remove(
        removal, unknownRows: rejected?.unknown ?? 0, sourcesOfLeftOut: sourcesOfLeftOut, &report)
    }
    if options.dryRun { return (report, []) }
    try await edits.apply()
    guard let drawn = try await session.run(ImportStatements.drawVersion).rows.first else {
      throw PointStoreError.unexpected(reason: "the query for the version returned no row")
    }
    let (version, oldestTransaction) = (try drawn.integer(0), try drawn.text(1))
    if report.updated > 0 {
      var updated = try await session.run(script: ImportStatements.update(version: version)).affectedRows
      if updated < report.updated, !edits.hasEdits { updated += try await updateOthers(version: version) }
      if updated < report.updated { throw Self.conflict("places were changed during the import") }
    }
    if report.created > 0 {
      // The caller may not have known the deleted places.
      if options.admits == nil { try await session.run(script: ImportStatements.findFormerIDs) }
      let created = try await insert(version: version, skippingTaken: isLast)
      if created < report.created {
        if options.mode == .atomic { throw PointStoreError.overloaded }
        let reason = Parameters { $0.add("another request created its place during the import") }
        try await session.run(ImportStatements.rejectSkipped(version: version), reason)
        var complete = try await rejections()
        (complete.updated, complete.unchanged, complete.deleted) = (report.updated, report.unchanged, report.deleted)
        (complete.kept, complete.keptEdits, complete.conflicts) = (report.kept, report.keptEdits, report.conflicts)
        report = complete
      }
      report.created = created
      try await session.run(script: ImportStatements.renewVersions(version, since: oldestTransaction))
    }
    try await edits.forgetDeletions(created: report.created, rejected: rejected)
    return (report, sourcesOfLeftOut)
  }

  /// Updates the places that were changed by others since they were compared with their rows, and returns their number.
  /// The rows count, unless a change was an edit: then no place is updated.
  private func updateOthers(version: Int64) async throws -> Int {
    try await session.run(script: ImportStatements.lockOthers(version: version))
    // A later statement, which sees the edits that were committed before the locks were acquired.
    if try await session.run(EditMergeStatements.kinds).rows.first?.boolean(0) != false { return 0 }
    return try await session.run(script: ImportStatements.updateOthers(version: version)).affectedRows
  }

  /// Inserts the new places, and returns their number. An exclusive import logs a reset instead of them, and creates the
  /// indexes anew after that, which takes less time than to add each place.
  ///
  /// - Parameter skipsTaken: whether places whose id or origin another one has are left out, and are no conflict.
  private func insert(version: Int64, skippingTaken skipsTaken: Bool) async throws -> Int {
    let insert = ImportStatements.insert(version: version)
    guard options.isExclusive else {
      return try await session.run(script: skipsTaken ? insert + " ON CONFLICT DO NOTHING" : insert).affectedRows
    }
    let indexes = try await session.run(ImportStatements.indexes).rows.map { (try $0.text(0), try $0.text(1)) }
    for (drop, _) in indexes { try await session.run(script: drop) }
    try await session.run(script: ImportStatements.logReset)
    let count = try await session.run(script: insert).affectedRows
    try await session.run(script: ImportStatements.logAgain)
    try await session.run(script: ImportStatements.settingsOfIndexes)
    for (_, create) in indexes { try await session.run(script: create) }
    return count
  }

  /// Deletes the places that are to be deleted, and returns their number; in a dry run it only counts them.
  ///
  /// - Parameters:
  ///   - unknownRows: the number of rejected rows without an id.
  ///   - sourcesOfLeftOut: the names of the data sets of rows that were left out.
  ///   - report: the other effects of the import, to which the number of kept places is added.
  /// - Throws: ``EmptyReplacement``, ``TooManyDeletions``, or the error of the database.
  private func remove(
    _ removal: ImportRemoval, unknownRows: Int, sourcesOfLeftOut: [String], _ report: inout ImportReport
  ) async throws -> Int {
    let source = Parameters { $0.add(removal.source) }
    switch removal {
    case .others(_, let limit):
      if try await session.run(ImportStatements.hasRowOfSource, source).rows.first?.boolean(0) != true {
        guard sourcesOfLeftOut.contains(where: { $0.hasSameBytes(as: removal.source) }) else {
          throw EmptyReplacement(source: removal.source)
        }
      }
      try await session.run(script: ImportStatements.createRemovals)
      let staged = try await session.run(ImportStatements.stageOthers(among: places), source)
      let kept = try await session.run(ImportStatements.countKept(among: places), source)
      report.kept = Int(try kept.rows.first?.integer(0) ?? 0)
      var planned = report
      planned.deleted = Int(try await session.run(ImportStatements.countRemovals).rows.first?.integer(0) ?? 0)
      let error = TooManyDeletions(
        source: removal.source, total: Int(try staged.rows.first?.integer(0) ?? 0), limit: limit,
        unknownRows: unknownRows, report: planned)
      if let error { throw error }
    case .places:
      try await session.run(script: ImportStatements.dropMeantRemovals)
      if options.admits != nil { try await session.run(script: ImportStatements.dropUnknownRemovals) }
    }
    if options.dryRun { return Int(try await session.run(ImportStatements.countRemovals).rows.first?.integer(0) ?? 0) }
    let count = Int(try await session.run(ImportStatements.countRemovals).rows.first?.integer(0) ?? 0)
    var waiting: [String] = []
    if count <= Self.maximumLocks {
      try await session.run(script: ImportStatements.lockRemovals)
    } else {
      try await session.run(script: ImportStatements.lockRemovedPlaces)
      waiting = try await awaitWriters(nil)
    }
    try await session.run(script: ImportStatements.passVersions)
    let removed = try await session.run(script: ImportStatements.remove).affectedRows
    try await session.run(script: EditMergeStatements.forgetRemoved)
    // Those that no longer wait may have drawn a version before the deletion did.
    if !waiting.isEmpty { _ = try await awaitWriters(waiting) }
    return removed
  }

  /// Waits for the writes that may be creating a place under the id of a locked one that they do not see, so that no
  /// place has a lower version than the deletion of another with its id before.
  ///
  /// - Parameter known: the transactions to wait for; `nil` for all that are writing places.
  /// - Returns: those that wait for this transaction.
  /// - Throws: a serialization failure after ten seconds.
  private func awaitWriters(_ known: [String]?) async throws -> [String] {
    var writers = known
    for _ in 0..<500 {
      try await session.run(script: ImportStatements.clearActivity)
      let parameters = Parameters {
        if let writers { $0.add(writers) } else { $0.add(nil as String?) }
      }
      let found = try await session.run(ImportStatements.earlierWriters, parameters).rows.map {
        (transaction: try $0.text(0), isWaiting: try $0.boolean(1))
      }
      writers = found.map(\.transaction)
      if found.allSatisfy(\.isWaiting) { return found.map(\.transaction) }
      try await session.run(script: "SELECT pg_sleep(0.02)")
    }
    throw Self.conflict("earlier writes are still in progress")
  }

  /// Stages the places of rejected rows, which are not deleted.
  private func keep(_ rejected: RejectedPlaces) async throws {
    try await session.run(script: ImportStatements.createKept)
    var ids = rejected.ids[...]
    while !ids.isEmpty {
      let part = Array(ids.prefix(Self.keptAtOnce))
      ids = ids.dropFirst(part.count)
      try await session.run(ImportStatements.keepIDs, Parameters { $0.add(part) })
    }
    var origins = rejected.origins[...]
    while !origins.isEmpty {
      let part = origins.prefix(Self.keptAtOnce)
      origins = origins.dropFirst(part.count)
      try await session.run(
        ImportStatements.keepOrigins,
        Parameters {
          $0.add(part.map(\.source))
          $0.add(part.map(\.sourceID))
        })
    }
    try await session.run(script: ImportStatements.analyzeKept)
  }

  /// The number of places of rejected rows that a statement stages.
  private static let keptAtOnce = 10_000

  private func resolveConflicts() async throws {
    for _ in 0..<Self.rounds {
      try await session.run(script: ImportStatements.keepLast)
      try await session.run(script: ImportStatements.supersede)
      let unresolved = try await session.run(ImportStatements.countUnresolved).rows.first?.integer(0) ?? 0
      if unresolved == 0 { return }
    }
  }

  private func rejections() async throws -> ImportReport {
    var report = ImportReport()
    let count = Int(try await session.run(ImportStatements.countRejected).rows.first?.integer(0) ?? 0)
    let first = try await session.run(
      ImportStatements.firstRejected,
      Parameters { $0.add(Int64(ImportReport.maximumRejections)) }
    )
    for row in first.rows {
      let detail =
        if let reason = row.optionalText(2) {
          reason
        } else if row.isNull(1) {
          "its source and sourceId belong to a place with another id"
        } else {
          "means the same place as row \(try row.integer(1)), which counts instead"
        }
      report.reject(RejectedRow(number: Int(try row.integer(0)), detail: detail))
    }
    report.reject(count: count - report.rejected)
    return report
  }
}

// MARK: - Judgement

extension ImportMerge {
  /// Locks and judges the places that rows mean, and those that the import may delete.
  private func judgePlaces(by admits: PointJudge) async throws {
    try await session.run(script: ImportStatements.findCandidates)
    switch removal {
    case .others(let source, _):
      try await session.run(ImportStatements.addCandidatesOfSource, Parameters { $0.add(source) })
    case .places: try await session.run(script: ImportStatements.addCandidatesOfRemovals)
    case nil: break
    }
    try await session.run(script: ImportStatements.analyzeCandidates)
    try await forEachPage(of: ImportStatements.candidates) { rows in
      let points = try rows.map { try $0.point() }
      let judged = zip(points, try admits(points))
      for isAdmitted in [true, false] {
        let ids = judged.filter { $0.1 == isAdmitted }.map(\.0.id)
        guard !ids.isEmpty else { continue }
        try await session.run(
          ImportStatements.addJudged,
          Parameters {
            $0.add(ids)
            $0.add(isAdmitted)
          })
      }
    }
    try await session.run(script: ImportStatements.analyzeJudged)
  }

  /// Rejects the rows that mean places that are not admitted.
  private func rejectTaken() async throws {
    try await session.run(
      ImportStatements.rejectTaken,
      Parameters {
        $0.add(ForbiddenChange.takenID)
        $0.add(ForbiddenChange.hiddenOwner)
      })
    try await session.run(script: ImportStatements.analyzeRejected)
  }

  /// Rejects the rows whose places would not be admitted.
  private func judgeChanges(by admits: PointJudge) async throws {
    try await forEachPage(of: ImportStatements.changes) { rows in
      let points = try rows.map { try $0.point() }
      let numbers = try zip(rows, try admits(points)).filter { !$1 }.map { try $0.0.integer(PointColumns.count) }
      guard !numbers.isEmpty else { return }
      try await session.run(
        ImportStatements.reject,
        Parameters {
          $0.add(numbers)
          $0.add(ForbiddenChange.outside)
        })
    }
    try await session.run(script: ImportStatements.analyzeRejected)
    try await session.run(script: ImportStatements.dropRejectedMatches)
  }

  /// Passes the rows of a query in pages.
  private func forEachPage(of query: String, _ body: ([QueryResult.Row]) async throws -> Void) async throws {
    // All rows are fetched.
    try await session.run(script: "SET LOCAL cursor_tuple_fraction = 1; DECLARE judged NO SCROLL CURSOR FOR \(query)")
    while true {
      let page = try await session.run("FETCH \(ImportOptions.judgedAtOnce) FROM judged")
      if page.count == 0 { break }
      try await body(Array(page.rows))
    }
    try await session.run(script: "CLOSE judged")
  }
}

extension Timestamp {
  /// The current time of the system clock.
  fileprivate static var now: Timestamp {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Timestamp(microsecondsSinceEpoch: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000)
  }
}

/// The SQL of the idempotency keys of imports. They share the table with those of created places, so that a key belongs
/// to one request.
private enum ImportKeyStatements {
  /// The query that claims a key until the transaction ends. Value: key. It returns whether the lock was acquired.
  ///
  /// ``find``, a later statement, sees what was committed before the lock was acquired.
  static let claim = "SELECT pg_try_advisory_xact_lock(\(WriteStatements.keyLockClass), hashtext($1::text))"

  static let find = WriteStatements.knownOutcome(of: "$1::text")

  /// The statement that stores the outcome of an import. Values: key, hash and outcome.
  static let store = """
    INSERT INTO idempotency_keys (key, request_hash, outcome) VALUES ($1::text, $2::int8, $3::json)
    \(WriteStatements.replacingExpired)
    """
}

extension PostgresStore {
  /// Claims the idempotency key of an import until the transaction ends.
  ///
  /// - Returns: `true` if a request with the key has succeeded before.
  /// - Throws: ``PointWriteError/keyInFlight``.
  private func claim(_ key: ImportKey, _ session: Session) async throws -> Bool {
    let parameters = Parameters { $0.add(key.text) }
    guard try await session.run(ImportKeyStatements.claim, parameters).rows.first?.boolean(0) == true else {
      throw PointWriteError.keyInFlight
    }
    return try await session.run(ImportKeyStatements.find, parameters).count > 0
  }

  /// Stores the report of an import in its transaction.
  private func storeReport(_ key: IdempotencyKey, _ report: ImportReport, _ session: Session) async throws {
    try await session.run(
      ImportKeyStatements.store,
      Parameters {
        $0.add(key.text)
        $0.add(Int64(bitPattern: key.requestHash))
        $0.add(IdempotencyRecord.Outcome.imported(report).json)
      }
    )
  }

  /// Returns the report of an import that has succeeded before.
  ///
  /// - Throws: ``PointWriteError/keyReused``, ``PointStoreError``.
  private func storedReport(_ key: IdempotencyKey) async throws -> ImportReport {
    let result = try await write(WriteStatements.outcome, Parameters { $0.add(key.text) })
    guard let row = result.rows.first else {
      throw PointStoreError.unavailable(
        reason: "the idempotency key of an import has expired, or is missing on another server")
    }
    return try repeated(key, row, \.report)
  }
}

/// Rows in the binary format of `COPY` (PostgreSQL's manual, `COPY`, section "Binary Format").
private struct CopyRows {
  /// The encoded rows, preceded by the header in the first batch.
  private(set) var bytes: [UInt8] = []

  /// The fields of those files that have not all fields. Rows have their indices.
  private(set) var givenFields: [GivenFields] = []

  // Those of the last row: the rows of a file share them.
  private var lastFields = (fields: GivenFields.all, index: Int?.none)

  private let time: Timestamp
  private var generator = SystemRandomNumberGenerator()

  /// The columns of a row, in order.
  static let columns = "row_number, id, new_id, given, " + PointColumns.draft
  private static let columnCount = Int16(columns.split(separator: ",").count)

  /// Creates an empty list of rows.
  init(time: Timestamp) {
    self.time = time
    bytes.append(contentsOf: "PGCOPY\n".utf8)
    bytes.append(contentsOf: [0xFF, 0x0D, 0x0A, 0x00])
    BinaryFormat.append(Int32(0), to: &bytes)  // flags
    BinaryFormat.append(Int32(0), to: &bytes)  // length of the header's extension
  }

  /// Removes the rows after they were sent.
  mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
  }

  /// Appends the end-of-data marker.
  mutating func appendEnd() {
    BinaryFormat.append(Int16(-1), to: &bytes)
  }

  /// Appends a row, with an id for a new place that came without one.
  mutating func append(_ row: ImportRow) {
    let place = row.draft
    BinaryFormat.append(Self.columnCount, to: &bytes)
    append(UInt64(row.number))
    append(row.id)
    append(row.id == nil ? PointID(at: time, using: &generator) : nil)
    append(given: row.given)
    append(place.coordinate.latitude.bitPattern)
    append(place.coordinate.longitude.bitPattern)
    append(place.name)
    append(place.category)
    append(place.tags.json)
    append(place.origin?.source)
    append(place.origin?.sourceID)
  }

  private mutating func append(given fields: GivenFields) {
    if fields != lastFields.fields {
      lastFields = (fields, fields == .all ? nil : givenFields.firstIndex(of: fields) ?? givenFields.count)
      if lastFields.index == givenFields.count { givenFields.append(fields) }
    }
    BinaryFormat.append(Int32(lastFields.index == nil ? -1 : 4), to: &bytes)
    if let index = lastFields.index { BinaryFormat.append(Int32(index), to: &bytes) }
  }

  private mutating func append(_ number: UInt64) {
    BinaryFormat.append(Int32(8), to: &bytes)
    BinaryFormat.append(number, to: &bytes)
  }

  private mutating func append(_ id: PointID?) {
    BinaryFormat.append(Int32(id == nil ? -1 : 16), to: &bytes)
    if let id { BinaryFormat.append(id, to: &bytes) }
  }

  private mutating func append(_ text: String?) {
    guard var text else { return BinaryFormat.append(Int32(-1), to: &bytes) }
    text.withUTF8 { utf8 in
      BinaryFormat.append(Int32(utf8.count), to: &bytes)
      bytes.append(contentsOf: utf8)
    }
  }
}
