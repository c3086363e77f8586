public import Geo
public import JSONText
import Synchronization

/// A store and a replica of it: searches go to the replica, all else to the primary.
///
/// - Where one of the two can't be reached, has not the schema or denies a read, the read goes to the other. Reads go on
///   while the primary is away; a write then fails.
/// - A search may miss what was written a moment ago: the replica follows, and how closely is the database's affair. A
///   place that is asked for by its id comes from the primary while that is there, so that who reads its version and
///   writes with `If-Match` does not meet an old one, and who creates a place finds it at its address.
/// - A page may come from the one and the next page from the other; positions mean the same to both.
/// - It tells no versions of the data: an answer may be of either.
public struct ReplicatedStore<Primary: WritablePointStore, Replica: WritablePointStore>: Sendable {
  private let primary: Primary
  private let replica: Replica

  /// Creates a store of two.
  public init(primary: Primary, replica: Replica) {
    self.primary = primary
    self.replica = replica
  }

  /// Asks the one, and the other where that one is away. Where both are, the error is the primary's: it names what
  /// matters more.
  private func asking<Answer>(
    replicaFirst: Bool,
    _ call: (any WritablePointStore) async throws(PointStoreError) -> Answer
  ) async throws(PointStoreError) -> Answer {
    let first: any WritablePointStore = replicaFirst ? replica : primary
    let second: any WritablePointStore = replicaFirst ? primary : replica
    do {
      return try await call(first)
    } catch {
      guard error.isAnAbsence else { throw error }
      do {
        return try await call(second)
      } catch let other {
        throw replicaFirst ? other : error
      }
    }
  }
}

extension PointStoreError {
  /// Whether another copy of the store may well answer.
  fileprivate var isAnAbsence: Bool {
    switch self {
    case .unavailable, .schemaMismatch, .misconfigured: true
    case .overloaded, .timeout, .outcomeUnknown, .unexpected: false
    }
  }
}

extension ReplicatedStore: PointStore {
  /// A page from the replica.
  public func page(matching query: PointQuery) async throws(PointStoreError) -> PointPage {
    try await asking(replicaFirst: true) { store throws(PointStoreError) in try await store.page(matching: query) }
  }

  /// The same page from the replica.
  public func summaries(matching query: PointQuery) async throws(PointStoreError) -> SummaryPage {
    try await asking(replicaFirst: true) { store throws(PointStoreError) in try await store.summaries(matching: query) }
  }

  /// The place from the primary.
  public func point(id: PointID) async throws(PointStoreError) -> PointOfInterest? {
    try await asking(replicaFirst: false) { store throws(PointStoreError) in try await store.point(id: id) }
  }

  /// The counts from the replica.
  public func categoryCounts(in box: BoundingBox?) async throws(PointStoreError) -> [CategoryCount] {
    try await asking(replicaFirst: true) { store throws(PointStoreError) in try await store.categoryCounts(in: box) }
  }

  /// The place from the replica.
  public func point(shuffledAtOrAfter pivot: UInt64) async throws(PointStoreError) -> PointOfInterest? {
    try await asking(replicaFirst: true) { store throws(PointStoreError) in
      try await store.point(shuffledAtOrAfter: pivot)
    }
  }

  /// None.
  public func dataVersion() async throws(PointStoreError) -> DataVersion? { nil }

  /// None.
  public func knownDataVersion() -> DataVersion? { nil }

  /// Returns when one of the two can answer: reads are served then.
  ///
  /// - Throws: ``PointStoreError``, the primary's.
  public func checkReadiness() async throws(PointStoreError) {
    try await asking(replicaFirst: false) { store throws(PointStoreError) in try await store.checkReadiness() }
  }
}

extension ReplicatedStore: PointWriter {
  /// Creates a place at the primary.
  public func create(_ place: Place, once key: IdempotencyKey?) async throws(PointWriteError) -> PointOfInterest {
    try await primary.create(place, once: key)
  }

  /// Replaces or creates a place at the primary.
  public func put(
    _ place: Place,
    id: PointID,
    if condition: WriteCondition
  ) async throws(PointWriteError) -> (point: PointOfInterest, wasCreated: Bool) {
    try await primary.put(place, id: id, if: condition)
  }

  /// Removes a place at the primary.
  public func delete(id: PointID, if condition: WriteCondition) async throws(PointWriteError) {
    try await primary.delete(id: id, if: condition)
  }

  /// Removes a batch of places at the primary.
  public func deleteBatch(
    ofSource source: String, after position: ExactText?
  ) async throws(PointWriteError) -> DeletedBatch {
    try await primary.deleteBatch(ofSource: source, after: position)
  }
}

extension ReplicatedStore: PointImporter {
  /// Takes rows at the primary.
  public func importRows<Batches: AsyncSequence & Sendable>(
    _ batches: Batches,
    mode: ImportMode,
    dryRun: Bool,
    once key: ImportKey?
  ) async throws -> ImportReport where Batches.Element == [ImportRow] {
    try await primary.importRows(batches, mode: mode, dryRun: dryRun, once: key)
  }
}

extension ReplicatedStore: PointExporter {
  /// Hands over every place from the replica; from the primary where the replica is away before the first batch. What has
  /// begun comes from one of the two to its end.
  public func exportPoints(
    matching query: PointQuery,
    to consume: @Sendable (consuming [PointOfInterest]) async throws -> Void
  ) async throws {
    let hasBegun = Atomic(false)
    do {
      try await replica.exportPoints(matching: query) { points in
        hasBegun.store(true, ordering: .relaxed)
        try await consume(points)
      }
    } catch let error as PointStoreError where error.isAnAbsence && !hasBegun.load(ordering: .relaxed) {
      try await primary.exportPoints(matching: query, to: consume)
    }
  }
}
