import JSONText
import Points

/// What an import does to a snapshot: decided here, done elsewhere.
///
/// Rows are held against the places that were there before the import, never against each other's effects.
struct ImportPlan {
  /// What was decided, in numbers.
  private(set) var report = ImportReport()

  /// What is to be done.
  private(set) var changes = SnapshotChanges()

  /// What is done to each of the additions.
  private(set) var kinds: ContiguousArray<PointChange.Kind> = []

  private let rows: PlannedRows
  private let verdicts: RowVerdicts
  private let ids: any ImportIDSource
  private let version: Int64
  private let now: Timestamp

  // The additions by the ids they were given.
  private var newPlacesByID: HashIndex

  // How many ids have been tried for places whose first id was taken, by that id.
  private var attempts: [PointID: Int] = [:]

  /// Decides on all the rows of an import.
  ///
  /// - Parameters:
  ///   - snapshot: the places that there are; others perhaps than those that the rows were staged against.
  ///   - version: the version of all the places that come of it, above that of every place there is.
  ///   - now: when the import happens.
  init(
    _ stage: ImportStage<StagedPlace>,
    mode: ImportMode,
    into snapshot: Snapshot,
    ids: any ImportIDSource,
    version: Int64,
    at now: Timestamp
  ) {
    rows = PlannedRows(stage: stage, snapshot: snapshot)
    verdicts = RowVerdicts(on: rows)
    self.ids = ids
    self.version = version
    self.now = now
    newPlacesByID = HashIndex(capacity: stage.count)
    for index in 0..<stage.count {
      if let superseder = verdicts.superseder(of: index) {
        report.reject(.superseded(rows.number(at: index), by: rows.number(at: superseder)))
      } else {
        take(rows.row(at: index), number: rows.number(at: index))
      }
    }
    report.add(stage.repeats.report { [rows, verdicts] in rows.number(at: verdicts.superseder(of: $0) ?? $0) })
    if mode == .atomic, report.rejected > 0 {
      report.takeNothing()
      changes = SnapshotChanges()
      kinds = []
    }
  }

  private mutating func take(_ row: StagedPlace, number: Int) {
    let owner = row.place.origin.flatMap { rows.snapshot.location(of: $0) }
    if let owner, let id = row.id, rows.snapshot.id(at: owner) != id {
      report.reject(.ambiguous(number))
    } else if let location = owner ?? row.id.flatMap({ rows.snapshot.location(of: $0) }) {
      replace(location, with: row.place)
    } else {
      create(row)
    }
  }

  // MARK: What they do

  private mutating func replace(_ location: Snapshot.Location, with place: Place) {
    let former = rows.snapshot.point(at: location)
    if former.place.isIdentical(to: place) {
      report.unchanged += 1
      return
    }
    report.updated += 1
    changes.removals.append(location)
    changes.additions.append(
      PointOfInterest(
        id: former.id,
        place: place,
        version: version,
        createdAt: former.createdAt,
        updatedAt: max(former.updatedAt, now)
      )
    )
    kinds.append(.updated)
  }

  private mutating func create(_ row: StagedPlace) {
    let id = row.id ?? newID(for: row.place)
    report.created += 1
    newPlacesByID.insert(UInt32(changes.additions.count), hash: id.hashValue)
    changes.additions.append(
      PointOfInterest(id: id, place: row.place, version: version, createdAt: now, updatedAt: now)
    )
    kinds.append(.created)
  }

  /// The first id on offer that no place has and no row asks for.
  private mutating func newID(for place: Place) -> PointID {
    let first = ids.id(for: place, attempt: 0)
    guard isTaken(first) else { return first }
    var attempt = attempts[first] ?? 1
    var id = ids.id(for: place, attempt: attempt)
    while isTaken(id) {
      attempt += 1
      id = ids.id(for: place, attempt: attempt)
    }
    attempts[first] = attempt + 1
    return id
  }

  private func isTaken(_ id: PointID) -> Bool {
    newPlacesByID.first(hash: id.hashValue) { changes.additions[Int($0)].id == id } != nil
      || verdicts.row(idHash: id.hashValue) { rows.id(at: $0) == id } != nil
      || rows.snapshot.location(of: id) != nil
  }
}

/// Staged rows against the places that they are put among.
private struct PlannedRows: RowIdentities {
  let stage: ImportStage<StagedPlace>
  let snapshot: Snapshot

  var count: Int { stage.count }

  func number(at index: Int) -> Int { stage.number(at: index) }

  func row(at index: Int) -> StagedPlace { stage.entry(at: index) }

  /// The id that the row asks for, or else that of the place it means.
  func id(at index: Int) -> PointID? {
    let row = row(at: index)
    return row.id ?? row.place.origin.flatMap { snapshot.location(of: $0) }.map { snapshot.id(at: $0) }
  }

  func idHash(at index: Int) -> Int? { id(at: index)?.hashValue }

  func originHash(at index: Int) -> Int? { row(at: index).originHash }

  func haveSameID(_ left: Int, _ right: Int) -> Bool { id(at: left) == id(at: right) }

  func haveSameOrigin(_ left: Int, _ right: Int) -> Bool { row(at: left).hasSameOrigin(as: row(at: right)) }
}

extension Place {
  /// Whether both are the same to the last byte.
  func isIdentical(to other: Place) -> Bool {
    func isSame(_ left: String?, _ right: String?) -> Bool {
      switch (left, right) {
      case (nil, nil): true
      case (let left?, let right?): left.hasSameBytes(as: right)
      default: false
      }
    }
    return coordinate == other.coordinate && name.hasSameBytes(as: other.name) && isSame(category, other.category)
      && tags.json.hasSameBytes(as: other.tags.json) && isSame(origin?.source, other.origin?.source)
      && isSame(origin?.sourceID, other.origin?.sourceID)
  }
}
