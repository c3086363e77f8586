public import Points

extension PostgresStore {
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
}
