/// The SQL of the change log, which triggers write in the transactions of the changes.
///
/// An entry has the number of its transaction. Transactions become visible in another order than that of their numbers,
/// so a reader compares snapshots: PostgreSQL's snapshot states exactly which transactions it sees. The entries that a
/// new snapshot sees and an old one did not are those of transactions that began after the old one (`xmax` and above)
/// or were in progress in it (`xip`). Each is read once, whatever the order of the commits, and a transaction that is
/// open for hours delays no other. A statement returns its own snapshot together with the entries that it sees, so that
/// both are of the same moment.
enum ChangeStatements {
  /// The SQL expression of a text that differs between servers, between their starts and recoveries, and between
  /// databases and tables. Transaction numbers are only compared where it is the same.
  static let life = """
    concat_ws(
      ' ', (SELECT concat_ws(' ', extract(epoch FROM pg_postmaster_start_time()), extract(epoch FROM stats_reset))
        FROM pg_stat_bgwriter),
      (SELECT oid FROM pg_database WHERE datname = current_database()), 'points'::regclass::oid
    )
    """

  /// Returns the columns of the current position: the life, the snapshot as text, and whether the server is a standby.
  private static let position = "\(life), pg_current_snapshot()::text, pg_is_in_recovery()"

  /// The query for the position of a transaction's snapshot, in the columns of ``position``.
  static let currentPosition = "SELECT \(position)"

  /// The same query as a prepared statement.
  static let currentPositionStatement = Statement("changes_position", currentPosition)

  /// Returns the query for the position of a transaction's snapshot, and two columns that indicate whether the changes
  /// after another one can't be read: whether entries may have been pruned, and whether all places were removed at once.
  static func currentPosition(after snapshot: TransactionSnapshot) -> String {
    """
    SELECT \(position), (SELECT transaction FROM changes_pruned) >= '\(snapshot.start)'::xid8,
      EXISTS (SELECT FROM changes WHERE point_id IS NULL AND (\(isMissing(from: snapshot))))
    """
  }

  /// Returns the condition of the entries that a snapshot does not see, as SQL. The text is made from numbers.
  private static func isMissing(from snapshot: TransactionSnapshot) -> String {
    let inProgress = snapshot.inProgress.map { "'\($0)'" }.joined(separator: ", ")
    return "transaction >= '\(snapshot.end)'::xid8 OR transaction = ANY (ARRAY[\(inProgress)]::xid8[])"
  }

  /// The statement for the current position and the places that were changed after another one. Values: the snapshot of
  /// the other position as text, the maximum number of entries.
  ///
  /// One row has null in the columns of a place and an id; then the columns of ``position``, whether entries may have
  /// been pruned, whether all places were removed at once, and the number of entries. If these are not more than the
  /// maximum, there is also a row for each changed place: the columns of the place, with the length of long tags in place
  /// of the tags, all null where it was deleted, and its id.
  ///
  /// Each index scan stops at the maximum, so that the statement is short however many entries there are. The planner
  /// would use the values of the snapshot and the maximum to plan each execution anew, which takes five times as long as
  /// the execution; it does not look into subqueries. `OFFSET 0` has it look each place up, instead of reading a small table as a whole.
  static let feed = Statement(
    "changes_feed",
    """
    WITH logged AS MATERIALIZED (
      (
        SELECT point_id FROM changes
        WHERE transaction >= pg_snapshot_xmax(\(former))
        ORDER BY transaction LIMIT (SELECT $2::int8 + 1)
      )
      UNION ALL
      (
        SELECT point_id FROM changes
        WHERE transaction = ANY (ARRAY(SELECT pg_snapshot_xip(\(former))))
        ORDER BY transaction LIMIT (SELECT $2::int8 + 1)
      )
    ), total AS MATERIALIZED (
      SELECT count(*) AS count, bool_or(point_id IS NULL) IS TRUE AS is_reset FROM logged
    )
    SELECT NULL::uuid, NULL::float8, NULL::float8, NULL::text, NULL::text, NULL::json, NULL::int8, NULL::timestamptz,
      NULL::timestamptz, NULL::text, NULL::text, NULL::uuid, \(position),
      (SELECT transaction FROM changes_pruned) >= pg_snapshot_xmin(\(former)), is_reset, count
    FROM total
    UNION ALL
    SELECT point.*, point_id, NULL, NULL, NULL, NULL, NULL, NULL
    FROM (
      SELECT DISTINCT point_id FROM logged WHERE (SELECT count <= $2::int8 AND NOT is_reset FROM total)
    ) AS changed
    LEFT JOIN LATERAL (
      SELECT \(PointColumns.all.boundedList) FROM points WHERE points.id = changed.point_id OFFSET 0
    ) AS point ON true
    """
  )

  private static let former = "((SELECT $1::text)::pg_snapshot)"

  /// The statement for the estimated numbers of places and of bytes of their texts.
  static let estimate = Statement(
    "changes_estimate",
    """
    SELECT places, (places * widths)::int8
    FROM (
      SELECT CASE WHEN reltuples >= 0 THEN reltuples::int8 ELSE pg_relation_size(oid) / 200 END AS places,
        (
          SELECT coalesce(sum(avg_width), 100)
          FROM pg_stats
          WHERE schemaname = current_schema() AND tablename = 'points' AND attname IN ('name', 'tags', 'source_id')
        ) AS widths
      FROM pg_class WHERE oid = 'points'::regclass
    ) AS estimate
    """
  )

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

  /// The channel on which changes are notified.
  static let channel = "waymark_changes"

  /// The statement that wakes up all readers. In the transaction of a write it would make the commits of all writers
  /// wait for each other, so it follows the commit.
  static let notify = Statement("changes_notify", "SELECT pg_notify('\(channel)', '')")

  /// The statement that deletes a batch of the entries of transactions that had ended before a time, in a fraction of a
  /// second. An entry's own time would not do: it may be hours before the commit that makes it visible.
  static let prune = Statement(
    "changes_prune",
    """
    DELETE FROM changes
    WHERE ctid = ANY (ARRAY(
      SELECT ctid
      FROM changes
      WHERE transaction < (SELECT horizon FROM changes_pruned WHERE horizon_time <= $1::timestamptz)
      ORDER BY transaction
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
