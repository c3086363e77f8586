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
  ///
  /// - Parameter waitLimit: the longest wait of a read for the index.
  private func withStore(
    _ freshness: ReadFreshness, waitLimit: Duration = .seconds(600),
    _ body: (IndexedStore, ScriptedFeed) async throws -> Void
  ) async throws {
    let feed = ScriptedFeed(at: try #require(ChangePosition(text: Self.former)))
    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let index = IndexFollower(feed, freshness: freshness, waitLimit: waitLimit, logger: logger)
    let task = Task { await index.run() }
    try await index.waitUntilFollowing()
    feed.state.withLock { $0.copyMayEnd = false }
    let store = IndexedStore(MemoryStore(), index: index)
    #expect(await store.currentPosition() == Self.former)
    try await body(store, feed)
    task.cancel()
    feed.endCopies()
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
    try await withStore(ReadFreshness(staleLifetime: .seconds(600))) { store, feed in
      feed.state.withLock { $0.answer = nil }

      try await read(store)

      #expect(store.indexReads == 1)
      #expect(await store.currentPosition() == nil)
      await #expect(throws: PointStoreError.self) { try await store.waitUntilReads(contain: Self.later) }
      #expect(try await store.waitUntilReads(contain: Self.former))
    }
  }

  @Test func staleReadsAreCountedAlsoAfterTheDatabaseIsBack() async throws {
    try await withStore(ReadFreshness(staleLifetime: .seconds(600))) { store, feed in
      let position = try #require(ChangePosition(text: Self.former))
      #expect(store.staleReads?.count == 0)
      feed.state.withLock { $0.answer = nil }
      try await read(store)

      feed.state.withLock { $0.answer = .changes(puts: [], removals: [], to: position) }
      #expect(try await store.waitUntilReads(contain: Self.later))
      let reads = try #require(store.staleReads)
      try await read(store)

      #expect(reads.count > 0)
      #expect(reads.confirmedAt != nil)
      #expect(store.staleReads == reads)
    }
  }

  @Test func staleReadsAreNotCountedWhereThereAreNever() async throws {
    try await withStore(ReadFreshness()) { store, _ in
      #expect(store.staleReads == nil)
    }
  }

  // MARK: Reads that only the index can answer

  @Test(arguments: [ChangeFeed.Answer.manyChanges, .lost(reason: "a test")])
  func readThatNeedsTheIndexWaitsUntilItFollowsAgain(_ answer: ChangeFeed.Answer) async throws {
    try await withStore(ReadFreshness()) { store, feed in
      feed.state.withLock { $0.answer = answer }

      async let read = store.mapSnapshot()
      try await feed.waitForCopies()
      feed.endCopies()

      _ = try await read
      #expect(store.indexReads == 1)
    }
  }

  @Test func readThatNeedsTheIndexFailsAtItsDeadline() async throws {
    try await withStore(ReadFreshness(), waitLimit: .milliseconds(1)) { store, feed in
      feed.state.withLock { $0.answer = .manyChanges }

      await #expect(throws: PointStoreError.indexNotReady) { try await store.mapSnapshot() }
    }
  }

  @Test func readThatNeedsTheIndexDoesNotWaitForAnUnavailableDatabase() async throws {
    try await withStore(ReadFreshness()) { store, feed in
      feed.state.withLock { $0.answer = nil }

      await #expect(throws: PointStoreError.indexNotReady) { try await store.mapSnapshot() }
    }
  }

  @Test(arguments: [ChangeFeed.Answer.manyChanges, .lost(reason: "a test")])
  func lastConfirmedStateIsReadWhereOnlyTheIndexCanAnswer(_ answer: ChangeFeed.Answer) async throws {
    try await withStore(ReadFreshness(staleLifetime: .seconds(600))) { store, feed in
      feed.state.withLock { $0.answer = answer }

      _ = try await store.mapSnapshot()
      try await feed.waitForCopies()
      _ = try await store.mapSnapshot()
      try await read(store)

      #expect(store.staleReads?.count == 2)
      #expect(store.indexReads == 2)
      #expect(store.databaseReads == 1)
    }
  }

  @Test(arguments: [ChangeFeed.Answer.manyChanges, .lost(reason: "a test")])
  func lastConfirmedStateIsNotReadAfterALaterPosition(_ answer: ChangeFeed.Answer) async throws {
    let freshness = ReadFreshness(staleLifetime: .seconds(600))
    try await withStore(freshness, waitLimit: .milliseconds(1)) { store, feed in
      feed.state.withLock { $0.answer = answer }

      await RequiredPosition.$text.withValue(Self.later) {
        await #expect(throws: PointStoreError.indexNotReady) { try await store.mapSnapshot() }
      }
      try await RequiredPosition.$text.withValue(Self.former) { _ = try await store.mapSnapshot() }

      #expect(store.staleReads?.count == 1)
    }
  }

  @Test func indexThatIsBuiltAgainIsNotReadWithoutPermission() async throws {
    let freshness = ReadFreshness(.bounded(maximumAge: .seconds(600)))
    try await withStore(freshness, waitLimit: .milliseconds(1)) { store, feed in
      feed.state.withLock { $0.answer = .lost(reason: "a test") }
      #expect(await store.currentPosition() != nil)

      await #expect(throws: PointStoreError.indexNotReady) { try await store.mapSnapshot() }
    }
  }

  // MARK: Readiness

  @Test func serverAwaitsTheFirstIndexUpToItsLimit() async throws {
    let feed = ScriptedFeed(at: try #require(ChangePosition(text: Self.former)))
    let index = IndexFollower(feed, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let store = IndexedStore(MemoryStore(), index: index, readinessLimit: .seconds(600))
    #expect(store.awaitsIndex)
    #expect(!IndexedStore(MemoryStore(), index: index, readinessLimit: .zero).awaitsIndex)

    let task = Task { await index.run() }
    try await index.waitUntilFollowing()
    #expect(!store.awaitsIndex)

    // A later build is not awaited.
    feed.state.withLock { $0.copyMayEnd = false }
    feed.state.withLock { $0.answer = .lost(reason: "a test") }
    try await feed.waitForCopies()
    #expect(index.status.phase == .building)
    #expect(!store.awaitsIndex)
    task.cancel()
    feed.endCopies()
    await task.value
  }

  @Test func serverDoesNotAwaitAnIndexThatIsTooLarge() async throws {
    let feed = ScriptedFeed(at: try #require(ChangePosition(text: Self.former)))
    let index = IndexFollower(feed, memoryLimit: -1, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let store = IndexedStore(MemoryStore(), index: index, readinessLimit: .seconds(600))
    let task = Task { await index.run() }
    try await index.wait { $0.phase == .tooLarge }

    #expect(!store.awaitsIndex)

    task.cancel()
    await task.value
  }
}

/// An index whose database becomes a standby, and is promoted.
@Suite struct StandbyFollowingTests {
  @Test(arguments: [Duration.zero, .seconds(600)])
  func indexIsNotUsedWhileTheDatabaseIsAStandby(staleLifetime: Duration) async throws {
    let feed = ScriptedFeed(at: try #require(ChangePosition(text: "1.a.a")))
    feed.state.withLock { $0.isStandby = true }
    let index = IndexFollower(
      feed, freshness: ReadFreshness(staleLifetime: staleLifetime), waitLimit: .seconds(600),
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let store = IndexedStore(MemoryStore(), index: index, readinessLimit: .seconds(600))
    let task = Task { await index.run() }
    try await index.wait { $0.phase == .standby }

    #expect(!store.awaitsIndex)
    #expect(!store.supportsTextSearch)
    #expect(index.status.notReady == .zero)
    #expect(await store.currentPosition() == nil)
    await #expect(throws: PointStoreError.indexRequired) { try await store.mapSnapshot() }
    await #expect(throws: PointStoreError.readOnly(reason: "a test")) {
      try await store.waitUntilReads(contain: "1.a.a")
    }

    // After its promotion the index follows, until the server is a standby again.
    feed.state.withLock { $0.isStandby = false }
    try await index.waitUntilFollowing()
    _ = try await store.mapSnapshot()
    #expect(store.supportsTextSearch)
    feed.state.withLock { $0.isStandby = true }
    try await index.wait { $0.phase == .standby }
    _ = try await store.page(matching: PointQuery(limit: 1))
    #expect(store.databaseReads == 1)
    // The last confirmed state may be read as long as it is allowed.
    if staleLifetime == .zero {
      await #expect(throws: PointStoreError.indexNotReady) { try await store.mapSnapshot() }
    } else {
      _ = try await store.mapSnapshot()
    }

    task.cancel()
    await task.value
  }
}

/// A feed with responses that a test sets, without places.
private final class ScriptedFeed: PointChangeFeed {
  struct State {
    /// The response to a question for changes; `nil` while the database is unavailable.
    var answer: ChangeFeed.Answer?
    /// A Boolean value that indicates whether the database is a standby.
    var isStandby = false
    /// A Boolean value that indicates whether copies end, so that the index follows; otherwise it stays as it is.
    var copyMayEnd = true
    /// The number of copies that have not ended.
    var copies = 0
    /// The number of copies of all places so far.
    var builds = 0
  }

  let position: ChangePosition
  let state: Mutex<State>

  init(at position: ChangePosition) {
    self.position = position
    state = Mutex(State(answer: .changes(puts: [], removals: [], to: position)))
  }

  private func checkPrimary() throws(PointStoreError) {
    if state.withLock({ $0.isStandby }) { throw .readOnly(reason: "a test") }
  }

  func changes(after position: ChangePosition) async throws(PointStoreError) -> ChangeFeed.Answer {
    try checkPrimary()
    guard let answer = state.withLock({ $0.answer }) else { throw .unavailable(reason: "a test") }
    return answer
  }

  func currentPosition() async throws(PointStoreError) -> ChangePosition {
    try checkPrimary()
    guard state.withLock({ $0.answer }) != nil else { throw .unavailable(reason: "a test") }
    return position
  }

  func estimatedSize() async throws(PointStoreError) -> (points: Int, textBytes: Int) { (0, 0) }

  func copyPoints(
    _ body: @escaping @Sendable (PointFields) -> Void
  ) async throws(PointStoreError) -> (position: ChangePosition, byteCount: Int) {
    try checkPrimary()
    state.withLock { $0.builds += 1 }
    await copy()
    return (position, 0)
  }

  func copyChanges(
    after position: ChangePosition, _ body: @escaping @Sendable (ChangeFeed.Change) -> Void
  ) async throws(PointStoreError) -> ChangeFeed.CopyResult {
    await copy()
    return .copied(to: position)
  }

  private func copy() async {
    state.withLock { $0.copies += 1 }
    while !state.withLock({ $0.copyMayEnd }) { try? await Task.sleep(for: .milliseconds(10)) }
    state.withLock { $0.copies -= 1 }
  }

  /// Returns when a copy is in progress; records an issue after two minutes.
  func waitForCopies() async throws {
    for _ in 0..<12_000 {
      if state.withLock({ $0.copies > 0 }) { return }
      try await Task.sleep(for: .milliseconds(10))
    }
    Issue.record("nothing is copied")
  }

  /// Lets copies end, with an index that has everything.
  func endCopies() {
    state.withLock { state in
      state.copyMayEnd = true
      state.answer = .changes(puts: [], removals: [], to: position)
    }
  }

  func listen(_ onChange: @Sendable () -> Void) async throws(PointStoreError) -> Bool { false }
}

extension FreshnessTests {
  @Test(arguments: [ChangeFeed.Answer.manyChanges, .lost(reason: "a test")])
  func statusHasTheTimeForWhichTheIndexDoesNotFollow(_ answer: ChangeFeed.Answer) async throws {
    let feed = ScriptedFeed(at: try #require(ChangePosition(text: Self.former)))
    feed.state.withLock { $0.copyMayEnd = false }
    let index = IndexFollower(feed, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let task = Task { await index.run() }

    try await feed.waitForCopies()
    #expect(index.status.notReady > .zero)
    feed.endCopies()
    try await index.waitUntilFollowing()
    #expect(index.status.notReady == .zero)

    feed.state.withLock { state in
      state.copyMayEnd = false
      state.answer = answer
    }
    try await feed.waitForCopies()
    #expect(index.status.notReady > .zero)
    feed.endCopies()
    try await index.waitUntilFollowing()
    #expect(index.status.notReady == .zero)

    task.cancel()
    await task.value
  }

  /// The delays are lower bounds, which a slow machine only exceeds.
  @Test func indexThatIsLostAgainAndAgainIsBuiltAfterGrowingDelays() async throws {
    try await withStore(ReadFreshness()) { store, feed in
      feed.state.withLock { state in
        state.copyMayEnd = true
        state.answer = .lost(reason: "a test")
      }
      let start = ContinuousClock.now

      // Reads from the database: each round loses the index.
      while feed.state.withLock({ $0.builds }) < 6 { try await read(store) }

      #expect(ContinuousClock.now - start >= .milliseconds(100 + 200 + 400 + 800 + 1600))
    }
  }
}
