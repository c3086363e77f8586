/// The positions of the nodes that kept ways and relations need.
final class NodeLocations: Sendable {
  let ids: SortedIDs
  // Written by the reader's thread while nodes are read; other threads read it after that.
  private let positions: SpillableBuffer<FixedPosition>

  /// Creates the set of needed nodes, which must be sorted, with no positions.
  init(ids: SortedIDs, budget: MemoryBudget, folder: String?) throws(OSMError) {
    self.ids = ids
    positions = SpillableBuffer(budget: budget, folder: folder)
    try positions.fill(.unknown, count: ids.count)
  }

  func set(_ hits: [NodeHit]) {
    let positions = positions.elements
    for hit in hits { positions[hit.index] = hit.position }
  }

  /// Returns a closure-free view for lookups.
  func lookup() -> Lookup { Lookup(cursor: ids.cursor(), positions: UnsafeBufferPointer(positions.elements)) }

  struct Lookup {
    fileprivate var cursor: SortedIDs.Cursor
    fileprivate let positions: UnsafeBufferPointer<FixedPosition>

    /// Returns the position of a node, or nil if the node is not in the file.
    mutating func position(of id: Int64) -> FixedPosition? {
      guard let index = cursor.index(of: id), positions[index].isKnown else { return nil }
      return positions[index]
    }
  }
}

/// The position of a needed node.
struct NodeHit: Sendable {
  let index: Int
  let position: FixedPosition
}

/// The positions of the nodes of the ways that relations need.
final class WayGeometries: Sendable {
  let ids: SortedIDs
  // Written by the reader's thread while ways are read; other threads read them after that.
  private let ranges: SpillableBuffer<WayRange>
  private let positions: SpillableBuffer<FixedPosition>

  struct WayRange: BitwiseCopyable {
    let start: Int
    let count: Int32
    let isComplete: Bool
  }

  /// Creates the set of needed ways, which must be sorted, with no positions.
  init(ids: SortedIDs, budget: MemoryBudget, folder: String?) throws(OSMError) {
    self.ids = ids
    ranges = SpillableBuffer(budget: budget, folder: folder)
    positions = SpillableBuffer(budget: budget, folder: folder)
    try ranges.fill(WayRange(start: 0, count: 0, isComplete: false), count: ids.count)
  }

  var positionCount: Int { positions.count }

  func set(_ geometry: WayGeometry) throws(OSMError) {
    ranges.elements[geometry.index] = WayRange(
      start: positions.count, count: Int32(geometry.positions.count), isComplete: geometry.isComplete)
    if !geometry.positions.isEmpty { try positions.append(contentsOf: geometry.positions) }
  }

  func lookup() -> Lookup {
    Lookup(
      cursor: ids.cursor(), ranges: UnsafeBufferPointer(ranges.elements),
      positions: UnsafeBufferPointer(positions.elements))
  }

  struct Lookup {
    fileprivate var cursor: SortedIDs.Cursor
    fileprivate let ranges: UnsafeBufferPointer<WayRange>
    fileprivate let positions: UnsafeBufferPointer<FixedPosition>

    var positionCount: Int { positions.count }

    /// Returns the positions of a way's nodes, none if the way is not in the file, and whether all are known.
    mutating func way(_ id: Int64) -> (positions: Slice<UnsafeBufferPointer<FixedPosition>>, isComplete: Bool) {
      guard let index = cursor.index(of: id) else { return (positions[0..<0], false) }
      let range = ranges[index]
      return (positions[range.start..<range.start + Int(range.count)], range.isComplete)
    }
  }
}

/// The positions of a needed way's nodes.
struct WayGeometry: Sendable {
  let index: Int
  let positions: [FixedPosition]
  let isComplete: Bool
}
