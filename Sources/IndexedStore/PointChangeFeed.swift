package import Points
package import PostgresStore

/// The source of a database's places and their changes, for an index that follows them.
///
/// A standby has no positions of changes: the calls that return one throw `.readOnly` then.
package protocol PointChangeFeed: Sendable {
  /// Returns what has changed since a position, as of a moment during the call.
  ///
  /// - Throws: ``Points/PointStoreError``.
  func changes(after position: ChangePosition) async throws(PointStoreError) -> ChangeFeed.Answer

  /// Returns the position of everything that was committed before the call.
  ///
  /// - Throws: ``Points/PointStoreError``.
  func currentPosition() async throws(PointStoreError) -> ChangePosition

  /// Returns an estimate of the number of places and of the bytes of their texts, from a sample.
  ///
  /// - Throws: ``Points/PointStoreError``.
  func estimatedSize() async throws(PointStoreError) -> (points: Int, textBytes: Int)

  /// Passes all places of one snapshot to a closure, one at a time.
  ///
  /// - Returns: the position of the snapshot, and the number of bytes that were received.
  /// - Throws: ``Points/PointStoreError``; some places may have been passed then.
  func copyPoints(
    _ body: @escaping @Sendable (PointFields) -> Void
  ) async throws(PointStoreError) -> (position: ChangePosition, byteCount: Int)

  /// Passes the places that have changed since a position to a closure, one at a time, each once.
  ///
  /// - Throws: ``Points/PointStoreError``; some places may have been passed then.
  func copyChanges(
    after position: ChangePosition, _ body: @escaping @Sendable (ChangeFeed.Change) -> Void
  ) async throws(PointStoreError) -> ChangeFeed.CopyResult

  /// Calls a closure whenever changes may have been made, until the connection ends or the task is cancelled.
  ///
  /// - Returns: `false` where no notifications can be received.
  /// - Throws: ``Points/PointStoreError`` when the connection ends.
  func listen(_ onChange: @Sendable () -> Void) async throws(PointStoreError) -> Bool
}

extension ChangeFeed: PointChangeFeed {}
