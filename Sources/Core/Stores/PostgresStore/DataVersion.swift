package import Points
import PostgresClient
import Synchronization

/// The data version of a PostgreSQL database, which names the snapshot that a statement sees.
///
/// A snapshot states which transactions had ended when it was taken: all below `xmin`, and those below `xmax` that are
/// not in its list. Whether an ended transaction was committed never changes, and the committed ones determine the
/// visible rows. So equal snapshots of one server see the same rows.
///
/// As transactions end, snapshots only advance, and none recurs. If the same snapshot is seen at two moments, it was
/// valid at every moment in between, and any search in that interval returns what a search would return now. That is
/// why a version that is read *before* a search may name its result, and why the order of commits doesn't matter.
/// Sequence numbers of the change log would not do: they are assigned before the commit, and the later of two numbers
/// may become visible first.
///
/// The following events could make a version recur for other data:
///
/// - *Another server.* A promoted standby reassigns transaction numbers that its former primary had not sent yet, and
///   so does a restored backup. The version contains the postmaster's start time, which differs between servers and
///   between starts.
/// - *A crash* of a backend, from which the postmaster recovers without a restart: numbers of transactions that were
///   rolled back may be reassigned. All connections are closed then, and each new one reads the server's identity
///   (``ServerIdentity``).
/// - *Another database or table* on the same server: the version contains both object identifiers.
/// - *A standby.* Its snapshots omit transactions in progress on its primary, so it has no versions. Neither has a pool
///   whose connections lead to several servers (``ServerWatch``).
///
/// Every transaction that writes anything on the server changes the version, in another database too; a response is
/// then sent again although it could have been revalidated. A row that counts the writes to `points` would avoid that,
/// but each writer would lock it until its commit, and an import would block all writers for minutes.
extension PostgresStore {
  static let version = Statement(
    "data_version",
    """
    SELECT pg_is_in_recovery(), encode(substr(sha256(convert_to(concat_ws(
      ' ', extract(epoch FROM pg_postmaster_start_time()),
      (SELECT oid FROM pg_database WHERE datname = current_database()), 'points'::regclass::oid,
      txid_current_snapshot()
    ), 'UTF8')), 1, 16), 'hex')
    """
  )

  /// Returns the version of the data at some moment during the call; `nil` from a standby and where connections lead to
  /// several servers. It is one statement that reads no table.
  ///
  /// - Throws: ``PointStoreError``.
  package func dataVersion() async throws(PointStoreError) -> DataVersion? {
    // The first statement may establish the first connection.
    for _ in 0..<2 {
      let before = pool.servers.primary
      let result = try await read(Self.version, Parameters())
      guard let row = result.rows.first else { throw .unexpected(reason: "the query for the version returned no row") }
      guard try !row.boolean(0) else { return nil }
      await pool.foundPrimary()
      if let before, pool.servers.primary?.epoch == before.epoch {
        let version = DataVersion(token: "\(before.server.life)-\(try row.text(1))", source: before.epoch)
        versionCache.store(version, at: .now)
        return version
      }
    }
    return nil
  }

  /// Returns the version that was read last. If it is older than ``VersionCache/refreshInterval``, it is refreshed in
  /// the background, at most once in that time.
  package func knownDataVersion() -> DataVersion? {
    let (version, isDue) = versionCache.current(at: .now)
    if isDue {
      Task {
        // An outage is reported by other calls.
        _ = try? await dataVersion()
      }
    }
    guard let version, pool.servers.primary?.epoch == version.source else { return nil }
    return DataVersion(token: version.token, source: version.source, isExact: false)
  }
}

/// A cache of the data version that was read last.
final class VersionCache: Sendable {
  /// The age at which a version is refreshed for callers that do not wait for it. With a longer interval more responses
  /// carry a version that is out of date when they are made and are sent twice before one is revalidated; none is ever
  /// revalidated wrongly.
  static let refreshInterval: Duration = .seconds(1)

  private struct State {
    var version: DataVersion?
    var nextRefresh: ContinuousClock.Instant?
  }

  private let state = Mutex(State())

  /// Returns the last version, and whether the caller must refresh it; this is so for one caller in each interval.
  func current(at now: ContinuousClock.Instant) -> (version: DataVersion?, isDue: Bool) {
    state.withLock { state in
      let isDue = state.nextRefresh.map { $0 <= now } ?? true
      if isDue { state.nextRefresh = now + Self.refreshInterval }
      return (state.version, isDue)
    }
  }

  /// Stores a version that was read.
  func store(_ version: DataVersion, at now: ContinuousClock.Instant) {
    state.withLock { $0 = State(version: version, nextRefresh: now + Self.refreshInterval) }
  }
}
