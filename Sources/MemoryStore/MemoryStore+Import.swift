import PointIndex
package import Points
import Synchronization

extension MemoryStore: PointImporter {
  /// Imports the rows, except those it rejects, or none when the sequence or the journal fails; see
  /// ``Points/PointImporter/importRows(_:options:)``.
  ///
  /// O(n log n) for n rows. Until the last row has arrived, rows that change something are held, repeated ones once,
  /// and of rows that equal a place of the store some 30 bytes. A dry run needs as much memory as an import.
  package func importRows<Batches: AsyncSequence & Sendable>(
    _ batches: Batches, options: ImportOptions
  ) async throws -> ImportReport where Batches.Element == [ImportRow] {
    if options.dryRun {
      let (stage, now) = (try await staged(batches), clock.now())
      let plan = await offThreadPool { [snapshot] in
        ImportPlan(
          stage, mode: options.mode, removal: options.removal, into: snapshot, ids: NewIDs(at: now), version: 0, at: now
        )
      }
      if let failure = plan.failure { throw failure }
      return plan.report
    }
    if let key = options.key, let record = await writer.record(of: key.text) {
      // The hash that distinguishes a repeat from another request covers the whole body.
      for try await _ in batches {}
      return try record.report(forRepeat: key.hashed())
    }
    return try await importRows(batches, options) { NewIDs(at: $0) }
  }

  /// Imports the rows, except those it rejects. Places without an id get one from the given source.
  ///
  /// - Throws: ``Points/PointStoreError``, or the error of the sequence; nothing has been imported then.
  package func load<Batches: AsyncSequence & Sendable>(
    _ batches: Batches,
    ids: any ImportIDSource = DerivedIDs()
  ) async throws -> ImportReport where Batches.Element == [ImportRow] {
    try await importRows(batches, ImportOptions()) { _ in ids }
  }

  private func importRows<Batches: AsyncSequence & Sendable>(
    _ batches: Batches,
    _ options: ImportOptions,
    ids: @escaping @Sendable (_ now: Timestamp) -> any ImportIDSource
  ) async throws -> ImportReport where Batches.Element == [ImportRow] {
    let stage = try await staged(batches)
    let key = options.key?.hashed()
    let outcome: Result<ImportReport, any Error> = try await writer.commit(alone: true) { transaction in
      if let key, let record = transaction.record(of: key) {
        return Result { try record.report(forRepeat: key) }
      }
      let plan = ImportPlan(
        stage,
        mode: options.mode,
        removal: options.removal,
        into: transaction.snapshot,
        ids: ids(transaction.now),
        version: transaction.nextVersion(),
        at: transaction.now
      )
      if let failure = plan.failure { return .failure(failure) }
      transaction.apply(plan)
      let takesNothing = options.mode == .atomic && plan.report.rejected > 0
      if !takesNothing { transaction.register(options.sources) }
      if let key, !takesNothing { transaction.record(.imported(plan.report), of: key) }
      return .success(plan.report)
    }
    return try outcome.get()
  }

  /// Returns all the rows. A batch is staged while the sequence produces the next one.
  private func staged<Batches: AsyncSequence & Sendable>(
    _ batches: Batches
  ) async throws -> ImportStage where Batches.Element == [ImportRow] {
    let stage = SharedStage(ImportStage(against: snapshot))
    // A child task runs on the caller's executor.
    try await withThrowingTaskGroup(of: Void.self) { group in
      for try await batch in batches {
        _ = try await group.next()
        group.addTask { stage.append(batch) }
      }
      try await group.waitForAll()
    }
    return stage.take()
  }
}

extension IdempotencyRecord {
  /// Returns the report of the import for a repeat of it.
  ///
  /// - Throws: ``Points/PointWriteError/keyReused`` for another request.
  fileprivate func report(forRepeat repeated: IdempotencyKey) throws(PointWriteError) -> ImportReport {
    guard key.requestHash == repeated.requestHash, case .imported(let report) = outcome else { throw .keyReused }
    return report
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

  /// Removes the stage, once, and returns it.
  func take() -> ImportStage {
    stage.withLock { stage in
      guard let taken = stage.take() else { preconditionFailure("the stage was taken before") }
      return taken
    }
  }
}
