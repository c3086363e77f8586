import Basics
import Geo
import JSONText
import MemoryStore
import Synchronization
import TestSupport
import Testing

@testable import Points

@Suite struct PointsServiceTests {
  private let harbour: PointOfInterest

  init() throws {
    let epoch = Timestamp(microsecondsSinceEpoch: 0)
    harbour = PointOfInterest(
      id: PointID(high: 0x0199_0000_0000_7000, low: 0x8000_0000_0000_0001),
      draft: try PointDraft(name: "Harbour", category: "pier", coordinate: Coordinate(latitude: 1, longitude: 2)),
      version: 1, createdAt: epoch, updatedAt: epoch)
  }

  private struct Exhausted: Error {}

  @Test(arguments: [(needed: 1, calls: 1), (needed: 3, calls: 3), (needed: 4, calls: 3)])
  func attemptsAreRepeatedUpToTheMaximum(needed: Int, calls: Int) async {
    var count = 0
    do throws(Exhausted) {
      let outcome = try await retrying(atMost: 3, orThrow: Exhausted()) { () async throws(Exhausted) -> Int? in
        count += 1
        return count == needed ? count : nil
      }
      #expect(outcome == needed)
    } catch {
      #expect(needed > 3)
    }
    #expect(count == calls)
  }

  @Test func errorOfAnAttemptEndsTheRepetition() async {
    var count = 0
    await #expect(throws: PointStoreError.keysExhausted) {
      try await retrying(orThrow: PointStoreError.overloaded) { () async throws(PointStoreError) -> Int? in
        count += 1
        if count == 2 { throw .keysExhausted }
        return nil
      }
    }
    #expect(count == 2)
  }

  private func snapshot(of service: PointsService) async throws -> any IndexSnapshot {
    let view = try await service.view(for: .page, isRequired: true, notBefore: nil)
    guard case .snapshot(let snapshot) = view else { throw PointStoreError.indexRequired }
    return snapshot
  }

  @Test func searchIsRecordedRoundedAndTimed() async throws {
    let analytics = RecordingAnalytics()
    let ticks = Mutex(0)
    let store = StubStore(onPage: { _ in PointPage(points: [], hasMore: false) })
    let service = PointsService(
      store: store, analytics: analytics,
      uptime: {
        ticks.withLock { $0 += 7 }
        return .milliseconds(ticks.withLock { $0 })
      })
    let center = try Coordinate(latitude: 37.32931, longitude: -121.88929)

    _ = try await service.page(
      matching: PointQuery(proximity: .init(center: center), categories: ["cafe"]), in: store)

    let search = try #require(analytics.searches.first)
    #expect(search.cell?.description == "37.33,-121.89")
    #expect(search.categories == ["cafe"])
    #expect(search.found == 0)
    #expect(search.duration == .milliseconds(7))
  }

  @Test func failedSearchIsNotRecorded() async {
    let analytics = RecordingAnalytics()
    let store = StubStore(onPage: { _ throws(PointStoreError) in throw .timeout })
    let service = PointsService(store: store, analytics: analytics)

    await #expect(throws: PointStoreError.timeout) { try await service.page(matching: PointQuery(), in: store) }

    #expect(analytics.searches.isEmpty)
  }

  @Test func searchesOfOneRequestAreRecordedOnce() async throws {
    let analytics = RecordingAnalytics()
    let store = MemoryStore()
    let service = PointsService(store: store, analytics: analytics)
    let snapshot = try await snapshot(of: service)
    let text = TextQuery(text: "a")

    _ = try await service.page(matching: PointQuery(), in: store, isRecorded: false)
    _ = try service.page(matching: PointQuery(), in: snapshot, isRecorded: false)
    _ = try service.matches(of: text, in: snapshot, isRecorded: false)
    #expect(analytics.searches.isEmpty)

    _ = try service.page(matching: PointQuery(), in: snapshot)
    _ = try service.matches(of: text, in: snapshot)
    #expect(analytics.searches.count == 2)
  }

  @Test func deletionOfADataSetCountsThePlacesOfAllBatches() async throws {
    let store = MemoryStore()
    try await store.importRows(
      try (1...1_500).map { try .sample("a", 1, 1, source: "s", sourceID: "\($0)", number: $0) })
    let service = PointsService(store: store)

    let cancelled = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await service.deletePlaces(ofSource: "s")
    }
    let error = await #expect(throws: IncompleteDeletion.self) { try await cancelled.value }

    #expect(error?.count == 0)
    #expect(try await service.deletePlaces(ofSource: "s") == 1_500)
  }

  @Test func dryRunDoesNotClaimTheKeyOfAnImport() async throws {
    let service = PointsService(store: MemoryStore())
    let (stream, upload) = AsyncStream.makeStream(of: [ImportRow].self)
    let hasBegun = Gate()
    let rows = stream.map { rows in
      hasBegun.open()
      return rows
    }
    let dryRun = Task {
      try await service.importRows(rows, options: ImportOptions(dryRun: true, key: ImportKey(text: "k") { 1 }))
    }
    upload.yield([try .sample("a", 1, 1)])
    await hasBegun.pass()

    let report = try await service.importRows(
      [ImportRow]().inOneBatch, options: ImportOptions(key: ImportKey(text: "k") { 1 }))
    upload.finish()

    #expect(report == ImportReport())
    #expect(try await dryRun.value.created == 1)
  }

  @Test func observersNoteEachCallOfTheStore() async throws {
    let observer = RecordingObserver()
    let store = MemoryStore()
    let service = PointsService(store: store, observers: [observer])
    let none = PointID(high: 1, low: 1)

    _ = try await service.page(matching: PointQuery(), in: store)
    _ = try await service.observed(.count, await store.count(matching: PointQuery()))
    _ = try await service.point(id: none, notBefore: nil)
    _ = try await service.featuredPoint(notBefore: nil)
    _ = try await service.sources()
    _ = try await service.dataVersion(notBefore: nil)
    try await service.checkReadiness()
    let created = try await service.create(harbour.draft, once: nil)
    _ = try await service.update(id: created.id, if: .none) { _ in harbour.draft }
    try? await service.delete(id: none, if: .none)
    _ = try await service.deletePlaces(ofSource: "none")
    _ = try await service.importRows(AsyncStream<[ImportRow]> { $0.finish() }, options: ImportOptions(dryRun: true))
    try await service.exportPoints(matching: PointQuery(), notBefore: nil, for: nil) { _ in }

    #expect(
      observer.calls == [
        "page", "count", "point", "shuffled", "sources", "version", "readiness",
        "create to write", "point", "put to write", "delete to write: notFound", "deletions to write", "import",
        "export",
      ])
  }

  @Test func observersNoteEachSearchOfASnapshot() async throws {
    let store = MemoryStore()
    try await store.importRows(try (1...1_000).map { try .sample("\($0)", 1, 1, number: $0) })
    let observer = RecordingObserver()
    let service = PointsService(store: store, observers: [observer])
    let snapshot = try await snapshot(of: service)
    let world = try #require(TileAddress(zoom: 0, x: 0, y: 0))

    _ = try service.page(matching: PointQuery(), in: snapshot)
    _ = try service.matches(of: TextQuery(text: "a"), in: snapshot)
    _ = try service.count(matching: PointQuery(), in: snapshot)
    _ = try service.searched(.categories, try snapshot.categoryCounts(in: nil))
    _ = try service.searched(.tile, try snapshot.tile(matching: TileQuery(tile: world)) { _ in false })
    _ = try service.searched(.clusters, try snapshot.cells(matching: CellQuery(box: nil, level: 1), limit: 1))
    #expect(throws: PointStoreError.filterTimeout) {
      try service.searched(
        .facets, try snapshot.facets(matching: FacetQuery(facets: [.category], timeLimit: .seconds(-1))))
    }

    #expect(
      observer.calls == [
        "page", "matches", "count", "categories", "tile", "clusters", "facets: filter_timeout",
      ])
  }

  @Test func indexThatIsTheStoreItselfFollowsNoDatabase() {
    let service = PointsService(store: MemoryStore())

    #expect(service.hasIndex && service.usesIndex && service.followingIndex == nil)
  }

  @Test func withoutAnIndexSearchesReadTheStore() async throws {
    let service = PointsService(store: StubStore())

    #expect(!service.hasIndex && !service.usesIndex && service.followingIndex == nil)
    guard case .store = try await service.view(for: .page, isRequired: true, notBefore: nil) else {
      Issue.record("a snapshot without an index")
      return
    }
  }

  @Test func requiredSnapshotThatIsNotReadyIsNotedByItsOperation() async throws {
    let observer = RecordingObserver()
    var store = StubStore()
    store.index = UnreadyIndex()
    let service = PointsService(store: store, observers: [observer])

    guard case .store = try await service.view(for: .page, isRequired: false, notBefore: nil) else {
      Issue.record("a snapshot of an index that is not ready")
      return
    }
    await #expect(throws: PointStoreError.indexNotReady) {
      _ = try await service.view(for: .facets, isRequired: true, notBefore: nil)
    }
    #expect(observer.calls == ["facets: index_not_ready"])
    #expect(service.hasIndex && !service.usesIndex && service.followingIndex != nil)
  }

  @Test func storeThatRefusedAWriteIsReadyForReadsAlone() async throws {
    let observer = RecordingObserver()
    let service = PointsService(store: MemoryStore(), observers: [observer])

    #expect(try await service.checkReadiness() == .ready)
    observer.refuse("the disk is full")
    #expect(try await service.checkReadiness() == .readOnly(reason: "the disk is full"))
  }

  @Test func featuredPointIsThatOfTheCurrentSlot() async throws {
    let pivots = Mutex<[UInt64]>([])
    let time = Timestamp(microsecondsSinceEpoch: 123_456_789)
    let service = PointsService(
      store: StubStore(onShuffled: { [harbour] pivot in
        pivots.withLock { $0.append(pivot) }
        return harbour
      }),
      clock: FixedClock(time))

    let featured = try #require(try await service.featuredPoint(notBefore: nil))

    #expect(featured.point == harbour)
    #expect(featured.remainingSeconds == 7)
    #expect(pivots.withLock { $0 } == [FeaturedPlace.choice(at: .init(at: time))])
  }
}

private final class RecordingAnalytics: Analytics {
  private let recorded = Mutex<[Search]>([])
  var searches: [Search] { recorded.withLock { $0 } }
  func record(_ search: Search) { recorded.withLock { $0.append(search) } }
}

/// An index of a database that is not ready yet, and of which none knows whether it will be.
private struct UnreadyIndex: StoreIndex {
  let isUnused = true
  let followsDatabase = true

  func snapshot(isRequired: Bool) async throws(PointStoreError) -> (any IndexSnapshot)? {
    if isRequired { throw .indexNotReady }
    return nil
  }
}
