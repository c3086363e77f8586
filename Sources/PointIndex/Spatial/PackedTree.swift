import Geo

/// A tree of bounds over places in a spatial order: sixteen places in a leaf, eight nodes beneath a node.
///
/// It is a packed R-tree: all nodes but the last of each level are full, so that the index of a node determines its
/// children and no pointers are kept. The nodes are stored level by level, leaves first. A tree that fits in one leaf
/// has no nodes.
///
/// The memory it points to belongs to its ``Segment``.
struct PackedTree: BitwiseCopyable {
  /// The maximum number of places of a leaf.
  static let leafCapacity = 16

  /// The maximum number of children of a node.
  static let fanOut = 8

  /// The number of places.
  let count: Int

  /// The slot of each place; `nil` where a place's slot is its position.
  let slots: UnsafePointer<UInt32>?

  /// The bounds of each node.
  let space: UnsafePointer<SpaceBounds>
  let geographic: UnsafePointer<GeographicBounds>

  /// Returns the number of nodes of a tree over the given number of places.
  static func nodeCount(places: Int) -> Int {
    guard places > leafCapacity else { return 0 }
    var level = (places + leafCapacity - 1) / leafCapacity
    var total = level
    while level > fanOut {
      level = (level + fanOut - 1) / fanOut
      total += level
    }
    return total
  }
}

/// The bounds of the nodes of one tree or several, one after another, while they are built.
struct NodeBounds {
  private(set) var space: ContiguousArray<SpaceBounds> = []
  private(set) var geographic: ContiguousArray<GeographicBounds> = []

  /// Creates an empty list with room for a number of nodes.
  init(capacity: Int) {
    space.reserveCapacity(capacity)
    geographic.reserveCapacity(capacity)
  }

  /// Appends the nodes of a tree, ``PackedTree/nodeCount(places:)`` of them. O(n).
  ///
  /// - Parameters:
  ///   - slots: the slot of each place, in the tree's order.
  ///   - columns: the columns of the places' segment.
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
