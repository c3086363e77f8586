import CQL2
import Geo
public import Points

/// A walk through the matching places of a snapshot in the order of their ids: a merge of its few parts.
///
/// O(n) in all; it holds no more than the batch that it returns.
public struct PointWalk: Sendable {
  private let snapshot: PointSnapshot
  private let filter: QueryFilter

  /// A Boolean value that indicates whether the filter reads names and tags.
  private let readsTexts: Bool
  private var positions: [Int]

  /// Creates a walk that begins before the first place. The limit, the order and the position of the query are ignored.
  public init(_ snapshot: PointSnapshot, matching query: PointQuery) {
    self.snapshot = snapshot
    filter = QueryFilter(query)
    readsTexts = query.filter != nil
    positions = Array(repeating: 0, count: snapshot.parts.count)
  }

  /// A Boolean value that indicates whether all places have been passed.
  public var isAtEnd: Bool {
    zip(snapshot.parts, positions).allSatisfy { part, position in position == part.segment.count }
  }

  /// The maximum number of bytes of names and tags of a batch of several places. Each of many concurrent exports holds
  /// a batch.
  private static let maximumTextBytes = 16 * 1024

  /// The maximum number of bytes of names and tags that the filter of a batch may read.
  private static let maximumExaminedBytes = 1 << 20

  /// Returns the next matching places; an empty batch is not the end.
  ///
  /// - Parameters:
  ///   - maximumCount: the maximum number of places; there are fewer where their texts are long.
  ///   - maximumSteps: the maximum number of places that are examined.
  public mutating func nextBatch(maximumCount: Int, maximumSteps: Int) -> [PointOfInterest] {
    var found: [PointOfInterest] = []
    var (textBytes, examinedBytes) = (0, 0)
    for _ in 0..<maximumSteps where examinedBytes < Self.maximumExaminedBytes {
      guard found.count < maximumCount, let (index, slot) = next() else { break }
      let part = snapshot.parts[index]
      if readsTexts { examinedBytes += part.segment.records.columns.textBytes(at: slot) }
      if !part.isDead(slot), filter.matches(slot, of: part.segment) {
        textBytes += part.segment.records.columns.textBytes(at: slot)
        guard found.isEmpty || textBytes <= Self.maximumTextBytes else { break }
        found.append(part.segment.point(at: slot))
      }
      positions[index] += 1
    }
    return found
  }

  /// Returns the part and the slot of the place with the least id of those that are left.
  private func next() -> (part: Int, slot: Int)? {
    var next: (id: PointID, part: Int, slot: Int)?
    for (index, part) in snapshot.parts.enumerated() where positions[index] < part.segment.count {
      let slot = Int(part.segment.slotsByID[positions[index]])
      let id = part.segment.columns.ids[slot]
      if let next, next.id < id { continue }
      next = (id, index, slot)
    }
    return next.map { ($0.part, $0.slot) }
  }
}

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
    let positions = [query.area, query.restriction?.area].compactMap(\.self).reduce(0) { sum, area in
      area.polygons.reduce(sum) { $0 + $1.reduce(0) { $0 + $1.count } }
    }
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
