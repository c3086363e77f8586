import Geo
import JSONText
import Logging
import Points
import Synchronization

/// A store that logs when the one behind it goes away and when it is back: one line each, however many calls fail. It
/// does the same for each operation that the store's operator has not allowed.
final class OutageLog: WritablePointStore {
  /// Which calls tell whether the store is there.
  enum Watch {
    case all
    case writes
  }

  private let store: any WritablePointStore
  private let name: String
  private let watch: Watch
  private let logger: Logger
  private let state = Atomic(State.well)
  /// The operations that were denied when they were last tried, a bit each.
  private let denied = Atomic<UInt8>(0)

  /// The operations that a role may be granted or not.
  fileprivate enum Operation: UInt8 {
    case search, lookUp, readiness, export, create, put, delete, `import`
  }

  private enum State: UInt8, AtomicRepresentable {
    case well
    case away
    /// The readiness check has found another schema than this program's. Calls that the schema has all for may succeed
    /// meanwhile, which is not the end of it.
    case mismatched
  }

  /// Watches a store.
  ///
  /// - Parameter name: what lines call it.
  init(
    _ store: any WritablePointStore, called name: String = "the store", watching watch: Watch = .all, logger: Logger
  ) {
    self.store = store
    self.name = name
    self.watch = watch
    self.logger = logger
  }

  // MARK: Reading

  func page(matching query: PointQuery) async throws(PointStoreError) -> PointPage {
    try await reading(.search) { () throws(PointStoreError) in try await store.page(matching: query) }
  }

  func summaries(matching query: PointQuery) async throws(PointStoreError) -> SummaryPage {
    try await reading(.search) { () throws(PointStoreError) in try await store.summaries(matching: query) }
  }

  func point(id: PointID) async throws(PointStoreError) -> PointOfInterest? {
    try await reading(.lookUp) { () throws(PointStoreError) in try await store.point(id: id) }
  }

  func point(shuffledAtOrAfter pivot: UInt64) async throws(PointStoreError) -> PointOfInterest? {
    try await reading(.lookUp) { () throws(PointStoreError) in try await store.point(shuffledAtOrAfter: pivot) }
  }

  func categoryCounts(in box: BoundingBox?) async throws(PointStoreError) -> [CategoryCount] {
    try await reading(.search) { () throws(PointStoreError) in try await store.categoryCounts(in: box) }
  }

  func dataVersion() async throws(PointStoreError) -> DataVersion? {
    try await reading(.lookUp) { () throws(PointStoreError) in try await store.dataVersion() }
  }

  func knownDataVersion() -> DataVersion? { store.knownDataVersion() }

  func checkReadiness() async throws(PointStoreError) {
    try await reading(.readiness) { () throws(PointStoreError) in try await store.checkReadiness() }
  }

  func exportPoints(
    matching query: PointQuery, to consume: @Sendable (consuming [PointOfInterest]) async throws -> Void
  ) async throws {
    guard watch == .all else { return try await store.exportPoints(matching: query, to: consume) }
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
    try await writing(.delete) { () throws(PointWriteError) in
      try await store.deleteBatch(ofSource: source, after: position)
    }
  }

  func importRows<Batches: AsyncSequence & Sendable>(
    _ batches: Batches, mode: ImportMode, dryRun: Bool, once key: ImportKey?
  ) async throws -> ImportReport where Batches.Element == [ImportRow] {
    // A dry run writes nothing.
    guard watch == .all || !dryRun else { return try await store.importRows(batches, mode: mode, dryRun: dryRun) }
    return try await inBulk(.import) { try await store.importRows(batches, mode: mode, dryRun: dryRun, once: key) }
  }

  // MARK: What the calls tell

  private func reading<Answer>(
    _ operation: Operation,
    _ call: () async throws(PointStoreError) -> Answer
  ) async throws(PointStoreError) -> Answer {
    guard watch == .all else { return try await call() }
    do {
      let answer = try await call()
      noteAnswer(operation)
      return answer
    } catch {
      note(error, operation)
      throw error
    }
  }

  private func writing<Answer>(
    _ operation: Operation,
    _ call: () async throws(PointWriteError) -> Answer
  ) async throws(PointWriteError) -> Answer {
    do {
      let answer = try await call()
      noteAnswer(operation)
      return answer
    } catch {
      // That a change may not be made is an answer too, but one for which nothing had to be written.
      if case .store(let error) = error { note(error, operation) }
      throw error
    }
  }

  private func inBulk<Answer>(
    _ operation: Operation, _ call: () async throws -> Answer
  ) async throws -> Answer {
    do {
      let answer = try await call()
      noteAnswer(operation)
      return answer
    } catch {
      if let error = error as? PointStoreError { note(error, operation) }
      throw error
    }
  }

  private func noteAnswer(_ operation: Operation) {
    if denied.load(ordering: .relaxed) & operation.bit != 0,
      denied.bitwiseAnd(~operation.bit, ordering: .relaxed).oldValue & operation.bit != 0
    {
      logger.notice("\(name) allows the operation again", metadata: ["operation": "\(operation.name)"])
    }
    let old = state.load(ordering: .relaxed)
    guard old == .away || old == .mismatched && operation == .readiness else { return }
    if state.compareExchange(expected: old, desired: .well, ordering: .relaxed).exchanged {
      logger.notice("\(name) answers again")
    }
  }

  private func note(_ error: PointStoreError, _ operation: Operation) {
    switch error {
    case .misconfigured(let reason):
      guard denied.bitwiseOr(operation.bit, ordering: .relaxed).oldValue & operation.bit == 0 else { return }
      logger.error(
        "\(name) denies an operation", metadata: ["operation": "\(operation.name)", "reason": "\(reason)"])
    case .schemaMismatch(let reason) where operation == .readiness:
      if state.exchange(.mismatched, ordering: .relaxed) == .well { logBeginning(reason) }
    case .unavailable(let reason), .schemaMismatch(let reason):
      if state.compareExchange(expected: .well, desired: .away, ordering: .relaxed).exchanged { logBeginning(reason) }
    case .overloaded, .timeout, .outcomeUnknown, .unexpected: break
    }
  }

  private func logBeginning(_ reason: String) {
    logger.error("\(name) does not answer", metadata: ["reason": "\(reason)"])
  }
}

extension OutageLog.Operation {
  /// The bit that stands for it.
  fileprivate var bit: UInt8 { 1 << rawValue }

  /// The name in log lines.
  fileprivate var name: String {
    switch self {
    case .search: "search"
    case .lookUp: "look-up"
    case .readiness: "readiness check"
    case .export: "export"
    case .create: "create"
    case .put: "replace"
    case .delete: "delete"
    case .import: "import"
    }
  }
}
