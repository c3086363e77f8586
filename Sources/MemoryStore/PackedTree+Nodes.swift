import Geo

/// The bounds of the nodes of one tree or several, one after another.
struct NodeBounds {
  private(set) var space: ContiguousArray<SpaceBounds> = []
  private(set) var geographic: ContiguousArray<GeographicBounds> = []

  /// Adds the nodes of a tree: ``PackedTree/nodeCount(places:)`` of them. In the order of n.
  ///
  /// - Parameters:
  ///   - slots: the slot of each place, in the tree's order.
  ///   - columns: where the places are.
  mutating func append(treeOf slots: some RandomAccessCollection<UInt32>, columns: SegmentColumns) {
    guard slots.count > PackedTree.leafCapacity else { return }
    let start = space.count
    var rest = slots[...]
    while !rest.isEmpty {
      append(placesAt: rest.prefix(PackedTree.leafCapacity), columns: columns)
      rest = rest.dropFirst(PackedTree.leafCapacity)
    }
    var level = start..<space.count
    while level.count > PackedTree.fanOut {
      for first in stride(from: level.lowerBound, to: level.upperBound, by: PackedTree.fanOut) {
        append(nodesAt: first..<min(first + PackedTree.fanOut, level.upperBound))
      }
      level = level.upperBound..<space.count
    }
  }

  private mutating func append(placesAt slots: some Sequence<UInt32>, columns: SegmentColumns) {
    var metres = SpaceBounds()
    var degrees = GeographicBounds()
    for slot in slots {
      let slot = Int(slot)
      metres.include(x: columns.x[slot], y: columns.y[slot], z: columns.z[slot])
      degrees.include(columns.coordinates[slot])
    }
    space.append(metres)
    geographic.append(degrees)
  }

  private mutating func append(nodesAt children: Range<Int>) {
    var metres = SpaceBounds()
    var degrees = GeographicBounds()
    for child in children {
      metres.include(space[child])
      degrees.include(geographic[child])
    }
    space.append(metres)
    geographic.append(degrees)
  }
}
