import CoreMetrics
import Geo
import Basics
import Points
import PrometheusMetrics
import Synchronization

/// A store that times and counts the calls of another one, and logs its outages.
struct ObservedStore: WritablePointStore {
  private let store: any WritablePointStore
  private let metrics: StoreMetrics?
  private let outages: OutageLog?

  /// Creates an observed store.
  ///
  /// - Parameters:
  ///   - factory: the backend of the timers; `nil` where another observed store measures the calls.
  ///   - outages: the log of outages; `nil` where the store has none, as one in memory alone.
  init(_ store: any WritablePointStore, factory: (any MetricsFactory)?, outages: OutageLog? = nil) {
    self.store = store
    self.metrics = factory.map { StoreMetrics($0) }
    self.outages = outages
  }

  private func observe<Value, Failure: Error>(
    _ operation: StoreOperation, isWrite: Bool? = nil, _ call: () async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    let start = ContinuousClock.now
    do {
      let value = try await call()
      metrics?.record(operation, since: start)
      outages?.noteSuccess(of: operation, isWrite: isWrite ?? operation.isWrite)
      return value
    } catch {
      let storeError = PointStoreError(causing: error)
      // No failure: the search is repeated.
      if storeError == .stepLimit { throw error }
      metrics?.record(operation, failure: operation.outcome(of: error), since: start)
      if let error = storeError {
        outages?.note(error, of: operation, isWrite: isWrite ?? operation.isWrite)
      }
      throw error
    }
  }

  // MARK: Reading

  func page(matching query: PointQuery) async throws(PointStoreError) -> PointPage {
    try await observe(.page) { () throws(PointStoreError) in try await store.page(matching: query) }
  }

  func summaries(matching query: PointQuery) async throws(PointStoreError) -> SummaryPage {
    try await observe(.summaries) { () throws(PointStoreError) in try await store.summaries(matching: query) }
  }

  func count(matching query: PointQuery) async throws(PointStoreError) -> Int {
    try await observe(.count) { () throws(PointStoreError) in try await store.count(matching: query) }
  }

  func point(id: PointID) async throws(PointStoreError) -> PointOfInterest? {
    try await observe(.point) { () throws(PointStoreError) in try await store.point(id: id) }
  }

  func point(shuffledAtOrAfter pivot: UInt64) async throws(PointStoreError) -> PointOfInterest? {
    try await observe(.shuffled) { () throws(PointStoreError) in try await store.point(shuffledAtOrAfter: pivot) }
  }

  func categoryCounts(in box: BoundingBox?) async throws(PointStoreError) -> [CategoryCount] {
    try await observe(.categories) { () throws(PointStoreError) in try await store.categoryCounts(in: box) }
  }

  func sources() async throws(PointStoreError) -> [DataSource] {
    try await observe(.sources) { () throws(PointStoreError) in try await store.sources() }
  }

  func dataVersion() async throws(PointStoreError) -> DataVersion? {
    try await observe(.version) { () throws(PointStoreError) in try await store.dataVersion() }
  }

  func knownDataVersion() -> DataVersion? { store.knownDataVersion() }

  /// Returns the store's readiness; that it refuses writes, where the last one found it unavailable and only writes
  /// find that.
  @discardableResult func checkReadiness() async throws(PointStoreError) -> StoreReadiness {
    let readiness = try await observe(.readiness) { () throws(PointStoreError) in try await store.checkReadiness() }
    return outages?.refusalOfWrites.map { .readOnly(reason: $0) } ?? readiness
  }

  func exportPoints(
    matching query: PointQuery, to consume: @Sendable (consuming [PointOfInterest]) async throws -> Void
  ) async throws {
    try await observe(.export) { try await store.exportPoints(matching: query, to: consume) }
  }

  // MARK: Writing

  func create(_ draft: PointDraft, once key: IdempotencyKey?) async throws(PointWriteError) -> PointOfInterest {
    try await observe(.create) { () throws(PointWriteError) in try await store.create(draft, once: key) }
  }

  func put(
    _ draft: PointDraft, id: PointID, if condition: WriteCondition
  ) async throws(PointWriteError) -> (point: PointOfInterest, wasCreated: Bool) {
    try await observe(.put) { () throws(PointWriteError) in try await store.put(draft, id: id, if: condition) }
  }

  func delete(id: PointID, if condition: WriteCondition) async throws(PointWriteError) {
    try await observe(.delete) { () throws(PointWriteError) in try await store.delete(id: id, if: condition) }
  }

  func deleteBatch(ofSource source: String, after position: ExactText?) async throws(PointWriteError) -> DeletedBatch {
    try await observe(.deletions) { () throws(PointWriteError) in
      try await store.deleteBatch(ofSource: source, after: position)
    }
  }

  func importRows<Batches: AsyncSequence & Sendable>(
    _ batches: Batches, options: ImportOptions
  ) async throws -> ImportReport where Batches.Element == [ImportRow] {
    // A dry run writes nothing.
    try await observe(.import, isWrite: !options.dryRun) { try await store.importRows(batches, options: options) }
  }
}

/// A store that times and counts the searches for texts of another one.
struct ObservedTextStore: TextSearchableStore {
  private let store: any TextSearchableStore
  private let metrics: StoreMetrics

  init(_ store: any TextSearchableStore, factory: any MetricsFactory) {
    self.store = store
    metrics = StoreMetrics(factory)
  }

  func matches(of query: TextQuery) async throws(PointStoreError) -> TextPage {
    let start = ContinuousClock.now
    do {
      let page = try await store.matches(of: query)
      metrics.record(.matches, since: start)
      return page
    } catch .stepLimit {
      // No failure: the search is repeated.
      throw .stepLimit
    } catch {
      metrics.record(.matches, failure: error.outcome, since: start)
      throw error
    }
  }

  var textConfiguration: TextIndexConfiguration { store.textConfiguration }

  var supportsTextSearch: Bool { store.supportsTextSearch }
}

/// A store that times and counts the drawing of maps of another one.
struct ObservedMappedStore: MappedStore {
  private let store: any MappedStore
  private let metrics: StoreMetrics

  init(_ store: any MappedStore, factory: any MetricsFactory) {
    self.store = store
    metrics = StoreMetrics(factory)
  }

  func mapSnapshot() async throws(PointStoreError) -> any MapSnapshot {
    let start = ContinuousClock.now
    do {
      return ObservedMapSnapshot(snapshot: try await store.mapSnapshot(), metrics: metrics)
    } catch {
      metrics.record(.tile, failure: error.outcome, since: start)
      throw error
    }
  }

  func currentSnapshot() async -> (any MapSnapshot)? {
    await store.currentSnapshot().map { ObservedMapSnapshot(snapshot: $0, metrics: metrics) }
  }
}

private struct ObservedMapSnapshot: MapSnapshot {
  let snapshot: any MapSnapshot
  let metrics: StoreMetrics

  var bounds: BoundingBox? { snapshot.bounds }

  func extent(ofCategories categories: Set<ExactText>) -> BoundingBox? { snapshot.extent(ofCategories: categories) }

  func contentVersion(of tile: TileAddress) -> ContentVersion { snapshot.contentVersion(of: tile) }

  func knownVersions(of tile: TileAddress) -> TileVersions { snapshot.knownVersions(of: tile) }

  func maximumCount(of tile: TileAddress) -> Int { snapshot.maximumCount(of: tile) }

  func tile(
    matching query: TileQuery, unless isKnown: (ContentVersion) -> Bool
  ) throws(PointStoreError) -> (version: ContentVersion, bytes: [UInt8]?) {
    try observe(.tile) { () throws(PointStoreError) in try snapshot.tile(matching: query, unless: isKnown) }
  }

  func cells(matching query: CellQuery, limit: Int) throws(PointStoreError) -> [MapCell]? {
    try observe(.clusters) { () throws(PointStoreError) in try snapshot.cells(matching: query, limit: limit) }
  }

  func facets(matching query: FacetQuery) throws(PointStoreError) -> Facets {
    try observe(.facets) { () throws(PointStoreError) in try snapshot.facets(matching: query) }
  }

  func page(matching query: PointQuery) throws(PointStoreError) -> PointPage {
    try observe(.page) { () throws(PointStoreError) in try snapshot.page(matching: query) }
  }

  func summaries(matching query: PointQuery) throws(PointStoreError) -> SummaryPage {
    try observe(.summaries) { () throws(PointStoreError) in try snapshot.summaries(matching: query) }
  }

  func count(matching query: PointQuery) throws(PointStoreError) -> Int {
    try observe(.count) { () throws(PointStoreError) in try snapshot.count(matching: query) }
  }

  func page(matching query: TextQuery) throws(PointStoreError) -> TextPage {
    try observe(.matches) { () throws(PointStoreError) in try snapshot.page(matching: query) }
  }

  func categoryCounts(in box: BoundingBox?) throws(PointStoreError) -> [CategoryCount] {
    try observe(.categories) { () throws(PointStoreError) in try snapshot.categoryCounts(in: box) }
  }

  private func observe<Value>(
    _ operation: StoreOperation, _ call: () throws(PointStoreError) -> Value
  ) throws(PointStoreError) -> Value {
    let start = ContinuousClock.now
    do {
      let value = try call()
      metrics.record(operation, since: start)
      return value
    } catch {
      metrics.record(operation, failure: error.outcome, since: start)
      throw error
    }
  }
}

/// An operation of a store. Metrics have the names of the cases.
enum StoreOperation: Int, CaseIterable {
  case page, summaries, matches, count, point, shuffled, categories, sources, version, readiness
  case tile, clusters, facets
  case create, put, delete, deletions, `import`, export

  var isWrite: Bool {
    switch self {
    case .create, .put, .delete, .deletions, .import: true
    case .page, .summaries, .matches, .count, .point, .shuffled, .categories, .sources, .version, .readiness, .tile,
      .clusters, .facets, .export:
      false
    }
  }

  /// Returns the outcome that metrics have for an error.
  fileprivate func outcome(of error: any Error) -> String {
    if let error = PointStoreError(causing: error) { return error.outcome }
    switch self {
    case .import, .export: return "broken_off"
    default: return "refused"
    }
  }
}

extension PointStoreError {
  /// The outcome that metrics have. A search whose client has disconnected ends as one whose time limit is exceeded.
  fileprivate var outcome: String { self == .filterTimeout && Task.isCancelled ? "cancelled" : shortDescription }

  /// The store's own error behind an error; `nil` where the store works and the caller or the call is the cause.
  fileprivate init?(causing error: any Error) {
    switch error {
    case let error as PointStoreError: self = error
    case PointWriteError.store(let error): self = error
    default: return nil
    }
  }
}

/// The timers of the calls of a store, by operation and outcome.
private struct StoreMetrics {
  private struct Failure: Hashable {
    let operation: StoreOperation
    let reason: String
  }

  private let factory: any MetricsFactory
  /// The timers of successful calls, in the order of the operations, so that they are found without a look-up.
  private let successes: [Timer]
  private let failures = HandleCache<Failure, Timer>()

  init(_ factory: any MetricsFactory) {
    self.factory = factory
    successes = StoreOperation.allCases.map { Self.timer($0, "ok", factory) }
  }

  func record(_ operation: StoreOperation, failure: String? = nil, since start: ContinuousClock.Instant) {
    let duration = ContinuousClock.now - start
    let timer =
      failure.map { reason in
        failures.handle(for: Failure(operation: operation, reason: reason)) { Self.timer(operation, reason, factory) }
      } ?? successes[operation.rawValue]
    timer.recordNanoseconds(duration.wholeNanoseconds)
    StoreTime.current?.add(duration)
  }

  private static func timer(_ operation: StoreOperation, _ outcome: String, _ factory: any MetricsFactory) -> Timer {
    Timer(
      label: MetricCatalogue.storeDuration.name, dimensions: [("operation", "\(operation)"), ("outcome", outcome)],
      factory: factory)
  }
}

/// The time that one request has waited for the store so far.
final class StoreTime: Sendable {
  /// The time of the current request; `nil` where it is not measured.
  @TaskLocal static var current: StoreTime?

  private let nanoseconds = Atomic<Int64>(0)

  var total: Duration { .nanoseconds(nanoseconds.load(ordering: .relaxed)) }

  func add(_ duration: Duration) { nanoseconds.wrappingAdd(duration.wholeNanoseconds, ordering: .relaxed) }
}
