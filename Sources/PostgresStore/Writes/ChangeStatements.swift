/// The SQL of the change log.
///
/// A sequence number is given when a change is written, and the change is seen when its transaction commits: 12 may be
/// seen while 11 is still on its way. A reader that went on behind 12 would never see 11. So each writer first takes a
/// shared advisory lock whose number tells the last sequence number given so far, which is below all of its own; the
/// lock goes with the transaction, just after its changes can be seen. A reader first looks at the last number given
/// and at those locks, and then, in a second statement and so with a later view of the table, reads no further than
/// the least of them. What is left undone there has its lock held; what is done is seen.
///
/// Nobody waits for anybody. The locks are the primary's, so the log is read there and not from a replica.
enum ChangeStatements {
  /// The first 16 bits of the locks' numbers, which tell them from other locks; the last number given has the other 48.
  private static let lockTag: Int64 = 0x7764

  private static let lastNumberGiven = "CASE WHEN is_called THEN last_value ELSE last_value - 1 END"

  /// Takes the lock and gives one row, for whoever inserts changes to join with: a number is given only to a row that
  /// is there, and so after the lock is taken.
  static let announcement = """
    SELECT pg_advisory_xact_lock_shared(\(lockTag << 48) | (\(lastNumberGiven))) FROM changes_sequence_seq
    """

  /// The number up to which all changes are seen by a later statement.
  static let horizon = Statement(
    "changes_horizon",
    """
    SELECT least(
      (SELECT \(lastNumberGiven) FROM changes_sequence_seq),
      (
        SELECT min(((classid::int8 & 65535) << 32) | objid::int8)
        FROM pg_locks
        WHERE locktype = 'advisory' AND objsubid = 1 AND classid::int8 >> 16 = \(lockTag)
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
      )
    ), pg_is_in_recovery()
    """
  )

  static let read = Statement(
    "changes",
    """
    SELECT sequence, point_id, kind, version, time
    FROM changes
    WHERE sequence > $1::int8 AND sequence <= $2::int8
    ORDER BY sequence
    LIMIT $3::int8
    """
  )

  /// Some of the changes before a time; so many at once take a fraction of a second.
  static let prune = Statement(
    "changes_prune",
    """
    DELETE FROM changes
    WHERE sequence IN (SELECT sequence FROM changes WHERE time < $1::timestamptz LIMIT \(prunedAtOnce))
    """
  )

  static let prunedAtOnce = 20_000
}
