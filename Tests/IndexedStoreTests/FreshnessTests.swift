import IndexedStore
import Logging
import MemoryStore
import Points
import PostgresStore
import Synchronization
import Testing

/// Reads after a position, and reads while the database is unavailable, over a feed whose responses are scripted.
@Suite struct FreshnessTests {
  private static let former = "1.a.a"
  private static let later = "1.b.b"

  /// Runs a body with a store whose index stands at the former position, and was confirmed there.
  private func withStore(
    _ freshness: ReadFreshness, _ body: (IndexedStore, ScriptedFeed) async throws -> Void
  ) async throws {
    let feed = ScriptedFeed(at: try #require(ChangePosition(text: Self.former)))
    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let index = IndexFollower(feed, freshness: freshness, logger: logger)
    let task = Task { await index.run() }
    try await index.waitUntilFollowing()
    let store = IndexedStore(MemoryStore(), index: index)
    #expect(await store.currentPosition() == Self.former)
    try await body(store, feed)
    task.cancel()
    feed.state.withLock { $0.copyMustEnd = true }
    await task.value
  }

  private func read(_ store: IndexedStore) async throws {
    _ = try await store.page(matching: PointQuery(limit: 1))
  }

  @Test func readAfterAPositionIsNotServedByTheAgeOfAnIndexThatCatchesUp() async throws {
    try await withStore(ReadFreshness(.bounded(maximumAge: .seconds(600)))) { store, feed in
      feed.state.withLock { $0.answer = .manyChanges }

      #expect(try await store.waitUntilReads(contain: Self.later))
      try await read(store)

      #expect(store.databaseReads == 1)
      #expect(store.indexReads == 0)
    }
  }

  @Test func readAfterAPositionIsNotServedByTheAgeOfAnIndexWhoseRoundFailed() async throws {
    try await withStore(ReadFreshness(.bounded(maximumAge: .seconds(600)))) { store, feed in
      feed.state.withLock { $0.answer = nil }

      await #expect(throws: PointStoreError.self) { try await store.waitUntilReads(contain: Self.later) }
    }
  }

  @Test func unavailableDatabaseGivesNoPositionAndNoReadsAfterOne() async throws {
    try await withStore(ReadFreshness(maximumAgeWhenUnavailable: .seconds(600))) { store, feed in
      feed.state.withLock { $0.answer = nil }

      try await read(store)

      #expect(store.indexReads == 1)
      #expect(await store.currentPosition() == nil)
      await #expect(throws: PointStoreError.self) { try await store.waitUntilReads(contain: Self.later) }
      #expect(try await store.waitUntilReads(contain: Self.former))
    }
  }

  @Test func readsWhileUnavailableAreCountedAlsoAfterTheDatabaseIsBack() async throws {
    try await withStore(ReadFreshness(maximumAgeWhenUnavailable: .seconds(600))) { store, feed in
      let position = try #require(ChangePosition(text: Self.former))
      #expect(store.readsWhileUnavailable?.count == 0)
      feed.state.withLock { $0.answer = nil }
      try await read(store)

      feed.state.withLock { $0.answer = .changes(puts: [], removals: [], to: position) }
      #expect(try await store.waitUntilReads(contain: Self.later))
      let reads = try #require(store.readsWhileUnavailable)
      try await read(store)

      #expect(reads.count > 0)
      #expect(reads.confirmedAt != nil)
      #expect(store.readsWhileUnavailable == reads)
    }
  }

  @Test func readsWhileUnavailableAreNotCountedWhereThereAreNever() async throws {
    try await withStore(ReadFreshness()) { store, _ in
      #expect(store.readsWhileUnavailable == nil)
    }
  }
}

/// A feed with responses that a test sets, without places.
private final class ScriptedFeed: PointChangeFeed {
  struct State {
    /// The response to a question for changes; `nil` while the database is unavailable.
    var answer: ChangeFeed.Answer?
    var copyMustEnd = false
  }

  let position: ChangePosition
  let state: Mutex<State>

  init(at position: ChangePosition) {
    self.position = position
    state = Mutex(State(answer: .changes(puts: [], removals: [], to: position)))
  }

  func changes(after position: ChangePosition) async throws(PointStoreError) -> ChangeFeed.Answer {
    guard let answer = state.withLock({ $0.answer }) else { throw .unavailable(reason: "a test") }
    return answer
  }

  func currentPosition() async throws(PointStoreError) -> ChangePosition {
    guard state.withLock({ $0.answer }) != nil else { throw .unavailable(reason: "a test") }
    return position
  }

  func estimatedSize() async throws(PointStoreError) -> (points: Int, textBytes: Int) { (0, 0) }

  func copyPoints(
    _ body: @escaping @Sendable (PointFields) -> Void
  ) async throws(PointStoreError) -> (position: ChangePosition, byteCount: Int) {
    (position, 0)
  }

  /// Does not return until the test ends, so that the index keeps catching up.
  func copyChanges(
    after position: ChangePosition, _ body: @escaping @Sendable (ChangeFeed.Change) -> Void
  ) async throws(PointStoreError) -> ChangeFeed.CopyResult {
    while !state.withLock({ $0.copyMustEnd }) { try? await Task.sleep(for: .milliseconds(10)) }
    return .copied(to: position)
  }

  func listen(_ onChange: @Sendable () -> Void) async throws(PointStoreError) -> Bool { false }
}
