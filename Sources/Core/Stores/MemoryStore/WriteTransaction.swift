import Basics
import PointIndex
import Points

/// A group of writes that are committed together: each sees the effects of those before it.
struct WriteTransaction: PointTransaction, Sendable {
  /// The places before the first of the writes.
  let snapshot: PointSnapshot

  /// The time of all the writes.
  let now: Timestamp

  private let keys: IdempotencyKeyCache

  /// The ids of the places that were removed before, by their source references.
  private let formerIDs: [SourceReference: PointID]

  /// The edits before the first of the writes.
  let edits: EditTable

  private var versions: VersionCounter

  // The differences from the snapshot: places by their ids, and the owners of source references; `nil` stands for none.
  private var points: [PointID: PointOfInterest?] = [:]
  private var owners: [SourceReference: PointID?] = [:]

  // The ids of removed places by their source references.
  private var removedIDs: [SourceReference: PointID] = [:]

  // The differences from the edits before: those of places, the deletions by their source references, and the number.
  private var changedEdits: EditChanges = [:]
  private var changedDeletions: [SourceReference: PointID?] = [:]
  private var editCount: Int

  // The changes of an import, which is the only write of its transaction.
  private var imported = PointChanges(puts: PointBuffer())

  private var sources: [DataSource] = []
  private var removedSources: [String] = []

  private var records: [IdempotencyRecord] = []

  // The bytes of the records by client, and of all.
  private var recordBytes: [ExactText: Int] = [:]
  private var allRecordBytes = 0

  /// The named areas after the writes.
  private(set) var areas: Areas

  private var changedAreas: [Area] = []
  private var removedAreas: [PointID] = []

  /// The records of features after the writes.
  private(set) var featureRecords: RecordTable

  private var changedFeatureRecords: [RecordKey: Record?] = [:]

  /// The anchor of the state after the writes; `nil` for none.
  var anchor: JournalBatch.NewAnchor?

  /// Creates a transaction without writes.
  init(
    on snapshot: PointSnapshot, keys: IdempotencyKeyCache, formerIDs: [SourceReference: PointID], edits: EditTable,
    areas: Areas, featureRecords: RecordTable, versions: VersionCounter, now: Timestamp
  ) {
    self.snapshot = snapshot
    self.areas = areas
    self.featureRecords = featureRecords
    self.keys = keys
    self.formerIDs = formerIDs
    self.edits = edits
    editCount = edits.count
    self.versions = versions
    self.now = now
  }

  // MARK: Reads

  /// Returns the place with that id, or `nil`.
  func point(id: PointID) -> PointOfInterest? {
    points[id] ?? snapshot.point(id: id)
  }

  /// Returns the id of the place with that source reference, or `nil`.
  func owner(of source: SourceReference) -> PointID? {
    owners[source] ?? snapshot.location(of: source).map { snapshot.id(at: $0) }
  }

  /// Returns the id of the removed place that had a source reference last; `nil` if there is none, or if another place
  /// has the id now.
  func formerID(of source: SourceReference) -> PointID? {
    guard let id = removedIDs[source] ?? formerIDs[source], point(id: id) == nil else { return nil }
    return id
  }

  /// Returns the edits of the place of an id, or its deletion; `nil` for none.
  func edits(of id: PointID) -> PlaceEdits? { changedEdits[id] ?? edits[id] }

  /// Returns the id of the deletion of a place with a source reference; `nil` for none.
  func deletion(of origin: SourceReference) -> PointID? { changedDeletions[origin] ?? edits.deletion(of: origin) }

  func hasRoom(forEdits count: Int) -> Bool { editCount + count <= edits.maximumCount }

  /// Returns a Boolean value that indicates whether there is room for the edits of an import, which is the only write.
  func hasRoom(for changes: EditChanges) -> Bool { edits.hasRoom(for: changes) }

  /// Returns the record of an earlier request with a key; `nil` if there is none, and room for that of this request.
  ///
  /// - Parameter bytes: the maximum number of bytes of the outcome.
  /// - Throws: ``Points/PointStoreError/keysExhausted`` if there is none, and no room.
  func record(
    of key: IdempotencyKey, orRoomFor bytes: Int
  ) throws(PointWriteError) -> IdempotencyRecord? {
    if let record = records.last(where: { $0.key.text.hasSameBytes(as: key.text) }) { return record }
    if let record = keys.record(of: key.text, at: now) { return record }
    let ownBytes = recordBytes[ExactText(key.client)] ?? 0
    guard keys.hasRoom(for: bytes, of: key.client, beside: ownBytes, inAll: allRecordBytes) else {
      throw .store(.keysExhausted)
    }
    return nil
  }

  // MARK: Writes

  /// Creates or replaces the place with an id, and returns it with its version and times.
  mutating func put(_ draft: PointDraft, id: PointID) -> PointOfInterest {
    let former = point(id: id)
    let point = PointOfInterest(
      id: id,
      draft: draft,
      version: versions.next(at: now),
      createdAt: former?.createdAt ?? now,
      // The clock may have been set back since another process wrote the place.
      updatedAt: former.map { max($0.updatedAt, now) } ?? now
    )
    if let source = former?.draft.origin { owners[source] = .some(nil) }
    if let source = draft.origin { owners[source] = id }
    points[id] = point
    return point
  }

  /// Removes an existing place.
  mutating func remove(_ point: PointOfInterest) {
    if let source = point.draft.origin {
      owners[source] = .some(nil)
      removedIDs[source] = point.id
    }
    points[point.id] = .some(nil)
    // A removal takes a version that no place gets: the highest version is the time of the last write.
    _ = versions.next(at: now)
  }

  /// Replaces the edits of the place of an id; `nil` removes them.
  mutating func setEdits(_ edits: PlaceEdits?, of id: PointID) {
    let former = self.edits(of: id)
    editCount += (edits?.edits.count ?? 0) - (former?.edits.count ?? 0)
    if let former, former.isDeletion, deletion(of: former.origin) == id {
      changedDeletions[former.origin] = .some(nil)
    }
    if let edits, edits.isDeletion { changedDeletions[edits.origin] = id }
    changedEdits[id] = .some(edits)
  }

  /// Forgets the deletions of places of a data set.
  mutating func forgetDeletions(ofSource source: String) {
    var ids = Set(edits.deletions(ofSource: source))
    for case (let origin, let id?) in changedDeletions where origin.source.hasSameBytes(as: source) { ids.insert(id) }
    for id in ids where edits(of: id)?.isDeletion == true { setEdits(nil, of: id) }
  }

  /// Applies the operations of a batch, and returns their results; see ``Points/PointStore/apply(_:)``.
  ///
  /// - Throws: ``Points/PointStoreError/editsExhausted``; nothing was changed then.
  mutating func apply(_ batch: PointBatch) throws(PointStoreError) -> [PointOperationResult] {
    let former = self
    var results: [PointOperationResult] = []
    results.reserveCapacity(batch.operations.count)
    for operation in batch.operations {
      let result: PointOperationResult
      do throws(PointStoreError) {
        result = try apply(operation, admitting: batch.admits, forgettingDeletions: batch.forgetsDeletions)
      } catch {
        self = former
        throw error
      }
      results.append(result)
      if batch.isAtomic, result.isFailure {
        self = former
        return results
      }
    }
    if let key = batch.key, let kept = batch.kept(results) { record(.applied(kept), of: key) }
    return results
  }

  /// Returns the version of all the places that an import creates or changes.
  mutating func nextVersion() -> Int64 { versions.next(at: now) }

  /// Applies the changes of an import, which must be the only write.
  mutating func apply(_ changes: PointChanges, _ edits: EditChanges) {
    imported = changes
    changedEdits = edits
    for id in changes.removals {
      if let source = snapshot.point(id: id)?.draft.origin { removedIDs[source] = id }
    }
    // See ``remove(_:)``.
    if !changes.removals.isEmpty { _ = versions.next(at: now) }
  }

  /// Removes a registered data set without places and areas, and the deletions of its places.
  mutating func removeSource(named name: String) -> SourceRemoval {
    let isOwned = owners.contains { $1 != nil && $0.source.hasSameBytes(as: name) }
    let (ids, hasMore) = snapshot.ids(
      matching: PointQuery(source: .init(name: name), limit: PointQuery.limits.upperBound))
    // More places than a page are taken to be more than this group of writes has removed.
    guard !isOwned, !hasMore, ids.allSatisfy({ point(id: $0)?.draft.origin?.source.hasSameBytes(as: name) != true })
    else { return .hasPlaces }
    if areas.all.contains(where: { $0.draft.origin?.source.hasSameBytes(as: name) == true }) { return .hasAreas }
    removedSources.append(name)
    forgetDeletions(ofSource: name)
    return .removed
  }

  /// Registers data sets.
  mutating func register(_ sources: [DataSource]) {
    self.sources += sources
  }

  /// Applies a change of areas, which must be the only write, if they have a version.
  ///
  /// - Returns: the areas with the change; `nil` if they have another version.
  mutating func apply(_ change: AreaChange, onto version: Int64) -> Areas? {
    guard areas.version == version else { return nil }
    let next = versions.next(at: now)
    changedAreas = change.puts.map { id, draft in
      let former = areas[id]
      return Area(
        id: id, draft: draft, version: next, createdAt: former?.createdAt ?? now,
        updatedAt: former.map { max($0.updatedAt, now) } ?? now)
    }
    removedAreas = change.removals
    if let (key, outcome) = change.record { record(outcome, of: key) }
    areas = areas.applying(puts: changedAreas, removals: removedAreas, version: next)
    return areas
  }

  /// Commits changes of records; see ``Points/RecordStore/commit(applying:within:_:)``.
  mutating func commit(
    applying batch: PointBatch?, within limits: RecordLimits?,
    _ changes: ([PointOperationResult]) throws(PointStoreError) -> [RecordChange]
  ) throws(PointWriteError) -> RecordOutcome {
    let former = self
    var results: [PointOperationResult] = []
    if let batch {
      if batch.isTooLarge({ point(id: $0) }) { throw .tooLarge }
      results = try PointWriteError.wrapping(try apply(batch))
      if let last = results.last, last.isFailure { return .failed(last) }
    }
    do throws(PointStoreError) {
      let changes = try changes(results)
      if let refusal = featureRecords.refusal(of: changes, within: limits) {
        self = former
        return refusal
      }
      changeRecords(changes)
      return .committed(results)
    } catch {
      self = former
      throw .store(error)
    }
  }

  /// Removes records, and returns their number; see ``Points/RecordStore/removeRecords(of:keptUntil:)``.
  mutating func removeRecords(of collection: RecordCollection, keptUntil now: Timestamp) -> Int {
    let removals = featureRecords.removals(in: collection, keptUntil: now)
    changeRecords(removals)
    return removals.count
  }

  private mutating func changeRecords(_ changes: [RecordChange]) {
    if !changes.isEmpty { changedFeatureRecords.merge(featureRecords.apply(changes)) { $1 } }
  }

  /// Records the outcome of the request with a key.
  mutating func record(_ outcome: IdempotencyRecord.Outcome, of key: IdempotencyKey) {
    let record = IdempotencyRecord(key: key, time: now, outcome: outcome)
    records.append(record)
    let bytes = record.keptBytes
    recordBytes[ExactText(key.client), default: 0] += bytes
    allRecordBytes += bytes
  }

  // MARK: Effects

  /// Removes the changes of places, and returns them.
  mutating func takeChanges() -> PointChanges {
    var changes = imported
    imported = PointChanges(puts: PointBuffer())
    for (id, point) in points {
      if let point { changes.puts.append(point) } else { changes.removals.append(id) }
    }
    return changes
  }

  /// Returns the writes as the batch for the journal.
  ///
  /// - Parameter changes: the changes of places.
  func batch(of changes: PointChanges) -> JournalBatch {
    JournalBatch(
      puts: changes.puts, putCount: changes.puts.count, removals: changes.removals, records: records, sources: sources,
      removedSources: removedSources,
      formerIDs: removedIDs, edits: changedEdits, areas: changedAreas, removedAreas: removedAreas,
      featureRecords: changedFeatureRecords, highestVersion: versions.last, anchor: anchor)
  }
}

/// A counter of a store's versions: each is greater than every one before it.
///
/// Versions follow the clock, in microseconds, so that a store that keeps nothing continues above those of the process
/// before; where the clock is behind, they are incremented by one.
struct VersionCounter: Sendable {
  /// The greatest version given so far, or 0.
  private(set) var last: Int64

  /// Creates a counter.
  ///
  /// - Parameter highest: the greatest version given before, in this process or another; 0 for none. One from
  ///   ``Points/PointOfInterest/versionLimit`` on can't have been given, and counts as
  ///   ``Points/PointOfInterest/maximumCountedVersion``.
  init(after highest: Int64 = 0) {
    last = highest < PointOfInterest.versionLimit ? max(highest, 0) : PointOfInterest.maximumCountedVersion
  }

  mutating func next(at now: Timestamp) -> Int64 {
    last = max(last + 1, min(now.microsecondsSinceEpoch, PointOfInterest.maximumCountedVersion))
    return last
  }

  /// Continues above the given version.
  mutating func pass(_ version: Int64) {
    last = max(last, version)
  }
}

/// The data versions of a store, one for each snapshot.
struct DataVersionSequence: Sendable {
  /// The version of the current snapshot.
  private(set) var last: DataVersion

  /// A random prefix of the tokens: no other store has it, not even one of the same places in another process.
  private let prefix = String(UInt64.random(in: .min ... .max), radix: 36)

  private var generation: UInt64 = 0

  /// Creates a sequence with the version of the first snapshot.
  init() { last = DataVersion(token: "\(prefix)-0") }

  /// Returns the version of the next snapshot.
  mutating func next() -> DataVersion {
    generation += 1
    last = DataVersion(token: "\(prefix)-\(generation)")
    return last
  }
}
