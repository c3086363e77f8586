/// The server settings under which a pool's statements run.
///
/// A connection with its own session is set up once, when it is established. Behind a pooler, session settings would
/// leak to the next client of the server connection, so each transaction is set up by a statement that precedes its
/// own.
package struct StatementSettings: Sendable {
  /// The server's statement timeout (`statement_timeout`).
  let timeoutMilliseconds: Int

  /// A Boolean value that indicates whether a write is on disk before it is acknowledged.
  var isDurable = true

  /// Returns SQL that turns `synchronous_commit` on where the server or the role has it off, so that a commit is on
  /// disk before it is acknowledged. Settings that also wait for standbys are kept.
  ///
  /// - Parameter isLocal: a Boolean value that indicates whether the setting applies to the current transaction only.
  package static func durability(isLocal: Bool) -> String {
    """
    SELECT set_config('synchronous_commit', 'on', \(isLocal)) WHERE current_setting('synchronous_commit') = 'off'
    """
  }

  /// The script that sets up a session.
  var script: String {
    // JIT compilation takes longer than any of these plans runs. The timeout comes last so that it does not apply to
    // the setup.
    """
    SET jit = off; SET waymark.notifies = off; \(isDurable ? Self.durability(isLocal: false) : "SET synchronous_commit = off"); \
    SET statement_timeout = \(timeoutMilliseconds)
    """
  }

  /// The statement that sets up a transaction and returns the identity of the server that runs it. Value: the identity
  /// that the server must have, or null for any.
  ///
  /// On another server it fails with an invalid setting: the statements that follow in the same transaction are then
  /// not executed.
  var preamble: Statement {
    let commit =
      isDurable
      ? "CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END"
      : "'off'"
    return Statement(
      "settings_\(isDurable ? "durable" : "volatile")_\(timeoutMilliseconds)",
      """
      SELECT identity, set_config('jit', 'off', true), set_config('waymark.notifies', 'off', true),
        set_config('synchronous_commit', \(commit), true),
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

/// The settings of a transaction that lasts as long as its client needs, such as an export's or import's.
package enum BulkSettings {
  /// The script that applies them to an open transaction.
  package static let script = """
    SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL jit = off; \
    SET LOCAL waymark.notifies = off
    """
}
