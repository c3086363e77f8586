public import Points

extension MemoryStore: PointImporter {
  /// Takes all the rows but those it rejects, or none when the sequence or the journal fails; see ``Points/PointImporter/importRows(_:mode:dryRun:)``.
  ///
  /// In the order of n log n for n rows. They are held in memory until the last has come.
  public func importRows<Batches: AsyncSequence & Sendable>(
    _ batches: Batches,
    mode: ImportMode,
    dryRun: Bool
  ) async throws -> ImportReport where Batches.Element == [ImportRow] {
    var collected = ContiguousArray<ImportRow>()
    for try await batch in batches { Self.append(batch, to: &collected) }
    let rows = collected
    return try await writer.run(alone: true) { [ids] draft in
      let plan = ImportPlan(rows, mode: mode, into: draft.snapshot, ids: ids, at: draft.now)
      if !dryRun { draft.take(plan.changes) }
      return plan.report
    }
  }

  /// Outside the generic function, so that it is compiled for rows and not for whatever a batch might hold.
  private static func append(_ batch: [ImportRow], to rows: inout ContiguousArray<ImportRow>) {
    rows.append(contentsOf: batch)
  }
}
