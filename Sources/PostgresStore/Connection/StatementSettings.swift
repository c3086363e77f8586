/// The server's settings under which a pool's statements run.
///
/// A connection with a session of its own is given them once, when it is made. Behind a pooler a session belongs to nobody:
/// what is set in it would reach whoever is given the server's connection next. There each transaction is given them, by a
/// statement in front of its own.
struct StatementSettings: Sendable {
  /// The time for which the server may work on a statement (`statement_timeout`).
  let timeoutMilliseconds: Int

  /// A Boolean value that indicates whether a write is acknowledged before it is on the disk.
  var isDurable = true

  /// Sets `synchronous_commit` where a commit would be acknowledged before it is on the disk, because the server or the role
  /// is set so. Settings that wait for standbys too are left alone.
  ///
  /// - Parameter isLocal: whether it is set for the current transaction alone.
  static func durability(isLocal: Bool) -> String {
    """
    SELECT set_config('synchronous_commit', 'on', \(isLocal)) WHERE current_setting('synchronous_commit') = 'off'
    """
  }

  /// Sets up a session.
  var script: String {
    // Compiling a plan to machine code takes longer than any of these plans runs. The time-out comes last: it is not for
    // the set-up.
    """
    SET jit = off; \(isDurable ? Self.durability(isLocal: false) : "SET synchronous_commit = off"); \
    SET statement_timeout = \(timeoutMilliseconds)
    """
  }

  /// Sets up a transaction, and gives the identity of the server that runs it. Value: the identity that the server must
  /// have, or null for any.
  ///
  /// It fails on another server, by a value that the setting can't have: then nothing that follows in the same transaction
  /// is run.
  var preamble: Statement {
    let commit =
      isDurable
      ? "CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END"
      : "'off'"
    return Statement(
      "settings_\(isDurable ? "durable" : "volatile")_\(timeoutMilliseconds)",
      """
      SELECT identity, set_config('jit', 'off', true), set_config('synchronous_commit', \(commit), true),
        set_config(
          'statement_timeout',
          CASE WHEN $1::text IS NULL OR $1::text = identity THEN '\(timeoutMilliseconds)' ELSE 'of another server' END,
          true
        )
      FROM (\(ServerIdentity.query)) AS server (identity)
      """
    )
  }
}

/// The settings of a transaction of an export or import, which takes as long as its client does.
enum BulkSettings {
  /// Sets them in an open transaction.
  static let script = """
    SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL jit = off
    """
}
