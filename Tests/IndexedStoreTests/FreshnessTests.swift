import Dispatch
import Logging
import MemoryStore
import PointIndex
import Points
import PostgresClient
import PostgresTestSupport
import Synchronization
import TestSupport
import Testing

@testable import IndexedStore
@testable import PostgresStore

/// Reads after a position, and reads while the database is unavailable, over a feed whose responses are scripted.
@Suite struct FreshnessTests {
  private static let former = "1.a.a"
  private static let later = "1.b.b"

  /// Runs a body with a store whose index stands at the former position, and was confirmed there.
  ///
  /// - Parameter waitLimit: the longest wait of a read for the index.
  private func withStore(
    _ freshness: ReadFreshness, waitLimit: Duration = .seconds(600), database: MemoryStore = MemoryStore(),
    _ body: (IndexedStore, ScriptedFeed) async throws -> Void
  ) async throws {
    let feed = ScriptedFeed(at: try #require(ChangePosition(text: Self.former)))
    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let index = IndexFollower(feed, freshness: freshness, waitLimit: waitLimit, logger: logger)
    let task = Task { await index.run() }
    try await index.waitUntilFollowing()
    feed.state.withLock { $0.copyMayEnd = false }
    let store = IndexedStore(database, index: index)
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

  @Test func updateIsOfTheCommittedPlaceAlsoWhereReadsMayBeOlder() async throws {
    let database = MemoryStore()
    try await withStore(ReadFreshness(.bounded(maximumAge: .seconds(600))), database: database) { store, _ in
      let created = try await database.create(ImportRow.sample("a", 1, 2).draft, once: nil)
      let service = PointsService(store: store)
      let replacement = try ImportRow.sample("b", 1, 2).draft
      #expect(try await service.point(id: created.id, notBefore: nil) == nil)

      let updated = try await service.update(id: created.id, if: .versions([created.version])) {
        (_) throws(Never) in replacement
      }

      #expect(updated.draft.name == "b")
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

  @Test func searchThatMissedTheIndexReadsTheDatabaseWithoutAskingForItAgain() async throws {
    try await withStore(ReadFreshness()) { store, feed in
      feed.state.withLock { ($0.answer, $0.isAnsweredOnce) = (.manyChanges, true) }
      guard case .store(let missed) = try await store.view(isRequired: false) else {
        Issue.record("a snapshot of an index that catches up")
        return
      }
      try await feed.waitForCopies()
      feed.endCopies()
      _ = try await store.snapshot(isRequired: true)

      _ = try await missed.page(matching: PointQuery(limit: 1))

      #expect(store.databaseReads == 1)
      #expect(store.indexReads == 1)
    }
  }

  // MARK: Reads that only the index can answer

  @Test(arguments: [ChangeFeed.Answer.manyChanges, .lost(reason: "a test")])
  func readThatNeedsTheIndexWaitsUntilItFollowsAgain(_ answer: ChangeFeed.Answer) async throws {
    try await withStore(ReadFreshness()) { store, feed in
      feed.state.withLock { $0.answer = answer }

      async let read = store.snapshot(isRequired: true)
      try await feed.waitForCopies()
      feed.endCopies()

      _ = try await read
      #expect(store.indexReads == 1)
    }
  }

  @Test func readThatNeedsTheIndexFailsAtItsDeadline() async throws {
    try await withStore(ReadFreshness(), waitLimit: .milliseconds(1)) { store, feed in
      feed.state.withLock { $0.answer = .manyChanges }

      await #expect(throws: PointStoreError.indexNotReady) { try await store.snapshot(isRequired: true) }
    }
  }

  @Test func readThatNeedsTheIndexDoesNotWaitForAnUnavailableDatabase() async throws {
    try await withStore(ReadFreshness()) { store, feed in
      feed.state.withLock { $0.answer = nil }

      await #expect(throws: PointStoreError.indexNotReady) { try await store.snapshot(isRequired: true) }
    }
  }

  @Test(arguments: [ChangeFeed.Answer.manyChanges, .lost(reason: "a test")])
  func lastConfirmedStateIsReadWhereOnlyTheIndexCanAnswer(_ answer: ChangeFeed.Answer) async throws {
    try await withStore(ReadFreshness(staleLifetime: .seconds(600))) { store, feed in
      feed.state.withLock { $0.answer = answer }

      _ = try await store.snapshot(isRequired: true)
      try await feed.waitForCopies()
      _ = try await store.snapshot(isRequired: true)
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

      let (former, later) = (store.reading(notBefore: Self.former), store.reading(notBefore: Self.later))
      await #expect(throws: PointStoreError.indexNotReady) { try await later.index?.snapshot(isRequired: true) }
      _ = try await former.index?.snapshot(isRequired: true)

      #expect(store.staleReads?.count == 1)
    }
  }

  @Test func indexThatIsBuiltAgainIsNotReadWithoutPermission() async throws {
    let freshness = ReadFreshness(.bounded(maximumAge: .seconds(600)))
    try await withStore(freshness, waitLimit: .milliseconds(1)) { store, feed in
      feed.state.withLock { $0.answer = .lost(reason: "a test") }
      #expect(await store.currentPosition() != nil)

      await #expect(throws: PointStoreError.indexNotReady) { try await store.snapshot(isRequired: true) }
    }
  }

  // MARK: Readiness

  @Test func serverAwaitsTheFirstIndexUpToItsLimit() async throws {
    let feed = ScriptedFeed(at: try #require(ChangePosition(text: Self.former)))
    let index = IndexFollower(feed, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let store = IndexedStore(MemoryStore(), index: index, readinessLimit: .seconds(600))
    #expect(store.isAwaited)
    #expect(!IndexedStore(MemoryStore(), index: index, readinessLimit: .zero).isAwaited)

    let task = Task { await index.run() }
    try await index.waitUntilFollowing()
    #expect(!store.isAwaited)

    // A later build is not awaited.
    feed.state.withLock { $0.copyMayEnd = false }
    feed.state.withLock { $0.answer = .lost(reason: "a test") }
    try await feed.waitForCopies()
    #expect(index.status.phase == .building)
    #expect(!store.isAwaited)
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

    #expect(!store.isAwaited)

    task.cancel()
    await task.value
  }
}

/// Indexes with many changes, over a feed whose responses are scripted.
@Suite(.timeLimit(.minutes(5))) struct ManyChangesTests {
  /// Runs a body with an index, whose copies end at once.
  private func withIndex(
    memoryLimit: Int? = nil, _ body: (IndexFollower, ScriptedFeed) async throws -> Void
  ) async throws {
    let feed = ScriptedFeed(at: try #require(ChangePosition(text: "1.a.a")))
    let index = IndexFollower(
      feed, memoryLimit: memoryLimit, waitLimit: .seconds(600),
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let task = Task { await index.run() }
    try await index.waitUntilFollowing()
    try await body(index, feed)
    task.cancel()
    feed.endCopies()
    await task.value
  }

  @Test func changedPlaceIsReadableWhileLargePartsAreMerged() async throws {
    try await withIndex { index, feed in
      let size = UInt64(PointSnapshot.largestPartOfChange) + 1
      index.merger.queue.suspend()
      for part in 0..<2 as Range<UInt64> {
        feed.answerOnce(puts: try points(part * size..<(part + 1) * size))
        while await index.confirm()?.count != Int((part + 1) * size) {}
      }
      #expect(await index.confirm()?.partCount == 2)

      feed.answerOnce(puts: try points(2 * size..<2 * size + 1), removals: [PointRemoval(id: .sample(0), version: 1)])
      while await index.confirm()?.point(id: .sample(2 * size)) == nil {}
      #expect(await index.confirm()?.partCount == 3)

      index.merger.queue.resume()
      while await index.confirm()?.partCount != 2 { try await Task.sleep(for: .milliseconds(1)) }
      let snapshot = try #require(await index.confirm())
      #expect(snapshot.count == Int(2 * size))
      #expect(snapshot.point(id: .sample(0)) == nil)
    }
  }

  @Test func readThatNeedsTheIndexIsServedWhileBulkCommitsContinue() async throws {
    try await withIndex { index, feed in
      feed.state.withLock { $0.answer = .manyChanges }
      let store = IndexedStore(MemoryStore(), index: index)

      for _ in 0..<20 { _ = try await store.snapshot(isRequired: true) }

      #expect(store.indexReads == 20)
    }
  }

  @Test func cancelledReadStopsWaitingForTheIndex() async throws {
    try await withIndex { index, feed in
      feed.state.withLock { $0.copyMayEnd = false }
      feed.state.withLock { $0.answer = .manyChanges }
      let store = IndexedStore(MemoryStore(), index: index)
      let read = Task { try await store.snapshot(isRequired: true) }
      try await feed.waitForCopies()

      read.cancel()

      await #expect(throws: PointStoreError.indexNotReady) { try await read.value }
    }
  }

  @Test func readThatFindsTheDatabaseOverloadedWaitsForTheIndex() async throws {
    let database = try await TemporaryDatabase.make()
    let postgres = try await database.migratedStore(poolSize: 1) { $0.maximumWaiters = 1 }
    try await withIndex { index, feed in
      feed.state.withLock { $0.copyMayEnd = false }
      feed.state.withLock { $0.answer = .manyChanges }
      let store = IndexedStore(postgres, index: index)
      func occupy() -> Task<Void, any Error> {
        Task { _ = try await postgres.read(Statement("busy", "SELECT 1::int8 FROM pg_sleep(3600)"), Parameters()) }
      }
      // The only connection is busy before the next statement takes the only place in the queue.
      let running = occupy()
      while await postgres.poolLoad().busy == 0 { try await Task.sleep(for: .milliseconds(1)) }
      let waiting = occupy()
      while await postgres.poolLoad().waiting == 0 { try await Task.sleep(for: .milliseconds(1)) }

      async let page = store.page(matching: PointQuery(limit: 1))
      try await feed.waitForCopies()
      while store.databaseReads == 0 { await Task.yield() }
      feed.endCopies()

      #expect(try await page.points.isEmpty)
      #expect(store.indexReads == 1)
      for task in [running, waiting] { task.cancel() }
      for task in [running, waiting] { _ = await task.result }
    }
    await postgres.shutDown()
  }

  @Test(arguments: [false, true]) func indexThatOutgrowsItsLimitIsNotUsed(byCatchingUp: Bool) async throws {
    try await withIndex(memoryLimit: 10 * PointSnapshot.bytesPerPoint) { index, feed in
      let puts = try points(0..<9)
      if byCatchingUp {
        feed.state.withLock { state in
          state.copiedChanges = Array(puts)
          state.answer = .manyChanges
        }
      } else {
        feed.answerOnce(puts: puts)
        while await index.confirm()?.count != puts.count {}
        feed.answerOnce(puts: try points(9..<12))
        await index.confirm()
      }

      try await index.wait { $0.phase == .tooLarge || byCatchingUp && $0.points == puts.count }
      if byCatchingUp {
        feed.state.withLock { $0.copiedChanges = Array((try? points(9..<12)) ?? []) }
        try await index.wait { $0.phase == .tooLarge }
      }
      #expect(index.status.builds == 1)
      #expect(index.status.isUnused)
    }
  }

  @Test func indexIsBuiltAgainWhereTheChangesAloneDoNotFit() async throws {
    try await withIndex(memoryLimit: 10 * PointSnapshot.bytesPerPoint) { index, feed in
      feed.state.withLock { state in
        state.copiedChanges = Array((try? points(0..<20)) ?? [])
        state.answer = .manyChanges
      }

      try await index.wait { $0.builds > 1 }
    }
  }

  @Test func indexThatIsLostAgainAndAgainIsBuiltAfterGrowingDelays() async throws {
    try await withIndex { index, feed in
      let start = ContinuousClock.now
      feed.state.withLock { $0.answer = .lost(reason: "a test") }

      while index.status.builds < 6 {
        await index.confirm()
        try await Task.sleep(for: .milliseconds(1))
      }

      // 0.1, 0.2, 0.4, 0.8 and 1.6 s.
      #expect(ContinuousClock.now - start >= .seconds(3.1))
    }
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

    #expect(!store.isAwaited)
    #expect(store.isUnused)
    #expect(index.status.notReady == .zero)
    #expect(await store.currentPosition() == nil)
    await #expect(throws: PointStoreError.indexRequired) { try await store.snapshot(isRequired: true) }
    await #expect(throws: PointStoreError.readOnly(reason: "a test")) {
      try await store.waitUntilReads(contain: "1.a.a")
    }

    // After its promotion the index follows, until the server is a standby again.
    feed.state.withLock { $0.isStandby = false }
    try await index.waitUntilFollowing()
    _ = try await store.snapshot(isRequired: true)
    #expect(!store.isUnused)
    feed.state.withLock { $0.isStandby = true }
    try await index.wait { $0.phase == .standby }
    _ = try await store.page(matching: PointQuery(limit: 1))
    #expect(store.databaseReads == 1)
    // The last confirmed state may be read as long as it is allowed.
    if staleLifetime == .zero {
      await #expect(throws: PointStoreError.indexNotReady) { try await store.snapshot(isRequired: true) }
    } else {
      _ = try await store.snapshot(isRequired: true)
    }

    task.cancel()
    await task.value
  }
}

/// The states of an index, over a feed whose responses are scripted.
@Suite(.timeLimit(.minutes(5))) struct IndexStateTests {
  /// Runs a body with a new index.
  private func withIndex(
    _ freshness: ReadFreshness = ReadFreshness(), memoryLimit: Int? = nil, waitLimit: Duration = .seconds(600),
    _ body: (IndexFollower, ScriptedFeed) async throws -> Void
  ) async throws {
    let feed = ScriptedFeed(at: try #require(ChangePosition(text: "1.a.a")))
    let index = IndexFollower(
      feed, freshness: freshness, memoryLimit: memoryLimit, waitLimit: waitLimit,
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let task = Task { await index.run() }
    do {
      try await body(index, feed)
    } catch {
      Issue.record(error)
    }
    task.cancel()
    feed.endCopies()
    feed.state.withLock { $0.permittedRounds = .max }
    await task.value
  }

  private static let bounded = ReadFreshness(.bounded(maximumAge: .seconds(600)))
  private static let stale = ReadFreshness(staleLifetime: .seconds(600))

  @Test(arguments: [(ReadFreshness(.bounded(maximumAge: .zero)), false), (bounded, true), (ReadFreshness(), false)])
  func indexIsReadWithoutARoundWhileItIsFresh(freshness: ReadFreshness, isFresh: Bool) async throws {
    try await withIndex(freshness) { index, _ in
      try await index.waitUntilFollowing()

      #expect((index.freshSnapshot() != nil) == isFresh)
    }
  }

  @Test(arguments: [
    (ReadFreshness.Consistency.strict, Duration.seconds(1)),
    (.bounded(maximumAge: .milliseconds(300)), .milliseconds(100)),
    (.bounded(maximumAge: .seconds(60)), .seconds(1)), (.bounded(maximumAge: .zero), .milliseconds(20)),
  ])
  func indexIsConfirmedThreeTimesInItsMaximumAge(consistency: ReadFreshness.Consistency, interval: Duration) {
    #expect(ReadFreshness(consistency).pollInterval == interval)
  }

  @Test func currentIndexIsReadAfterARoundAndNotAsTheLastState() async throws {
    try await withIndex(Self.stale) { index, _ in
      try await index.waitUntilFollowing()

      #expect(await index.snapshot(isNeeded: true) != nil)
      #expect(index.staleReads?.count == 0)
    }
  }

  @Test func roundThatBeganBeforeAWriteDoesNotConfirmIt() async throws {
    try await withIndex(Self.bounded) { index, feed in
      try await index.waitUntilFollowing()
      try await feed.permitRounds(0)
      index.noteWrite()
      #expect(index.freshSnapshot() == nil)

      try await feed.permitRounds(1)
      #expect(index.freshSnapshot() == nil)

      try await feed.permitRounds(1)
      #expect(index.freshSnapshot() != nil)
    }
  }

  @Test(arguments: [false, true]) func copyThatBeganBeforeAWriteDoesNotConfirmIt(hasWritten: Bool) async throws {
    let feed = ScriptedFeed(at: try #require(ChangePosition(text: "1.a.a")))
    feed.state.withLock { ($0.copyMayEnd, $0.permittedRounds) = (false, 0) }
    let index = IndexFollower(
      feed, freshness: Self.bounded, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let task = Task { await index.run() }
    try await feed.waitForCopies()

    if hasWritten { index.noteWrite() }
    feed.endCopies()
    try await index.waitUntilFollowing()

    #expect((index.freshSnapshot() == nil) == hasWritten)
    task.cancel()
    feed.state.withLock { $0.permittedRounds = .max }
    await task.value
  }

  @Test func readAfterAWriteWaitsForARound() async throws {
    try await withIndex(Self.bounded) { index, feed in
      let store = IndexedStore(MemoryStore(), index: index)
      try await index.waitUntilFollowing()
      feed.state.withLock { $0.permittedRounds = 0 }

      _ = try await store.create(ImportRow.sample("a", 1, 2).draft, once: nil)

      #expect(index.freshSnapshot() == nil)
    }
  }

  @Test func readThatBeganDuringACopyHasWhatTheNextRoundFinds() async throws {
    try await withIndex { index, feed in
      try await index.waitUntilFollowing()
      feed.state.withLock { ($0.answer, $0.copyMayEnd) = (.manyChanges, false) }
      try await feed.waitForCopies()

      let read = Task { await index.snapshot(isNeeded: true)?.point(id: .sample(1)) }
      try await Task.sleep(for: .milliseconds(50))
      let puts = try points(1..<2)
      feed.state.withLock { state in
        state.answer = .changes(puts: puts, removals: [], to: feed.position)
        state.copyMayEnd = true
      }

      #expect(await read.value != nil)
    }
  }

  @Test func databaseThatHasManyChangesIsAvailable() async throws {
    try await withIndex(Self.stale) { index, feed in
      let store = IndexedStore(MemoryStore(), index: index)
      try await index.waitUntilFollowing()
      feed.state.withLock { $0.answer = nil }
      _ = try await store.page(matching: PointQuery())
      #expect(store.staleReads?.count == 1)

      feed.state.withLock { ($0.answer, $0.copyMayEnd) = (.manyChanges, false) }
      try await index.wait { $0.phase == .catchingUp }
      for _ in 0..<1000 where store.databaseReads == 0 {
        _ = try await store.page(matching: PointQuery())
        try await Task.sleep(for: .milliseconds(1))
      }

      #expect(store.databaseReads == 1)
    }
  }

  @Test func databaseThatGivesAPositionIsAvailable() async throws {
    try await withIndex(Self.stale) { index, feed in
      let store = IndexedStore(MemoryStore(), index: index)
      try await index.waitUntilFollowing()
      feed.state.withLock { $0.failsRounds = true }

      // A round in the background may fail after the call.
      var waitsForRound = false
      for _ in 0..<100 where !waitsForRound {
        #expect(try await store.waitUntilReads(contain: "1.b.b"))
        waitsForRound = index.freshSnapshot() == nil
      }

      #expect(waitsForRound)
    }
  }

  @Test func indexThatIsLostWhileItCatchesUpHasNotFollowedSinceThen() async throws {
    try await withIndex { index, feed in
      try await index.waitUntilFollowing()
      feed.state.withLock { ($0.answer, $0.copyMayEnd, $0.losesChanges) = (.manyChanges, false, true) }
      try await index.wait { $0.phase == .catchingUp }
      let start = ContinuousClock.now
      try await Task.sleep(for: .milliseconds(20))

      feed.state.withLock { $0.changesMayBeLost = true }
      try await index.wait { $0.phase == .building }

      let elapsed = ContinuousClock.now - start
      #expect(index.status.notReady >= elapsed)
    }
  }

  @Test func moreChangesThanHalfOfThePlacesAreNotCopied() async throws {
    try await withIndex { index, feed in
      try await index.waitUntilFollowing()
      feed.state.withLock { $0.answer = .manyChanges }
      while feed.state.withLock({ $0.maximums.isEmpty }) { try await Task.sleep(for: .milliseconds(1)) }
      #expect(feed.state.withLock { $0.maximums.first } == 20_000)
      feed.endCopies()
      try await index.waitUntilFollowing()

      feed.answerOnce(puts: try points(0..<40_010))
      while await index.confirm()?.count != 40_010 {}
      feed.state.withLock { ($0.maximums, $0.answer) = ([], .manyChanges) }
      while feed.state.withLock({ $0.maximums.isEmpty }) { try await Task.sleep(for: .milliseconds(1)) }

      #expect(feed.state.withLock { $0.maximums.first } == 20_005)
    }
  }

  @Test func indexOfExactlyItsLimitIsUsed() async throws {
    try await withIndex(memoryLimit: 0) { index, _ in
      try await index.wait { $0.phase != .building }

      #expect(index.status.phase == .following)
      #expect(await index.confirm() != nil)
    }
  }

  @Test func statusHasTheNumberOfThePlacesCopiedSoFar() async throws {
    let feed = ScriptedFeed(at: try #require(ChangePosition(text: "1.a.a")))
    let places = Array(try points(0..<10_001))
    feed.state.withLock { ($0.copyMayEnd, $0.copiedPlaces) = (false, places) }
    let index = IndexFollower(feed, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let task = Task { await index.run() }
    try await feed.waitForCopies()

    #expect(index.status.phase == .building)
    #expect(index.status.points == 10_000)

    feed.endCopies()
    try await index.waitUntilFollowing()
    #expect(index.status.points == 10_001)
    task.cancel()
    await task.value
  }

  @Test func versionChangesWithThePlacesAndNotWithThePosition() async throws {
    try await withIndex { index, feed in
      try await index.waitUntilFollowing()
      let version = try #require(index.version())
      let (next, last) = (try #require(ChangePosition(text: "1.b.b")), try #require(ChangePosition(text: "1.c.c")))

      feed.state.withLock { $0.answer = .changes(puts: [], removals: [], to: next) }
      while index.position() != next { await index.confirm() }
      #expect(index.version() == version)

      let puts = try points(1..<3)
      feed.state.withLock { state in
        state.answer = .changes(puts: puts, removals: [PointRemoval(id: .sample(7), version: 1)], to: last)
        state.isAnsweredOnce = true
      }
      while index.status.changes == 0 { await index.confirm() }
      #expect(index.version() != version)
      #expect(index.status.changes == 3)
    }
  }

  @Test func versionIsUnknownWhileTheIndexCannotBeConfirmed() async throws {
    try await withIndex { index, feed in
      let store = IndexedStore(MemoryStore(), index: index)
      try await index.waitUntilFollowing()
      #expect(try await store.dataVersion() != nil)

      feed.state.withLock { $0.answer = nil }

      #expect(try await store.dataVersion() == nil)
      #expect(store.knownDataVersion() != nil)
    }
  }

  @Test func exportThatNeedsTheIndexWaitsUntilItFollowsAgain() async throws {
    try await withIndex { index, feed in
      let store = IndexedStore(StubStore(), index: index)
      try await index.waitUntilFollowing()
      feed.state.withLock { ($0.answer, $0.copyMayEnd) = (.manyChanges, false) }
      let query = PointQuery(filter: try PropertyFilter("name = 'x'"))

      async let export: Void = store.exportPoints(matching: query) { _ in }
      try await feed.waitForCopies()
      feed.endCopies()

      try await export
    }
  }

  @Test(arguments: [(Duration.seconds(600), true), (.zero, false)])
  func lastStateStandsInForAnUnavailableDatabase(lifetime: Duration, isRead: Bool) async throws {
    try await withIndex(ReadFreshness(staleLifetime: lifetime)) { index, feed in
      var database = StubStore(failing: .unavailable(reason: "a test"))
      database.onReadiness = { () throws(PointStoreError) in throw .unavailable(reason: "a test") }
      let store = IndexedStore(database, index: index)
      try await index.waitUntilFollowing()
      feed.state.withLock { ($0.answer, $0.copyMayEnd) = (.lost(reason: "a test"), false) }
      try await feed.waitForCopies()

      if isRead {
        #expect(try await store.page(matching: PointQuery()).points.isEmpty)
        #expect(try await store.checkReadiness() == .readOnly(reason: "the database is unavailable"))
      } else {
        await #expect(throws: PointStoreError.self) { try await store.page(matching: PointQuery()) }
        await #expect(throws: PointStoreError.self) { try await store.checkReadiness() }
      }
      #expect(store.indexReads == (isRead ? 1 : 0))
    }
  }
}

private func points(_ ids: Range<UInt64>) throws -> ContiguousArray<PointOfInterest> {
  let draft = try ImportRow.sample("a", 1, 2).draft
  let time = Timestamp(microsecondsSinceEpoch: 0)
  return ContiguousArray(
    ids.map { PointOfInterest(id: .sample($0), draft: draft, version: 1, createdAt: time, updatedAt: time) })
}

extension PointOfInterest {
  /// Passes the place to a closure, with its name and tags alone.
  fileprivate func borrowed(_ body: (BorrowedPoint) -> Void) {
    var (name, tags) = (draft.name, draft.tags.json)
    name.withUTF8 { name in
      tags.withUTF8 { tags in
        body(
          BorrowedPoint(
            id: id, coordinate: draft.coordinate, version: version, createdAt: createdAt, updatedAt: updatedAt,
            name: name, category: nil, tags: tags, source: nil, sourceID: nil))
      }
    }
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
    /// The places that a copy of changes passes.
    var copiedChanges: [PointOfInterest] = []
    /// A Boolean value that indicates whether the response is given once, and then that there are no changes.
    var isAnsweredOnce = false
    /// The number of copies that have not ended.
    var copies = 0
    /// The number of copies of all places so far.
    var builds = 0
    /// The places that a copy of all passes before it waits.
    var copiedPlaces: [PointOfInterest] = []
    /// The number of rounds that may still be answered.
    var permittedRounds = Int.max
    /// The number of rounds so far, with those that are not answered yet.
    var rounds = 0
    /// A Boolean value that indicates whether rounds find the database unavailable, and other calls do not.
    var failsRounds = false
    /// The greatest numbers of changes that copies of changes were asked for.
    var maximums: [Int] = []
    /// A Boolean value that indicates whether copies of changes find that changes are lost.
    var losesChanges = false
    /// A Boolean value that indicates whether a copy of changes that loses them ends, whatever copies may.
    var changesMayBeLost = false
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
    state.withLock { $0.rounds += 1 }
    while !state.withLock({ $0.permittedRounds > 0 }) { try? await Task.sleep(for: .milliseconds(10)) }
    state.withLock { $0.permittedRounds -= 1 }
    if state.withLock({ $0.failsRounds }) { throw .unavailable(reason: "a test") }
    let answer = state.withLock { state in
      defer {
        if state.isAnsweredOnce {
          state.answer = .changes(puts: [], removals: [], to: self.position)
          state.isAnsweredOnce = false
        }
      }
      return state.answer
    }
    guard let answer else { throw .unavailable(reason: "a test") }
    return answer
  }

  func currentPosition() async throws(PointStoreError) -> ChangePosition {
    try checkPrimary()
    guard state.withLock({ $0.answer }) != nil else { throw .unavailable(reason: "a test") }
    return position
  }

  func estimatedSize() async throws(PointStoreError) -> (points: Int, textBytes: Int) { (0, 0) }

  func copyPoints(
    _ body: @escaping @Sendable (BorrowedPoint) -> Void
  ) async throws(PointStoreError) -> (position: ChangePosition, byteCount: Int) {
    try checkPrimary()
    state.withLock { $0.builds += 1 }
    for point in state.withLock({ $0.copiedPlaces }) { point.borrowed(body) }
    await copy()
    return (position, 0)
  }

  func copyChanges(
    after position: ChangePosition, upTo maximum: Int, _ body: @escaping @Sendable (ChangeFeed.Change) -> Void
  ) async throws(PointStoreError) -> ChangeFeed.CopyResult {
    state.withLock { $0.maximums.append(maximum) }
    if state.withLock({ $0.losesChanges }) {
      while !state.withLock({ $0.changesMayBeLost }) { try? await Task.sleep(for: .milliseconds(10)) }
      return .lost(reason: "a test")
    }
    await copy()
    for point in state.withLock({ $0.copiedChanges }) { point.borrowed { body(.put($0)) } }
    return .copied(to: self.position)
  }

  /// Responds with changes, once.
  func answerOnce(puts: ContiguousArray<PointOfInterest>, removals: [PointRemoval] = []) {
    state.withLock { state in
      state.answer = .changes(puts: puts, removals: removals, to: position)
      state.isAnsweredOnce = true
    }
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

  /// Permits some rounds, and returns when the next one after them has begun; it waits until it is permitted.
  func permitRounds(_ count: Int) async throws {
    let rounds = state.withLock { state in
      state.permittedRounds = count
      return state.rounds
    }
    for _ in 0..<12_000 {
      if state.withLock({ $0.rounds > rounds }) { return }
      try await Task.sleep(for: .milliseconds(10))
    }
    Issue.record("no round begins")
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

  @Test func indexThatIsLostAgainAndAgainIsBuiltAfterGrowingDelays() async throws {
    let feed = ScriptedFeed(at: try #require(ChangePosition(text: Self.former)))
    feed.state.withLock { $0.answer = .lost(reason: "a test") }
    let delays = Mutex<[Duration]>([])
    let index = IndexFollower(
      feed, pause: { delay in delays.withLock { $0.append(delay) } },
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let store = IndexedStore(MemoryStore(), index: index)
    let task = Task { await index.run() }

    // Each read that finds the index loses it.
    while feed.state.withLock({ $0.builds }) < 5 { try await read(store) }

    #expect(delays.withLock { Array($0.prefix(4)) } == [100, 200, 400, 800].map { Duration.milliseconds($0) })
    task.cancel()
    await task.value
  }
}
