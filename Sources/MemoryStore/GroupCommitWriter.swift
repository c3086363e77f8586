import Basics
import PointIndex
import Points

/// A writer that commits writes in groups: those that arrive during a commit form the next group.
///
/// A group is decided write by write, committed to the journal as one batch, and only then visible to readers and
/// acknowledged. A waiting caller blocks no thread.
actor GroupCommitWriter {
  /// Acknowledges a write, or reports that its commit failed.
  private typealias Completion = @Sendable (Result<Void, PointStoreError>) -> Void

  private struct PendingWrite: Sendable {
    let isAlone: Bool
    /// Applies the write to the transaction, and returns what to call after the commit.
    let apply: @Sendable (inout WriteTransaction) -> Completion
  }

  /// The maximum number of writes of a group.
  private static let maximumGroup = 512

  private let index: PointIndex
  private let journal: (any PointJournal)?
  private let clock: MonotoneClock

  private var versions: VersionCounter
  private var dataVersions: DataVersionSequence
  private var keys: IdempotencyKeyCache
  private var evictedKeys: [String] = []
  private var sources: [ExactText: DataSource]
  private var formerIDs: [SourceReference: PointID]
  private var pending: [PendingWrite] = []
  private var isWriting = false

  /// The merges of large parts, which would delay the writes.
  private let merger = PartMerger()

  /// Creates a writer.
  ///
  /// - Parameter journal: the journal that batches are committed to; `nil` where nothing is kept.
  init(
    index: PointIndex,
    journal: (any PointJournal)?,
    keys: IdempotencyKeyCache,
    sources: [DataSource],
    formerIDs: [SourceReference: PointID],
    versions: VersionCounter,
    dataVersions: DataVersionSequence,
    clock: MonotoneClock
  ) {
    self.sources = Dictionary(sources.map { (ExactText($0.name), $0) }) { $1 }
    self.formerIDs = formerIDs
    self.index = index
    self.journal = journal
    self.keys = keys
    self.versions = versions
    self.dataVersions = dataVersions
    self.clock = clock
  }

  /// Returns the record of an earlier request with that key, or `nil`.
  func record(of key: String) -> IdempotencyRecord? { keys.record(of: key, at: clock.now()) }

  /// The registered data sets, by name.
  var dataSources: [DataSource] { sources.values.sorted { ExactText($0.name) < ExactText($1.name) } }

  /// The number of writes that wait for the next group.
  var pendingCount: Int { pending.count }

  /// Commits a write, in one group with others that arrive at the same time.
  ///
  /// - Parameters:
  ///   - isAlone: a Boolean value that indicates whether the write forms a group of its own, because it is large.
  ///   - write: applies the write to the transaction, and returns its outcome.
  /// - Throws: ``PointStoreError`` where the commit failed; the write had no effect then.
  func commit<Outcome: Sendable>(
    alone isAlone: Bool = false,
    _ write: @escaping @Sendable (inout WriteTransaction) -> Outcome
  ) async throws(PointStoreError) -> Outcome {
    let result: Result<Outcome, PointStoreError> = await withCheckedContinuation { continuation in
      pending.append(
        PendingWrite(isAlone: isAlone) { transaction in
          let outcome = write(&transaction)
          return { committed in continuation.resume(returning: committed.map { outcome }) }
        }
      )
      guard !isWriting else { return }
      isWriting = true
      // The caller's task may be cancelled; its write is not.
      Task { await commitAll() }
    }
    return try result.get()
  }

  private func commitAll() async {
    while !pending.isEmpty {
      adoptMerge()
      let (completions, result) = await commit(nextGroup())
      // Only now that nothing here holds references to the group's values.
      for completion in completions { completion(result) }
    }
    isWriting = false
    adoptMerge()
  }

  private func nextGroup() -> [PendingWrite] {
    let count = pending[0].isAlone ? 1 : pending.prefix(Self.maximumGroup).prefix { !$0.isAlone }.count
    defer { pending.removeFirst(count) }
    return Array(pending[..<count])
  }

  private func commit(_ group: [PendingWrite]) async -> ([Completion], Result<Void, PointStoreError>) {
    // The next snapshot is built before the commit, so that nothing can fail after it. An import takes long; reads of
    // this actor go on meanwhile.
    let (batch, next, completions) =
      group[0].isAlone
      ? await offThreadPool { [work = groupWork()] in work.applied(group) } : groupWork().applied(group)
    // Even if the commit fails: the journal may have kept the batch all the same.
    versions.pass(batch.highestVersion)
    do throws(PointStoreError) {
      if !batch.isEmpty {
        try await journal?.commit(batch)
        // Keys evicted for new ones leave the journal with the next batch.
        evictedKeys = batch.records.flatMap { keys.insert($0) }
        for source in batch.sources { sources[ExactText(source.name)] = source }
        for name in batch.removedSources { sources[ExactText(name)] = nil }
        formerIDs.merge(batch.formerIDs) { $1 }
        index.replace(with: next, version: dataVersions.next(at: clock.now()))
        merger.merge(next) { Task { await self.adoptMergeIfIdle() } }
      }
      return (completions, .success(()))
    } catch {
      return (completions, .failure(error))
    }
  }

  private func adoptMergeIfIdle() {
    if !isWriting { adoptMerge() }
  }

  /// Puts merged parts into the index, which has the same places then.
  private func adoptMerge() {
    let (snapshot, version) = index.current
    if let merged = merger.adopted(by: snapshot) { index.replace(with: merged, version: version) }
  }

  /// Returns what a group of writes is applied to. While it is referenced, a change of the keys or of the former ids
  /// copies all of them.
  private func groupWork() -> GroupWork {
    let snapshot = index.snapshot
    return GroupWork(
      snapshot: snapshot, sources: sources, evictedKeys: evictedKeys,
      transaction: WriteTransaction(
        on: snapshot, keys: keys, formerIDs: formerIDs, versions: versions, now: clock.now()))
  }

  private struct GroupWork: Sendable {
    let snapshot: PointSnapshot
    let sources: [ExactText: DataSource]
    let evictedKeys: [String]
    let transaction: WriteTransaction

    /// Applies writes.
    func applied(
      _ group: [PendingWrite]
    ) -> (batch: JournalBatch, next: PointSnapshot, completions: [Completion]) {
      var transaction = transaction
      let completions = group.map { $0.apply(&transaction) }
      var batch = transaction.batch
      batch.sources = batch.sources.compactMap { source in
        let known = sources[ExactText(source.name)]
        let merged = source.completed(by: known)
        return merged == known ? nil : merged
      }
      if !batch.isEmpty { batch.evictedKeys = evictedKeys }
      let changes = PointChanges(puts: batch.puts, removals: batch.removals)
      let largestJoined = group[0].isAlone ? Int.max : PointSnapshot.largestPartOfChange
      return (batch, snapshot.applying(changes, joiningUpTo: largestJoined), completions)
    }
  }
}
