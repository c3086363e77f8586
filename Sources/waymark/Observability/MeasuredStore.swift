import CoreMetrics
import Points

/// A store that times the calls of the one behind it.
struct MeasuredStore: WritablePointStore {
  /// What the store was asked to do.
  enum Operation: String {
    case page, summaries, point, shuffled, categories, readiness, create, put, delete, importing = "import", export
  }

  private struct Key: Hashable {
    let operation: Operation
    let outcome: String
  }

  private let store: any WritablePointStore
  private let factory: any MetricsFactory
  private let timers = HandleCache<Key, Timer>()

  /// Times a store's calls in a backend; and for each request too, where ``StoreTime`` has one.
  init(_ store: any WritablePointStore, factory: any MetricsFactory) {
    self.store = store
    self.factory = factory
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

  func categoryCounts() async throws(PointStoreError) -> [CategoryCount] {
    try await reading(.categories) { () throws(PointStoreError) in try await store.categoryCounts() }
  }

  func checkReadiness() async throws(PointStoreError) {
    try await reading(.readiness) { () throws(PointStoreError) in try await store.checkReadiness() }
  }

  func exportPoints(
    matching query: PointQuery, to consume: @Sendable ([PointOfInterest]) async throws -> Void
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

  func importRows<Batches: AsyncSequence & Sendable>(
    _ batches: Batches, mode: ImportMode, dryRun: Bool
  ) async throws -> ImportReport where Batches.Element == [ImportRow] {
    try await inBulk(.importing) { try await store.importRows(batches, mode: mode, dryRun: dryRun) }
  }

  // MARK: Timing

  private func reading<Answer>(
    _ operation: Operation, _ call: () async throws(PointStoreError) -> Answer
  ) async throws(PointStoreError) -> Answer {
    let start = ContinuousClock.now
    do {
      let answer = try await call()
      note(operation, "ok", since: start)
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
      note(operation, "ok", since: start)
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
      note(operation, "ok", since: start)
      return answer
    } catch {
      note(operation, (error as? PointStoreError)?.shortDescription ?? "broken_off", since: start)
      throw error
    }
  }

  private func note(_ operation: Operation, _ outcome: String, since start: ContinuousClock.Instant) {
    let duration = ContinuousClock.now - start
    let timer = timers.handle(for: Key(operation: operation, outcome: outcome)) {
      Timer(
        label: MetricCatalogue.storeDuration,
        dimensions: [("operation", operation.rawValue), ("outcome", outcome)],
        factory: factory
      )
    }
    timer.recordNanoseconds(duration.wholeNanoseconds)
    StoreTime.current?.add(duration)
  }
}
