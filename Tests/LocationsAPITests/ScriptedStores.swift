import MemoryStore
import Points
import Synchronization

/// A store in memory whose exports are a test's.
struct ScriptedExports: ForwardingStore {
  typealias Consume = @Sendable (consuming [PointOfInterest]) async throws -> Void

  let store = MemoryStore()
  private let export: @Sendable (Consume) async throws -> Void

  init(_ export: @escaping @Sendable (Consume) async throws -> Void) {
    self.export = export
  }

  func exportPoints(matching query: PointQuery, to consume: Consume) async throws { try await export(consume) }
}

/// A store that fails one creation and then does what the one behind it does.
struct FailingOnce: ForwardingStore {
  let store: MemoryStore
  private let error: PointWriteError
  private let isDue = Switch()

  private final class Switch: Sendable {
    let isOn = Atomic(true)
  }

  init(_ store: MemoryStore, error: PointWriteError) {
    self.store = store
    self.error = error
  }

  func create(_ place: Place, once key: IdempotencyKey?) async throws(PointWriteError) -> PointOfInterest {
    if isDue.isOn.exchange(false, ordering: .relaxed) { throw error }
    return try await store.create(place, once: key)
  }
}

/// A store that does what the one behind it does, but for what a test has it do otherwise.
protocol ForwardingStore: WritablePointStore {
  var store: MemoryStore { get }
}

extension ForwardingStore {
  func create(_ place: Place, once key: IdempotencyKey?) async throws(PointWriteError) -> PointOfInterest {
    try await store.create(place, once: key)
  }

  func put(
    _ place: Place, id: PointID, if condition: WriteCondition
  ) async throws(PointWriteError) -> (point: PointOfInterest, wasCreated: Bool) {
    try await store.put(place, id: id, if: condition)
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
    try await store.summaries(matching: query)
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
