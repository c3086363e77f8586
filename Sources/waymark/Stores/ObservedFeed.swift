import IndexedStore
import Points
import PostgresStore

/// The changes of a database's places, whose outages are logged as those of the database's store are: while reads come
/// from an index, there may be no other calls of the database.
struct ObservedFeed: PointChangeFeed {
  let feed: ChangeFeed
  let outages: OutageLog

  private func observe<Value>(
    _ call: () async throws(PointStoreError) -> Value
  ) async throws(PointStoreError) -> Value {
    do {
      let value = try await call()
      outages.noteSuccess(of: .version, isWrite: false)
      return value
    } catch {
      outages.note(error, of: .version, isWrite: false)
      throw error
    }
  }

  func changes(after position: ChangePosition) async throws(PointStoreError) -> ChangeFeed.Answer {
    try await observe { () throws(PointStoreError) in try await feed.changes(after: position) }
  }

  func currentPosition() async throws(PointStoreError) -> ChangePosition {
    try await observe { () throws(PointStoreError) in try await feed.currentPosition() }
  }

  func estimatedSize() async throws(PointStoreError) -> (points: Int, textBytes: Int) {
    try await feed.estimatedSize()
  }

  func copyPoints(
    _ body: @escaping @Sendable (PointFields) -> Void
  ) async throws(PointStoreError) -> (position: ChangePosition, byteCount: Int) {
    try await feed.copyPoints(body)
  }

  func copyChanges(
    after position: ChangePosition, _ body: @escaping @Sendable (ChangeFeed.Change) -> Void
  ) async throws(PointStoreError) -> ChangeFeed.CopyResult {
    try await feed.copyChanges(after: position, body)
  }

  func listen(_ onChange: @Sendable () -> Void) async throws(PointStoreError) -> Bool {
    try await feed.listen(onChange)
  }
}
