package import Basics
package import Geo
package import Points
import Testing

/// A store with closures for its methods, which fails the test on an unexpected call.
package struct StubStore: PointStore {
  package var index: (any StoreIndex)?

  /// Returns a page.
  package var onPage: @Sendable (PointQuery) async throws(PointStoreError) -> PointPage = { _ in
    Issue.record("unexpected request for a page")
    return PointPage(points: [], hasMore: false)
  }

  /// Returns a place by its id.
  package var onPoint: @Sendable (PointID) async throws(PointStoreError) -> PointOfInterest? = { _ in
    Issue.record("unexpected request for a place")
    return nil
  }

  /// Returns a place by its shuffle key.
  package var onShuffled: @Sendable (UInt64) async throws(PointStoreError) -> PointOfInterest? = { _ in
    Issue.record("unexpected request for a shuffled place")
    return nil
  }

  /// Returns the categories.
  package var onCategories: @Sendable () async throws(PointStoreError) -> [CategoryCount] = {
    Issue.record("unexpected request for categories")
    return []
  }

  /// Returns the number of places that match.
  package var onCount: @Sendable (PointQuery) async throws(PointStoreError) -> Int = { _ in
    Issue.record("unexpected count")
    return 0
  }

  /// Returns the data version; `nil` by default.
  package var onDataVersion: @Sendable () async throws(PointStoreError) -> DataVersion? = { nil }

  /// Returns the known data version; `nil` by default.
  package var onKnownDataVersion: @Sendable () -> DataVersion? = { nil }

  /// Checks the readiness.
  package var onReadiness: @Sendable () async throws(PointStoreError) -> StoreReadiness = {
    Issue.record("unexpected readiness check")
    return .ready
  }

  /// Creates a store that expects no calls.
  package init() {}

  /// Creates a store that expects calls for pages.
  package init(onPage: @escaping @Sendable (PointQuery) async throws(PointStoreError) -> PointPage) {
    self.onPage = onPage
  }

  /// Creates a store that expects calls for places by their shuffle keys.
  package init(onShuffled: @escaping @Sendable (UInt64) async throws(PointStoreError) -> PointOfInterest?) {
    self.onShuffled = onShuffled
  }

  /// Creates a store that fails all calls.
  package init(failing error: PointStoreError) {
    onPage = { _ throws(PointStoreError) in throw error }
    onCount = { _ throws(PointStoreError) in throw error }
    onPoint = { _ throws(PointStoreError) in throw error }
    onShuffled = { _ throws(PointStoreError) in throw error }
    onCategories = { () throws(PointStoreError) in throw error }
    onDataVersion = { () throws(PointStoreError) in throw error }
    onReadiness = { () throws(PointStoreError) in throw error }
  }

  package func page(matching query: PointQuery) async throws(PointStoreError) -> PointPage { try await onPage(query) }

  package func count(matching query: PointQuery) async throws(PointStoreError) -> Int { try await onCount(query) }

  package func point(id: PointID) async throws(PointStoreError) -> PointOfInterest? { try await onPoint(id) }

  package func point(shuffledAtOrAfter pivot: UInt64) async throws(PointStoreError) -> PointOfInterest? {
    try await onShuffled(pivot)
  }

  package func categoryCounts(in box: BoundingBox?) async throws(PointStoreError) -> [CategoryCount] {
    try await onCategories()
  }

  package func dataVersion() async throws(PointStoreError) -> DataVersion? { try await onDataVersion() }

  package func knownDataVersion() -> DataVersion? { onKnownDataVersion() }

  package func checkReadiness() async throws(PointStoreError) -> StoreReadiness { try await onReadiness() }

  package func sources() async throws(PointStoreError) -> [DataSource] { [] }

  package func edits(of id: PointID) async throws(PointStoreError) -> PlaceEdits? { nil }

  package func edits(matching query: EditQuery) async throws(PointStoreError) -> EditPage {
    EditPage(places: [], hasMore: false)
  }

  package func create(
    _ place: PointDraft, once key: IdempotencyKey?, reusingID reusesID: Bool, as author: WriteAuthor
  ) async throws(PointWriteError) -> PointOfInterest { throw unexpectedWrite() }

  package func put(
    _ place: PointDraft, id: PointID, if condition: WriteCondition, as author: WriteAuthor
  ) async throws(PointWriteError) -> (point: PointOfInterest, wasCreated: Bool) { throw unexpectedWrite() }

  package func forgetEdits(of id: PointID) async throws(PointWriteError) -> PointOfInterest? {
    throw unexpectedWrite()
  }

  package func delete(id: PointID, if condition: WriteCondition) async throws(PointWriteError) {
    throw unexpectedWrite()
  }

  package func apply(_ batch: PointBatch) async throws(PointWriteError) -> [PointOperationResult] {
    Issue.record("unexpected batch")
    return []
  }

  package func deleteBatch(
    ofSource source: String, after position: ExactText?
  ) async throws(PointWriteError) -> DeletedBatch { throw unexpectedWrite() }

  package func removeSource(named name: String) async throws(PointWriteError) -> SourceRemoval {
    throw unexpectedWrite()
  }

  package func register(_ sources: [DataSource]) async throws(PointWriteError) { throw unexpectedWrite() }

  package func importRows<Batches: AsyncSequence & Sendable>(
    _ batches: Batches, options: ImportOptions
  ) async throws -> ImportReport where Batches.Element == [ImportRow] { throw unexpectedWrite() }

  package func exportPoints(
    matching query: PointQuery, for client: String?,
    to consume: @Sendable (consuming [PointOfInterest]) async throws -> Void
  ) async throws {
    Issue.record("unexpected export")
  }

  private func unexpectedWrite() -> PointWriteError {
    Issue.record("unexpected write")
    return .store(.unexpected(reason: "unexpected write"))
  }
}
