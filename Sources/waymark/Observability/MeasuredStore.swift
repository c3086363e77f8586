import CoreMetrics
import Geo
import JSONText
import Points

/// A store that times the calls of the one behind it.
struct MeasuredStore: WritablePointStore {
  /// What the store was asked to do.
  enum Operation: Int, CaseIterable {
    case page, summaries, point, shuffled, categories, version, readiness
    case create, put, delete, deletions, `import`, export

    /// What it is called in metrics.
    var name: String { "\(self)" }
  }

  private struct Failure: Hashable {
    let operation: Operation
    let reason: String
  }

  private let store: any WritablePointStore
  private let factory: any MetricsFactory
  /// One for each operation, in their order: what succeeds, which is most, is found without a look-up.
  private let successes: [Timer]
  private let failures = HandleCache<Failure, Timer>()

  /// Times a store's calls in a backend; and for each request too, where ``StoreTime`` has one.
  init(_ store: any WritablePointStore, factory: any MetricsFactory) {
    self.store = store
    self.factory = factory
    successes = Operation.allCases.map { Self.timer($0, "ok", factory) }
  }

  // MARK: Reading

  func page(matching query: PointQuery) async throws(PointStoreError) -> PointPage {
    try await reading(.page) { () throws(PointStoreError) in try await store.page(matching: query) }
  }

  func summaries(matching query: PointQuery) async throws(PointStoreError) -> SummaryPage {
    try await reading(.summaries) { () throws(PointStoreError) in try await store.summaries(matching: query) }
  }

  func point(id: PointID) async throws(PointStoreError) -> PointOfInterest? {
    try await reading(.point) { () throws(PointStoreError) in try await store.point(id: id) }
  }

  func point(shuffledAtOrAfter pivot: UInt64) async throws(PointStoreError) -> PointOfInterest? {
    try await reading(.shuffled) { () throws(PointStoreError) in try await store.point(shuffledAtOrAfter: pivot) }
  }

  func categoryCounts(in box: BoundingBox?) async throws(PointStoreError) -> [CategoryCount] {
    try await reading(.categories) { () throws(PointStoreError) in try await store.categoryCounts(in: box) }
  }

  func dataVersion() async throws(PointStoreError) -> DataVersion? {
    try await reading(.version) { () throws(PointStoreError) in try await store.dataVersion() }
  }

  func knownDataVersion() -> DataVersion? { store.knownDataVersion() }

  func checkReadiness() async throws(PointStoreError) {
    try await reading(.readiness) { () throws(PointStoreError) in try await store.checkReadiness() }
  }

  func exportPoints(
    matching query: PointQuery, to consume: @Sendable (consuming [PointOfInterest]) async throws -> Void
  ) async throws {
    try await inBulk(.export) { try await store.exportPoints(matching: query, to: consume) }
  }

  // MARK: Writing

  func create(_ place: Place, once key: IdempotencyKey?) async throws(PointWriteError) -> PointOfInterest {
    try await writing(.create) { () throws(PointWriteError) in try await store.create(place, once: key) }
  }

  func put(
    _ place: Place, id: PointID, if condition: WriteCondition
  ) async throws(PointWriteError) -> (point: PointOfInterest, wasCreated: Bool) {
    try await writing(.put) { () throws(PointWriteError) in try await store.put(place, id: id, if: condition) }
  }

  func delete(id: PointID, if condition: WriteCondition) async throws(PointWriteError) {
    try await writing(.delete) { () throws(PointWriteError) in try await store.delete(id: id, if: condition) }
  }

  func deleteBatch(ofSource source: String, after position: ExactText?) async throws(PointWriteError) -> DeletedBatch {
    try await writing(.deletions) { () throws(PointWriteError) in
      try await store.deleteBatch(ofSource: source, after: position)
    }
  }

  func importRows<Batches: AsyncSequence & Sendable>(
    _ batches: Batches, mode: ImportMode, dryRun: Bool, once key: ImportKey?
  ) async throws -> ImportReport where Batches.Element == [ImportRow] {
    try await inBulk(.import) { try await store.importRows(batches, mode: mode, dryRun: dryRun, once: key) }
  }

  // MARK: Timing

  private func reading<Answer>(
    _ operation: Operation, _ call: () async throws(PointStoreError) -> Answer
  ) async throws(PointStoreError) -> Answer {
    let start = ContinuousClock.now
    do {
      let answer = try await call()
      note(operation, since: start)
      return answer
    } catch {
      note(operation, error.shortDescription, since: start)
      throw error
    }
  }

  private func writing<Answer>(
    _ operation: Operation, _ call: () async throws(PointWriteError) -> Answer
  ) async throws(PointWriteError) -> Answer {
    let start = ContinuousClock.now
    do {
      let answer = try await call()
      note(operation, since: start)
      return answer
    } catch {
      if case .store(let error) = error {
        note(operation, error.shortDescription, since: start)
      } else {
        note(operation, "refused", since: start)
      }
      throw error
    }
  }

  private func inBulk<Answer>(_ operation: Operation, _ call: () async throws -> Answer) async throws -> Answer {
    let start = ContinuousClock.now
    do {
      let answer = try await call()
      note(operation, since: start)
      return answer
    } catch {
      note(operation, (error as? PointStoreError)?.shortDescription ?? "broken_off", since: start)
      throw error
    }
  }

  private func note(_ operation: Operation, _ failure: String? = nil, since start: ContinuousClock.Instant) {
    let duration = ContinuousClock.now - start
    let timer =
      failure.map { reason in
        failures.handle(for: Failure(operation: operation, reason: reason)) {
          Self.timer(operation, reason, factory)
        }
      } ?? successes[operation.rawValue]
    timer.recordNanoseconds(duration.wholeNanoseconds)
    StoreTime.current?.add(duration)
  }

  private static func timer(_ operation: Operation, _ outcome: String, _ factory: any MetricsFactory) -> Timer {
    Timer(
      label: MetricCatalogue.storeDuration, dimensions: [("operation", operation.name), ("outcome", outcome)],
      factory: factory)
  }
}
