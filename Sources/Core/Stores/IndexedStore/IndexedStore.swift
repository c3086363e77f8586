package import Geo
package import Basics
import PointIndex
package import Points
import PostgresStore
import Synchronization

/// A store whose places are in a database, and are read from an index in memory that follows it.
///
/// - Writes go to the database.
/// - Reads come from the index where it is as fresh as ``ReadFreshness`` promises, else from the database. Those that
///   only the index can answer wait for it.
/// - While reads can't be current, they come from the last confirmed state of the index, as long as
///   ``ReadFreshness/staleLifetime`` allows it.
/// - The place at a pivot of the shuffled order comes from the database, so that instances with an index and without
///   one choose the same; from the index while the database is unavailable and the index may be read.
package struct IndexedStore: PointStore, StoreIndex {
  private let database: any PointStore
  private let follower: IndexFollower
  private let counts = ReadCounts()

  /// The position that reads must contain; `nil` for none.
  private var position: String?

  /// The moment at which a search asked for the index and found it not fresh enough, so that it reads the database;
  /// `nil` if reads try the index first.
  private var missedIndexAt: ContinuousClock.Instant?

  /// The moment from which on the server may be ready without an index.
  private let awaitsIndexUntil: ContinuousClock.Instant

  /// Creates a store.
  ///
  /// - Parameters:
  ///   - database: the store of the places.
  ///   - follower: an index that follows the same places.
  ///   - readinessLimit: the longest time from now for which the server is not ready because the index was not complete
  ///     yet.
  package init(_ database: any PointStore, index follower: IndexFollower, readinessLimit: Duration = .zero) {
    self.database = database
    self.follower = follower
    awaitsIndexUntil = .now + readinessLimit
  }

  package var index: (any StoreIndex)? { self }

  // MARK: Reading

  package func reading(notBefore position: String) -> any PointStore {
    var store = self
    store.position = position
    return store
  }

  package func view(isRequired: Bool) async throws(PointStoreError) -> PlacesView {
    let start = ContinuousClock.now
    if let snapshot = await follower.snapshot(isNeeded: isRequired, notBefore: position, since: start) {
      counts.index.add(1, ordering: .relaxed)
      return .snapshot(snapshot)
    }
    if isRequired { throw missingIndex }
    var store = self
    store.missedIndexAt = start
    return .store(store)
  }

  private func read<Value>(
    _ operation: StoreOperation, needsIndex: Bool = false,
    fromIndex: (PointSnapshot) throws(PointStoreError) -> Value,
    fromDatabase: () async throws(PointStoreError) -> Value
  ) async throws(PointStoreError) -> Value {
    let start = missedIndexAt ?? .now
    var snapshot: PointSnapshot?
    if missedIndexAt == nil {
      snapshot = await follower.snapshot(isNeeded: needsIndex, notBefore: position, since: start)
    }
    if snapshot == nil {
      if needsIndex { throw missingIndex }
      counts.database.add(1, ordering: .relaxed)
      do {
        return try await follower.observers.observe(operation, fromDatabase)
      } catch {
        switch error {
        case .unavailable: snapshot = follower.staleSnapshot(notBefore: position)
        // Most likely the index catches up, and many reads go to the database meanwhile.
        case .overloaded: snapshot = await follower.snapshot(isNeeded: true, notBefore: position, since: start)
        default: throw error
        }
        guard snapshot != nil else { throw error }
      }
    }
    guard let snapshot else { throw missingIndex }
    counts.index.add(1, ordering: .relaxed)
    return try fromIndex(snapshot)
  }

  /// The error of a read that needs the index while it may not be read.
  private var missingIndex: PointStoreError { isUnused ? .indexRequired : .indexNotReady }

  package func page(matching query: PointQuery) async throws(PointStoreError) -> PointPage {
    try await read(.page, needsIndex: query.needsIndex) { snapshot throws(PointStoreError) in
      try snapshot.page(matching: query)
    } fromDatabase: { () throws(PointStoreError) in
      try await database.page(matching: query)
    }
  }

  package func count(matching query: PointQuery) async throws(PointStoreError) -> Int {
    try await read(.count, needsIndex: query.needsIndex) { snapshot throws(PointStoreError) in
      try snapshot.count(matching: query)
    } fromDatabase: { () throws(PointStoreError) in
      try await database.count(matching: query)
    }
  }

  package func point(id: PointID) async throws(PointStoreError) -> PointOfInterest? {
    try await read(.point) {
      $0.point(id: id)
    } fromDatabase: { () throws(PointStoreError) in
      try await database.point(id: id)
    }
  }

  package func committedPoint(id: PointID) async throws(PointStoreError) -> PointOfInterest? {
    try await follower.observers.observe(.point) { () throws(PointStoreError) in
      try await database.committedPoint(id: id)
    }
  }

  package func categoryCounts(in box: BoundingBox?) async throws(PointStoreError) -> [CategoryCount] {
    try await read(.categories) {
      $0.categoryCounts(in: box)
    } fromDatabase: { () throws(PointStoreError) in
      try await database.categoryCounts(in: box)
    }
  }

  package func sources() async throws(PointStoreError) -> [DataSource] {
    try await follower.observers.observe(.sources) { () throws(PointStoreError) in try await database.sources() }
  }

  package func edits(of id: PointID) async throws(PointStoreError) -> PlaceEdits? {
    try await follower.observers.observe(.edits) { () throws(PointStoreError) in try await database.edits(of: id) }
  }

  package func edits(matching query: EditQuery) async throws(PointStoreError) -> EditPage {
    try await follower.observers.observe(.edits) { () throws(PointStoreError) in
      try await database.edits(matching: query)
    }
  }

  package func point(shuffledAtOrAfter pivot: UInt64) async throws(PointStoreError) -> PointOfInterest? {
    do {
      return try await follower.observers.observe(.shuffled) { () throws(PointStoreError) in
        try await database.point(shuffledAtOrAfter: pivot)
      }
    } catch {
      guard case .unavailable = error,
        let snapshot = follower.freshSnapshot(notBefore: position) ?? follower.staleSnapshot(notBefore: position)
      else { throw error }
      return snapshot.point(shuffledAtOrAfter: pivot)
    }
  }

  /// Returns the version of the places in the index, after it was confirmed; `nil` if it could not be.
  package func dataVersion() async throws(PointStoreError) -> DataVersion? {
    guard await follower.snapshot(notBefore: position) != nil else { return nil }
    return knownDataVersion()
  }

  /// Returns the version of the places in the index; `nil` if it is not in use.
  ///
  /// Reads from the database change the version's source: their results may be newer than the index.
  package func knownDataVersion() -> DataVersion? {
    follower.version().map {
      DataVersion(token: $0.token, source: UInt64(counts.database.load(ordering: .sequentiallyConsistent)))
    }
  }

  /// Returns when the database is available and its schema is current, or the last confirmed state may be read.
  @discardableResult package func checkReadiness() async throws(PointStoreError) -> StoreReadiness {
    do {
      return try await follower.observers.observe(.readiness) { () throws(PointStoreError) in
        try await database.checkReadiness()
      }
    } catch {
      guard case .unavailable = error, follower.hasServableState else { throw error }
      return .readOnly(reason: "the database is unavailable")
    }
  }

  /// The number of reads from the index so far.
  package var indexReads: Int { counts.index.load(ordering: .relaxed) }

  /// The number of reads from the database so far.
  package var databaseReads: Int { counts.database.load(ordering: .relaxed) }

  // MARK: The index

  package func snapshot(isRequired: Bool) async throws(PointStoreError) -> (any IndexSnapshot)? {
    guard case .snapshot(let snapshot) = try await view(isRequired: isRequired) else { return nil }
    return snapshot
  }

  package func snapshotAtOnce() -> (any IndexSnapshot)? {
    guard let snapshot = follower.freshSnapshot(notBefore: position) else { return nil }
    counts.index.add(1, ordering: .relaxed)
    return snapshot
  }

  package var isUnused: Bool { follower.status.isUnused }

  package var followsDatabase: Bool { true }

  /// Returns the position of the index after it was confirmed, or else that of the database.
  package func currentPosition() async -> String? {
    if await follower.confirm() != nil, let position = follower.position() { return position.text }
    return try? await follower.currentPosition().text
  }

  /// Returns when the index has reached a position, or reads go to the database.
  ///
  /// A position of another life of the server is older than any of the present one.
  package func waitUntilReads(contain position: String) async throws(PointStoreError) -> Bool {
    guard let wanted = ChangePosition(text: position) else { return false }
    if let current = follower.position(), current.contains(wanted) { return true }
    // As after a write of this instance, an index that is only fresh by its age is not enough for the reads to come.
    follower.noteWrite()
    if await follower.confirm() != nil { return true }
    // Reads come from the database then, or fail.
    _ = try await follower.currentPosition()
    follower.noteAvailability()
    return true
  }

  /// The phase of the index and the number of places in it, or copied so far while it is built.
  package var state: (phase: String, points: Int)? {
    let status = follower.status
    let isEvaluating = status.phase == .following && follower.evaluatesHours
    return (isEvaluating ? StoreIndexPhase.evaluatingHours : status.phase.rawValue, status.points)
  }

  /// A Boolean value that indicates whether the index has not been complete since the start, or its opening hours are not
  /// evaluated yet, and the server should wait for it.
  package var isAwaited: Bool {
    ContinuousClock.now < awaitsIndexUntil && (!follower.hasBeenComplete || follower.evaluatesHours)
  }

  package var staleReads: StaleReads? { follower.staleReads }

  // MARK: Writing

  private func write<Value, Failure: Error>(
    _ operation: StoreOperation, isWrite: Bool? = nil, _ call: () async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    defer { follower.noteWrite() }
    return try await follower.observers.observe(operation, isWrite: isWrite, call)
  }

  package func create(
    _ draft: PointDraft, once key: IdempotencyKey?, reusingID reusesID: Bool, as author: WriteAuthor
  ) async throws(PointWriteError) -> PointOfInterest {
    try await write(.create) { () throws(PointWriteError) in
      try await database.create(draft, once: key, reusingID: reusesID, as: author)
    }
  }

  package func put(
    _ draft: PointDraft, id: PointID, if condition: WriteCondition, as author: WriteAuthor
  ) async throws(PointWriteError) -> (point: PointOfInterest, wasCreated: Bool) {
    try await write(.put) { () throws(PointWriteError) in
      try await database.put(draft, id: id, if: condition, as: author)
    }
  }

  package func forgetEdits(of id: PointID) async throws(PointWriteError) -> PointOfInterest? {
    try await write(.put) { () throws(PointWriteError) in try await database.forgetEdits(of: id) }
  }

  package func delete(id: PointID, if condition: WriteCondition) async throws(PointWriteError) {
    try await write(.delete) { () throws(PointWriteError) in try await database.delete(id: id, if: condition) }
  }

  package func apply(_ batch: PointBatch) async throws(PointWriteError) -> [PointOperationResult] {
    try await write(.batch) { () throws(PointWriteError) in try await database.apply(batch) }
  }

  package func deleteBatch(
    ofSource source: String, after position: ExactText?
  ) async throws(PointWriteError) -> DeletedBatch {
    try await write(.deletions) { () throws(PointWriteError) in
      try await database.deleteBatch(ofSource: source, after: position)
    }
  }

  package func removeSource(named name: String) async throws(PointWriteError) -> SourceRemoval {
    try await write(.deletions) { () throws(PointWriteError) in try await database.removeSource(named: name) }
  }

  package func register(_ sources: [DataSource]) async throws(PointWriteError) {
    try await write(.import) { () throws(PointWriteError) in try await database.register(sources) }
  }

  package func importRows<Batches: AsyncSequence & Sendable>(
    _ batches: Batches, options: ImportOptions
  ) async throws -> ImportReport where Batches.Element == [ImportRow] {
    try await write(.import, isWrite: !options.dryRun) { try await database.importRows(batches, options: options) }
  }

  package func exportPoints(
    matching query: PointQuery, for client: String?,
    to consume: @Sendable (consuming [PointOfInterest]) async throws -> Void
  ) async throws {
    guard let snapshot = await follower.snapshot(isNeeded: query.needsIndex, notBefore: position) else {
      if query.needsIndex { throw missingIndex }
      return try await follower.observers.observe(.export) {
        try await database.exportPoints(matching: query, for: client, to: consume)
      }
    }
    try await snapshot.exportPoints(matching: query, to: consume)
  }
}

/// The numbers of reads by their source.
private final class ReadCounts: Sendable {
  let index = Atomic<Int>(0)
  let database = Atomic<Int>(0)
}
