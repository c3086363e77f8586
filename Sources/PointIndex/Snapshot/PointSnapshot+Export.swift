import CQL2
public import Points

extension PointSnapshot {
  /// The maximum number of places of a batch of an export.
  private static let exportBatch = 250

  /// The number of terms of a filter whose evaluation takes about as long as other conditions do.
  private static let termsPerStep = 8

  /// Passes every matching place to a closure, by id, in batches; the query's limit, order and position are ignored.
  ///
  /// O(n), in memory for one batch.
  ///
  /// - Throws: `CancellationError`, or the error of `consume`.
  public func exportPoints(
    matching query: PointQuery,
    to consume: @Sendable (consuming [PointOfInterest]) async throws -> Void
  ) async throws {
    var walk = PointWalk(self, matching: query)
    // Between batches other transfers have their turns, so that a batch is short whatever the filter.
    let terms = query.filter?.condition.termCount ?? 0
    let steps = max(1, Self.exportBatch * 16 / max(1, terms / Self.termsPerStep))
    while !walk.isAtEnd {
      try Task.checkCancellation()
      let batch = walk.nextBatch(maximumCount: Self.exportBatch, maximumSteps: steps)
      if batch.isEmpty { await Task.yield() } else { try await consume(batch) }
    }
  }
}
