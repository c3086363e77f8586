import Geo
import Basics
import Points
import Synchronization
import TestSupport
import Testing

@Suite struct ReplicatedStoreTests {
  private let primary = NamedStore("primary")
  private let replica = NamedStore("replica")

  private var store: ReplicatedStore<NamedStore, NamedStore> { ReplicatedStore(primary: primary, replica: replica) }

  @Test func searchesGoToTheReplicaAndAPlaceByItsIdComesFromThePrimary() async throws {
    #expect(try await store.names(PointQuery()) == ["replica"])
    #expect(try await store.categoryCounts().map(\.category) == ["replica"])
    #expect(try await store.point(shuffledAtOrAfter: 0)?.draft.name == "replica")
    #expect(try await store.point(id: .sample(1))?.draft.name == "primary")
    #expect(try await store.dataVersion() == nil)
    #expect(store.knownDataVersion() == nil)
  }

  @Test(arguments: [PointStoreError.unavailable(reason: "gone"), .schemaMismatch(reason: "old")])
  func whereOneIsAwayReadsGoToTheOther(absence: PointStoreError) async throws {
    replica.fail(with: absence)
    #expect(try await store.names(PointQuery()) == ["primary"])
    #expect(try await exported() == ["primary"])

    replica.fail(with: nil)
    primary.fail(with: absence)
    #expect(try await store.names(PointQuery()) == ["replica"])
    #expect(try await store.point(id: .sample(1))?.draft.name == "replica")
    #expect(try await exported() == ["replica"])
    #expect(try await store.checkReadiness() == .readOnly(reason: "the primary is unavailable"))
  }

  @Test func errorIsThePrimarysWhenBothAreUnavailable() async throws {
    replica.fail(with: .unavailable(reason: "replica"))
    primary.fail(with: .unavailable(reason: "primary"))

    await #expect(throws: PointStoreError.unavailable(reason: "primary")) { try await store.names(PointQuery()) }
    await #expect(throws: PointStoreError.unavailable(reason: "primary")) { try await store.point(id: .sample(1)) }
    await #expect(throws: PointStoreError.unavailable(reason: "primary")) { try await store.checkReadiness() }
  }

  @Test(arguments: [PointStoreError.overloaded, .timeout, .unexpected(reason: "x")])
  func errorOfAnAvailableStoreIsNotRetriedOnTheOther(error: PointStoreError) async throws {
    replica.fail(with: error)

    await #expect(throws: error) { try await store.names(PointQuery()) }
  }

  @Test func writesGoToThePrimaryAlone() async throws {
    primary.fail(with: .unavailable(reason: "gone"))

    await #expect(throws: PointWriteError.store(.unavailable(reason: "gone"))) {
      try await store.create(try .sample("a"), once: nil)
    }
    await #expect(throws: PointWriteError.store(.unavailable(reason: "gone"))) {
      try await store.put(try .sample("a"), id: .sample(1), if: .none)
    }
    await #expect(throws: PointWriteError.store(.unavailable(reason: "gone"))) {
      try await store.delete(id: .sample(1), if: .none)
    }
    await #expect(throws: PointStoreError.unavailable(reason: "gone")) {
      try await store.importRows([ImportRow](), mode: .partial)
    }
    #expect(replica.writes == 0)
  }

  @Test func startedExportIsNotRestartedOnTheOtherStore() async throws {
    replica.fail(with: .unavailable(reason: "half way"), afterFirstBatch: true)
    let batches = Counter()

    await #expect(throws: PointStoreError.unavailable(reason: "half way")) {
      try await store.exportPoints(matching: PointQuery()) { _ in batches.add() }
    }

    #expect(batches.value == 1)
  }

  private func exported() async throws -> [String] {
    let names = Mutex<[String]>([])
    try await store.exportPoints(matching: PointQuery()) { points in
      names.withLock { $0 += points.map(\.draft.name) }
    }
    return names.withLock { $0 }
  }
}

/// A store with one place of its own name, which fails on demand.
private final class NamedStore: WritablePointStore {
  private let name: String
  private let error = Mutex<(error: PointStoreError?, isLate: Bool)>((nil, false))
  private let written = Counter()

  init(_ name: String) {
    self.name = name
  }

  var writes: Int { written.value }

  func fail(with error: PointStoreError?, afterFirstBatch isLate: Bool = false) {
    self.error.withLock { $0 = (error, isLate) }
  }

  private func point() throws(PointStoreError) -> PointOfInterest {
    if let error = error.withLock({ $0.error }) { throw error }
    guard let place = try? PointDraft.sample(name) else { throw .unexpected(reason: "no place") }
    let time = Timestamp(microsecondsSinceEpoch: 0)
    return PointOfInterest(id: .sample(1), draft: place, version: 1, createdAt: time, updatedAt: time)
  }

  private func write() throws(PointWriteError) -> PointOfInterest {
    written.add()
    do {
      return try point()
    } catch {
      throw .store(error)
    }
  }

  func page(matching query: PointQuery) async throws(PointStoreError) -> PointPage {
    PointPage(points: [FoundPoint(point: try point(), distanceMetres: nil)], hasMore: false)
  }

  func summaries(matching query: PointQuery) async throws(PointStoreError) -> SummaryPage {
    SummaryPage(try await page(matching: query))
  }

  func count(matching query: PointQuery) async throws(PointStoreError) -> Int { try point().draft.name.utf8.count }

  func point(id: PointID) async throws(PointStoreError) -> PointOfInterest? { try point() }

  func point(shuffledAtOrAfter pivot: UInt64) async throws(PointStoreError) -> PointOfInterest? { try point() }

  func categoryCounts(in box: BoundingBox?) async throws(PointStoreError) -> [CategoryCount] {
    [CategoryCount(category: try point().draft.name, count: 1)]
  }

  func dataVersion() async throws(PointStoreError) -> DataVersion? { DataVersion(token: name) }

  func knownDataVersion() -> DataVersion? { DataVersion(token: name) }

  @discardableResult func checkReadiness() async throws(PointStoreError) -> StoreReadiness {
    _ = try point()
    return .ready
  }

  func create(_ place: PointDraft, once key: IdempotencyKey?) async throws(PointWriteError) -> PointOfInterest {
    try write()
  }

  func put(
    _ place: PointDraft, id: PointID, if condition: WriteCondition
  ) async throws(PointWriteError) -> (point: PointOfInterest, wasCreated: Bool) { (try write(), true) }

  func delete(id: PointID, if condition: WriteCondition) async throws(PointWriteError) { _ = try write() }

  func deleteBatch(ofSource source: String, after position: ExactText?) async throws(PointWriteError) -> DeletedBatch {
    _ = try write()
    return DeletedBatch(count: 0, next: nil)
  }

  func importRows<Batches: AsyncSequence & Sendable>(
    _ batches: Batches, options: ImportOptions
  ) async throws -> ImportReport where Batches.Element == [ImportRow] {
    written.add()
    _ = try point()
    return ImportReport()
  }

  func exportPoints(
    matching query: PointQuery, to consume: @Sendable (consuming [PointOfInterest]) async throws -> Void
  ) async throws {
    let (error, isLate) = error.withLock { $0 }
    if let error, isLate {
      try await consume([])
      throw error
    }
    try await consume([point()])
  }
}
