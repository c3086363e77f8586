public import Points
import Synchronization

extension MemoryStore: PointImporter {
  /// Takes all the rows but those it rejects, or none when the sequence or the journal fails; see
  /// ``Points/PointImporter/importRows(_:mode:dryRun:once:)``.
  ///
  /// In the order of n log n for n rows. Until the last has come, those are held in memory that bring something new, each
  /// once, and eight bytes of each that says what a place is already. A dry run holds 24 bytes of each row, and a repeat
  /// nothing.
  public func importRows<Batches: AsyncSequence & Sendable>(
    _ batches: Batches,
    mode: ImportMode,
    dryRun: Bool,
    once key: ImportKey?
  ) async throws -> ImportReport where Batches.Element == [ImportRow] {
    if dryRun { return ImportRehearsal(try await staged(batches), mode: mode).report }
    if let key, let known = await writer.answer(to: key.text) {
      // What tells a repeat from another request is its whole body.
      for try await _ in batches {}
      return try known.report(ofRepeat: key.hashed())
    }
    return try await importRows(batches, mode: mode, once: key) { NewIDs(at: $0) }
  }

  /// Takes all the rows but those it rejects, as an import does, and gives the places that come without an id those of a
  /// source.
  ///
  /// - Throws: ``Points/PointStoreError``, or what the sequence throws; nothing has been taken then.
  public func load<Batches: AsyncSequence & Sendable>(
    _ batches: Batches,
    ids: any ImportIDSource = DerivedIDs()
  ) async throws -> ImportReport where Batches.Element == [ImportRow] {
    try await importRows(batches, mode: .partial, once: nil) { _ in ids }
  }

  private func importRows<Batches: AsyncSequence & Sendable>(
    _ batches: Batches,
    mode: ImportMode,
    once key: ImportKey?,
    ids: @escaping @Sendable (_ now: Timestamp) -> any ImportIDSource
  ) async throws -> ImportReport where Batches.Element == [ImportRow] {
    let stage: ImportStage<StagedPlace> = try await staged(batches)
    let key = key?.hashed()
    let outcome: Result<ImportReport, PointWriteError> = try await writer.run(alone: true) { draft in
      if let key, let known = draft.answer(to: key) {
        return Result { () throws(PointWriteError) in try known.report(ofRepeat: key) }
      }
      let plan = ImportPlan(
        stage,
        mode: mode,
        into: draft.snapshot,
        ids: ids(draft.now),
        version: draft.nextVersion(),
        at: draft.now
      )
      draft.take(plan)
      let takesNothing = mode == .atomic && plan.report.rejected > 0
      if let key, !takesNothing { draft.remember(key, answer: .report(plan.report)) }
      return .success(plan.report)
    }
    return try outcome.get()
  }

  /// Gathers the rows. While some are looked at the next ones are read.
  private func staged<Batches: AsyncSequence & Sendable, Entry>(
    _ batches: Batches
  ) async throws -> ImportStage<Entry> where Batches.Element == [ImportRow] {
    let stage = GrowingStage(ImportStage<Entry>(base: snapshot))
    var appending: Task<Void, Never>?
    do {
      for try await batch in batches {
        await appending?.value
        appending = Task { stage.append(batch) }
      }
    } catch {
      await appending?.value
      throw error
    }
    await appending?.value
    return stage.finish()
  }
}

extension AnsweredKey {
  /// The report that a repeat of the import is given.
  ///
  /// - Throws: ``Points/PointWriteError/keyReused`` for another request.
  fileprivate func report(ofRepeat repeated: IdempotencyKey) throws(PointWriteError) -> ImportReport {
    guard key.requestHash == repeated.requestHash, case .report(let report) = answer else { throw .keyReused }
    return report
  }
}

/// A stage that one task at a time adds to.
private final class GrowingStage<Entry: StagedEntry>: Sendable {
  private let stage: Mutex<ImportStage<Entry>?>

  init(_ stage: ImportStage<Entry>) {
    self.stage = Mutex(stage)
  }

  func append(_ batch: [ImportRow]) {
    stage.withLock { $0?.append(batch) }
  }

  /// Lets go of the stage, which is called for once.
  func finish() -> ImportStage<Entry> {
    stage.withLock { stage in
      guard let finished = stage.take() else { preconditionFailure("the stage was finished before") }
      return finished
    }
  }
}
