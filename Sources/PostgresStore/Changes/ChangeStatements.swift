import PostgresClient

/// The SQL of the change log, which triggers write in the transactions of the changes.
///
/// An entry has the number of its transaction. Transactions become visible in another order than that of their numbers,
/// so a reader compares snapshots: PostgreSQL's snapshot states exactly which transactions it sees. The entries that a
/// new snapshot sees and an old one did not are those of transactions that began after the old one (`xmax` and above)
/// or were in progress in it (`xip`). Each is read once, whatever the order of the commits, and a transaction that is
/// open for hours delays no other. A statement returns its own snapshot together with the entries that it sees, so that
/// both are of the same moment.
///
/// The numbers of entries that were copied from another server, as by `pg_restore`, mean nothing here. Therefore an
/// entry counts only if the new snapshot sees the transaction of its number, as it does for every entry that was
/// written here. Other entries are ignored until the numbers of this server have passed theirs; each then has a place
/// read once in vain.
enum ChangeStatements {
  /// The triggers without which changes, or deletions of their entries, would not be logged.
  private static let triggers = [
    "points_log_insert", "points_log_update", "points_log_delete", "points_log_truncate", "points_log_id_change",
    "changes_log_delete", "changes_log_truncate", "changes_pruned_log_delete",
  ]

  private static let tables = "('points'::regclass, 'changes'::regclass, 'changes_pruned'::regclass)"

  /// The SQL expression of a text that differs between servers, between their starts and recoveries, between databases
  /// and tables, and after each rewriting of the table and each change of the triggers, since changes may have been
  /// made without them. Transaction numbers are only compared where it is the same.
  static let life = """
    concat_ws(
      ' ', (SELECT concat_ws(' ', extract(epoch FROM pg_postmaster_start_time()), extract(epoch FROM stats_reset))
        FROM pg_stat_bgwriter),
      (SELECT oid FROM pg_database WHERE datname = current_database()), 'points'::regclass::oid,
      (SELECT relfilenode FROM pg_class WHERE oid = 'points'::regclass),
      (SELECT string_agg(concat_ws(':', tgrelid, oid, tgenabled, xmin), ' ' ORDER BY oid)
        FROM pg_trigger WHERE tgrelid IN \(tables))
    )
    """

  /// The columns of the current position: the life, the snapshot as text, whether the server is a standby, and whether
  /// changes are logged.
  private static let position = """
    \(life), pg_current_snapshot()::text, pg_is_in_recovery(),
      (SELECT count(*) = \(triggers.count) FROM pg_trigger
        WHERE tgrelid IN \(tables) AND tgenabled IN ('O', 'A')
          AND tgname IN (\(triggers.map { "'\($0)'" }.joined(separator: ", "))))
    """

  /// The query for the position of a transaction's snapshot, in the columns of ``position``.
  static let currentPosition = "SELECT \(position)"

  /// The same query as a prepared statement.
  static let currentPositionStatement = Statement("changes_position", currentPosition)

  /// Returns the query for the position of a transaction's snapshot, and two columns that indicate whether the changes
  /// after another one can't be read: whether entries were pruned, and whether all places were removed at once.
  static func currentPosition(after snapshot: TransactionSnapshot) -> String {
    """
    SELECT \(position), \(isPruned(after: "'\(snapshot.text)'::pg_snapshot")),
      EXISTS (SELECT FROM changes WHERE point_id IS NULL AND \(isMissing(from: snapshot)))
    """
  }

  /// Returns the condition, as SQL, that an entry was deleted which a former snapshot does not see.
  ///
  /// A deletion that the former snapshot sees has deleted no such entry, so each deletion counts once at most. Of the
  /// others only those of unseen transactions count, however long a transaction stays open.
  private static func isPruned(after former: String) -> String {
    """
    EXISTS (
        SELECT FROM changes_pruned
        WHERE NOT pg_visible_in_snapshot(pruned_by, \(former))
          AND pg_visible_in_snapshot(pruned_by, pg_current_snapshot())
          AND (
            settled >= pg_snapshot_xmin(\(former))
            OR EXISTS (
              SELECT FROM unnest(recent) AS number WHERE NOT pg_visible_in_snapshot(number, \(former))))
      )
    """
  }

  /// Returns the condition of the entries that a snapshot does not see and the present one does, as SQL. The text is
  /// made from numbers.
  private static func isMissing(from snapshot: TransactionSnapshot) -> String {
    let inProgress = snapshot.inProgress.map { "'\($0)'" }.joined(separator: ", ")
    return """
      (transaction >= '\(snapshot.end)'::xid8 OR transaction = ANY (ARRAY[\(inProgress)]::xid8[]))
        AND pg_visible_in_snapshot(transaction, pg_current_snapshot())
      """
  }

  /// The statement for the current position and the places that were changed after another one. Values: the snapshot of
  /// the other position as text, the maximum number of entries, the maximum number of bytes of all tags.
  ///
  /// One row has null in the columns of a place and an id; then the columns of ``position``, whether entries were
  /// pruned, whether all places were removed at once, the number of entries, and whether the tags fit. If the entries
  /// and the tags are not more than the maximum, there is also a row for each changed place: the columns of the place,
  /// all null where it was deleted, and its id.
  ///
  /// Each index scan stops at the maximum, so that the statement is short however many entries there are. Tags are
  /// measured only where their stored sizes do not tell, because measuring reads them completely. The planner would use
  /// the values of the snapshot and the maximum to plan each execution anew, which takes five times as long as the
  /// execution; it does not look into subqueries. `OFFSET 0` has it look each place up, instead of reading a small
  /// table as a whole.
  static let feed = Statement(
    "changes_feed",
    """
    WITH logged AS MATERIALIZED (
      (
        SELECT point_id FROM changes
        WHERE transaction >= pg_snapshot_xmax(\(former))
          AND transaction < (SELECT pg_snapshot_xmax(pg_current_snapshot()))
          AND pg_visible_in_snapshot(transaction, (SELECT pg_current_snapshot()))
        ORDER BY transaction LIMIT (SELECT $2::int8 + 1)
      )
      UNION ALL
      (
        SELECT point_id FROM changes
        WHERE transaction = ANY (ARRAY(
          SELECT number FROM pg_snapshot_xip(\(former)) AS former (number)
          WHERE pg_visible_in_snapshot(number, pg_current_snapshot())))
        ORDER BY transaction LIMIT (SELECT $2::int8 + 1)
      )
    ), total AS MATERIALIZED (
      SELECT count(*) AS count, bool_or(point_id IS NULL) IS TRUE AS is_reset FROM logged
    ), changed AS MATERIALIZED (
      SELECT point_id, point.*
      FROM (
        SELECT DISTINCT point_id FROM logged WHERE (SELECT count <= $2::int8 AND NOT is_reset FROM total)
      ) AS ids
      LEFT JOIN LATERAL (
        SELECT \(PointColumns.all) FROM points WHERE points.id = ids.point_id OFFSET 0
      ) AS point ON true
    ), size AS MATERIALIZED (
      SELECT CASE
          WHEN stored <= (SELECT $3::int8 / \(LongTags.maximumCompression)) THEN true
          WHEN stored > (SELECT $3::int8) THEN false
          ELSE (SELECT coalesce(sum(octet_length(tags::text)), 0) FROM changed) <= (SELECT $3::int8)
        END AS fits
      FROM (SELECT coalesce(sum(pg_column_size(tags)), 0) AS stored FROM changed) AS total
    )
    SELECT NULL::uuid, NULL::float8, NULL::float8, NULL::text, NULL::text, NULL::json, NULL::int8, NULL::timestamptz,
      NULL::timestamptz, NULL::text, NULL::text, NULL::uuid, \(position),
      \(isPruned(after: former)), is_reset, count, fits
    FROM total, size
    UNION ALL
    SELECT \(PointColumns.all), point_id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
    FROM changed WHERE (SELECT fits FROM size)
    """
  )

  private static let former = "((SELECT $1::text)::pg_snapshot)"

  /// The statement for the estimated numbers of places and of bytes of their texts.
  ///
  /// It reads some pages of the table at random, with about a thousand places, however many there are. Of these it
  /// takes the stored size of the tags, which costs nothing, and of a hundred also their length, which reads them
  /// completely. Statistics do not tell: the width of a value that is stored outside of its row is given as 18 bytes.
  static let estimate = Statement(
    "changes_estimate",
    """
    WITH size AS MATERIALIZED (
      SELECT relpages > 0 AND reltuples >= 0 AS is_known, greatest(1, CASE
          WHEN relpages > 0 AND reltuples >= 0
            THEN reltuples * pg_relation_size(oid) / current_setting('block_size')::int8 / relpages
          ELSE pg_relation_size(oid) / 200
        END)::float8 AS places
      FROM pg_class WHERE oid = 'points'::regclass
    ), sample AS MATERIALIZED (
      SELECT octet_length(name) + coalesce(octet_length(source_id), 0) AS others, pg_column_size(tags) AS stored, tags
      FROM points TABLESAMPLE SYSTEM ((SELECT \(samplePercent) FROM size))
    ), total AS MATERIALIZED (
      SELECT CASE WHEN is_known THEN places ELSE (SELECT count(*) FROM sample) * 100 / (\(samplePercent)) END AS places
      FROM size
    ), compression AS MATERIALIZED (
      SELECT sum(octet_length(tags::text)) / sum(stored)::float8 AS ratio
      FROM (SELECT stored, tags FROM sample ORDER BY random() LIMIT 100) AS few
    )
    SELECT places::int8, (places * coalesce((
        SELECT avg(others) + avg(stored) * (SELECT ratio FROM compression) FROM sample
      ), 100))::int8
    FROM total
    """
  )

  /// The SQL expression of the part of the pages that ``estimate`` reads, from the number of places.
  private static let samplePercent = "least(100, 100 * 1000 / places)"

  /// The query that copies all places in binary, in the order in which they are stored.
  static let copyPoints = "COPY (SELECT \(PointColumns.all) FROM points) TO STDOUT (FORMAT binary)"

  /// Returns the query that copies the places that were changed after a snapshot in binary: the id, and the columns of
  /// the place, all null where it was deleted. Entries that the transaction's snapshot does not see are not included.
  static func copyChanges(after snapshot: TransactionSnapshot) -> String {
    """
    COPY (
      SELECT point_id, \(PointColumns.all)
      FROM (SELECT DISTINCT point_id FROM changes WHERE \(isMissing(from: snapshot))) AS changed
      LEFT JOIN points ON points.id = changed.point_id
    ) TO STDOUT (FORMAT binary)
    """
  }

  /// Returns the query for whether so many places were changed after a snapshot that reading all is faster than looking
  /// each of them up.
  static func hasManyMissing(from snapshot: TransactionSnapshot) -> String {
    """
    SELECT 20 * (SELECT count(*) FROM changes WHERE \(isMissing(from: snapshot)))
      > (SELECT reltuples FROM pg_class WHERE oid = 'points'::regclass)
    """
  }

  /// The script that has the rest of a transaction read all places once, and find the changed ones in memory. By itself
  /// the planner looks each of them up and sorts their ids on disk: it does not know yet how long the log has become.
  static let planManyChanges = """
    SET LOCAL enable_nestloop = off; SET LOCAL enable_sort = off; SET LOCAL work_mem = '64MB'
    """

  /// The channel on which changes are notified.
  static let channel = "waymark_changes"

  /// The statement that wakes up all readers. In the transaction of a write it would make the commits of all writers
  /// wait for each other, so it follows the commit.
  static let notify = Statement("changes_notify", "SELECT pg_notify('\(channel)', '')")

  /// The statement that deletes a batch of the entries of transactions that had ended before a time, in a fraction of a
  /// second. An entry's own time would not do: it may be hours before the commit that makes it visible. Numbers that no
  /// transaction has reached were copied from another server, and their entries are deleted too.
  static let prune = Statement(
    "changes_prune",
    """
    DELETE FROM changes
    WHERE ctid = ANY (ARRAY(
      SELECT ctid
      FROM changes
      WHERE transaction < (
        SELECT horizon FROM changes_pruned
        WHERE horizon_time <= $1::timestamptz AND horizon <= pg_snapshot_xmin(pg_current_snapshot())
        ORDER BY horizon LIMIT 1)
      ORDER BY transaction
      LIMIT \(prunedAtOnce)
    ) || ARRAY(
      SELECT ctid
      FROM changes
      WHERE transaction >= (SELECT pg_snapshot_xmax(pg_current_snapshot()))
      LIMIT \(prunedAtOnce)
    ))
    """
  )

  static let prunedAtOnce = 20_000

  /// The statement that remembers the transactions that have ended now, for a later pruning, if the ones remembered are
  /// from before a time.
  static let advanceHorizon = Statement(
    "changes_horizon",
    """
    UPDATE changes_pruned
    SET horizon = pg_snapshot_xmin(pg_current_snapshot()), horizon_time = now()
    WHERE horizon_time <= $1::timestamptz
    """
  )
}
