import JSONText
import Points

/// The places as some writes leave them that are decided one after another and kept together.
struct Draft: Sendable {
  /// The places before the first of the writes.
  let snapshot: Snapshot

  /// When the writes happen.
  let now: Timestamp

  private let keys: KeyMemory
  private var lastSequence: Int64
  private var versions: VersionCounter

  // What differs from the snapshot: places by their ids and, by the origins that they had or have, whose those are.
  private var points: [PointID: PointOfInterest?] = [:]
  private var owners: [ExactOrigin: PointID?] = [:]

  // What an import does, which is decided on whole and leaves nothing for other writes to look at.
  private var bulk = SnapshotChanges()

  private var changes: ContiguousArray<PointChange> = []
  private var answeredKeys: [AnsweredKey] = []

  /// Creates a draft in which nothing has happened yet.
  init(of snapshot: Snapshot, keys: KeyMemory, lastSequence: Int64, versions: VersionCounter, now: Timestamp) {
    self.snapshot = snapshot
    self.keys = keys
    self.lastSequence = lastSequence
    self.versions = versions
    self.now = now
  }

  // MARK: What there is

  /// The place of that id, or `nil`.
  func point(id: PointID) -> PointOfInterest? {
    points[id] ?? snapshot.location(of: id).map { snapshot.point(at: $0) }
  }

  /// Whose origin it is, or `nil`.
  func owner(of origin: Place.Origin) -> PointID? {
    owners[ExactOrigin(origin)] ?? snapshot.location(of: origin).map { snapshot.id(at: $0) }
  }

  /// What is remembered of a key.
  func answer(to key: IdempotencyKey) -> AnsweredKey? {
    answeredKeys.last { $0.key.text.hasSameBytes(as: key.text) } ?? keys.answer(to: key.text, at: now)
  }

  // MARK: What is done

  /// Has a place be what is said of it, under an id that is free or the place's own; answers how it is kept.
  mutating func put(_ place: Place, id: PointID) -> PointOfInterest {
    let former = point(id: id)
    let point = PointOfInterest(
      id: id,
      place: place,
      version: versions.next(at: now),
      createdAt: former?.createdAt ?? now,
      // The clock may have been set back since another process wrote the place.
      updatedAt: former.map { max($0.updatedAt, now) } ?? now
    )
    if let origin = former?.place.origin { owners[ExactOrigin(origin)] = .some(nil) }
    if let origin = place.origin { owners[ExactOrigin(origin)] = id }
    points[id] = point
    log(id, former == nil ? .created : .updated, version: point.version)
    return point
  }

  /// Has a place that is there be gone.
  mutating func remove(_ point: PointOfInterest) {
    if let origin = point.place.origin { owners[ExactOrigin(origin)] = .some(nil) }
    points[point.id] = .some(nil)
    // A removal takes a version of its own, which no place gets: the highest one given tells when the last write was.
    _ = versions.next(at: now)
    log(point.id, .deleted, version: point.version)
  }

  /// The version that an import gives to all the places that it creates or changes.
  mutating func nextVersion() -> Int64 { versions.next(at: now) }

  /// Has an import's changes be made, which are the draft's only ones.
  mutating func take(_ plan: ImportPlan) {
    bulk = plan.changes
    for (point, kind) in zip(bulk.additions, plan.kinds) { log(point.id, kind, version: point.version) }
  }

  /// Has a key be remembered.
  mutating func remember(_ key: IdempotencyKey, answer: AnsweredKey.Answer) {
    answeredKeys.append(AnsweredKey(key: key, time: now, answer: answer))
  }

  private mutating func log(_ id: PointID, _ kind: PointChange.Kind, version: Int64) {
    lastSequence += 1
    changes.append(PointChange(sequence: lastSequence, id: id, kind: kind, version: version, time: now))
  }

  // MARK: What comes of it

  /// What it does to the snapshot.
  var snapshotChanges: SnapshotChanges {
    var changes = bulk
    for (id, point) in points {
      if let location = snapshot.location(of: id) { changes.removals.append(location) }
      if let point { changes.additions.append(point) }
    }
    return changes
  }

  /// What is to be kept of it.
  var batch: JournalBatch {
    var batch = JournalBatch()
    batch.changed = bulk.additions
    for (id, point) in points {
      if let point { batch.changed.append(point) } else { batch.removed.append(id) }
    }
    batch.changes = changes
    batch.answeredKeys = answeredKeys
    batch.highestVersion = versions.last
    return batch
  }
}

/// An origin that is equal only to the same bytes.
private struct ExactOrigin: Hashable, Sendable {
  let source: ExactText
  let sourceID: ExactText

  init(_ origin: Place.Origin) {
    source = ExactText(origin.source)
    sourceID = ExactText(origin.sourceID)
  }
}
