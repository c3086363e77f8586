/// The SQL of the change log.
///
/// A sequence number is assigned when a change is written, but the change becomes visible when its transaction commits:
/// 12 may be visible while 11 is still in progress. A reader that continued after 12 would miss 11. So each writer
/// first takes a shared advisory lock whose number contains the last sequence number assigned so far, which is below
/// all of its own. The lock is released with the transaction, just after its changes become visible. A reader first
/// reads the last sequence number and those locks, and then, in a second statement with a later snapshot, reads only up
/// to the minimum of them. Transactions in progress below that would still hold their locks, so everything there is
/// visible.
///
/// No transaction waits for another. The locks exist on the primary only, so the log can't be read from a replica.
enum ChangeStatements {
  /// The first 16 bits of the locks' numbers, which distinguish them from other locks. The last sequence number has the
  /// other 48.
  private static let lockTag: Int64 = 0x7764

  private static let lastNumberGiven = "CASE WHEN is_called THEN last_value ELSE last_value - 1 END"

  /// The query that takes the lock and returns one row, for writers to join their changes with: only then is a sequence
  /// number assigned after the lock is taken.
  static let announcement = """
    SELECT pg_advisory_xact_lock_shared(\(lockTag << 48) | (\(lastNumberGiven))) FROM changes_sequence_seq
    """

  /// The statement that deletes a batch of the changes before a time, in a fraction of a second.
  static let prune = Statement(
    "changes_prune",
    """
    DELETE FROM changes
    WHERE sequence IN (SELECT sequence FROM changes WHERE time < $1::timestamptz LIMIT \(prunedAtOnce))
    """
  )

  static let prunedAtOnce = 20_000
}
