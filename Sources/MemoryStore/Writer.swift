import Points

/// Makes writes, in groups: those that come while a group is on its way into the journal are the next one.
///
/// A group is decided on write by write, kept in the journal as one batch, and only then seen by readers and answered to
/// its writers. Whoever waits holds no thread.
actor Writer {
  /// Tells whoever waits for a write what came of it.
  private typealias Answer = @Sendable (Result<Void, PointStoreError>) -> Void

  /// A write that waits for its turn: decides, and answers what to tell whoever waits once the journal has or has not
  /// kept it.
  private struct Write {
    let isAlone: Bool
    let decide: @Sendable (inout Draft) -> Answer
  }

  /// How many writes are made as one.
  private static let maximumGroup = 512

  private let current: CurrentSnapshot
  private let journal: any PlaceJournal
  private let clock: MonotoneClock

  private var lastSequence: Int64
  private var versions: VersionCounter
  private var keys: KeyMemory
  private var forgottenKeys: [String] = []
  private var waiting: [Write] = []
  private var isWriting = false

  /// Creates a writer of what is current.
  init(
    current: CurrentSnapshot,
    journal: any PlaceJournal,
    keys: KeyMemory,
    lastSequence: Int64,
    versions: VersionCounter,
    clock: MonotoneClock
  ) {
    self.current = current
    self.journal = journal
    self.keys = keys
    self.lastSequence = lastSequence
    self.versions = versions
    self.clock = clock
  }

  /// What is remembered of a key now.
  func answer(to key: String) -> AnsweredKey? { keys.answer(to: key, at: clock.now()) }

  /// How many writes wait for their turn.
  var waitingCount: Int { waiting.count }

  /// Makes a write, together with others that come at the same time.
  ///
  /// - Parameters:
  ///   - isAlone: whether it is not to share its fate with others, because it is large.
  ///   - decide: does to the draft what the write is, and answers what it came to.
  /// - Throws: ``PointStoreError`` where the journal did not keep it; then it was not made.
  func run<Outcome: Sendable>(
    alone isAlone: Bool = false,
    _ decide: @escaping @Sendable (inout Draft) -> Outcome
  ) async throws(PointStoreError) -> Outcome {
    let result: Result<Outcome, PointStoreError> = await withCheckedContinuation { continuation in
      waiting.append(
        Write(isAlone: isAlone) { draft in
          let outcome = decide(&draft)
          return { kept in continuation.resume(returning: kept.map { outcome }) }
        }
      )
      guard !isWriting else { return }
      isWriting = true
      // Who waits for a write may be cancelled; the write is not.
      Task { await writeAll() }
    }
    return try result.get()
  }

  private func writeAll() async {
    while !waiting.isEmpty {
      let (answers, result) = await write(nextGroup())
      // Only now, when nothing is left here of what the group held.
      for answer in answers { answer(result) }
    }
    isWriting = false
  }

  private func nextGroup() -> [Write] {
    let count = waiting[0].isAlone ? 1 : waiting.prefix(Self.maximumGroup).prefix { !$0.isAlone }.count
    defer { waiting.removeFirst(count) }
    return Array(waiting[..<count])
  }

  /// Makes the writes; answers what is to be told to whom.
  private func write(_ group: [Write]) async -> (answers: [Answer], Result<Void, PointStoreError>) {
    let (batch, next, answers) = decide(group)
    // Also where the journal fails: it may have kept what it does not say.
    versions.pass(batch.highestVersion)
    do throws(PointStoreError) {
      if !batch.isEmpty {
        try await journal.commit(batch)
        finish(batch)
        current.replace(with: next, at: clock.now())
      }
      return (answers, .success(()))
    } catch {
      return (answers, .failure(error))
    }
  }

  /// Decides on a group. What readers are to see is made before the journal keeps it, so that nothing is left that could
  /// go wrong.
  private func decide(
    _ group: [Write]
  ) -> (batch: JournalBatch, next: Snapshot, answers: [Answer]) {
    let snapshot = current.value
    var draft = Draft(of: snapshot, keys: keys, lastSequence: lastSequence, versions: versions, now: clock.now())
    let answers = group.map { $0.decide(&draft) }
    var batch = draft.batch
    batch.forgottenKeys = batch.isEmpty ? [] : forgottenKeys
    return (batch, snapshot.applying(draft.snapshotChanges), answers)
  }

  private func finish(_ batch: JournalBatch) {
    lastSequence = batch.changes.last?.sequence ?? lastSequence
    // What is forgotten for a new key goes from the journal with the next batch.
    forgottenKeys = batch.answeredKeys.flatMap { keys.remember($0) }
  }
}
