/// A tree of bounds over places in a spatial order: sixteen places in a leaf, eight nodes beneath a node.
///
/// It is a packed R-tree: all nodes but the last of each level are full, so that a node's place among the others says
/// what is beneath it and no pointers are kept. The nodes stand level by level, leaves first. A tree that fits in one
/// leaf has no nodes.
///
/// A tree does not own what it points to: its ``Segment`` does.
struct PackedTree: BitwiseCopyable {
  /// How many places a leaf has at most.
  static let leafCapacity = 16

  /// How many nodes are directly beneath a node at most.
  static let fanOut = 8

  /// How many places there are.
  let count: Int

  /// The slot of each place; `nil` where a place's slot is its position.
  let slots: UnsafePointer<UInt32>?

  /// The bounds of each node.
  let space: UnsafePointer<SpaceBounds>
  let geographic: UnsafePointer<GeographicBounds>

  /// How many nodes a tree over so many places has.
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
