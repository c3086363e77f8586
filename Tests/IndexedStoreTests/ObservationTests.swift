import Basics
import Geo
import Logging
import MemoryStore
import Points
import PostgresStore
import TestSupport
import Testing

@testable import IndexedStore

@Suite(.timeLimit(.minutes(5))) struct ObservationTests {
  private let observer = RecordingObserver()
  private let index: IndexFollower
  private let store: IndexedStore

  init() throws {
    let feed = EmptyFeed(position: try #require(ChangePosition(text: "1.a.a")))
    index = IndexFollower(feed, observers: [observer], logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    store = IndexedStore(MemoryStore(), index: index)
  }

  @Test func observersNoteEachCallOfTheDatabase() async throws {
    let draft = try ImportRow.sample("a", 1, 1).draft

    // The index is not built yet.
    _ = try await store.page(matching: PointQuery())
    _ = try await store.count(matching: PointQuery())
    _ = try await store.point(id: .sample(1))
    _ = try await store.categoryCounts()
    _ = try await store.sources()
    _ = try await store.point(shuffledAtOrAfter: 0)
    try await store.checkReadiness()
    _ = await store.currentPosition()
    _ = try await store.create(draft, once: nil)
    _ = try await store.put(draft, id: .sample(1), if: .none)
    try? await store.delete(id: .sample(2), if: .none)
    _ = try await store.deleteBatch(ofSource: "none", after: nil)
    _ = try await store.importRows([ImportRow]().inOneBatch, options: ImportOptions(dryRun: true))
    _ = try await store.importRows([ImportRow]().inOneBatch, options: ImportOptions())
    try await store.exportPoints(matching: PointQuery()) { _ in }

    #expect(
      observer.calls == [
        "page", "count", "point", "categories", "sources", "shuffled", "readiness", "version", "create to write",
        "put to write", "delete to write: notFound", "deletions to write", "import", "import to write", "export",
      ])
  }

  @Test func observersNoteEachRoundOfAnIndexAndNoReadFromIt() async throws {
    let task = Task { await index.run() }
    try await index.waitUntilFollowing()

    _ = try await store.page(matching: PointQuery())

    #expect(observer.calls.contains("version"))
    #expect(!observer.calls.contains("page"))
    #expect(store.indexReads == 1)
    task.cancel()
    await task.value
  }
}

/// The changes of a database without places.
private struct EmptyFeed: PointChangeFeed {
  let position: ChangePosition

  func changes(after position: ChangePosition) async throws(PointStoreError) -> ChangeFeed.Answer {
    .changes(puts: [], removals: [], to: self.position)
  }

  func currentPosition() async throws(PointStoreError) -> ChangePosition { position }

  func estimatedSize() async throws(PointStoreError) -> (points: Int, textBytes: Int) { (0, 0) }

  func copyPoints(
    _ body: @escaping @Sendable (BorrowedPoint) -> Void
  ) async throws(PointStoreError) -> (position: ChangePosition, byteCount: Int) { (position, 0) }

  func copyChanges(
    after position: ChangePosition, upTo maximum: Int, _ body: @escaping @Sendable (ChangeFeed.Change) -> Void
  ) async throws(PointStoreError) -> ChangeFeed.CopyResult { .copied(to: self.position) }

  func listen(_ onChange: @Sendable () -> Void) async throws(PointStoreError) -> Bool { false }
}
