import Basics

/// A store of named areas, of which every instance holds all in memory.
///
/// A write is decided on a snapshot of the areas, and committed if that is still the current one: see ``AreaEditor``.
public protocol AreaStore: Sendable {
  /// Returns the areas as they are read: with every write that was acknowledged before the call, unless reads may be
  /// older.
  ///
  /// - Parameters:
  ///   - isCurrent: a Boolean value that indicates whether they must not be older, whatever reads may be.
  ///   - position: the position that the reads with these areas must contain; `nil` for none.
  /// - Throws: ``PointStoreError``.
  func areas(isCurrent: Bool, notBefore position: String?) async throws(PointStoreError) -> Areas

  /// Returns the areas of about a second ago, without waiting; `nil` if they were not read yet.
  func recentAreas() -> Areas?

  /// A Boolean value that indicates whether the server should not be ready yet, because the areas were not read since
  /// its start. The default is `false`, of areas that are in memory from the start.
  var isAwaited: Bool { get }

  /// Commits a change if the areas still have a version.
  ///
  /// - Parameter client: the client whose share of the store's connections the call takes; `nil` for the program itself.
  /// - Returns: the areas with the change; `nil` if they have another version, and nothing was changed.
  /// - Throws: ``PointStoreError``.
  func commit(
    _ change: AreaChange, onto version: Int64, for client: String?
  ) async throws(PointStoreError) -> Areas?

  /// Commits the change that a closure decides on the areas, also if others change them all the time. The default tries
  /// it again and again, for stores in which the time from reading to the commit is short.
  ///
  /// - Parameters:
  ///   - client: the client whose share of the store's connections the call takes; `nil` for the program itself.
  ///   - decide: receives the present areas; it may be called several times. It returns the change, which is empty if
  ///     nothing is to be committed.
  /// - Returns: the areas with the change.
  /// - Throws: ``PointWriteError`` of the closure or the store.
  func commitDespiteOthers(
    for client: String?, _ decide: (Areas) async throws(PointWriteError) -> AreaChange
  ) async throws(PointWriteError) -> Areas

  /// Returns the record of an earlier request with a key; `nil` if there was none within ``IdempotencyKey/lifetime``.
  ///
  /// - Throws: ``PointWriteError``: `keyReused` if there was one whose outcome can't be decoded, `keysExhausted` if there
  ///   was none and the store has no room for the outcome of one.
  func record(of key: IdempotencyKey) async throws(PointWriteError) -> IdempotencyRecord?
}

extension AreaStore {
  /// Returns the areas as they are read without a position; see ``areas(isCurrent:notBefore:)``.
  package func areas(isCurrent: Bool) async throws(PointStoreError) -> Areas {
    try await areas(isCurrent: isCurrent, notBefore: nil)
  }

  public var isAwaited: Bool { false }

  public func commitDespiteOthers(
    for client: String?, _ decide: (Areas) async throws(PointWriteError) -> AreaChange
  ) async throws(PointWriteError) -> Areas {
    try await retrying(atMost: PointsService.maximumAttempts, orThrow: .store(.overloaded)) {
      () async throws(PointWriteError) in
      try await commitOnce(for: client, decide)
    }
  }

  /// Commits the change that a closure decides on the present areas.
  ///
  /// - Returns: the areas with the change; `nil` if another change was committed before.
  fileprivate func commitOnce(
    for client: String?, _ decide: (Areas) async throws(PointWriteError) -> AreaChange
  ) async throws(PointWriteError) -> Areas? {
    let areas = try await PointWriteError.wrapping(await areas(isCurrent: true))
    let change = try await decide(areas)
    if change.isEmpty { return areas }
    return try await PointWriteError.wrapping(await commit(change, onto: areas.version, for: client))
  }
}

/// A store of areas whose calls observers note.
public struct ObservedAreas: AreaStore {
  private let store: any AreaStore
  private let observers: [any StoreObserver]

  public init(_ store: any AreaStore, observers: [any StoreObserver]) {
    (self.store, self.observers) = (store, observers)
  }

  public func areas(isCurrent: Bool, notBefore position: String?) async throws(PointStoreError) -> Areas {
    try await observers.observe(.areas) { () throws(PointStoreError) in
      try await store.areas(isCurrent: isCurrent, notBefore: position)
    }
  }

  public func recentAreas() -> Areas? { store.recentAreas() }

  public var isAwaited: Bool { store.isAwaited }

  public func commit(
    _ change: AreaChange, onto version: Int64, for client: String?
  ) async throws(PointStoreError) -> Areas? {
    try await observers.observe(.areaChanges) { () throws(PointStoreError) in
      try await store.commit(change, onto: version, for: client)
    }
  }

  public func commitDespiteOthers(
    for client: String?, _ decide: (Areas) async throws(PointWriteError) -> AreaChange
  ) async throws(PointWriteError) -> Areas {
    try await observers.observe(.areaChanges) { () throws(PointWriteError) in
      try await store.commitDespiteOthers(for: client, decide)
    } noting: {
      if case .store(let error) = $0 { error } else { nil }
    }
  }

  public func record(of key: IdempotencyKey) async throws(PointWriteError) -> IdempotencyRecord? {
    try await observers.observe(.areas) { () throws(PointWriteError) in try await store.record(of: key) }
  }
}

/// A change of areas, which is committed as a whole.
public struct AreaChange: Sendable {
  /// The areas to create or replace, each once. The store gives their versions and times.
  public var puts: [(id: PointID, draft: AreaDraft)] = []
  public var removals: [PointID] = []

  /// The outcome to keep under a key; `nil` for none.
  public var record: (key: IdempotencyKey, outcome: IdempotencyRecord.Outcome)?

  public init() {}

  package var isEmpty: Bool { puts.isEmpty && removals.isEmpty && record == nil }
}

/// A row of an import of areas.
public struct AreaRow: Sendable {
  /// The number of the row, counted from 1.
  public let number: Int
  public let id: PointID?
  public let draft: AreaDraft

  public init(number: Int, id: PointID?, draft: AreaDraft) {
    self.number = number
    self.id = id
    self.draft = draft
  }
}

/// The writes of areas, by the rules of those of places.
public struct AreaEditor: Sendable {
  private let store: any AreaStore
  private let client: String?

  /// Creates an editor.
  ///
  /// - Parameter client: the client whose share of the store's connections writes take; `nil` for the program itself.
  public init(_ store: any AreaStore, for client: String? = nil) {
    (self.store, self.client) = (store, client)
  }

  /// The scope of the keys of writes of areas, which are independent of those of places.
  private static let keyScope = "areas"

  /// The number of attempts at a write before others have to wait for it.
  private static let attemptsBesideOthers = 3

  /// Decides a change on the present areas and commits it; again, if another one came between.
  ///
  /// - Parameter decide: receives the areas, and the record of an earlier request with the key. It returns the change,
  ///   and what the call returns of the areas after it.
  private func commit<Outcome>(
    once key: IdempotencyKey? = nil,
    _ decide: (Areas, IdempotencyRecord?) async throws(PointWriteError) -> (
      change: AreaChange, outcome: (Areas) -> Outcome
    )
  ) async throws(PointWriteError) -> Outcome {
    var outcome: ((Areas) -> Outcome)?
    func change(_ areas: Areas) async throws(PointWriteError) -> AreaChange {
      var (areas, record) = (areas, nil as IdempotencyRecord?)
      if let key {
        // After the areas: a record that is written in between makes the commit fail.
        record = try await store.record(of: key)
        // The areas of before may lack what the record names.
        if record != nil { areas = try await PointWriteError.wrapping(await store.areas(isCurrent: true)) }
      }
      if let record, record.key.requestHash != key?.requestHash { throw .keyReused }
      let decision = try await decide(areas, record)
      outcome = record == nil ? decision.outcome : { [areas] _ in decision.outcome(areas) }
      return decision.change
    }
    var areas: Areas?
    for _ in 0..<Self.attemptsBesideOthers where areas == nil {
      areas = try await store.commitOnce(for: client, change)
    }
    if areas == nil { areas = try await store.commitDespiteOthers(for: client, change) }
    guard let areas, let outcome else { throw .store(.overloaded) }
    return outcome(areas)
  }

  /// Creates an area under a new id, which is derived from its origin if it has one.
  ///
  /// A repeat with the same key returns the area as it is now.
  ///
  /// - Throws: ``PointWriteError``.
  public func create(_ draft: AreaDraft, once key: IdempotencyKey?) async throws(PointWriteError) -> Area {
    let key = key?.scoped(to: Self.keyScope)
    let created: Area? = try await commit(once: key) { areas, record throws(PointWriteError) in
      if let record {
        guard case .created(let id, _) = record.outcome else { throw .keyReused }
        return (AreaChange(), { $0[id] })
      }
      if let origin = draft.origin, areas[origin] != nil { throw .originTaken }
      let id = Self.newID(of: draft) { areas[$0] != nil }
      var change = AreaChange()
      change.puts = [(id, draft)]
      change.record = key.map { ($0, .created(id, version: nil)) }
      return (change, { $0[id] })
    }
    guard let created else { throw .notFound }
    return created
  }

  /// Replaces the area of an id, or creates it. An area that has the values already is left unchanged.
  ///
  /// - Throws: ``PointWriteError``.
  public func put(
    _ draft: AreaDraft, id: PointID, if condition: WriteCondition
  ) async throws(PointWriteError) -> (area: Area, wasCreated: Bool) {
    let (area, wasCreated): (Area?, Bool) = try await commit { areas, _ throws(PointWriteError) in
      let former = areas[id]
      guard condition.holds(of: former?.version) else { throw .conditionFailed(currentVersion: former?.version) }
      if let origin = draft.origin, let owner = areas[origin], owner.id != id { throw .originTaken }
      var change = AreaChange()
      if former?.draft != draft { change.puts = [(id, draft)] }
      return (change, { ($0[id], former == nil) })
    }
    guard let area else { throw .store(.unexpected(reason: "an area that was written is missing")) }
    return (area, wasCreated)
  }

  /// Deletes the area of an id.
  ///
  /// - Throws: ``PointWriteError``.
  public func delete(id: PointID, if condition: WriteCondition) async throws(PointWriteError) {
    try await commit { areas, _ throws(PointWriteError) in
      guard let area = areas[id] else { throw .notFound }
      guard condition.holds(of: area.version) else { throw .conditionFailed(currentVersion: area.version) }
      var change = AreaChange()
      change.removals = [id]
      return (change, { _ in })
    }
  }

  /// Deletes the areas of ids, as far as there are any, in one transaction.
  ///
  /// - Throws: ``PointWriteError``.
  package func delete(ids: [PointID]) async throws(PointWriteError) {
    try await commit { areas, _ throws(PointWriteError) in
      var change = AreaChange()
      change.removals = ids.filter { areas[$0] != nil }
      return (change, { _ in })
    }
  }

  /// Replaces the area of an id by the result of a closure, which is called again if another change comes between.
  ///
  /// - Throws: ``PointUpdateError``.
  package func update<Failure>(
    id: PointID, if condition: WriteCondition, _ change: (Area) throws(Failure) -> AreaDraft
  ) async throws(PointUpdateError<Failure>) -> Area {
    try await condition.update(\.version, of: await store.areas(isCurrent: true)[id], change) {
      changed, condition throws(PointWriteError) in
      try await put(changed, id: id, if: condition).area
    }
  }

  /// Imports rows in one transaction, by the rules of imports of places: a row replaces the area of its id or origin, or
  /// creates one; of rows for the same area the last one counts.
  ///
  /// - Parameter replacement: the data set of which the areas are deleted that no row means, at most as many as the limit
  ///   allows; `nil` for none.
  /// - Returns: the report; in an atomic import with a rejected row nothing was imported.
  /// - Throws: ``PointWriteError``, ``EmptyReplacement`` or ``TooManyDeletions``.
  public func importRows(
    _ rows: [AreaRow], mode: ImportMode = .partial, dryRun: Bool = false, once key: IdempotencyKey? = nil,
    replacing replacement: (source: String, limit: DeletionLimit)? = nil
  ) async throws -> ImportReport {
    let key = dryRun ? nil : key?.scoped(to: Self.keyScope)
    let result: Result<ImportReport, any Error> = try await commit(
      once: key
    ) { areas, record async throws(PointWriteError) in
      if let record {
        guard let report = record.report else { throw .keyReused }
        return (AreaChange(), { _ in .success(report) })
      }
      let (planned, takesNothing) = await offThreadPool {
        () -> (Result<(change: AreaChange, report: ImportReport), any Error>, Bool) in
        var (change, report) = Self.plan(rows, into: areas)
        let takesNothing = mode == .atomic && report.rejected > 0
        if takesNothing {
          if replacement != nil { report.deleted = 0 }
          report.takeNothing()
        } else if let replacement, let error = Self.replace(replacement, by: rows, of: areas, &change, &report) {
          return (.failure(error), false)
        }
        return (.success((change, report)), takesNothing)
      }
      var change: AreaChange
      let report: ImportReport
      switch planned {
      case .failure(let error): return (AreaChange(), { _ in .failure(error) })
      case .success(let plan): (change, report) = plan
      }
      if dryRun || takesNothing { return (AreaChange(), { [report] _ in .success(report) }) }
      if !report.isFailure { change.record = key.map { ($0, .imported(report)) } }
      return (change, { [report] _ in .success(report) })
    }
    return try result.get()
  }

  /// Adds the removal of the areas of a data set that no row means.
  ///
  /// - Returns: the error of an import that would remove too many.
  private static func replace(
    _ replacement: (source: String, limit: DeletionLimit), by rows: [AreaRow], of areas: Areas,
    _ change: inout AreaChange, _ report: inout ImportReport
  ) -> (any Error)? {
    func isReplaced(_ draft: AreaDraft) -> Bool {
      draft.origin?.source.hasSameBytes(as: replacement.source) == true
    }
    guard rows.contains(where: { isReplaced($0.draft) }) else {
      return EmptyReplacement(source: replacement.source, of: "areas")
    }
    let meant = Set(rows.flatMap { [$0.id, $0.draft.origin.flatMap { areas[$0]?.id }].compactMap(\.self) })
    let present = areas.all.filter { isReplaced($0.draft) }.map(\.id)
    change.removals = present.filter { !meant.contains($0) }
    report.deleted = change.removals.count
    return TooManyDeletions(
      source: replacement.source, of: "areas", total: present.count, limit: replacement.limit, report: report)
  }

  private static func plan(_ rows: [AreaRow], into areas: Areas) -> (change: AreaChange, report: ImportReport) {
    var report = ImportReport()
    var taken: [PointID: (number: Int, draft: AreaDraft)] = [:]
    var (order, origins): ([PointID], [SourceReference: PointID]) = ([], [:])
    // From the last row, which counts.
    for row in rows.reversed() {
      let owner = row.draft.origin.flatMap { origins[$0] ?? areas[$0]?.id }
      if let id = row.id, let owner, owner != id {
        report.reject(
          RejectedRow(
            number: row.number, detail: "its id belongs to one area, its source and sourceId to another"))
        continue
      }
      let id = row.id ?? owner ?? newID(of: row.draft) { areas[$0] != nil || taken[$0] != nil }
      if let last = taken[id] {
        if last.draft == row.draft {
          report.unchanged += 1
        } else {
          report.reject(
            RejectedRow(
              number: row.number, detail: "means the same area as row \(last.number), which counts instead"))
        }
        continue
      }
      taken[id] = (row.number, row.draft)
      if let origin = row.draft.origin { origins[origin] = id }
      order.append(id)
    }
    var change = AreaChange()
    for id in order.reversed() {
      guard let row = taken[id] else { continue }
      switch areas[id]?.draft {
      case nil: report.created += 1
      case row.draft?:
        report.unchanged += 1
        continue
      case _?: report.updated += 1
      }
      change.puts.append((id, row.draft))
    }
    var sorted = ImportReport()
    sorted.add(report)
    return (change, sorted)
  }

  /// Returns the id of a new area: always the same for an origin, unless it is taken.
  private static func newID(of draft: AreaDraft, isTaken: (PointID) -> Bool) -> PointID {
    if let origin = draft.origin {
      // No UTF-8 has the byte between.
      let id = PointID(derivedFrom: Array("area".utf8) + [0xFF] + origin.source.utf8 + [0xFF] + origin.sourceID.utf8)
      if !isTaken(id) { return id }
    }
    var generator = SystemRandomNumberGenerator()
    return PointID(at: SystemClock().now(), using: &generator)
  }
}
