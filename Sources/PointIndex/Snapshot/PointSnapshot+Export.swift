public import Points

extension PointSnapshot {
  /// The maximum number of places of a batch of an export.
  private static let exportBatch = 250

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
    while !walk.isAtEnd {
      try Task.checkCancellation()
      let batch = walk.nextBatch(maximumCount: Self.exportBatch, maximumSteps: Self.exportBatch * 16)
      if batch.isEmpty { await Task.yield() } else { try await consume(batch) }
    }
  }
}
