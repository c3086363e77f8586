import CQL2
import Geo
public import Points

extension PointSnapshot {
  /// The maximum number of places of a batch of an export.
  private static let exportBatch = 250

  /// The numbers of terms of a filter, of pieces of a route and of positions of an area whose evaluation takes about as
  /// long as other conditions do.
  private static let termsPerStep = 8
  private static let piecesPerStep = 8
  private static let areaPositionsPerStep = 64

  /// Returns the number of places that are examined for a batch. Between batches other transfers have their turns, so
  /// that a batch is short whatever the conditions.
  static func stepsPerBatch(of query: PointQuery) -> Int {
    let terms = query.filter?.condition.termCount ?? 0
    let pieces = query.route?.line.pieceCount ?? 0
    let positions = query.area?.shape.polygons.reduce(0) { $0 + $1.reduce(0) { $0 + $1.count } } ?? 0
    let conditions = terms / termsPerStep + pieces / piecesPerStep + positions / areaPositionsPerStep
    return max(1, exportBatch * 16 / max(1, conditions))
  }

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
    let steps = Self.stepsPerBatch(of: query)
    while !walk.isAtEnd {
      try Task.checkCancellation()
      let batch = walk.nextBatch(maximumCount: Self.exportBatch, maximumSteps: steps)
      if batch.isEmpty { await Task.yield() } else { try await consume(batch) }
    }
  }
}
