import Geo
import MemoryStore
import Points
import Synchronization

/// Places in memory that refuse what a store in memory by itself never does: creations, changes to a
/// version, or batches of deletions after the first few.
struct RefusingStore: WritablePointStore {
  private let store: MemoryStore
  private let batches: Batches?
  private let creationError: PointWriteError?
  private let changeError: PointWriteError?

  init(creations creationError: PointWriteError? = nil, changes changeError: PointWriteError? = nil) {
    self.creationError = creationError
    self.changeError = changeError
    store = MemoryStore()
    batches = nil
  }

  /// Creates a store of which so many batches can be deleted.
  init(_ store: MemoryStore, allowingBatches count: Int) {
    (creationError, changeError) = (nil, nil)
    self.store = store
    batches = Batches(count: count)
  }

  private final class Batches: Sendable {
    let remaining: Atomic<Int>

    init(count: Int) { remaining = Atomic(count) }
  }

  func create(_ place: Place, once key: IdempotencyKey?) async throws(PointWriteError) -> PointOfInterest {
    if let creationError { throw creationError }
    return try await store.create(place, once: key)
  }

  func put(
    _ place: Place, id: PointID, if condition: WriteCondition
  ) async throws(PointWriteError) -> (point: PointOfInterest, wasCreated: Bool) {
    if let changeError, case .versions = condition { throw changeError }
    return try await store.put(place, id: id, if: condition)
  }

  func delete(id: PointID, if condition: WriteCondition) async throws(PointWriteError) {
    try await store.delete(id: id, if: condition)
  }

  func deleteBatch(ofSource source: String, after id: PointID?) async throws(PointWriteError) -> DeletedBatch {
    if let batches, batches.remaining.subtract(1, ordering: .relaxed).newValue < 0 {
      throw .store(.unavailable(reason: "no more batches are allowed"))
    }
    return try await store.deleteBatch(ofSource: source, after: id)
  }

  func importRows<Batches: AsyncSequence & Sendable>(
    _ batches: Batches, mode: ImportMode, dryRun: Bool, once key: ImportKey?
  ) async throws -> ImportReport where Batches.Element == [ImportRow] {
    try await store.importRows(batches, mode: mode, dryRun: dryRun, once: key)
  }

  func exportPoints(
    matching query: PointQuery, to consume: @Sendable ([PointOfInterest]) async throws -> Void
  ) async throws {
    try await store.exportPoints(matching: query, to: consume)
  }

  func page(matching query: PointQuery) async throws(PointStoreError) -> PointPage {
    try await store.page(matching: query)
  }

  func summaries(matching query: PointQuery) async throws(PointStoreError) -> SummaryPage {
    SummaryPage(try await page(matching: query))
  }

  func point(id: PointID) async throws(PointStoreError) -> PointOfInterest? { try await store.point(id: id) }

  func categoryCounts(in box: BoundingBox?) async throws(PointStoreError) -> [CategoryCount] {
    try await store.categoryCounts(in: box)
  }

  func point(shuffledAtOrAfter pivot: UInt64) async throws(PointStoreError) -> PointOfInterest? {
    try await store.point(shuffledAtOrAfter: pivot)
  }

  func dataVersion() async throws(PointStoreError) -> DataVersion? { try await store.dataVersion() }

  func knownDataVersion() -> DataVersion? { store.knownDataVersion() }

  func checkReadiness() async throws(PointStoreError) {}
}
