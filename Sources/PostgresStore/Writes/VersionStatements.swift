import Points
import Synchronization

/// The SQL that gives places their versions, which grow with each change of a place and never repeat for an id.
///
/// A new version is drawn from one sequence for all places, after the place is locked. Of two changes to one place the
/// later one so draws the greater number. What needs care is a place that is created while another with its id is being
/// deleted: the number could be drawn before the deleted place was even created, and be the lesser one. So whoever
/// deletes a place, and whoever creates one under an id that may have been another's, first takes a lock that stands for
/// the id, and draws after that. An import, which would need a lock for each row, looks afterwards for deletions that
/// came in between (``ImportStatements/renewVersions(_:since:)``).
enum VersionStatements {
  private static let sequence = "'point_versions'::regclass"

  /// A new version.
  static let next = "nextval(\(sequence))"

  /// The new version of a place, from its column.
  ///
  /// The sequence is above every version that it gave. A greater one comes from an older version of this program, which
  /// counts on from the place, or from an operator; it is counted on from, unless it is beyond all that was ever given.
  ///
  /// - Parameter drawn: an SQL expression of a version drawn for this change.
  static func next(after version: String, drawn: String = next) -> String {
    "greatest(\(drawn), CASE WHEN \(version) < \(PointOfInterest.maximumCountedVersion) THEN \(version) + 1 END)"
  }

  /// Takes the lock of an id until the transaction ends.
  static func lock(of id: String) -> String { "pg_advisory_xact_lock(\(lockClass), uuid_hash(\(id)))" }

  /// Draws numbers until the sequence has passed a version that did not come from it, and gives their count. Only a few:
  /// it is meant for what was counted on by one.
  static func pass(_ version: String) -> String {
    """
    SELECT count(\(next)) FROM generate_series(
      1, least(1000, \(version) - coalesce(pg_sequence_last_value(\(sequence)), 0))
    )
    """
  }

  /// Moves the sequence up to the clock where it is behind: it is after a database was restored from a backup, or a
  /// replica that lacked the last writes was promoted, and would give numbers again.
  ///
  /// Those who do so at the same time take turns, and look after they have waited. What others draw meanwhile is less
  /// than the ten seconds of microseconds by which the sequence must be behind. Nobody waits for a standby to confirm it:
  /// the write that follows does.
  static let followClock = Statement(
    "follow_clock",
    """
    WITH turn AS MATERIALIZED (
      SELECT pg_advisory_xact_lock(\(lockClass), 0), set_config('synchronous_commit', 'local', true)
    ), clock AS MATERIALIZED (
      SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now FROM turn
    )
    SELECT setval(\(sequence), now)
    FROM clock
    WHERE pg_sequence_last_value(\(sequence)) < now - 10000000 AND now < \(PointOfInterest.maximumCountedVersion)
    """
  )

  /// The first half of the numbers of the locks that stand for ids.
  private static let lockClass = 0x7766
}

extension PostgresStore {
  /// Moves the sequence of versions up to the clock, once for each server that connections lead to: before the first
  /// write, and before the next one after another server was met. Of what fails here the write itself will tell.
  ///
  /// - Parameter again: whether a write has met another server.
  /// - Returns: the server whose sequence was moved; `nil` where that is not known.
  func followClock(again: Bool) async throws(PointStoreError) -> ServerIdentity? {
    let followed = followedServer.withLock { $0 }
    if let followed, !again {
      let current = pool.servers.primary?.epoch
      guard let current, current != followed.epoch else { return followed.server }
    }
    do {
      _ = try await pool.run(VersionStatements.followClock, Parameters(), isRead: false)
    } catch .misconfigured {
      // The role may not set the sequence: versions still grow, from where the sequence is.
    }
    let latest = pool.servers.latest
    followedServer.withLock { $0 = FollowedServer(epoch: latest?.epoch ?? 0, server: latest?.server) }
    return latest?.server
  }
}

/// The server whose sequence of versions has been moved up to the clock.
struct FollowedServer: Sendable {
  /// The number that stood for it; see ``ServerWatch/primary``.
  let epoch: UInt64
  /// `nil` where it is not known.
  let server: ServerIdentity?
}
