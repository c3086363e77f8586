import Basics
import Geo
import PointIndex
package import Points

/// The effects of an import on a snapshot. An import applies its plan; a dry run only reports it.
///
/// Rows are compared with the places before the import, never with the effects of other rows.
struct ImportPlan {
  /// The effects in numbers.
  private(set) var report = ImportReport()

  /// The places to create and to replace.
  private(set) var puts = PointBuffer()

  /// The places to remove.
  private(set) var removals: [PointID] = []

  /// The edits of places to change.
  private(set) var editChanges: EditChanges = [:]

  private let notesMeant: Bool
  private let judges: Bool

  // The ids of the places that rows mean, where places are to be removed.
  private var meant: Set<PointID> = []

  // The ids of the places that rejected rows mean, where places are to be removed.
  private var kept: Set<PointID> = []

  // The rows, of which those that are held become places where they are.
  private var stage: ImportStage

  // By the positions of held rows, whether their places are put.
  private var isPut: ContiguousArray<Bool>

  // The places of rows that are not held.
  private var otherPuts: ContiguousArray<PointOfInterest?> = []

  // The positions of the places that are put, with the numbers of their rows, where they are to be judged.
  private var judged: [(put: PutPosition, row: Int)] = []

  /// The position of a place that is put: among the held rows, or among the others.
  private enum PutPosition {
    case held(Int)
    case other(Int)
  }

  // The numbers of the rejected rows that no later row counts instead of.
  private var refused: Set<Int> = []

  // The edits before the import, which it merges its rows with if there are any, or if it takes changes for edits.
  private let edits: EditTable
  private let mergesEdits: Bool
  private let conflicts: ConflictPolicy
  private let assumesEditedSince: Timestamp?

  // The ids of the places that keep edits or stay deleted, and of those that have a new conflict.
  private var withEdits: Set<PointID> = []
  private var withConflict: Set<PointID> = []

  // The ids of the deletions that rows mean.
  private var meantDeletions: Set<PointID> = []

  // The ids of the deletions that end because places get their ids or origins, by the ids of these.
  private var endedDeletions: [PointID: [PointID]] = [:]

  private let precedence: RowPrecedence
  private let owners: RowOwners
  private let places: KnownPlaces
  private let snapshot: PointSnapshot
  private let formerID: (@Sendable (SourceReference) -> PointID?)?
  private let version: Int64
  private let now: Timestamp

  // The ids of created places, and their indices by their hashes.
  private var createdIDs: ContiguousArray<PointID> = []
  private var createdPlaces: HashIndex

  // The number of ids tried for places whose first id was taken, by that id.
  private var attempts: [PointID: Int] = [:]

  /// Creates the plan for all the rows of an import.
  ///
  /// - Parameters:
  ///   - options: the options of the import. Its idempotency key and the data sets do not matter.
  ///   - snapshot: the places before the import, possibly others than those that the rows were compared with on
  ///     arrival.
  ///   - edits: the edits of the places of the snapshot.
  ///   - formerID: returns the id of the removed place that had a source reference, which takes precedence; `nil` if
  ///     there are none.
  ///   - version: the version of all the places to put, above that of every place of the snapshot.
  ///   - now: the time of the import.
  /// - Throws: ``EmptyReplacement``, ``TooManyDeletions``, ``PointStoreError/editsExhausted``, or the error of
  ///   ``ImportOptions/admits``.
  init(
    _ stage: consuming ImportStage,
    options: ImportOptions,
    into snapshot: PointSnapshot,
    edits: EditTable,
    formerID: (@Sendable (SourceReference) -> PointID?)? = nil,
    version: Int64,
    at now: Timestamp
  ) throws {
    let (removal, admits) = (options.removal, options.admits)
    let indices = stage.indicesByArrival()
    places = try KnownPlaces(of: copy stage, removal: removal, among: snapshot, admits)
    precedence = RowPrecedence(of: copy stage, indices: indices, places: places)
    let rejected = removal?.limit == nil ? nil : options.rejected?()
    if let rejected {
      kept = Set(rejected.ids)
      for case let owner? in rejected.origins.map({ [places] in places.location(of: $0) }) {
        kept.insert(snapshot.id(at: owner))
      }
    }
    owners = RowOwners(
      of: copy stage, indices: indices, counting: precedence, removal: removal, keeping: kept, among: places)
    self.snapshot = snapshot
    self.edits = edits
    mergesEdits = !edits.isEmpty || options.assumeEditedSince != nil
    conflicts = options.conflicts
    assumesEditedSince = options.assumeEditedSince
    self.formerID = formerID
    self.version = version
    self.now = now
    createdPlaces = HashIndex(capacity: stage.count)
    notesMeant = removal != nil
    judges = admits != nil
    isPut = ContiguousArray(repeating: false, count: stage.heldPositions)
    self.stage = stage
    for index in indices {
      if edits.hasDeletions, let origin = self.stage.row(at: index).draft.origin,
        let deletion = edits.deletion(of: origin)
      {
        meantDeletions.insert(deletion)
      }
      if let superseder = precedence.superseder(of: index) {
        report.reject(.superseded(self.stage.number(at: index), by: self.stage.number(at: superseder)))
      } else if snapshot.count == 0, !mergesEdits {
        // The row means no place, so its texts need not be read.
        create(at: index)
      } else {
        add(self.stage.row(at: index), at: index)
      }
    }
    if let admits { try rejectOthers(admits) }
    report.unchanged += self.stage.duplicates
    let repeats = self.stage.repeats.report { [precedence, stage = self.stage] in
      stage.number(at: precedence.superseder(of: $0) ?? $0)
    }
    report.add(repeats)
    report.keptEdits = withEdits.count
    report.conflicts = withConflict.count
    for id in endedDeletions.values.joined() { editChanges[id] = .some(nil) }
    if options.mode == .atomic, report.rejected > 0 {
      if removal != nil { report.deleted = 0 }
      report.takeNothing()
      editChanges = [:]
      return
    }
    if let removal { try remove(removal, unknownRows: rejected?.unknown ?? 0) }
    if edits.hasDeletions, admits == nil, let removal { forgetDeletions(of: removal, besides: rejected) }
    guard edits.hasRoom(for: editChanges) else { throw PointStoreError.editsExhausted }
    puts = self.stage.takePlaces(heldWhere: isPut)
    for case let point? in otherPuts { puts.append(point) }
  }

  private mutating func remove(_ removal: ImportRemoval, unknownRows: Int) throws {
    if case .others(let source, _) = removal, !hasRow(ofSource: source) {
      throw EmptyReplacement(source: source)
    }
    var total = 0
    places.forEachID(of: removal) { id in
      total += 1
      if meant.contains(id) { return }
      if kept.contains(id) {
        if removal.limit != nil { report.kept += 1 }
      } else {
        removals.append(id)
        if edits[id] != nil { editChanges[id] = .some(nil) }
      }
    }
    report.deleted = removals.count
    if let limit = removal.limit,
      let error = TooManyDeletions(
        source: removal.source, total: total, limit: limit, unknownRows: unknownRows, report: report)
    {
      throw error
    }
  }

  /// Forgets the deletions of places that the data set has no longer.
  ///
  /// - Parameter rejected: the places of rejected rows, which it may have.
  private mutating func forgetDeletions(of removal: ImportRemoval, besides rejected: RejectedPlaces?) {
    let ids: [PointID]
    switch removal {
    case .others(let source, _):
      if let rejected {
        guard rejected.unknown == 0 else { return }
        meantDeletions.formUnion(rejected.ids)
        meantDeletions.formUnion(rejected.origins.compactMap { edits.deletion(of: $0) })
      }
      ids = edits.deletions(ofSource: source)
    case .places(let source, let sourceIDs):
      ids = sourceIDs().compactMap { edits.deletion(of: SourceReference(source: source, sourceID: $0)) }
    }
    for id in ids where !meantDeletions.contains(id) { editChanges[id] = .some(nil) }
  }

  private func hasRow(ofSource source: String) -> Bool {
    stage.indicesByArrival().contains { index in
      precedence.superseder(of: index) == nil && !refused.contains(stage.number(at: index))
        && stage.row(at: index).draft.origin?.source.hasSameBytes(as: source) == true
    }
  }

  /// Rejects the rows whose places would not be admitted.
  private mutating func rejectOthers(
    _ admits: PointJudge
  ) throws(PointStoreError) {
    var rejected = ImportReport()
    for start in stride(from: 0, to: judged.count, by: ImportOptions.judgedAtOnce) {
      let part = judged[start..<min(start + ImportOptions.judgedAtOnce, judged.count)]
      let points = part.compactMap { place(at: $0.put) }
      for ((put, row), (point, isAdmitted)) in zip(part, zip(points, try admits(points))) where !isAdmitted {
        switch put {
        case .held(let position): isPut[position] = false
        case .other(let index): otherPuts[index] = nil
        }
        rejected.reject(RejectedRow(number: row, detail: ForbiddenChange.outside))
        refused.insert(row)
        editChanges[point.id] = nil
        endedDeletions[point.id] = nil
        withEdits.remove(point.id)
        withConflict.remove(point.id)
        if meant.remove(point.id) != nil { kept.insert(point.id) }
        if snapshot.location(of: point.id) == nil { report.created -= 1 } else { report.updated -= 1 }
      }
    }
    report.add(rejected)
  }

  private func place(at put: PutPosition) -> PointOfInterest? {
    switch put {
    case .held(let position): stage.place(heldAt: position)
    case .other(let index): otherPuts[index]
    }
  }

  private mutating func add(_ row: ImportRow, at index: Int) {
    let owner = row.draft.origin.flatMap { owners.location(of: $0) }
    let ids = notesMeant ? [owner.map { snapshot.id(at: $0) }, row.id].compactMap(\.self) : []
    if let owner, let id = row.id, snapshot.id(at: owner) != id {
      kept.formUnion(ids)
      return refuse(.ambiguous(row.number))
    }
    if let detail = places.forbiddenChange(of: row) {
      kept.formUnion(ids)
      return refuse(RejectedRow(number: row.number, detail: detail))
    }
    meant.formUnion(ids)
    if let location = owner ?? row.id.flatMap({ snapshot.location(of: $0) }) {
      replace(snapshot.point(at: location), with: row, at: index)
    } else {
      create(at: index)
    }
  }

  private mutating func refuse(_ row: RejectedRow) {
    refused.insert(row.number)
    report.reject(row)
  }

  private mutating func replace(_ former: PointOfInterest, with row: ImportRow, at index: Int) {
    let merged = mergesEdits ? merged(row, onto: former) : nil
    if former.draft == merged ?? row.draft {
      report.unchanged += 1
      return
    }
    report.updated += 1
    put(at: index, merged, id: former.id, createdAt: former.createdAt, updatedAt: max(former.updatedAt, now))
  }

  /// Merges a row with the edits of its place.
  ///
  /// - Returns: the values that the place gets; `nil` for those of the row.
  private mutating func merged(_ row: ImportRow, onto former: PointOfInterest) -> PointDraft? {
    let known = edits[former.id]
    let merge: PlaceEdits.Merge
    if row.draft.origin == nil || !row.draft.hasSameOrigin(as: former.draft) {
      if known != nil { editChanges[former.id] = .some(nil) }
      if let deletion = row.draft.origin.flatMap({ edits.deletion(of: $0) }) {
        endedDeletions[former.id, default: []].append(deletion)
      }
      return nil
    } else if let known {
      merge = known.merging(row.draft, onto: former.draft, given: row.given, conflicts: conflicts)
    } else if let assumesEditedSince, former.updatedAt >= assumesEditedSince {
      merge = PlaceEdits.assuming(former, differsByEditsFrom: row.draft)
    } else {
      return nil
    }
    if merge.edits != known { editChanges[former.id] = .some(merge.edits) }
    if merge.edits != nil { withEdits.insert(former.id) }
    if merge.hasNewConflict { withConflict.insert(former.id) }
    return merge.draft
  }

  /// Puts the place of a row.
  ///
  /// - Parameter merged: the values of the place; `nil` for those of the row.
  private mutating func put(
    at index: Int, _ merged: PointDraft? = nil, id: PointID, createdAt: Timestamp, updatedAt: Timestamp
  ) {
    let put: PutPosition
    switch (stage.content(at: index), merged) {
    case (.held(let position, _), nil):
      put = .held(Int(position))
      isPut[Int(position)] = true
      stage.setPlace(heldAt: Int(position), id: id, version: version, createdAt: createdAt, updatedAt: updatedAt)
    case (.held, _), (.known, _):
      put = .other(otherPuts.count)
      let draft = merged ?? stage.row(at: index).draft
      otherPuts.append(
        PointOfInterest(id: id, draft: draft, version: version, createdAt: createdAt, updatedAt: updatedAt))
    }
    if judges { judged.append((put, stage.number(at: index))) }
  }

  private mutating func create(at index: Int) {
    if edits.hasDeletions, let deletion = stage.row(at: index).draft.origin.flatMap({ edits.deletion(of: $0) }) {
      withEdits.insert(deletion)
      report.unchanged += 1
      return
    }
    let id = stage.id(at: index) ?? newID(at: index)
    if edits[id] != nil { endedDeletions[id, default: []].append(id) }
    report.created += 1
    createdPlaces.insert(UInt32(createdIDs.count), hash: id.hashValue)
    createdIDs.append(id)
    put(at: index, id: id, createdAt: now, updatedAt: now)
  }

  /// Returns the id that a removed place with the row's source reference had, or else the first id of the source that
  /// no place has and no row names.
  private mutating func newID(at index: Int) -> PointID {
    if let formerID, let former = stage.row(at: index).draft.origin.flatMap(formerID), !isTaken(former) {
      return former
    }
    let first = stage.newID(at: index, attempt: 0)
    guard isTaken(first) else { return first }
    var attempt = attempts[first] ?? 1
    var id = stage.newID(at: index, attempt: attempt)
    while isTaken(id) {
      attempt += 1
      id = stage.newID(at: index, attempt: attempt)
    }
    attempts[first] = attempt + 1
    return id
  }

  private func isTaken(_ id: PointID) -> Bool {
    createdPlaces.first(hash: id.hashValue) { createdIDs[Int($0)] == id } != nil
      || precedence.hasRow(withID: id) || snapshot.location(of: id) != nil
  }
}

/// The places before an import, of which its caller may know of some only.
private struct KnownPlaces {
  let snapshot: PointSnapshot

  /// The ids of the others, as far as the import depends on them.
  private var hidden: Set<PointID> = []

  /// Judges the places that rows mean, and those that the import may delete.
  ///
  /// - Throws: the error of `admits`.
  init(
    of stage: ImportStage, removal: ImportRemoval?, among snapshot: PointSnapshot,
    _ admits: PointJudge?
  ) throws(PointStoreError) {
    self.snapshot = snapshot
    guard let admits else { return }
    var meant: Set<PointID> = []
    for index in 0..<stage.count {
      let row = stage.row(at: index)
      if let id = row.id { meant.insert(id) }
      if let owner = row.draft.origin.flatMap({ snapshot.location(of: $0) }) { meant.insert(snapshot.id(at: owner)) }
    }
    if let removal { forEachID(of: removal) { meant.insert($0) } }
    let ids = Array(meant)
    for start in stride(from: 0, to: ids.count, by: ImportOptions.judgedAtOnce) {
      let points = ids[start..<min(start + ImportOptions.judgedAtOnce, ids.count)].compactMap { snapshot.point(id: $0) }
      for (point, isAdmitted) in zip(points, try admits(points)) where !isAdmitted { hidden.insert(point.id) }
    }
  }

  /// Returns the place with an origin; `nil` if there is none that the caller may know of.
  func location(of origin: SourceReference) -> PointSnapshot.Location? {
    snapshot.location(of: origin).flatMap { hidden.contains(snapshot.id(at: $0)) ? nil : $0 }
  }

  /// Returns the reason for which the row of a hidden place is rejected; `nil` for another row.
  func forbiddenChange(of row: ImportRow) -> String? {
    guard !hidden.isEmpty else { return nil }
    if let id = row.id, hidden.contains(id) { return ForbiddenChange.takenID }
    guard let owner = row.draft.origin.flatMap({ snapshot.location(of: $0) }), hidden.contains(snapshot.id(at: owner))
    else { return nil }
    return ForbiddenChange.hiddenOwner
  }

  /// Calls a closure with the id of each place that a removal may mean.
  func forEachID(of removal: ImportRemoval, _ body: (PointID) -> Void) {
    switch removal {
    case .others(let source, _):
      var query = PointQuery(source: .init(name: source), limit: PointQuery.limits.upperBound)
      while true {
        let (ids, hasMore) = snapshot.ids(matching: query)
        for id in ids where !hidden.contains(id) { body(id) }
        guard hasMore, let last = ids.last else { return }
        query.after = .init(id: last)
      }
    case .places(let source, let sourceIDs):
      for sourceID in Set(sourceIDs().map { ExactText($0) }) {
        guard let location = location(of: SourceReference(source: source, sourceID: sourceID.text)) else { continue }
        body(snapshot.id(at: location))
      }
    }
  }
}

/// The places that the origins of rows mean.
private struct RowOwners {
  let places: KnownPlaces

  /// The existing place of each new origin: the one place that no row means and that has a record in common with the
  /// rows of that origin, and with no others (``ImportRemoval/recordKey``).
  private var moved: [SourceReference: PointID] = [:]

  /// Finds the moved places by the records of the rows that count and are not rejected.
  ///
  /// - Parameter kept: the ids of places that are not moved, as rejected rows mean them.
  init(
    of stage: ImportStage, indices: ContiguousArray<Int>, counting precedence: RowPrecedence, removal: ImportRemoval?,
    keeping kept: Set<PointID>, among places: KnownPlaces
  ) {
    self.places = places
    let snapshot = places.snapshot
    guard let removal, let key = removal.recordKey else { return }
    var meant = kept
    var originsOfRecords: [ExactText: Set<SourceReference>] = [:]
    for index in indices where precedence.superseder(of: index) == nil {
      let row = stage.row(at: index)
      let owner = row.draft.origin.flatMap { places.location(of: $0) }.map { snapshot.id(at: $0) }
      let isAmbiguous = row.id != nil && owner != nil && owner != row.id
      if isAmbiguous || places.forbiddenChange(of: row) != nil { continue }
      if let id = row.id ?? owner { meant.insert(id) }
      guard row.id == nil, owner == nil, let origin = row.draft.origin,
        origin.source.hasSameBytes(as: removal.source)
      else { continue }
      for record in Self.records(of: row.draft, key) { originsOfRecords[record, default: []].insert(origin) }
    }
    guard !originsOfRecords.isEmpty else { return }
    var origins: [PointID: Set<SourceReference>] = [:]
    var moved: [SourceReference: Set<PointID>] = [:]
    places.forEachID(of: removal) { id in
      guard !meant.contains(id), let location = snapshot.location(of: id) else { return }
      for record in Self.records(of: snapshot.point(at: location).draft, key) {
        for origin in originsOfRecords[record] ?? [] {
          origins[id, default: []].insert(origin)
          moved[origin, default: []].insert(id)
        }
      }
    }
    for (origin, ids) in moved {
      if ids.count == 1, let id = ids.first, origins[id]?.count == 1 { self.moved[origin] = id }
    }
  }

  private static func records(of draft: PointDraft, _ key: String) -> [ExactText] {
    draft.tags[key]?.split(separator: ";").map { ExactText(String($0)) } ?? []
  }

  func location(of origin: SourceReference) -> PointSnapshot.Location? {
    places.location(of: origin) ?? moved[origin].flatMap { places.snapshot.location(of: $0) }
  }
}

/// The rows of an import that count: from the last to the first, each that shares neither its id nor its source
/// reference with one that counts already. O(n).
///
/// If no row has an id, all count: the stage has one row for each source reference, and a place has one.
private struct RowPrecedence {
  private static let counts = UInt32.max

  /// The rows; `nil` if all count, so that they are not copied when they change.
  private let stage: ImportStage?
  private let places: KnownPlaces
  private var superseders: ContiguousArray<UInt32>
  private var rowsByID: HashIndex
  private var rowsBySource: HashIndex

  init(of stage: ImportStage, indices: ContiguousArray<Int>, places: KnownPlaces) {
    self.places = places
    guard stage.hasIDs else {
      self.stage = nil
      superseders = []
      (rowsByID, rowsBySource) = (HashIndex(capacity: 0), HashIndex(capacity: 0))
      return
    }
    self.stage = stage
    superseders = ContiguousArray(repeating: Self.counts, count: stage.count)
    rowsByID = HashIndex(capacity: stage.count)
    rowsBySource = HashIndex(capacity: stage.count)
    for index in indices.reversed() {
      let row = stage.row(at: index)
      let (id, source) = (id(of: row), row.draft.origin)
      if let later = id.flatMap({ first(withID: $0) }) ?? source.flatMap({ first(withSource: $0) }) {
        superseders[index] = later
      } else {
        if let id { rowsByID.insert(UInt32(index), hash: id.hashValue) }
        if let source { rowsBySource.insert(UInt32(index), hash: source.hashValue) }
      }
    }
  }

  /// Returns the row that counts instead of a row; `nil` where the row itself counts.
  func superseder(of index: Int) -> Int? {
    superseders.isEmpty || superseders[index] == Self.counts ? nil : Int(superseders[index])
  }

  /// Returns a Boolean value that indicates whether a row that counts has the id, or means the place with that id.
  func hasRow(withID id: PointID) -> Bool { stage != nil && first(withID: id) != nil }

  private func first(withID id: PointID) -> UInt32? {
    rowsByID.first(hash: id.hashValue) { index in stage.map { self.id(of: $0.row(at: Int(index))) } == id }
  }

  private func first(withSource source: SourceReference) -> UInt32? {
    rowsBySource.first(hash: source.hashValue) { source == stage?.row(at: Int($0)).draft.origin }
  }

  /// Returns the id of a row, or else that of the place with its source reference.
  private func id(of row: ImportRow) -> PointID? {
    row.id ?? row.draft.origin.flatMap { places.location(of: $0) }.map { places.snapshot.id(at: $0) }
  }
}

extension RejectedRow {
  /// Returns the rejection of a row that means the same place as a later one.
  static func superseded(_ number: Int, by later: Int) -> RejectedRow {
    RejectedRow(number: number, detail: "means the same place as row \(later), which counts instead")
  }

  /// Returns the rejection of a row whose source reference belongs to a place with another id.
  static func ambiguous(_ number: Int) -> RejectedRow {
    RejectedRow(number: number, detail: "its source and sourceId belong to a place with another id")
  }
}

/// A source of ids for places that are imported without one. The first id is requested as a row arrives, also for one that
/// turns out to mean a place.
package protocol ImportIDSource: Sendable {
  /// Returns an id for a new place.
  ///
  /// - Parameter attempt: the number of earlier calls whose ids were taken; each attempt gives another id.
  func id(for place: PointDraft, attempt: Int) -> PointID
}

/// A source of ids that no place ever had.
struct NewIDs: ImportIDSource {
  private let time: Timestamp

  /// Creates a source.
  ///
  /// - Parameter time: the time that goes into the ids: the start of the import, before the places are created.
  init(at time: Timestamp) {
    self.time = time
  }

  func id(for place: PointDraft, attempt: Int) -> PointID {
    var generator = SystemRandomNumberGenerator()
    return PointID(at: time, using: &generator)
  }
}

/// A source of ids that are derived from the places, so that every instance and every start that loads the same files
/// gives the same ids.
///
/// The id of a place with a source reference is derived from that, any other from the name and the coordinate.
package struct DerivedIDs: ImportIDSource {
  package init() {}

  /// Returns the id derived from the source reference, or else from the name and the coordinate, and from the attempt
  /// unless it is the first.
  package func id(for place: PointDraft, attempt: Int) -> PointID {
    var identity: [UInt8] = []
    if let origin = place.origin {
      identity.append(contentsOf: origin.source.utf8)
      identity.append(Self.separator)
      identity.append(contentsOf: origin.sourceID.utf8)
    } else {
      identity.append(contentsOf: place.name.utf8)
      for degrees in [place.coordinate.latitude, place.coordinate.longitude] {
        identity.append(Self.separator)
        Self.append(degrees.bitPattern, to: &identity)
      }
    }
    if attempt > 0 {
      identity.append(Self.separator)
      Self.append(UInt64(attempt), to: &identity)
    }
    return PointID(derivedFrom: identity)
  }

  /// A byte that no UTF-8 contains.
  private static let separator: UInt8 = 0xFF

  private static func append(_ number: UInt64, to bytes: inout [UInt8]) {
    for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: number >> shift)) }
  }
}
