package import Basics
package import Geo
package import PointIndex
package import Points
import Synchronization

/// A store of places in memory: a ``PointIndex/PointIndex`` whose changes are committed to a journal.
///
/// Reads search the current snapshot, and never wait for a write. A write builds the next snapshot, commits its effects
/// to the journal, and replaces the current snapshot.
package final class MemoryStore: PointStore, StoreIndex {
  let writer: GroupCommitWriter
  private let clock: MonotoneClock
  private let places: PointIndex
  private let changeLog: MemoryChangeLog
  private let journal: (any PointJournal)?

  /// The changes of the places. Without a journal, the last ones of this process are known.
  package let changes: ChangeHub

  /// A Boolean value that indicates whether no place had ever been written to the store when it was created.
  package let wasNew: Bool

  /// The origin of an index.
  package enum IndexOrigin: Hashable, Sendable {
    /// It was built. The reason is that for which files are not used; `nil` if there are none.
    case built(reason: ExactText?)
    /// It continues from its files, after some changes.
    case files(changes: Int)
  }

  /// The origin of the index when the store was created.
  package let indexOrigin: IndexOrigin

  /// Creates an empty store that keeps nothing beyond the process.
  ///
  /// - Parameters:
  ///   - text: the fields that texts are searched in.
  ///   - maximumEdits: the maximum number of edits of places.
  ///   - clock: the source of the times of places and of the age of idempotency keys.
  package convenience init(
    text configuration: TextIndexConfiguration = .init(),
    maximumEdits: Int = PlaceEdits.defaultMaximumCount,
    clock: any WallClock = SystemClock()
  ) {
    self.init(JournalContents(), journal: nil, text: configuration, maximumEdits: maximumEdits, clock: clock)
  }

  /// Creates a store of the contents of a journal, to which every write is committed before it is visible or
  /// acknowledged.
  ///
  /// O(n log n); from files O(n), and O(m log m) for m changes that they do not have.
  ///
  /// - Parameters:
  ///   - journal: the journal, used by this store alone.
  ///   - files: the files that the index continues from if the journal has their anchor; `nil` for none.
  ///   - text: the fields that texts are searched in.
  ///   - maximumEdits: the maximum number of edits of places.
  ///   - clock: the source of the times of places and of the age of idempotency keys.
  /// - Throws: ``Points/PointStoreError`` with the reason that the journal can't be read.
  package convenience init(
    journal: any PointJournal,
    files: IndexFiles? = nil,
    text configuration: TextIndexConfiguration = .init(),
    maximumEdits: Int = PlaceEdits.defaultMaximumCount,
    clock: any WallClock = SystemClock()
  ) async throws(PointStoreError) {
    let (kept, rejection) = await Self.keptIndex(in: files, text: configuration)
    var contents = try await journal.load(after: kept?.anchor)
    let number = UInt64.random(in: .min ... .max)
    let (runs, dropped): ([ChangeRun], Int64)
    do {
      (runs, dropped) = try await journal.beginRun(number)
      contents.highestVersion = max(contents.highestVersion, runs.last?.start ?? 0)
    } catch {
      // A full disk does not prevent a start. Positions are valid as long as the process, then.
      (runs, dropped) = ([ChangeRun(number: number, start: contents.highestVersion)], 0)
    }
    self.init(
      contents, after: kept, rejection: rejection, journal: journal, runs: runs, dropped: dropped,
      text: configuration, maximumEdits: maximumEdits, clock: clock)
  }

  /// An index from files, and the anchor in the journal that it stands for.
  typealias KeptIndex = (snapshot: PointSnapshot, anchor: JournalAnchor)

  /// Returns the index in the files, or the reason why they can't be used; neither if there are no files.
  private static func keptIndex(
    in files: IndexFiles?, text configuration: TextIndexConfiguration
  ) async -> (index: KeptIndex?, rejection: String?) {
    guard let files else { return (nil, nil) }
    let loaded = await offThreadPool {
      Result { () throws(IndexFileError) in try files.load(text: configuration) }
    }
    switch loaded {
    case .success(nil): return (nil, nil)
    case .success(let (snapshot, state)?):
      guard let anchor = JournalAnchor(text: state) else { return (nil, "they are of another store") }
      return ((snapshot, anchor), nil)
    case .failure(let error): return (nil, "\(error)")
    }
  }

  init(
    _ contents: JournalContents,
    after kept: KeptIndex? = nil,
    rejection: String? = nil,
    journal: (any PointJournal)?,
    runs: [ChangeRun]? = nil,
    dropped: Int64 = 0,
    keyBytes: Int = IdempotencyKeyCache.maximumBytes,
    text configuration: TextIndexConfiguration = .init(),
    maximumEdits: Int = PlaceEdits.defaultMaximumCount,
    clock: any WallClock
  ) {
    self.clock = MonotoneClock(clock)
    wasNew = contents.isNew
    let versions = VersionCounter(after: contents.highestVersion)
    let dataVersions = DataVersionSequence()
    let snapshot: PointSnapshot
    let anchor = contents.isComplete ? nil : kept?.anchor
    if let kept, anchor != nil {
      indexOrigin = .files(changes: contents.points.count + contents.removals.count)
      snapshot = kept.snapshot.applying(PointChanges(puts: contents.points, removals: contents.removals))
    } else {
      let isUnknown = kept != nil
      indexOrigin = .built(
        reason: isUnknown
          ? "the journal is another one, or was changed by another program" : rejection.map { ExactText($0) })
      snapshot = PointSnapshot(contents.points, text: configuration)
    }
    places = PointIndex(snapshot, version: dataVersions.last)
    self.journal = journal
    changeLog = MemoryChangeLog(
      places, journal: journal,
      runs: runs ?? [ChangeRun(number: .random(in: .min ... .max), start: contents.highestVersion)],
      version: max(contents.highestVersion, 0), dropped: dropped)
    changes = ChangeHub(changeLog)
    var keys = IdempotencyKeyCache(bytes: keyBytes)
    for record in contents.records { keys.insert(record) }
    writer = GroupCommitWriter(
      index: places,
      journal: journal,
      keys: keys,
      sources: contents.sources,
      formerIDs: contents.formerIDs,
      edits: EditTable(contents.edits.filter { $0.isCurrent(in: snapshot) }, maximumCount: maximumEdits),
      areas: Areas(contents.areas, version: max(contents.highestVersion, 0)),
      featureRecords: RecordTable(contents.featureRecords),
      versions: versions,
      committedVersion: contents.highestVersion,
      dataVersions: dataVersions,
      changeLog: changeLog,
      changes: changes,
      kept: anchor.map { (snapshot === kept?.snapshot ? dataVersions.last : nil, $0) },
      clock: self.clock
    )
  }

  // MARK: Changes

  /// Drops the removals from before a time, and returns their number. Positions from before them are expired then.
  ///
  /// - Throws: ``Points/PointStoreError``.
  package func pruneChanges(before time: Timestamp) async throws(PointStoreError) -> Int {
    guard let journal else { return 0 }
    let (count, dropped) = try await journal.dropRemovals(before: time.microsecondsSinceEpoch)
    changeLog.noteDropped(dropped)
    return count
  }

  // MARK: Files

  /// Writes the index into files whenever it has changed, until the task is cancelled.
  ///
  /// - Parameter onFailure: is called with the reason of a failure, once for each that differs from the one before.
  package func keep(in files: IndexFiles, onFailure: @Sendable (String) -> Void) async {
    await files.keep(onFailure: onFailure) { try await self.save(to: files) }
  }

  /// Writes the index into files. One call at a time.
  ///
  /// - Returns: `false` if they have it.
  /// - Throws: ``Points/PointStoreError`` or ``PointIndex/IndexFileError``; the files are unchanged then.
  @discardableResult package func save(to files: IndexFiles) async throws -> Bool { try await writer.save(to: files) }

  /// The number of places.
  package var count: Int { snapshot.count }

  var snapshot: PointSnapshot { places.snapshot }

  package var index: (any StoreIndex)? { self }

  package func snapshot(isRequired: Bool) async throws(PointStoreError) -> (any IndexSnapshot)? { snapshot }

  package func snapshotAtOnce() -> (any IndexSnapshot)? { snapshot }

  /// A Boolean value that indicates whether the opening hours of an index that continues from files are not evaluated
  /// yet. Everything else is there when the store is.
  package var isAwaited: Bool { snapshot.evaluatesHours }

  package var state: (phase: String, points: Int)? {
    isAwaited ? (StoreIndexPhase.evaluatingHours, snapshot.count) : nil
  }

  // MARK: Reading

  package func page(matching query: PointQuery) async throws(PointStoreError) -> PointPage {
    try snapshot.page(matching: query)
  }

  package func count(matching query: PointQuery) async throws(PointStoreError) -> Int {
    try snapshot.count(matching: query)
  }

  /// O(log² n).
  package func point(id: PointID) async throws(PointStoreError) -> PointOfInterest? {
    snapshot.point(id: id)
  }

  /// Without a box the categories are counted once after a write.
  package func categoryCounts(in box: BoundingBox?) async throws(PointStoreError) -> [CategoryCount] {
    snapshot.categoryCounts(in: box)
  }

  /// The shuffle key is ``Points/PointID/shuffleKey``. O(n), and O(1) for the last pivot again.
  package func point(shuffledAtOrAfter pivot: UInt64) async throws(PointStoreError) -> PointOfInterest? {
    let snapshot = snapshot
    // Other requests do not wait for the search through many ids.
    if snapshot.count <= 20_000 { return snapshot.point(shuffledAtOrAfter: pivot) }
    return await offThreadPool { snapshot.point(shuffledAtOrAfter: pivot) }
  }

  package func sources() async throws(PointStoreError) -> [DataSource] { await writer.dataSources }

  /// No other process gives this version, not even with the same places.
  package func dataVersion() async throws(PointStoreError) -> DataVersion? { places.version }

  package func knownDataVersion() -> DataVersion? { places.version }

  /// Returns at once: memory can always be read.
  @discardableResult package func checkReadiness() async throws(PointStoreError) -> StoreReadiness { .ready }

  package func edits(of id: PointID) async throws(PointStoreError) -> PlaceEdits? { writer.edits.withLock { $0[id] } }

  package func edits(matching query: EditQuery) async throws(PointStoreError) -> EditPage {
    let all = writer.edits.withLock { $0 }
    return await offThreadPool { all.page(matching: query) }
  }

  package func exportPoints(
    matching query: PointQuery, for client: String?,
    to consume: @Sendable (consuming [PointOfInterest]) async throws -> Void
  ) async throws {
    try await snapshot.exportPoints(matching: query, to: consume)
  }

  // MARK: Writing

  /// Concurrent requests with one key return the same place: none fails as being in flight.
  package func create(
    _ place: PointDraft, once key: IdempotencyKey?, reusingID reusesID: Bool, as author: WriteAuthor
  ) async throws(PointWriteError) -> PointOfInterest {
    try await write(bytes: place.textBytes) { transaction throws(PointWriteError) in
      let keyBytes = IdempotencyRecord.Outcome.creationBytes
      if let key, let record = try transaction.record(of: key, orRoomFor: keyBytes) {
        return try record.repeated(by: key) { $0.point(place) }
      }
      let point = try transaction.create(place, reusingID: reusesID, as: author)
      if let key { transaction.record(.created(point.id, version: point.version), of: key) }
      return point
    }
  }

  package func put(
    _ place: PointDraft, id: PointID, if condition: WriteCondition, as author: WriteAuthor
  ) async throws(PointWriteError) -> (point: PointOfInterest, wasCreated: Bool) {
    try await write(bytes: place.textBytes) { transaction throws(PointWriteError) in
      try transaction.replace(place, id: id, if: condition, as: author)
    }
  }

  package func delete(id: PointID, if condition: WriteCondition) async throws(PointWriteError) {
    try await write { transaction throws(PointWriteError) in try transaction.delete(id: id, if: condition) }
  }

  package func forgetEdits(of id: PointID) async throws(PointWriteError) -> PointOfInterest? {
    try await write { transaction throws(PointWriteError) in try transaction.forgetEdits(of: id) }
  }

  package func apply(_ batch: PointBatch) async throws(PointWriteError) -> [PointOperationResult] {
    try await write(size: batch.operations.count) { transaction throws(PointWriteError) in
      let keyBytes = batch.operations.count * IdempotencyRecord.Outcome.resultBytes
      if let key = batch.key, let record = try transaction.record(of: key, orRoomFor: keyBytes) {
        return try batch.repeated(try record.repeated(by: key, \.results))
      }
      if batch.isTooLarge({ transaction.point(id: $0) }) { throw .tooLarge }
      return try PointWriteError.wrapping(try transaction.apply(batch))
    }
  }

  /// A batch has up to 1,000 places, in the order of their ids. They are searched outside the writer, so that other
  /// writes do not wait for the search.
  package func deleteBatch(
    ofSource source: String, after position: ExactText?
  ) async throws(PointWriteError) -> DeletedBatch {
    let last = position.flatMap { PointID($0.text) }
    let query = PointQuery(
      source: .init(name: source), limit: PointQuery.limits.upperBound, after: last.map { .init(id: $0) })
    let (ids, hasMore) = snapshot.ids(matching: query)
    let hasDeletions = writer.edits.withLock { $0.hasDeletions }
    guard !ids.isEmpty || hasDeletions else { return DeletedBatch(count: 0, next: nil) }
    let count = try await write(size: ids.count) { transaction throws(PointWriteError) in
      var count = 0
      for id in ids {
        // The place may have changed since the search.
        guard let point = transaction.point(id: id), let origin = point.draft.origin,
          origin.source.hasSameBytes(as: source)
        else { continue }
        transaction.remove(point)
        if transaction.edits(of: id) != nil { transaction.setEdits(nil, of: id) }
        count += 1
      }
      if !hasMore { transaction.forgetDeletions(ofSource: source) }
      return count
    }
    return DeletedBatch(count: count, next: hasMore ? ids.last.map { ExactText($0.description) } : nil)
  }

  package func removeSource(named name: String) async throws(PointWriteError) -> SourceRemoval {
    guard await writer.dataSources.contains(where: { $0.name.hasSameBytes(as: name) }) else { return .unknown }
    return try await write { transaction throws(PointWriteError) in
      transaction.removeSource(named: name)
    }
  }

  package func register(_ sources: [DataSource]) async throws(PointWriteError) {
    try await write { transaction throws(PointWriteError) in transaction.register(sources) }
  }

  /// Commits a write.
  ///
  /// - Parameters:
  ///   - size: the number of places that it changes.
  ///   - bytes: the number of bytes of the place that it writes.
  private func write<Outcome: Sendable>(
    size: Int = 1, bytes: Int = 0,
    _ write: @escaping @Sendable (inout WriteTransaction) throws(PointWriteError) -> Outcome
  ) async throws(PointWriteError) -> Outcome {
    let result: Result<Outcome, PointWriteError>
    do throws(PointStoreError) {
      result = try await writer.commit(size: size + bytes / Self.bytesOfOne) { transaction in
        Result { () throws(PointWriteError) in try write(&transaction) }
      }
    } catch {
      throw .store(error)
    }
    return try result.get()
  }

  /// The number of bytes of a place for which a group of writes has room for one more place.
  private static let bytesOfOne = 1 << 15

  // MARK: Imports

  /// O(n log n) for n rows. Until the import is committed, rows that change something are held, repeated ones once, and
  /// of rows that equal a place of the store some 30 bytes. A dry run needs as much memory as an import, but for the
  /// index of its places.
  ///
  /// Imports are planned and committed one at a time. Other writes wait for the commit, and not for the plan, unless
  /// they have changed places that it depends on ``maximumPlans`` times.
  package func importRows<Batches: AsyncSequence & Sendable>(
    _ batches: Batches, options: ImportOptions
  ) async throws -> ImportReport where Batches.Element == [ImportRow] {
    if options.dryRun {
      let now = clock.now()
      let staged = try await staged(batches, ids: NewIDs(at: now), options.reserve)
      let (snapshot, edits) = await writer.placesAndEdits
      let report = await offThreadPool {
        Result {
          try ImportPlan(staged.take(), options: options, into: snapshot, edits: edits, version: 0, at: now).report
        }
      }
      return try report.get()
    }
    if let key = options.key, let record = try await writer.record(of: key.text, client: key.client) {
      // The hash that distinguishes a repeat from another request covers the whole body.
      for try await _ in batches {}
      return try record.repeated(by: key.hashed(), \.report)
    }
    let staged = try await staged(batches, ids: NewIDs(at: clock.now()), options.reserve)
    await writer.beginImport()
    do {
      let report = try await importPrepared(staged, options)
      await writer.endImport()
      return report
    } catch {
      await writer.endImport()
      throw error
    }
  }

  /// Imports the rows, except those it rejects. Places without an id get one from the given source.
  ///
  /// - Throws: ``Points/PointStoreError``, or the error of the sequence; nothing has been imported then.
  package func load<Batches: AsyncSequence & Sendable>(
    _ batches: Batches,
    ids: any ImportIDSource = DerivedIDs()
  ) async throws -> ImportReport where Batches.Element == [ImportRow] {
    let staged = try await staged(batches, ids: ids)
    await writer.beginImport()
    do {
      // At a start no other write waits, and the rows need not be kept for another plan.
      let report = try await importPlanned(staged, ImportOptions(), key: nil)
      await writer.endImport()
      return report
    } catch {
      await writer.endImport()
      throw error
    }
  }

  /// The number of times that an import is planned beside other writes.
  private static let maximumPlans = 3

  /// Imports the rows by a plan that is made beside other writes, and again if they change places that it depends on.
  private func importPrepared(_ staged: SharedStage, _ options: ImportOptions) async throws -> ImportReport {
    let key = options.key?.hashed()
    for _ in 0..<Self.maximumPlans {
      let (base, formerID) = (await writer.importBase(), formerID(options))
      let changes = base.changes
      let prepared = await offThreadPool {
        Result { try PreparedImport(staged.rows, options: options, formerID: formerID, onto: base) }
      }
      let outcome: Result<ImportReport?, any Error> = try await writer.commit(alone: true) { transaction in
        Result {
          if let report = try transaction.report(forRepeat: key) { return report }
          // An import that fails has no effect: it may have failed before the changes since.
          let prepared = try prepared.get()
          guard prepared.isValid(after: changes) else { return nil }
          guard transaction.hasRoom(for: prepared.edits) else { throw PointStoreError.editsExhausted }
          _ = staged.take()
          transaction.apply(
            prepared.changes(version: transaction.nextVersion(), at: transaction.now), prepared.edits)
          transaction.note(prepared.report, options, key)
          return prepared.report
        }
      }
      if let report = try outcome.get() { return report }
    }
    return try await importPlanned(staged, options, key: key)
  }

  /// Imports the rows by a plan that is made while other writes wait.
  private func importPlanned(
    _ staged: SharedStage, _ options: ImportOptions, key: IdempotencyKey?
  ) async throws -> ImportReport {
    let formerID = formerID(options)
    let outcome: Result<ImportReport, any Error> = try await writer.commit(alone: true) { transaction in
      Result {
        if let report = try transaction.report(forRepeat: key) { return report }
        let plan = try ImportPlan(
          staged.take(), options: options, into: transaction.snapshot, edits: transaction.edits, formerID: formerID,
          version: transaction.nextVersion(), at: transaction.now)
        transaction.apply(PointChanges(puts: plan.puts, removals: plan.removals), plan.editChanges)
        transaction.note(plan.report, options, key)
        return plan.report
      }
    }
    return try outcome.get()
  }

  /// The lookup of the ids of removed places; `nil` if the caller may not have known them.
  private func formerID(_ options: ImportOptions) -> (@Sendable (SourceReference) -> PointID?)? {
    options.admits == nil ? writer.formerID : nil
  }

  /// Returns the stage of all the rows. A batch is staged while the sequence produces the next one.
  ///
  /// - Parameter reserve: see ``Points/ImportOptions/reserve``.
  private func staged<Batches: AsyncSequence & Sendable>(
    _ batches: Batches, ids: any ImportIDSource, _ reserve: (@Sendable (Int) throws -> Void)? = nil
  ) async throws -> SharedStage where Batches.Element == [ImportRow] {
    let stage = SharedStage(ImportStage(against: snapshot, ids: ids))
    var batches = batches.makeAsyncIterator()
    var next = try await batches.next()
    while let batch = next {
      try reserve?(stage.byteCount + batch.reduce(0) { $0 + $1.byteCount })
      // A child task runs on the caller's executor.
      async let appending: Void = stage.append(batch)
      next = try await batches.next()
      await appending
    }
    try reserve?(stage.byteCount)
    return stage
  }
}

extension MemoryStore: AreaStore {
  package func areas(isCurrent: Bool, notBefore position: String?) async throws(PointStoreError) -> Areas {
    writer.areas.withLock { $0 }
  }

  package func recentAreas() -> Areas? { writer.areas.withLock { $0 } }

  package func record(of key: IdempotencyKey) async throws(PointWriteError) -> IdempotencyRecord? {
    try await PointWriteError.wrapping(await writer.record(of: key.text, client: key.client))
  }

  package func commit(
    _ change: AreaChange, onto version: Int64, for client: String?
  ) async throws(PointStoreError) -> Areas? {
    try await writer.commit(alone: true) { $0.apply(change, onto: version) }
  }
}

extension MemoryStore: RecordStore {
  package var isShared: Bool { false }

  package var damagedRows: DamagedRows? { journal?.damagedRows }

  package func records(matching query: RecordQuery) async throws(PointStoreError) -> [Record] {
    let all = writer.featureRecords.withLock { $0 }
    return all.isShort(for: query) ? all.matching(query) : await offThreadPool { all.matching(query) }
  }

  package func summary(of query: RecordQuery) async throws(PointStoreError) -> RecordSummary {
    let all = writer.featureRecords.withLock { $0 }
    return all.isShort(for: query) ? all.summary(of: query) : await offThreadPool { all.summary(of: query) }
  }

  package func commit(
    applying batch: PointBatch?, within limits: RecordLimits?,
    _ changes: @escaping @Sendable ([PointOperationResult]) throws(PointStoreError) -> [RecordChange]
  ) async throws(PointWriteError) -> RecordOutcome {
    try await write(size: max(batch?.operations.count ?? 1, 1)) { transaction throws(PointWriteError) in
      try transaction.commit(applying: batch, within: limits, changes)
    }
  }

  package func removeRecords(
    of collection: RecordCollection, keptUntil now: Timestamp
  ) async throws(PointStoreError) -> Int {
    try await writer.commit { $0.removeRecords(of: collection, keptUntil: now) }
  }
}

extension PlaceEdits {
  /// Returns a Boolean value that indicates whether the place still is the one that was edited, or is deleted. Another
  /// program may have changed it.
  fileprivate func isCurrent(in snapshot: PointSnapshot) -> Bool {
    if isDeletion { return snapshot.location(of: id) == nil && snapshot.location(of: origin) == nil }
    return origin == snapshot.point(id: id)?.draft.origin
  }
}

extension WriteTransaction {
  /// Returns the report of an earlier import with the key; `nil` if there is none, and room for that of this import.
  ///
  /// - Throws: ``Points/PointWriteError/keyReused`` for another request, or
  ///   ``Points/PointStoreError/keysExhausted`` if there is none, and no room.
  fileprivate func report(forRepeat key: IdempotencyKey?) throws(PointWriteError) -> ImportReport? {
    guard let key else { return nil }
    return try record(of: key, orRoomFor: IdempotencyRecord.Outcome.reportBytes)?.repeated(by: key, \.report)
  }

  /// Notes the data sets and the key of an import.
  fileprivate mutating func note(_ report: ImportReport, _ options: ImportOptions, _ key: IdempotencyKey?) {
    let takesNothing = options.mode == .atomic && report.rejected > 0
    if report.accepted > 0 { register(options.namedSources) }
    if let key, !takesNothing, !report.isFailure { record(.imported(report), of: key) }
  }
}

/// A stage that one task at a time appends to.
private final class SharedStage: Sendable {
  private let stage: Mutex<ImportStage?>

  init(_ stage: ImportStage) {
    self.stage = Mutex(stage)
  }

  func append(_ batch: [ImportRow]) {
    stage.withLock { $0?.append(batch) }
  }

  /// The number of bytes of memory of the stage.
  var byteCount: Int { stage.withLock { $0?.byteCount ?? 0 } }

  /// A copy of the stage. The texts of the rows are not copied.
  var rows: ImportStage {
    stage.withLock { stage in
      guard let stage else { preconditionFailure("the stage was taken before") }
      return stage
    }
  }

  /// Removes the stage, once, and returns it.
  func take() -> ImportStage {
    stage.withLock { stage in
      guard let taken = stage.take() else { preconditionFailure("the stage was taken before") }
      return taken
    }
  }
}
