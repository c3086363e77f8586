import Geo
import Basics
import Points
import Synchronization
import TestSupport

/// A store without places that fails on demand.
final class SwitchedStore: PointStore {
  let index: (any StoreIndex)? = nil
  private let errors = Mutex<(read: PointStoreError?, write: PointWriteError?)>((nil, nil))

  /// The least duration of pages, versions and writes of a place.
  private let delay: Duration

  init(delay: Duration = .zero) { self.delay = delay }

  private func wait() async { if delay > .zero { try? await Task.sleep(for: delay) } }

  func fail(with error: PointStoreError?) { errors.withLock { $0 = (error, error.map { .store($0) }) } }

  func reject(with error: PointWriteError) { errors.withLock { $0 = (nil, error) } }

  func write(through service: PointsService) async { await call("delete", through: service) }

  func call(_ name: String, through service: PointsService) async {
    guard let place = try? ImportRow.sample("a", 1, 1).draft else { return }
    switch name {
    case "create": _ = try? await service.create(place, once: nil)
    case "put": _ = try? await service.put(place, id: .sample(1), if: .none)
    case "delete": try? await service.delete(id: .sample(1), if: .none)
    case "import": _ = try? await service.importRows([ImportRow]().inOneBatch, options: ImportOptions())
    case "export": try? await service.exportPoints(matching: PointQuery(), notBefore: nil, for: nil) { _ in }
    default: _ = try? await service.page(matching: PointQuery(), in: self)
    }
  }

  private func checkRead() throws(PointStoreError) { if let error = errors.withLock({ $0.read }) { throw error } }

  private func checkWrite() throws(PointWriteError) { if let error = errors.withLock({ $0.write }) { throw error } }

  func create(
    _ place: PointDraft, once key: IdempotencyKey?, reusingID reusesID: Bool, as author: WriteAuthor
  ) async throws(PointWriteError) -> PointOfInterest {
    try await put(place, id: .sample(1), if: .none).point
  }

  func put(
    _ place: PointDraft, id: PointID, if condition: WriteCondition, as author: WriteAuthor
  ) async throws(PointWriteError) -> (point: PointOfInterest, wasCreated: Bool) {
    await wait()
    try checkWrite()
    let time = Timestamp(microsecondsSinceEpoch: 0)
    return (PointOfInterest(id: id, draft: place, version: 1, createdAt: time, updatedAt: time), true)
  }

  func delete(id: PointID, if condition: WriteCondition) async throws(PointWriteError) {
    await wait()
    try checkWrite()
  }

  func edits(of id: PointID) async throws(PointStoreError) -> PlaceEdits? {
    try checkRead()
    return nil
  }

  func edits(matching query: EditQuery) async throws(PointStoreError) -> EditPage {
    try checkRead()
    return EditPage(places: [], hasMore: false)
  }

  func forgetEdits(of id: PointID) async throws(PointWriteError) -> PointOfInterest? {
    try checkWrite()
    throw .notFound
  }

  func apply(_ batch: PointBatch) async throws(PointWriteError) -> [PointOperationResult] {
    try checkWrite()
    return []
  }

  func deleteBatch(ofSource source: String, after position: ExactText?) async throws(PointWriteError) -> DeletedBatch {
    try checkWrite()
    return DeletedBatch(count: 0, next: nil)
  }

  func removeSource(named name: String) async throws(PointWriteError) -> SourceRemoval {
    try checkWrite()
    return .unknown
  }

  func register(_ sources: [DataSource]) async throws(PointWriteError) { try checkWrite() }

  func importRows<Batches: AsyncSequence & Sendable>(
    _ batches: Batches, options: ImportOptions
  ) async throws -> ImportReport where Batches.Element == [ImportRow] {
    try checkRead()
    return ImportReport()
  }

  func exportPoints(
    matching query: PointQuery, for client: String?,
    to consume: @Sendable (consuming [PointOfInterest]) async throws -> Void
  ) async throws { try checkRead() }

  func page(matching query: PointQuery) async throws(PointStoreError) -> PointPage {
    await wait()
    try checkRead()
    return PointPage(points: [], hasMore: false)
  }

  func count(matching query: PointQuery) async throws(PointStoreError) -> Int {
    try checkRead()
    return 0
  }

  func point(id: PointID) async throws(PointStoreError) -> PointOfInterest? {
    try checkRead()
    return nil
  }

  func categoryCounts(in box: BoundingBox?) async throws(PointStoreError) -> [CategoryCount] {
    try checkRead()
    return []
  }

  func point(shuffledAtOrAfter pivot: UInt64) async throws(PointStoreError) -> PointOfInterest? {
    try checkRead()
    return nil
  }

  func dataVersion() async throws(PointStoreError) -> DataVersion? {
    await wait()
    try checkRead()
    return DataVersion(token: "1")
  }

  func knownDataVersion() -> DataVersion? { DataVersion(token: "1") }

  func checkReadiness() async throws(PointStoreError) -> StoreReadiness {
    try checkRead()
    return .ready
  }

  func sources() async throws(PointStoreError) -> [DataSource] {
    try checkRead()
    return []
  }
}
