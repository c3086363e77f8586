import MemoryStore
import Points

/// Places in memory that refuse what a store in memory by itself never does: creations, or changes to a version.
struct RefusingStore: WritablePointStore {
  private let store = MemoryStore()
  private let creationError: PointWriteError?
  private let changeError: PointWriteError?

  init(creations creationError: PointWriteError? = nil, changes changeError: PointWriteError? = nil) {
    self.creationError = creationError
    self.changeError = changeError
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

  func importRows<Batches: AsyncSequence & Sendable>(
    _ batches: Batches, mode: ImportMode, dryRun: Bool, once key: ImportKey?
  ) async throws -> ImportReport where Batches.Element == [ImportRow] {
    try await store.importRows(batches, mode: mode, dryRun: dryRun, once: key)
  }

  func exportPoints(
    matching query: PointQuery, to consume: @Sendable (consuming [PointOfInterest]) async throws -> Void
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

  func categoryCounts() async throws(PointStoreError) -> [CategoryCount] { try await store.categoryCounts() }

  func point(shuffledAtOrAfter pivot: UInt64) async throws(PointStoreError) -> PointOfInterest? {
    try await store.point(shuffledAtOrAfter: pivot)
  }

  func dataVersion() async throws(PointStoreError) -> DataVersion? { try await store.dataVersion() }

  func knownDataVersion() -> DataVersion? { store.knownDataVersion() }

  func checkReadiness() async throws(PointStoreError) {}
}
