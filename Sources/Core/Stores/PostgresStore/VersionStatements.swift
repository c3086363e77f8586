import Points
import PostgresClient
import Synchronization

/// The SQL that assigns versions to places. Versions grow with each change of a place and never repeat for an id.
///
/// A new version is drawn from one sequence for all places, after the place is locked, so the later of two changes to
/// one place draws the greater number. The exception is a place that is created while another with its id is being
/// deleted: its number could be drawn before the deleted place was even created. So a transaction that deletes a place,
/// or creates one under an id that may have existed before, first takes an advisory lock on the id, and draws after
/// that. An import, which would need a lock for each row, instead checks afterwards for concurrent deletions
/// (``ImportStatements/renewVersions(_:since:)``), and before it deletes many places, it locks their rows and waits for
/// the writes that may not see them (``ImportStatements/earlierWriters``).
enum VersionStatements {
  private static let sequence = "'point_versions'::regclass"

  /// The SQL expression of a new version.
  static let next = "nextval(\(sequence))"

  /// Returns the SQL expression of a place's next version, given its version column.
  ///
  /// The sequence is above every version drawn from it. A greater version comes from another program or an operator; it
  /// is incremented, unless it exceeds the maximum.
  ///
  /// - Parameter drawn: an SQL expression of a version drawn for this change.
  static func next(after version: String, drawn: String = next) -> String {
    "greatest(\(drawn), CASE WHEN \(version) < \(PointOfInterest.maximumCountedVersion) THEN \(version) + 1 END)"
  }

  /// Returns the SQL expression that locks an id until the transaction ends.
  static func lock(of id: String) -> String { "pg_advisory_xact_lock(\(lockClass), uuid_hash(\(id)))" }

  /// Returns a query that draws numbers until the sequence has passed a version that did not come from it, up to a
  /// thousand, and returns their count.
  static func pass(_ version: String) -> String {
    """
    SELECT count(\(next)) FROM generate_series(
      1, least(1000, \(version) - coalesce(pg_sequence_last_value(\(sequence)), 0))
    )
    """
  }

  /// The statement that advances the sequence to the clock. It is behind after a backup was restored or a standby
  /// without the last writes was promoted, and would otherwise repeat numbers. No number is given before its time, so
  /// those that were given since the backup are below the clock.
  ///
  /// `setval` does not exclude other sessions, which may draw between its condition and its effect. They draw fewer
  /// numbers than the quarter of a second of microseconds by which the sequence must be behind; if it is behind by less,
  /// the statement waits first. Concurrent callers run one after the other and check after waiting. It does not wait for
  /// a standby: the following write does.
  static let followClock = Statement("follow_clock", followClock(waits: true))

  /// The same SQL, without the wait: for a transaction that may lead to another server than the one whose sequence was
  /// advanced before.
  static let followClockAtOnce = followClock(waits: false)

  private static func followClock(waits: Bool) -> String {
    """
    WITH turn AS MATERIALIZED (
      SELECT pg_advisory_xact_lock(\(lockClass), 0), set_config('synchronous_commit', 'local', true)
    ), lag AS MATERIALIZED (
      SELECT \(clock) - pg_sequence_last_value(\(sequence)) AS microseconds FROM turn
    ), pause AS MATERIALIZED (
      SELECT pg_sleep((\(margin) - microseconds) / 1000000.0) FROM lag
      WHERE \(waits) AND microseconds BETWEEN 0 AND \(margin)
    ), clock AS MATERIALIZED (
      SELECT \(clock) AS now FROM lag LEFT JOIN pause ON true
    )
    SELECT setval(\(sequence), now)
    FROM clock
    WHERE pg_sequence_last_value(\(sequence)) <= now - \(margin) AND now < \(PointOfInterest.maximumCountedVersion)
    """
  }

  /// The SQL expression of the time in microseconds.
  private static let clock = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"

  /// The number of microseconds by which the sequence must be behind the clock to be advanced.
  private static let margin = 250_000

  /// The first half of the numbers of the locks on ids.
  private static let lockClass = 0x7766
}

extension PostgresStore {
  /// Advances the sequence of versions to the clock, once for each server: before the first write, and before the next
  /// write after a failover. A failure here is left to the write to report.
  ///
  /// - Parameter again: a Boolean value that indicates whether a write has found another server.
  /// - Returns: the server whose sequence was advanced; `nil` where it is unknown.
  func followClock(again: Bool) async throws(DatabaseError) -> ServerIdentity? {
    let followed = followedServer.withLock { $0 }
    if let followed, !again {
      let current = pool.servers.primary?.epoch
      guard let current, current != followed.epoch else { return followed.server }
    }
    do {
      _ = try await pool.run(VersionStatements.followClock, Parameters(), isRead: false)
    } catch .rejected(let error) where error.isPermissionError {
      // The role may not set the sequence. Versions still grow from the sequence's current value.
    }
    // On a standby the statement does nothing.
    guard let latest = pool.servers.latest else { return nil }
    followedServer.withLock { $0 = FollowedServer(epoch: latest.epoch, server: latest.server) }
    return latest.server
  }
}

/// The server whose sequence of versions has been advanced to the clock.
struct FollowedServer: Sendable {
  /// The server's epoch; see ``ServerWatch/primary``.
  let epoch: UInt64
  let server: ServerIdentity
}
