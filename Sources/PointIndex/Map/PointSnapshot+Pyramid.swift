import Geo
import Points

extension PointSnapshot {
  /// Returns the pyramid of the places of some parts. O(n log n).
  static func pyramid(of parts: [Part]) -> Pyramid {
    var places = presentPlaces(of: .map, in: parts, firstColumns: 0)
    return withExtendedLifetime(parts) {
      PyramidUpdate.building(&places, columns: parts.map { $0.segment.mapColumns })
    }
  }

  /// Returns the pyramid after a batch of changes of this snapshot.
  ///
  /// - Parameters:
  ///   - changes: the removed places, by part and slot of this snapshot, and the added ones.
  ///   - parts: the parts of the next snapshot.
  func pyramid(after changes: PyramidChanges, parts next: [Part]) -> Pyramid {
    let updated = changes.additions.withColumns { additions in
      var columns: [MapColumns] = []
      columns.reserveCapacity(1 + parts.count + next.count)
      columns.append(additions)
      for part in parts { columns.append(part.segment.mapColumns) }
      for part in next { columns.append(part.segment.mapColumns) }
      var all = changes.removals
      all.reserveCapacity(all.count + changes.additions.coordinates.count)
      for (index, coordinate) in changes.additions.coordinates.enumerated() {
        all.append(MapChange(coordinate, index: index, columns: 0))
      }
      return withExtendedLifetime(next) {
        PyramidUpdate.applying(&all, to: pyramid, columns: columns) { square in
          Self.presentPlaces(of: square, in: next, firstColumns: 1 + parts.count)
        }
      }
    }
    return updated.hasManyUnusedCategories ? Self.pyramid(of: next) : updated
  }

  /// Returns the places of a square as additions.
  private static func presentPlaces(
    of square: MapSquare, in parts: [Part], firstColumns: Int
  ) -> ContiguousArray<MapChange> {
    var places = ContiguousArray<MapChange>()
    let area = square.area
    if square == .map { places.reserveCapacity(parts.reduce(0) { $0 + $1.count }) }
    for (index, part) in parts.enumerated() {
      let coordinates = part.segment.columns.coordinates
      func add(_ slot: Int) {
        let change = MapChange(coordinates[slot], index: slot, columns: firstColumns + index)
        if area.contains(x: change.x, y: change.y) { places.append(change) }
      }
      if square == .map {
        for slot in 0..<part.segment.count where !part.isDead(slot) { add(slot) }
      } else {
        withExtendedLifetime(part) {
          withoutActuallyEscaping(add) { add in
            var walk = RegionWalk(in: RegionFilter(BoxFilter(area.box))) { _, slot in
              add(slot)
              return true
            }
            SearchTree(
              part: UInt32(index), columns: part.segment.columns, tombstones: part.tombstones?.pointer,
              nodes: part.segment.tree
            ).walk(&walk)
          }
        }
      }
    }
    return places
  }
}

/// The changes of a batch, as a pyramid needs them.
struct PyramidChanges {
  /// The added places.
  struct Additions {
    let ids: ContiguousArray<PointID>
    let coordinates: ContiguousArray<Coordinate>
    let records: ContiguousArray<PointRecord>
    let categories: [String]

    init(_ buffer: PointBuffer) {
      ids = buffer.ids
      coordinates = buffer.coordinates
      records = buffer.records
      categories = buffer.categories.texts
    }

    func withColumns<Result>(_ body: (MapColumns) -> Result) -> Result {
      ids.withUnsafeBufferPointer { ids in
        records.withUnsafeBufferPointer { body(MapColumns(ids: ids, records: $0, categories: categories)) }
      }
    }
  }

  let additions: Additions
  private(set) var removals: ContiguousArray<MapChange> = []

  init(additions buffer: PointBuffer) {
    additions = Additions(buffer)
  }

  /// Adds removed places of a part of the former snapshot.
  mutating func remove(_ slots: [Int], of part: PointSnapshot.Part, at index: Int) {
    for slot in slots {
      removals.append(
        MapChange(part.segment.columns.coordinates[slot], index: slot, columns: 1 + index, isRemoval: true))
    }
  }
}

extension Segment {
  /// The columns that a pyramid is built from; valid for the life of the segment.
  var mapColumns: MapColumns {
    MapColumns(
      ids: UnsafeBufferPointer(start: columns.ids, count: count),
      records: UnsafeBufferPointer(start: records.pointers.records, count: count), categories: categories.names)
  }
}
