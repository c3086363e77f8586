import Points

/// What an import does to a snapshot: decided here, done elsewhere.
///
/// Rows are held against the places that were there before the import, never against each other's effects.
struct ImportPlan {
  /// What was decided, in numbers.
  private(set) var report = ImportReport()

  /// What is to be done.
  private(set) var changes = SnapshotChanges()

  private let snapshot: Snapshot
  private let ids: any ImportIDSource
  private let now: Timestamp

  /// What becomes of a row.
  private enum Verdict {
    case taken(over: Snapshot.Location?)
    case superseded(by: Int)
    case ambiguous
  }

  // The rows that are taken, by the ids they ask for and by their origins; and the additions by the ids they were given.
  private var rowsByID: HashIndex
  private var rowsByOrigin: HashIndex
  private var newPlacesByID: HashIndex

  // How many ids have been tried for places whose first id was taken, by that id.
  private var attempts: [PointID: Int] = [:]

  /// Decides on all the rows of an import.
  ///
  /// - Parameter now: when the import happens.
  init(
    _ rows: ContiguousArray<ImportRow>,
    mode: ImportMode,
    into snapshot: Snapshot,
    ids: any ImportIDSource,
    at now: Timestamp
  ) {
    self.snapshot = snapshot
    self.ids = ids
    self.now = now
    rowsByID = HashIndex(capacity: rows.count)
    rowsByOrigin = HashIndex(capacity: rows.count)
    newPlacesByID = HashIndex(capacity: rows.count)
    let verdicts = judge(rows)
    for (row, verdict) in zip(rows, verdicts.reversed()) {
      switch verdict {
      case .taken(over: let location?): replace(location, with: row.place)
      case .taken(over: nil): create(row, among: rows)
      case .superseded(by: let number):
        report.reject(.init(number: row.number, detail: "means the same place as row \(number), which counts instead"))
      case .ambiguous:
        report.reject(
          .init(number: row.number, detail: "its id belongs to one place, its source and sourceId to another")
        )
      }
    }
    if mode == .atomic, report.rejected > 0 {
      report.takeNothing()
      changes = SnapshotChanges()
    }
  }

  // MARK: Which rows count

  /// The verdicts on the rows, the last row's first.
  private mutating func judge(_ rows: ContiguousArray<ImportRow>) -> ContiguousArray<Verdict> {
    var verdicts: ContiguousArray<Verdict> = []
    verdicts.reserveCapacity(rows.count)
    for (index, row) in rows.enumerated().reversed() {
      let origin = row.place.origin
      let place = origin.flatMap { snapshot.location(of: $0) }
      let id = row.id ?? place.map { snapshot.id(at: $0) }
      if let later = id.flatMap({ rowIndex(id: $0, rows) }) ?? origin.flatMap({ rowIndex(origin: $0, rows) }) {
        verdicts.append(.superseded(by: rows[later].number))
        continue
      }
      if let id { rowsByID.insert(UInt32(index), hash: id.hashValue) }
      if let origin { rowsByOrigin.insert(UInt32(index), hash: origin.exactHash) }
      if let id = row.id, let place, snapshot.id(at: place) != id {
        verdicts.append(.ambiguous)
      } else {
        verdicts.append(.taken(over: place ?? id.flatMap { snapshot.location(of: $0) }))
      }
    }
    return verdicts
  }

  private func rowIndex(id: PointID, _ rows: ContiguousArray<ImportRow>) -> Int? {
    let row = rowsByID.first(hash: id.hashValue) { index in
      let row = rows[Int(index)]
      return row.id == id
        || row.id == nil && row.place.origin.flatMap { snapshot.location(of: $0) }.map { snapshot.id(at: $0) } == id
    }
    return row.map { Int($0) }
  }

  private func rowIndex(origin: Place.Origin, _ rows: ContiguousArray<ImportRow>) -> Int? {
    let row = rowsByOrigin.first(hash: origin.exactHash) { index in
      rows[Int(index)].place.origin.map { $0.isIdentical(to: origin) } ?? false
    }
    return row.map { Int($0) }
  }

  // MARK: What they do

  private mutating func replace(_ location: Snapshot.Location, with place: Place) {
    let former = snapshot.point(at: location)
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
        version: former.version + 1,
        createdAt: former.createdAt,
        updatedAt: now
      )
    )
  }

  private mutating func create(_ row: ImportRow, among rows: ContiguousArray<ImportRow>) {
    let id = row.id ?? newID(for: row.place, among: rows)
    report.created += 1
    newPlacesByID.insert(UInt32(changes.additions.count), hash: id.hashValue)
    changes.additions.append(PointOfInterest(id: id, place: row.place, version: 1, createdAt: now, updatedAt: now))
  }

  /// The first id on offer that no place has and no row asks for.
  private mutating func newID(for place: Place, among rows: ContiguousArray<ImportRow>) -> PointID {
    let first = ids.id(for: place, attempt: 0)
    guard isTaken(first, among: rows) else { return first }
    var attempt = attempts[first] ?? 1
    var id = ids.id(for: place, attempt: attempt)
    while isTaken(id, among: rows) {
      attempt += 1
      id = ids.id(for: place, attempt: attempt)
    }
    attempts[first] = attempt + 1
    return id
  }

  private func isTaken(_ id: PointID, among rows: ContiguousArray<ImportRow>) -> Bool {
    newPlacesByID.first(hash: id.hashValue) { changes.additions[Int($0)].id == id } != nil
      || rowIndex(id: id, rows) != nil || snapshot.location(of: id) != nil
  }
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
