package import Points
import PostgresClient

extension PostgresStore {
  /// Deletes the entries of the change log of transactions that had ended at the last call before a time, some
  /// thousands in each transaction, and returns their number.
  ///
  /// - Throws: ``PointStoreError``; some entries may have been deleted then.
  package func pruneChanges(before time: Timestamp) async throws(PointStoreError) -> Int {
    var pruned = 0
    while true {
      let count = try await write(ChangeStatements.prune, Parameters { $0.add(time) }).affectedRows
      pruned += count
      if count < ChangeStatements.prunedAtOnce { break }
    }
    _ = try await write(ChangeStatements.advanceHorizon, Parameters { $0.add(time) })
    return pruned
  }
}
