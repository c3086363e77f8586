public import Points
import Synchronization

extension MemoryStore: PointImporter {
  /// Takes all the rows but those it rejects, or none when the sequence or the journal fails; see
  /// ``Points/PointImporter/importRows(_:mode:dryRun:)``.
  ///
  /// In the order of n log n for n rows. Until the last has come, those are held in memory that bring something new, each
  /// once, and eight bytes of each that says what a place is already. A rehearsal holds 24 bytes of each row.
  public func importRows<Batches: AsyncSequence & Sendable>(
    _ batches: Batches,
    mode: ImportMode,
    dryRun: Bool
  ) async throws -> ImportReport where Batches.Element == [ImportRow] {
    if dryRun { return ImportRehearsal(try await staged(batches), mode: mode).report }
    return try await importRows(batches, mode: mode) { NewIDs(at: $0) }
  }

  /// Takes all the rows but those it rejects, as an import does, and gives the places that come without an id those of a
  /// source.
  ///
  /// - Throws: ``Points/PointStoreError``, or what the sequence throws; nothing has been taken then.
  public func load<Batches: AsyncSequence & Sendable>(
    _ batches: Batches,
    ids: any ImportIDSource = DerivedIDs()
  ) async throws -> ImportReport where Batches.Element == [ImportRow] {
    try await importRows(batches, mode: .partial) { _ in ids }
  }

  private func importRows<Batches: AsyncSequence & Sendable>(
    _ batches: Batches,
    mode: ImportMode,
    ids: @escaping @Sendable (_ now: Timestamp) -> any ImportIDSource
  ) async throws -> ImportReport where Batches.Element == [ImportRow] {
    let stage: ImportStage<StagedPlace> = try await staged(batches)
    return try await writer.run(alone: true) { draft in
      let plan = ImportPlan(
        stage,
        mode: mode,
        into: draft.snapshot,
        ids: ids(draft.now),
        version: draft.nextVersion(),
        at: draft.now
      )
      draft.take(plan)
      return plan.report
    }
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
