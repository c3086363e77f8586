public import Points

extension MemoryStore: PointImporter {
  /// Takes all the rows, or none when the sequence fails; see ``Points/PointImporter/importRows(_:dryRun:)``.
  ///
  /// In the order of n log n for n rows. They are held in memory until the last has come.
  public func importRows<Batches: AsyncSequence & Sendable>(
    _ batches: Batches,
    dryRun: Bool
  ) async throws -> ImportReport where Batches.Element == [ImportRow] {
    var collected = ContiguousArray<ImportRow>()
    for try await batch in batches { Self.append(batch, to: &collected) }
    let rows = collected
    return await write { snapshot, context in
      let plan = ImportPlan(rows, into: snapshot, ids: context.ids, at: context.clock.now())
      return (dryRun ? SnapshotChanges() : plan.changes, plan.report)
    }
  }

  /// Outside the generic function, so that it is compiled for rows and not for whatever a batch might hold.
  private static func append(_ batch: [ImportRow], to rows: inout ContiguousArray<ImportRow>) {
    rows.append(contentsOf: batch)
  }
}
