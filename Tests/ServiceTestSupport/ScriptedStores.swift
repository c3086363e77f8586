package import Basics
package import Geo
package import MemoryStore
import NIOPosix
package import Points
import Synchronization
import TestSupport

/// A store in memory whose exports are a test's.
package struct ScriptedExports: ForwardingStore {
  package typealias Consume = @Sendable (consuming [PointOfInterest]) async throws -> Void

  package let store = MemoryStore()
  private let export: @Sendable (Consume) async throws -> Void

  package init(_ export: @escaping @Sendable (Consume) async throws -> Void) {
    self.export = export
  }

  package func exportPoints(matching query: PointQuery, for client: String?, to consume: Consume) async throws {
    try await export(consume)
  }
}

/// Analytics that count the searches.
package final class SearchCounter: Analytics {
  private let searches = Counter()

  package init() {}

  package var count: Int { searches.value }

  package func record(_ search: Search) { searches.add() }
}

/// A store without an index.
package struct UnindexedStore: ForwardingStore {
  package let store: MemoryStore
  package var index: (any StoreIndex)? { nil }

  package init(store: MemoryStore) { self.store = store }
}

/// A store that rejects some changes, which a memory store never does.
package struct RefusingStore: ForwardingStore {
  package let store: MemoryStore
  private let refusals: Refusals

  private final class Refusals: Sendable {
    let creations: Mutex<(error: PointWriteError?, rest: Int)>
    let changeError: PointWriteError?
    let batches: Mutex<Int>

    init(creations: (PointWriteError?, Int), changeError: PointWriteError?, batches: Int) {
      self.creations = Mutex(creations)
      self.changeError = changeError
      self.batches = Mutex(batches)
    }
  }

  /// Creates a store that fails the operations for which an error is given.
  ///
  /// - Parameters:
  ///   - creationError: the error of creations.
  ///   - times: the number of creations that are rejected, the first ones.
  ///   - changeError: the error of changes to a version.
  ///   - batches: the number of batches of deletions that are made; those that follow find the store unavailable.
  package init(
    _ store: MemoryStore = MemoryStore(), creations creationError: PointWriteError? = nil, times: Int = .max,
    changes changeError: PointWriteError? = nil, allowingBatches batches: Int = .max
  ) {
    self.store = store
    refusals = Refusals(creations: (creationError, times), changeError: changeError, batches: batches)
  }

  package func create(
    _ place: PointDraft, once key: IdempotencyKey?, reusingID reusesID: Bool, as author: WriteAuthor
  ) async throws(PointWriteError) -> PointOfInterest {
    let error = refusals.creations.withLock { creations in
      guard creations.rest > 0 else { return PointWriteError?.none }
      creations.rest -= 1
      return creations.error
    }
    if let error { throw error }
    return try await store.create(place, once: key, reusingID: reusesID, as: author)
  }

  package func put(
    _ place: PointDraft, id: PointID, if condition: WriteCondition, as author: WriteAuthor
  ) async throws(PointWriteError) -> (point: PointOfInterest, wasCreated: Bool) {
    if let error = refusals.changeError, case .versions = condition { throw error }
    return try await store.put(place, id: id, if: condition, as: author)
  }

  package func deleteBatch(ofSource source: String, after position: ExactText?) async throws(PointWriteError)
    -> DeletedBatch
  {
    let isAllowed = refusals.batches.withLock { rest in
      rest -= 1
      return rest >= 0
    }
    guard isAllowed else { throw .store(.unavailable(reason: "no more batches are allowed")) }
    return try await store.deleteBatch(ofSource: source, after: position)
  }
}

/// A store that forwards to another one, except for the operations that a test overrides.
package protocol ForwardingStore: PointStore {
  var store: MemoryStore { get }
}

extension ForwardingStore {
  package var index: (any StoreIndex)? { store.index }

  package func sources() async throws(PointStoreError) -> [DataSource] { try await store.sources() }

  package func create(
    _ place: PointDraft, once key: IdempotencyKey?, reusingID reusesID: Bool, as author: WriteAuthor
  ) async throws(PointWriteError) -> PointOfInterest {
    try await store.create(place, once: key, reusingID: reusesID, as: author)
  }

  package func put(
    _ place: PointDraft, id: PointID, if condition: WriteCondition, as author: WriteAuthor
  ) async throws(PointWriteError) -> (point: PointOfInterest, wasCreated: Bool) {
    try await store.put(place, id: id, if: condition, as: author)
  }

  package func edits(of id: PointID) async throws(PointStoreError) -> PlaceEdits? { try await store.edits(of: id) }

  package func edits(matching query: EditQuery) async throws(PointStoreError) -> EditPage {
    try await store.edits(matching: query)
  }

  package func forgetEdits(of id: PointID) async throws(PointWriteError) -> PointOfInterest? {
    try await store.forgetEdits(of: id)
  }

  package func delete(id: PointID, if condition: WriteCondition) async throws(PointWriteError) {
    try await store.delete(id: id, if: condition)
  }

  package func apply(_ batch: PointBatch) async throws(PointWriteError) -> [PointOperationResult] {
    try await store.apply(batch)
  }

  package func deleteBatch(ofSource source: String, after position: ExactText?) async throws(PointWriteError)
    -> DeletedBatch
  {
    try await store.deleteBatch(ofSource: source, after: position)
  }

  package func removeSource(named name: String) async throws(PointWriteError) -> SourceRemoval {
    try await store.removeSource(named: name)
  }

  package func register(_ sources: [DataSource]) async throws(PointWriteError) { try await store.register(sources) }

  package func importRows<Batches: AsyncSequence & Sendable>(
    _ batches: Batches, options: ImportOptions
  ) async throws -> ImportReport where Batches.Element == [ImportRow] {
    try await store.importRows(batches, options: options)
  }

  package func exportPoints(
    matching query: PointQuery, for client: String?,
    to consume: @Sendable (consuming [PointOfInterest]) async throws -> Void
  ) async throws {
    try await store.exportPoints(matching: query, for: client, to: consume)
  }

  package func page(matching query: PointQuery) async throws(PointStoreError) -> PointPage {
    try await store.page(matching: query)
  }

  package func count(matching query: PointQuery) async throws(PointStoreError) -> Int {
    try await store.count(matching: query)
  }

  package func point(id: PointID) async throws(PointStoreError) -> PointOfInterest? { try await store.point(id: id) }

  package func categoryCounts(in box: BoundingBox?) async throws(PointStoreError) -> [CategoryCount] {
    try await store.categoryCounts(in: box)
  }

  package func point(shuffledAtOrAfter pivot: UInt64) async throws(PointStoreError) -> PointOfInterest? {
    try await store.point(shuffledAtOrAfter: pivot)
  }

  package func dataVersion() async throws(PointStoreError) -> DataVersion? { try await store.dataVersion() }

  package func knownDataVersion() -> DataVersion? { store.knownDataVersion() }

  package func checkReadiness() async throws(PointStoreError) -> StoreReadiness { .ready }
}

/// An index of the places of another one, each search of which calls closures of a test.
package struct ComputedIndex: StoreIndex {
  package let index: MemoryStore
  package let onComputing: @Sendable () -> Void
  package var onFacets: @Sendable (String) -> Void = { _ in }

  package init(
    index: MemoryStore, onComputing: @escaping @Sendable () -> Void,
    onFacets: @escaping @Sendable (String) -> Void = { _ in }
  ) {
    self.index = index
    self.onComputing = onComputing
    self.onFacets = onFacets
  }

  package func snapshot(isRequired: Bool) async throws(PointStoreError) -> (any IndexSnapshot)? {
    guard let snapshot = try await index.snapshot(isRequired: isRequired) else { return nil }
    return ComputedSnapshot(snapshot: snapshot, onComputing: onComputing, onFacets: onFacets)
  }
}

/// The places of a moment, each search of which calls closures of a test, unless it is a short one on an event loop.
private struct ComputedSnapshot: IndexSnapshot {
  let snapshot: any IndexSnapshot
  let onComputing: @Sendable () -> Void
  let onFacets: @Sendable (String) -> Void

  private func noteLongSearch() {
    if MultiThreadedEventLoopGroup.currentEventLoop == nil { onComputing() }
  }

  func page(matching query: PointQuery) throws(PointStoreError) -> PointPage {
    noteLongSearch()
    return try snapshot.page(matching: query)
  }

  func count(matching query: PointQuery) throws(PointStoreError) -> Int {
    noteLongSearch()
    return try snapshot.count(matching: query)
  }

  func page(matching query: TextQuery) throws(PointStoreError) -> TextPage {
    // With a limit it is a short search.
    if query.stepLimit == nil { onComputing() }
    return try snapshot.page(matching: query)
  }

  func categoryCounts(in box: BoundingBox?) throws(PointStoreError) -> [CategoryCount] {
    onComputing()
    return try snapshot.categoryCounts(in: box)
  }

  func facets(matching query: FacetQuery) throws(PointStoreError) -> Facets {
    onFacets(query.filters.categories.first?.text ?? "")
    onComputing()
    return try snapshot.facets(matching: query)
  }

  func duplicates(matching query: DuplicateQuery) throws(PointStoreError) -> [DuplicateCandidate]? {
    onComputing()
    return try snapshot.duplicates(matching: query)
  }

  func point(id: PointID) -> PointOfInterest? { snapshot.point(id: id) }

  func nextChangeOfHours(after minute: Int64) -> Int64 {
    snapshot.nextChangeOfHours(after: minute)
  }

  var bounds: BoundingBox? { snapshot.bounds }

  func extent(ofCategories categories: Set<ExactText>) -> BoundingBox? { snapshot.extent(ofCategories: categories) }

  func contentVersion(of tile: TileAddress) -> ContentVersion { snapshot.contentVersion(of: tile) }

  func knownVersions(of tile: TileAddress) -> TileVersions { snapshot.knownVersions(of: tile) }

  func maximumCount(of tile: TileAddress) -> Int { snapshot.maximumCount(of: tile) }

  func tile(
    matching query: TileQuery, unless isKnown: (ContentVersion) -> Bool
  ) throws(PointStoreError) -> (version: ContentVersion, bytes: [UInt8]?) {
    onComputing()
    return try snapshot.tile(matching: query, unless: isKnown)
  }

  func cells(matching query: CellQuery, limit: Int) throws(PointStoreError) -> [MapCell]? {
    onComputing()
    return try snapshot.cells(matching: query, limit: limit)
  }
}
