public import Points

/// The version of the places in PostgreSQL: the snapshot that a statement sees, by name.
///
/// A snapshot says which transactions had ended when it was taken: all below `xmin`, and those below `xmax` that are not
/// in its list. A transaction that has ended stays what it became, committed or not, and what is visible is what the
/// committed ones left. So equal snapshots of one server see the same rows, all of them.
///
/// As transactions end, snapshots only grow, and none comes back. If the same snapshot is seen at two moments it was the
/// one at every moment in between: whatever was searched there found what would be found now. That is why a version that
/// is read *before* a search may name its answer, and why no order of commits matters. Sequence numbers of the change log
/// would not do: they are given before the commit, and of two writers the later number may be seen first.
///
/// What else could give a name a second time:
///
/// - *Another server.* A standby that is promoted gives the numbers of transactions anew that its primary had not sent
///   yet; a backup that is restored does so too. The name holds when the postmaster started, which is another time for
///   each server and each of its starts.
/// - *A crash* of one of a server's processes, which the postmaster recovers from without being started again: numbers of
///   transactions that were undone may be given again. All connections end then, and each new one learns in which life
///   of the server it is (``ServerIdentity``).
/// - *Another database or table* on the same server: the name holds both their numbers.
/// - *A standby.* Its snapshots leave out what is in progress on its primary, so it has no versions; nor has a pool whose
///   connections lead to several servers (``ServerWatch``).
///
/// Every transaction that writes anything on the server changes the name, in another database too: then an answer is sent
/// again that could have been confirmed. A row that counts the writes to `points` would avoid that, but each writer would
/// hold it until the commit, and an import everyone for minutes.
extension PostgresStore {
  /// Answers each caller with the same row; callers that wait together are answered together.
  static let version = Statement(
    "shared_version",
    """
    SELECT pg_is_in_recovery(), encode(substr(sha256(convert_to(concat_ws(
      ' ', extract(epoch FROM pg_postmaster_start_time()),
      (SELECT oid FROM pg_database WHERE datname = current_database()), 'points'::regclass::oid,
      txid_current_snapshot()
    ), 'UTF8')), 1, 16), 'hex'), caller
    FROM unnest((SELECT $1::uuid[])) WITH ORDINALITY AS callers (wanted, caller)
    """
  )

  private static let nobody = PointID(high: 0, low: 0)

  /// The version of the places as they are at some moment of the call; `nil` from a standby and where connections lead
  /// to several servers. One statement, without a look at the table.
  ///
  /// - Throws: ``PointStoreError``.
  public func dataVersion() async throws(PointStoreError) -> DataVersion? {
    // The first statement may be what makes the first connection.
    for _ in 0..<2 {
      let before = pool.servers.primary
      let result = try await pool.run(SharedRead(statement: Self.version, values: .id(Self.nobody)))
      guard let row = result.rows.first else { throw .unexpected(reason: "a version gave no row") }
      guard try !row.boolean(0) else { return nil }
      if let before, pool.servers.primary?.epoch == before.epoch {
        let version = DataVersion(token: "\(before.server.life)-\(try row.text(1))", source: before.epoch)
        versions.note(version, at: .now)
        return version
      }
    }
    return nil
  }

  /// The version that was read last. Where that is longer ago than ``VersionNotes/refreshInterval`` it is read again,
  /// which the caller does not wait for: at most once in that time, however many ask.
  public func knownDataVersion() -> DataVersion? {
    let (version, isDue) = versions.known(at: .now)
    if isDue {
      Task {
        // An outage shows elsewhere.
        _ = try? await dataVersion()
      }
    }
    guard let version, pool.servers.primary?.epoch == version.source else { return nil }
    return DataVersion(token: version.token, source: version.source, changedAt: version.changedAt, isCurrent: false)
  }
}
