public import Points

extension PostgresStore: ChangeLog {
  /// Returns the changes after a sequence number, in order; see ``Points/ChangeLog/changes(after:limit:)``.
  ///
  /// Continuing after the last returned change misses none: changes in progress hold back those behind them. An import
  /// does so while it merges its rows.
  ///
  /// - Throws: ``PointStoreError``; `.unavailable` from a replica, which doesn't know the changes in progress.
  public func changes(after sequence: Int64, limit: Int) async throws(PointStoreError) -> [PointChange] {
    let horizon = try await read(ChangeStatements.horizon, Parameters())
    guard let row = horizon.rows.first else {
      throw .unexpected(reason: "the query for the change log returned no row")
    }
    if try row.boolean(1) {
      throw .unavailable(reason: "the change log can only be read from the primary, and this server is a replica")
    }
    let end = try row.integer(0)
    guard sequence < end else { return [] }
    let result = try await read(
      ChangeStatements.read,
      Parameters {
        $0.add(sequence)
        $0.add(end)
        $0.add(Int64(max(0, limit)))
      }
    )
    var changes: [PointChange] = []
    changes.reserveCapacity(result.count)
    for row in result.rows { changes.append(try Self.change(row)) }
    return changes
  }

  /// Deletes the changes before a time, some thousands in each transaction.
  ///
  /// - Throws: ``PointStoreError``; some changes may have been deleted then.
  public func pruneChanges(before time: Timestamp) async throws(PointStoreError) -> Int {
    var pruned = 0
    while true {
      let count = try await write(ChangeStatements.prune, Parameters { $0.add(time) }).affectedRows
      pruned += count
      if count < ChangeStatements.prunedAtOnce { return pruned }
    }
  }

  private static func change(_ row: QueryResult.Row) throws(PointStoreError) -> PointChange {
    let name = try row.text(2)
    guard let kind = PointChange.Kind(rawValue: name) else {
      throw .unexpected(reason: "a change has the unknown kind \(name)")
    }
    return PointChange(
      sequence: try row.integer(0),
      id: try row.id(1),
      kind: kind,
      version: try row.integer(3),
      time: try row.timestamp(4)
    )
  }
}
