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
package struct IndexedStore: Sendable {
  private let database: any WritablePointStore
  private let follower: IndexFollower
  private let counts = ReadCounts()

  /// The moment from which on the server may be ready without an index.
  private let awaitsIndexUntil: ContinuousClock.Instant

  /// Creates a store.
  ///
  /// - Parameters:
  ///   - database: the store of the places.
  ///   - follower: an index that follows the same places.
  ///   - readinessLimit: the longest time from now for which the server is not ready because the index was not complete
  ///     yet.
  package init(_ database: any WritablePointStore, index follower: IndexFollower, readinessLimit: Duration = .zero) {
    self.database = database
    self.follower = follower
    awaitsIndexUntil = .now + readinessLimit
  }

  private func read<Value>(
    needsIndex: Bool = false,
    fromIndex: (PointSnapshot) throws(PointStoreError) -> Value,
    fromDatabase: () async throws(PointStoreError) -> Value
  ) async throws(PointStoreError) -> Value {
    let start = ContinuousClock.now
    var snapshot = await follower.snapshot(isNeeded: needsIndex, since: start)
    if snapshot == nil {
      if needsIndex { throw missingIndex }
      counts.database.add(1, ordering: .relaxed)
      do {
        return try await fromDatabase()
      } catch {
        switch error {
        case .unavailable: snapshot = follower.staleSnapshot()
        // Most likely the index catches up, and many reads go to the database meanwhile.
        case .overloaded: snapshot = await follower.snapshot(isNeeded: true, since: start)
        default: throw error
        }
        guard snapshot != nil else { throw error }
      }
    }
    guard let snapshot else { throw missingIndex }
    counts.index.add(1, ordering: .relaxed)
    return try fromIndex(snapshot)
  }

  /// Returns the index for a read that the database can't answer.
  private func neededSnapshot() async throws(PointStoreError) -> PointSnapshot {
    guard let snapshot = await follower.snapshot(isNeeded: true) else { throw missingIndex }
    counts.index.add(1, ordering: .relaxed)
    return snapshot
  }

  /// The error of a read that needs the index while it may not be read.
  private var missingIndex: PointStoreError { follower.status.isUnused ? .indexRequired : .indexNotReady }
}

extension IndexedStore {
  /// The number of reads from the index so far.
  package var indexReads: Int { counts.index.load(ordering: .relaxed) }

  /// The number of reads from the database so far.
  package var databaseReads: Int { counts.database.load(ordering: .relaxed) }
}

/// The numbers of reads by their source.
private final class ReadCounts: Sendable {
  let index = Atomic<Int>(0)
  let database = Atomic<Int>(0)
}

extension IndexedStore: PointStore {
  /// Returns a page of the matching places, all from one snapshot.
  package func page(matching query: PointQuery) async throws(PointStoreError) -> PointPage {
    try await read(needsIndex: query.needsIndex) { snapshot throws(PointStoreError) in
      try snapshot.page(matching: query)
    } fromDatabase: { () throws(PointStoreError) in
      try await database.page(matching: query)
    }
  }

  /// Returns the same page as summaries, whose texts are not copied if it is from the index.
  package func summaries(matching query: PointQuery) async throws(PointStoreError) -> SummaryPage {
    try await read(needsIndex: query.needsIndex) { snapshot throws(PointStoreError) in
      try snapshot.summaries(matching: query)
    } fromDatabase: { () throws(PointStoreError) in
      try await database.summaries(matching: query)
    }
  }

  /// Returns the number of matching places of one snapshot.
  package func count(matching query: PointQuery) async throws(PointStoreError) -> Int {
    try await read(needsIndex: query.needsIndex) { snapshot throws(PointStoreError) in
      try snapshot.count(matching: query)
    } fromDatabase: { () throws(PointStoreError) in
      try await database.count(matching: query)
    }
  }

  /// Returns the place of an id, or `nil`.
  package func point(id: PointID) async throws(PointStoreError) -> PointOfInterest? {
    try await read {
      $0.point(id: id)
    } fromDatabase: { () throws(PointStoreError) in
      try await database.point(id: id)
    }
  }

  /// Returns every category with the number of its places.
  package func categoryCounts(in box: BoundingBox?) async throws(PointStoreError) -> [CategoryCount] {
    try await read {
      $0.categoryCounts(in: box)
    } fromDatabase: { () throws(PointStoreError) in
      try await database.categoryCounts(in: box)
    }
  }

  /// Returns the data sets from the database.
  package func sources() async throws(PointStoreError) -> [DataSource] { try await database.sources() }

  /// Returns the place from the database.
  package func point(shuffledAtOrAfter pivot: UInt64) async throws(PointStoreError) -> PointOfInterest? {
    do {
      return try await database.point(shuffledAtOrAfter: pivot)
    } catch {
      guard case .unavailable = error, let snapshot = follower.freshSnapshot() ?? follower.staleSnapshot() else {
        throw error
      }
      return snapshot.point(shuffledAtOrAfter: pivot)
    }
  }

  /// Returns the version of the places in the index, after it was confirmed; `nil` where it could not be.
  package func dataVersion() async throws(PointStoreError) -> DataVersion? {
    guard await follower.snapshot() != nil else { return nil }
    return knownDataVersion()
  }

  /// Returns the version of the places in the index; `nil` where it is not in use.
  ///
  /// Reads from the database change the version's source: their results may be newer than the index.
  package func knownDataVersion() -> DataVersion? {
    follower.version().map {
      DataVersion(token: $0.token, source: UInt64(counts.database.load(ordering: .sequentiallyConsistent)))
    }
  }

  /// Returns when the database is available and its schema is current, or the last confirmed state may be read.
  ///
  /// - Throws: ``Points/PointStoreError`` with the reason where neither is so.
  @discardableResult package func checkReadiness() async throws(PointStoreError) -> StoreReadiness {
    do {
      return try await database.checkReadiness()
    } catch {
      guard case .unavailable = error, follower.hasServableState else { throw error }
      return .readOnly(reason: "the database is unavailable")
    }
  }
}

extension IndexedStore: TextSearchableStore {
  /// Returns a page of the places that match a text from the index. The database can't search for texts.
  package func matches(of query: TextQuery) async throws(PointStoreError) -> TextPage {
    try await neededSnapshot().page(matching: query)
  }

  /// The fields of places that are searched.
  package var textConfiguration: TextIndexConfiguration { follower.textConfiguration }

  /// A Boolean value that indicates whether an index is used, once it is built.
  package var supportsTextSearch: Bool { !follower.status.isUnused }
}

extension IndexedStore: MappedStore {
  /// Returns the places of the index. The database can't draw maps.
  package func mapSnapshot() async throws(PointStoreError) -> any MapSnapshot {
    try await neededSnapshot()
  }

  /// Returns the places of the index; `nil` while reads come from the database.
  package func currentSnapshot() async -> (any MapSnapshot)? {
    guard let snapshot = await follower.snapshot() else { return nil }
    counts.index.add(1, ordering: .relaxed)
    return snapshot
  }
}

extension IndexedStore: PositionedStore {
  /// Returns the position of the index after it was confirmed, or else that of the database.
  package func currentPosition() async -> String? {
    if await follower.confirm() != nil, follower.ageWhileUnavailable() == nil, let position = follower.position() {
      return position.text
    }
    return try? await follower.feed.currentPosition().text
  }

  /// Returns when the index has reached a position, or reads go to the database.
  ///
  /// A position of another life of the server is older than any of the present one.
  package func waitUntilReads(contain position: String) async throws(PointStoreError) -> Bool {
    guard let wanted = ChangePosition(text: position) else { return false }
    if let current = follower.position(), current.contains(wanted) { return true }
    // As after a write of this instance, an index that is only fresh by its age is not enough for the reads to come.
    follower.noteWrite()
    if await follower.confirm() != nil, follower.ageWhileUnavailable() == nil { return true }
    // Reads come from the database then, or fail.
    _ = try await follower.feed.currentPosition()
    follower.noteAvailability()
    return true
  }

  /// The phase of the index and the number of places in it, or copied so far while it is built.
  package var indexState: (phase: String, points: Int) {
    let status = follower.status
    return (status.phase.rawValue, status.points)
  }

  /// A Boolean value that indicates whether the index has not been complete since the start, and the server should wait
  /// for it.
  package var awaitsIndex: Bool { !follower.hasBeenComplete && ContinuousClock.now < awaitsIndexUntil }

  /// The reads from the last confirmed state; `nil` where there are never any.
  package var staleReads: StaleReads? { follower.staleReads }
}

extension IndexedStore: PointWriter {
  /// Creates a place in the database.
  package func create(_ draft: PointDraft, once key: IdempotencyKey?) async throws(PointWriteError) -> PointOfInterest {
    defer { follower.noteWrite() }
    return try await database.create(draft, once: key)
  }

  /// Replaces or creates a place in the database.
  package func put(
    _ draft: PointDraft, id: PointID, if condition: WriteCondition
  ) async throws(PointWriteError) -> (point: PointOfInterest, wasCreated: Bool) {
    defer { follower.noteWrite() }
    return try await database.put(draft, id: id, if: condition)
  }

  /// Deletes a place in the database.
  package func delete(id: PointID, if condition: WriteCondition) async throws(PointWriteError) {
    defer { follower.noteWrite() }
    try await database.delete(id: id, if: condition)
  }

  /// Deletes a batch of places in the database.
  package func deleteBatch(
    ofSource source: String, after position: ExactText?
  ) async throws(PointWriteError) -> DeletedBatch {
    defer { follower.noteWrite() }
    return try await database.deleteBatch(ofSource: source, after: position)
  }
}

extension IndexedStore: PointImporter {
  /// Imports rows into the database.
  package func importRows<Batches: AsyncSequence & Sendable>(
    _ batches: Batches, options: ImportOptions
  ) async throws -> ImportReport where Batches.Element == [ImportRow] {
    defer { follower.noteWrite() }
    return try await database.importRows(batches, options: options)
  }
}

extension IndexedStore: PointExporter {
  /// Passes every matching place from the index, or from the database, ordered by id and from one snapshot.
  package func exportPoints(
    matching query: PointQuery, to consume: @Sendable (consuming [PointOfInterest]) async throws -> Void
  ) async throws {
    guard let snapshot = await follower.snapshot(isNeeded: query.needsIndex) else {
      if query.needsIndex { throw missingIndex }
      return try await database.exportPoints(matching: query, to: consume)
    }
    try await snapshot.exportPoints(matching: query, to: consume)
  }
}
