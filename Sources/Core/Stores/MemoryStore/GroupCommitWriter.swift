import Basics
import PointIndex
import Points
import Synchronization

/// A writer that commits writes in groups: those that arrive during a commit form the next group.
///
/// Writes of many places take turns with groups of others, and imports come one at a time, so that a small write waits
/// for one large one at most, however many there are.
///
/// A group is decided write by write, committed to the journal as one batch, and only then visible to readers and
/// acknowledged. A waiting caller blocks no thread.
actor GroupCommitWriter {
  /// Acknowledges a write, or reports that its commit failed.
  private typealias Completion = @Sendable (Result<Void, PointStoreError>) -> Void

  private struct PendingWrite: Sendable {
    let isAlone: Bool
    /// The number of places that the write changes; a long place counts as several.
    let size: Int
    /// Applies the write to the transaction, and returns what to call after the commit.
    let apply: @Sendable (inout WriteTransaction) -> Completion
  }

  /// The maximum number of places that a group of several writes changes.
  private static let maximumGroup = 512

  /// The number of places above which the changes of a group would delay reads of this actor, and above which a write
  /// is a large one.
  private static let maximumAtOnce = 64

  private let index: PointIndex
  private let journal: (any PointJournal)?
  private let clock: MonotoneClock
  private let changes: ChangeHub
  private let changeLog: MemoryChangeLog

  private var versions: VersionCounter
  private var dataVersions: DataVersionSequence

  /// The greatest version that the journal has.
  private var committedVersion: Int64
  private var keys: IdempotencyKeyCache
  private var sources: [ExactText: DataSource]

  /// The ids of removed places by their source references that are committed. A plan of an import reads it without a
  /// reference that would have it copied.
  private nonisolated let formerIDs: Mutex<[SourceReference: PointID]>

  /// The edits of places that are committed.
  nonisolated let edits: Mutex<EditTable>

  /// The named areas that are committed.
  nonisolated let areas: Mutex<Areas>

  /// The records of features that are committed.
  nonisolated let featureRecords: Mutex<RecordTable>

  private var pending: [PendingWrite] = []

  /// The large writes that wait.
  private var pendingLarge: [PendingWrite] = []

  /// A Boolean value that indicates whether the first large write has waited for a group of others already.
  private var hasPassedLarge = false

  private var isWriting = false

  /// A Boolean value that indicates whether an import is planned or committed.
  private var isImporting = false

  /// The imports that wait for the one before them.
  private var waitingImports: [CheckedContinuation<Void, Never>] = []

  /// The changes since the present import was planned; `nil` if there is none.
  private var observedChanges: ObservedChanges?

  /// The index as of the last anchor.
  private var anchored: AnchoredIndex?

  /// The version of the index in the files, if it is known, and its anchor; `nil` if there is none.
  private var kept: (version: DataVersion?, anchor: JournalAnchor)?

  /// The segments that are in files but not read from there yet.
  private var unreadSegments: IndexFiles.SavedSegments?

  /// The merges of large parts, which would delay the writes.
  private let merger = PartMerger()

  /// Creates a writer.
  ///
  /// - Parameters:
  ///   - journal: the journal that batches are committed to; `nil` where nothing is kept.
  ///   - committedVersion: the greatest version that the journal has.
  ///   - changes: the hub of the log.
  ///   - kept: the anchor of the files that the index is from, and its version if it has not changed since; `nil` for
  ///     none.
  init(
    index: PointIndex,
    journal: (any PointJournal)?,
    keys: IdempotencyKeyCache,
    sources: [DataSource],
    formerIDs: [SourceReference: PointID],
    edits: EditTable,
    areas: Areas,
    featureRecords: RecordTable,
    versions: VersionCounter,
    committedVersion: Int64,
    dataVersions: DataVersionSequence,
    changeLog: MemoryChangeLog,
    changes: ChangeHub,
    kept: (version: DataVersion?, anchor: JournalAnchor)?,
    clock: MonotoneClock
  ) {
    self.sources = Dictionary(sources.map { (ExactText($0.name), $0) }) { $1 }
    self.formerIDs = Mutex(formerIDs)
    self.edits = Mutex(edits)
    self.areas = Mutex(areas)
    self.featureRecords = Mutex(featureRecords)
    self.index = index
    self.journal = journal
    self.keys = keys
    self.versions = versions
    self.committedVersion = committedVersion
    self.dataVersions = dataVersions
    self.changeLog = changeLog
    self.changes = changes
    self.kept = kept
    self.clock = clock
  }

  /// Returns the record of an earlier request with a key; `nil` if there is none.
  ///
  /// - Throws: ``Points/PointStoreError/keysExhausted`` if there is none, and no room for the report of an import.
  func record(of key: String, client: String) throws(PointStoreError) -> IdempotencyRecord? {
    let now = clock.now()
    keys.removeExpired(at: now)
    if let record = keys.record(of: key, at: now) { return record }
    guard keys.hasRoom(for: IdempotencyRecord.Outcome.reportBytes, of: client) else { throw .keysExhausted }
    return nil
  }

  /// The registered data sets, by name.
  var dataSources: [DataSource] { sources.values.sorted { ExactText($0.name) < ExactText($1.name) } }

  /// The number of writes that wait for the next groups.
  var pendingCount: Int { pending.count + pendingLarge.count }

  /// The number of imports that wait for the one before them.
  var waitingImportCount: Int { waitingImports.count }

  // MARK: Imports

  /// Returns when no other import is planned or committed. ``endImport()`` must follow.
  func beginImport() async {
    if isImporting { return await withCheckedContinuation { waitingImports.append($0) } }
    isImporting = true
  }

  /// Lets the next import begin.
  func endImport() {
    observedChanges = nil
    if waitingImports.isEmpty { isImporting = false } else { waitingImports.removeFirst().resume() }
  }

  /// Returns the present state for a plan of the import that has begun. Changes are noted from now on.
  func importBase() -> ImportBase {
    let (changes, now) = (ObservedChanges(), clock.now())
    observedChanges = changes
    var versions = self.versions
    let (snapshot, edits) = placesAndEdits
    return ImportBase(
      snapshot: snapshot, edits: edits, now: now, version: versions.next(at: now), changes: changes)
  }

  /// The places and the edits of the same moment.
  var placesAndEdits: (PointSnapshot, EditTable) { (index.snapshot, edits.withLock { $0 }) }

  /// The lookup of the id of the removed place that had a source reference; `nil` if there are no such places.
  nonisolated var formerID: (@Sendable (SourceReference) -> PointID?)? {
    if formerIDs.withLock({ $0.isEmpty }) { return nil }
    return { [self] source in formerIDs.withLock { $0[source] } }
  }

  // MARK: Groups

  /// Commits a write, in one group with others that arrive at the same time.
  ///
  /// - Parameters:
  ///   - isAlone: a Boolean value that indicates whether the write forms a group of its own, because it is large.
  ///   - size: the number of places that the write changes.
  ///   - write: applies the write to the transaction, and returns its outcome.
  /// - Throws: ``PointStoreError`` where the commit failed; the write had no effect then.
  func commit<Outcome: Sendable>(
    alone isAlone: Bool = false,
    size: Int = 1,
    _ write: @escaping @Sendable (inout WriteTransaction) -> Outcome
  ) async throws(PointStoreError) -> Outcome {
    let result: Result<Outcome, PointStoreError> = await withCheckedContinuation { continuation in
      let pendingWrite = PendingWrite(isAlone: isAlone, size: size) { transaction in
        let outcome = write(&transaction)
        return { committed in continuation.resume(returning: committed.map { outcome }) }
      }
      if isAlone || size > Self.maximumAtOnce {
        pendingLarge.append(pendingWrite)
      } else {
        pending.append(pendingWrite)
      }
      guard !isWriting else { return }
      isWriting = true
      // The caller's task may be cancelled; its write is not.
      Task { await commitAll() }
    }
    return try result.get()
  }

  private func commitAll() async {
    while pendingCount > 0 {
      adoptParts()
      let (completions, result) = await commit(nextGroup())
      // Only now that nothing here holds references to the group's values.
      for completion in completions { completion(result) }
    }
    isWriting = false
    adoptParts()
  }

  private func nextGroup() -> [PendingWrite] {
    let isLarge = pending.isEmpty || hasPassedLarge && !pendingLarge.isEmpty
    hasPassedLarge = !isLarge && !pendingLarge.isEmpty
    return isLarge ? Self.takeGroup(of: &pendingLarge) : Self.takeGroup(of: &pending)
  }

  private static func takeGroup(of pending: inout [PendingWrite]) -> [PendingWrite] {
    var (count, size) = (1, pending[0].size)
    while !pending[0].isAlone, count < pending.count, !pending[count].isAlone {
      size += pending[count].size
      if size > maximumGroup { break }
      count += 1
    }
    defer { pending.removeFirst(count) }
    return Array(pending[..<count])
  }

  private func commit(_ group: [PendingWrite]) async -> ([Completion], Result<Void, PointStoreError>) {
    // While nothing else refers to the keys, so that they are not copied.
    keys.removeExpired(at: clock.now())
    // The next snapshot is built before the commit, so that nothing can fail after it. An import takes long; reads of
    // this actor go on meanwhile.
    let takesLong = group[0].isAlone || group.reduce(0) { $0 + $1.size } > Self.maximumAtOnce
    let (batch, next, nextAreas, nextRecords, completions) =
      takesLong
      ? await offThreadPool { [work = groupWork()] in work.applied(group) } : groupWork().applied(group)
    // Even if the commit fails: the journal may have kept the batch all the same.
    versions.pass(batch.highestVersion)
    do throws(PointStoreError) {
      if !batch.isEmpty || batch.anchor != nil {
        try await journal?.commit(batch)
        committedVersion = batch.highestVersion
      }
      if !batch.featureRecords.isEmpty { featureRecords.withLock { $0 = nextRecords } }
      if !batch.hasOnlyFeatureRecords {
        for record in batch.records { keys.insert(record) }
        for source in batch.sources { sources[ExactText(source.name)] = source }
        for name in batch.removedSources { sources[ExactText(name)] = nil }
        if !batch.formerIDs.isEmpty { formerIDs.withLock { $0.merge(batch.formerIDs) { $1 } } }
        let former = index.snapshot
        // An import need not know its own changes.
        if let observedChanges, !group[0].isAlone {
          observedChanges.note(
            batch, from: former, edits.withLock { table in batch.edits.keys.compactMap { table[$0] } })
        }
        if !batch.edits.isEmpty { edits.withLock { $0.apply(batch.edits) } }
        areas.withLock { $0 = nextAreas }
        index.replace(with: next, version: dataVersions.next())
        if batch.hasChanges { publish(batch, from: former, to: next) }
        merge(next)
      }
      if let anchor = batch.anchor {
        anchored = AnchoredIndex(
          snapshot: next, version: dataVersions.last,
          anchor: JournalAnchor(token: anchor.token, version: batch.highestVersion))
      }
      return (completions, .success(()))
    } catch {
      return (completions, .failure(error))
    }
  }

  private func publish(_ batch: JournalBatch, from former: PointSnapshot, to next: PointSnapshot) {
    let removals = batch.removals.map { PointRemoval(id: $0, version: batch.removalVersion) }
    changeLog.note(batch, removals: removals)
    if batch.putCount + removals.count > Self.maximumPublished { return changes.interrupt() }
    changes.publish(
      .init(
        from: former, to: next, puts: (0..<batch.puts.count).map { batch.puts.id(at: $0) }, removals: removals,
        position: changeLog.position))
  }

  /// The number of changes of a batch above which subscribers read the log.
  private static let maximumPublished = 1_000

  private func merge(_ snapshot: PointSnapshot) {
    merger.merge(snapshot) { Task { await self.adoptPartsIfIdle() } }
  }

  private func adoptPartsIfIdle() {
    if !isWriting { adoptParts() }
  }

  /// Puts merged parts, and those that were written to files, into the index, which has the same places then.
  private func adoptParts() {
    let (snapshot, version) = index.current
    var next = merger.adopted(by: snapshot) ?? snapshot
    if let saved = unreadSegments.take() { next = next.reading(saved) }
    if next === snapshot { return }
    index.replace(with: next, version: version)
    // A merge of parts that were replaced meanwhile is lost.
    merge(next)
  }

  // MARK: Files

  /// An index and the anchor that was committed with it.
  private struct AnchoredIndex {
    let snapshot: PointSnapshot
    let version: DataVersion
    let anchor: JournalAnchor
  }

  /// Writes the index into files, standing for an anchor that is committed before. One call at a time.
  ///
  /// - Returns: `false` if the files have the index.
  /// - Throws: ``Points/PointStoreError`` or ``PointIndex/IndexFileError``; the files are unchanged then.
  func save(to files: IndexFiles) async throws -> Bool {
    if let kept, kept.version == dataVersions.last { return false }
    let anchor = JournalBatch.NewAnchor(token: JournalAnchor.newToken(), former: kept?.anchor)
    try await commit { $0.anchor = anchor }
    guard let anchored = anchored.take() else { preconditionFailure("the anchor was committed") }
    let saved = try await offThreadPool {
      Result { () throws(IndexFileError) in
        try files.save(anchored.snapshot, standingFor: anchored.anchor.text)
      }
    }.get()
    kept = (anchored.version, anchored.anchor)
    if !saved.isEmpty { unreadSegments = saved }
    adoptPartsIfIdle()
    return true
  }

  /// Returns what a group of writes is applied to. While it is referenced, a change of the keys or of the former ids
  /// copies all of them.
  private func groupWork() -> GroupWork {
    let snapshot = index.snapshot
    return GroupWork(
      snapshot: snapshot, isJournaled: journal != nil, sources: sources,
      committedVersion: committedVersion,
      transaction: WriteTransaction(
        on: snapshot, keys: keys, formerIDs: formerIDs.withLock { $0 }, edits: edits.withLock { $0 },
        areas: areas.withLock { $0 }, featureRecords: featureRecords.withLock { $0 }, versions: versions,
        now: clock.now()))
  }

  private struct GroupWork: Sendable {
    let snapshot: PointSnapshot
    let isJournaled: Bool
    let sources: [ExactText: DataSource]
    let committedVersion: Int64
    let transaction: WriteTransaction

    /// Applies writes.
    func applied(
      _ group: [PendingWrite]
    ) -> (
      batch: JournalBatch, next: PointSnapshot, areas: Areas, featureRecords: RecordTable, completions: [Completion]
    ) {
      var transaction = transaction
      let completions = group.map { $0.apply(&transaction) }
      let changes = transaction.takeChanges()
      var batch = transaction.batch(of: changes)
      batch.sources = batch.sources.compactMap { source in
        let known = sources[ExactText(source.name)]
        let merged = source.completed(by: known)
        return merged == known ? nil : merged
      }
      batch.removalVersion = min(committedVersion, PointOfInterest.versionLimit) + 1
      // Versions that were passed over are not committed: the time of the last write stays.
      if batch.isEmpty { batch.highestVersion = committedVersion }
      // So that the snapshot is built while their memory is freed.
      if !isJournaled, batch.putCount > MemoryChangeLog.capacity { batch.puts = PointBuffer() }
      return (
        batch, snapshot.applying(changes, joiningUpTo: PointSnapshot.largestPartOfChange), transaction.areas,
        transaction.featureRecords, completions
      )
    }
  }
}
