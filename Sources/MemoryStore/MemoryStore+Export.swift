import Geo
import JSONText
public import Points

extension MemoryStore: PointExporter {
  /// Hands over every place that matches, from the places of the moment; see
  /// ``Points/PointExporter/exportPoints(matching:to:)``.
  ///
  /// In the order of n, in memory for one batch, which is short even where places are long.
  public func exportPoints(
    matching query: PointQuery,
    to consume: @Sendable (consuming [PointOfInterest]) async throws -> Void
  ) async throws {
    var walk = IDWalk(snapshot, filter: ExportFilter(query))
    while !walk.isOver {
      try Task.checkCancellation()
      let batch = walk.next(count: Self.exportBatch, looking: Self.exportBatch * 16)
      if batch.isEmpty { await Task.yield() } else { try await consume(batch) }
    }
  }

  /// The greatest number of places that are handed over at once.
  private static let exportBatch = 250
}

/// A query's conditions, without its order.
struct ExportFilter {
  private let box: BoxFilter?
  private let proximity: ProximityFilter?
  private let categories: Set<ExactText>
  private let source: PointQuery.Source?

  init(_ query: PointQuery) {
    box = query.box.map { BoxFilter($0) }
    proximity = query.proximity.flatMap { $0.radiusMetres == nil ? nil : ProximityFilter($0, after: nil) }
    categories = query.categories
    source = query.source
  }

  func takes(_ slot: Int, of segment: Segment) -> Bool {
    let columns = segment.columns
    if let box, !box.contains(columns.coordinates[slot]) { return false }
    if !categories.isEmpty {
      let category = segment.records.category(at: slot)
      guard category != PlaceRecord.none,
        categories.contains(ExactText(segment.categories.names[Int(category)]))
      else { return false }
    }
    if let source, !segment.records.place(at: slot, isOf: source) { return false }
    guard let proximity else { return true }
    let position = EarthCentred(x: columns.x[slot], y: columns.y[slot], z: columns.z[slot])
    let chordSquared = proximity.position.chordSquared(to: position)
    if chordSquared > proximity.outerChordSquared { return false }
    if proximity.surelyTakes(chordSquared: chordSquared) { return true }
    let distance = Geodesic.distanceMetres(
      from: proximity.center,
      at: proximity.position,
      to: columns.coordinates[slot],
      at: position
    )
    return distance <= proximity.radius
  }
}

/// A walk through a snapshot's places in the order of their ids: a merge of its parts, of which there are few.
private struct IDWalk {
  private let snapshot: Snapshot
  private let filter: ExportFilter
  private var positions: [Int]

  init(_ snapshot: Snapshot, filter: ExportFilter) {
    self.snapshot = snapshot
    self.filter = filter
    positions = Array(repeating: 0, count: snapshot.parts.count)
  }

  /// Whether all places have been passed.
  var isOver: Bool {
    zip(snapshot.parts, positions).allSatisfy { part, position in position == part.segment.count }
  }

  /// The maximum number of bytes of names and tags of a batch of several places. As many exports go on at a time as there are
  /// connections, each with a batch.
  private static let batchTextBytes = 16 * 1024

  /// Returns the next places that match: so many or fewer long ones, or those among the next that are looked at.
  mutating func next(count: Int, looking limit: Int) -> [PointOfInterest] {
    var found: [PointOfInterest] = []
    var textBytes = 0
    for _ in 0..<limit {
      guard found.count < count, let location = first() else { break }
      let part = snapshot.parts[location.part]
      if !part.isDead(location.slot), filter.takes(location.slot, of: part.segment) {
        textBytes += part.segment.summaryColumns.textBytes(at: location.slot)
        guard found.isEmpty || textBytes <= Self.batchTextBytes else { break }
        found.append(part.segment.point(at: location.slot))
      }
      positions[location.part] += 1
    }
    return found
  }

  /// Returns the place that has the least id of those that are left.
  private func first() -> Snapshot.Location? {
    var first: (id: PointID, location: Snapshot.Location)?
    for (index, part) in snapshot.parts.enumerated() where positions[index] < part.segment.count {
      let slot = Int(part.segment.slotsByID[positions[index]])
      let id = part.segment.columns.ids[slot]
      if let first, first.id < id { continue }
      first = (id, .init(part: index, slot: slot))
    }
    return first?.location
  }
}
