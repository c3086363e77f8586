public import Geo
public import Basics
import Synchronization

/// A primary store and its replica: searches go to the replica or to the primary, everything else to the primary.
///
/// - Where one of the two can't be reached, lacks the schema or denies a read, the read goes to the other. Reads
///   continue while the primary is unavailable; a write then fails.
/// - A search of the replica may miss the latest writes, by the replication lag. A place is read by its id from the
///   primary while that is available, so that a client that reads its version and writes with `If-Match` does not meet
///   an old one, and one that creates a place finds it at its address.
/// - A page may come from one of the two and the next page from the other; positions are valid for both.
/// - It has no versions of the data: a result may be of either.
public struct ReplicatedStore<Primary: WritablePointStore, Replica: WritablePointStore>: Sendable {
  private let primary: Primary
  private let replica: Replica
  private let searchesReplica: Bool

  /// Creates a store from the two.
  ///
  /// - Parameter searchesReplica: a Boolean value that indicates whether searches go to the replica while it is
  ///   available, instead of only while the primary is not.
  public init(primary: Primary, replica: Replica, searchesReplica: Bool = true) {
    self.primary = primary
    self.replica = replica
    self.searchesReplica = searchesReplica
  }

  /// Calls one of the two, and the other where the first is unavailable. Where both are, the error is the primary's,
  /// which matters more.
  private func call<Value>(
    replicaFirst: Bool,
    _ operation: (any WritablePointStore) async throws(PointStoreError) -> Value
  ) async throws(PointStoreError) -> Value {
    let first: any WritablePointStore = replicaFirst ? replica : primary
    let second: any WritablePointStore = replicaFirst ? primary : replica
    do {
      return try await operation(first)
    } catch {
      guard error.isUnavailability else { throw error }
      do {
        return try await operation(second)
      } catch let other {
        throw replicaFirst ? other : error
      }
    }
  }
}

extension PointStoreError {
  /// A Boolean value that indicates whether another copy of the store may complete the call.
  fileprivate var isUnavailability: Bool {
    switch self {
    case .unavailable, .schemaMismatch, .misconfigured: true
    case .indexRequired, .indexNotReady, .filterTimeout, .stepLimit, .overloaded, .timeout, .outcomeUnknown,
      .unexpected:
      false
    }
  }
}

extension ReplicatedStore: PointStore {
  /// Returns a page from the replica.
  public func page(matching query: PointQuery) async throws(PointStoreError) -> PointPage {
    try await call(replicaFirst: searchesReplica) { store throws(PointStoreError) in
      try await store.page(matching: query)
    }
  }

  /// Returns the same page from the replica.
  public func summaries(matching query: PointQuery) async throws(PointStoreError) -> SummaryPage {
    try await call(replicaFirst: searchesReplica) { store throws(PointStoreError) in
      try await store.summaries(matching: query)
    }
  }

  /// Returns the number from the replica.
  public func count(matching query: PointQuery) async throws(PointStoreError) -> Int {
    try await call(replicaFirst: searchesReplica) { store throws(PointStoreError) in
      try await store.count(matching: query)
    }
  }

  /// Returns the place from the primary.
  public func point(id: PointID) async throws(PointStoreError) -> PointOfInterest? {
    try await call(replicaFirst: false) { store throws(PointStoreError) in try await store.point(id: id) }
  }

  /// Returns the counts from the replica.
  public func categoryCounts(in box: BoundingBox?) async throws(PointStoreError) -> [CategoryCount] {
    try await call(replicaFirst: searchesReplica) { store throws(PointStoreError) in
      try await store.categoryCounts(in: box)
    }
  }

  /// Returns the data sets.
  public func sources() async throws(PointStoreError) -> [DataSource] {
    try await call(replicaFirst: searchesReplica) { store throws(PointStoreError) in try await store.sources() }
  }

  /// Returns the place from the replica.
  public func point(shuffledAtOrAfter pivot: UInt64) async throws(PointStoreError) -> PointOfInterest? {
    try await call(replicaFirst: searchesReplica) { store throws(PointStoreError) in
      try await store.point(shuffledAtOrAfter: pivot)
    }
  }

  /// Returns `nil`.
  public func dataVersion() async throws(PointStoreError) -> DataVersion? { nil }

  /// Returns `nil`.
  public func knownDataVersion() -> DataVersion? { nil }

  /// Returns when one of the two is available: reads are served then.
  ///
  /// - Throws: ``PointStoreError``, the primary's.
  @discardableResult public func checkReadiness() async throws(PointStoreError) -> StoreReadiness {
    do {
      return try await primary.checkReadiness()
    } catch {
      guard error.isUnavailability, (try? await replica.checkReadiness()) != nil else { throw error }
      return .readOnly(reason: "the primary is unavailable")
    }
  }
}

extension ReplicatedStore: PointWriter {
  /// Creates a place at the primary.
  public func create(_ place: PointDraft, once key: IdempotencyKey?) async throws(PointWriteError) -> PointOfInterest {
    try await primary.create(place, once: key)
  }

  /// Replaces or creates a place at the primary.
  public func put(
    _ place: PointDraft,
    id: PointID,
    if condition: WriteCondition
  ) async throws(PointWriteError) -> (point: PointOfInterest, wasCreated: Bool) {
    try await primary.put(place, id: id, if: condition)
  }

  /// Deletes a place at the primary.
  public func delete(id: PointID, if condition: WriteCondition) async throws(PointWriteError) {
    try await primary.delete(id: id, if: condition)
  }

  /// Deletes a batch of places at the primary.
  public func deleteBatch(
    ofSource source: String, after position: ExactText?
  ) async throws(PointWriteError) -> DeletedBatch {
    try await primary.deleteBatch(ofSource: source, after: position)
  }
}

extension ReplicatedStore: PointImporter {
  /// Imports rows at the primary.
  public func importRows<Batches: AsyncSequence & Sendable>(
    _ batches: Batches, options: ImportOptions
  ) async throws -> ImportReport where Batches.Element == [ImportRow] {
    try await primary.importRows(batches, options: options)
  }
}

extension ReplicatedStore: PointExporter {
  /// Passes every place from the replica, or from the primary where the replica is unavailable before the first batch.
  /// All batches are from the same one.
  public func exportPoints(
    matching query: PointQuery,
    to consume: @Sendable (consuming [PointOfInterest]) async throws -> Void
  ) async throws {
    guard searchesReplica else { return try await primary.exportPoints(matching: query, to: consume) }
    let hasBegun = Atomic(false)
    do {
      try await replica.exportPoints(matching: query) { points in
        hasBegun.store(true, ordering: .relaxed)
        try await consume(points)
      }
    } catch let error as PointStoreError where error.isUnavailability && !hasBegun.load(ordering: .relaxed) {
      try await primary.exportPoints(matching: query, to: consume)
    }
  }
}
