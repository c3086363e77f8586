/// A tree, and what a search needs to know of the places in it.
///
/// It does not own what it points to: the ``Segment`` and the ``Snapshot`` do.
struct TreeSource: BitwiseCopyable {
  /// Which of the snapshot's parts the places are in.
  let part: UInt32

  /// The columns of the part's segment.
  let columns: SegmentColumns

  /// A bit for each slot, set where the place is no longer there; `nil` where all are.
  let tombstones: UnsafePointer<UInt64>?

  /// The tree over the places.
  let tree: PackedTree

  /// The slot of a place that is known by its position in the tree.
  @inline(__always)
  func slot(of place: Int) -> Int {
    tree.slots.map { Int($0[place]) } ?? place
  }

  /// Whether the place in a slot is no longer there.
  @inline(__always)
  func isDead(_ slot: Int) -> Bool {
    guard let tombstones else { return false }
    return tombstones[slot >> 6] & (1 << UInt64(slot & 63)) != 0
  }
}

/// What a walk through a tree is for.
protocol TreeVisitor: ~Copyable {
  /// Decides on a node: `nil` to leave it out with all beneath it, else how soon it should come, least first.
  mutating func key(ofNode node: Int, places: Range<Int>, in source: TreeSource) -> Double?

  /// Whether a node with this key is still wanted by the time its turn comes.
  func wants(_ key: Double) -> Bool

  /// Takes the places of a leaf.
  mutating func visit(places: Range<Int>, in source: TreeSource)
}

extension TreeSource {
  private struct Entry: BitwiseCopyable {
    var key: Double
    var node: UInt32
    var level: Int32
  }

  /// There are at most 2³² places, and so no more levels than this.
  private static let maximumLevels = 12

  /// Walks through the tree, of each node's children the one with the least key first.
  @inline(__always)
  func walk<Visitor: TreeVisitor & ~Copyable>(_ visitor: inout Visitor) {
    let count = tree.count
    guard count > PackedTree.leafCapacity else {
      if count > 0 { visitor.visit(places: 0..<count, in: self) }
      return
    }
    withUnsafeTemporaryAllocation(of: Int.self, capacity: Self.maximumLevels) { starts in
      // Where each level starts, and past the last where it ends.
      starts[0] = 0
      var levels = 0
      var nodes = (count + PackedTree.leafCapacity - 1) / PackedTree.leafCapacity
      while true {
        starts[levels + 1] = starts[levels] + nodes
        levels += 1
        if nodes <= PackedTree.fanOut { break }
        nodes = (nodes + PackedTree.fanOut - 1) / PackedTree.fanOut
      }
      withUnsafeTemporaryAllocation(of: Entry.self, capacity: Self.maximumLevels * PackedTree.fanOut) { stack in
        var depth = 0
        push(starts[levels - 1]..<starts[levels], level: levels - 1, start: starts[levels - 1], stack, &depth, &visitor)
        while depth > 0 {
          depth -= 1
          let entry = stack[depth]
          guard visitor.wants(entry.key) else { continue }
          let level = Int(entry.level)
          let index = Int(entry.node) - starts[level]
          if level == 0 {
            let first = index * PackedTree.leafCapacity
            visitor.visit(places: first..<min(first + PackedTree.leafCapacity, count), in: self)
          } else {
            let first = starts[level - 1] + index * PackedTree.fanOut
            let children = first..<min(first + PackedTree.fanOut, starts[level])
            push(children, level: level - 1, start: starts[level - 1], stack, &depth, &visitor)
            prefetchTop(of: stack, depth: depth, starts: starts)
          }
        }
      }
    }
  }

  /// Puts the nodes that the visitor takes on the stack, the one with the least key on top.
  @inline(__always)
  private func push<Visitor: TreeVisitor & ~Copyable>(
    _ nodes: Range<Int>,
    level: Int,
    start: Int,
    _ stack: UnsafeMutableBufferPointer<Entry>,
    _ depth: inout Int,
    _ visitor: inout Visitor
  ) {
    let bottom = depth
    let count = tree.count
    let shift = Self.placesShift(level: level)
    for node in nodes {
      let first = (node - start) << shift
      guard let key = visitor.key(ofNode: node, places: first..<min(first + 1 << shift, count), in: self) else {
        continue
      }
      var position = depth
      while position > bottom, stack[position - 1].key < key {
        stack[position] = stack[position - 1]
        position -= 1
      }
      stack[position] = Entry(key: key, node: UInt32(truncatingIfNeeded: node), level: Int32(truncatingIfNeeded: level))
      depth += 1
    }
  }

  /// So many nodes' contents are on their way from memory while a node is looked at.
  private static let prefetched = 2

  /// Has the processor fetch what is beneath the nodes whose turn comes next.
  @inline(__always)
  private func prefetchTop(
    of stack: UnsafeMutableBufferPointer<Entry>,
    depth: Int,
    starts: UnsafeMutableBufferPointer<Int>
  ) {
    for entry in stack[max(depth - Self.prefetched, 0)..<depth] {
      let level = Int(entry.level)
      let index = Int(entry.node) - starts[level]
      if level > 0 {
        prefetch(tree.space + starts[level - 1] + index * PackedTree.fanOut, count: PackedTree.fanOut)
      } else if tree.slots == nil {
        let first = index * PackedTree.leafCapacity
        prefetch(columns.x + first, count: PackedTree.leafCapacity)
        prefetch(columns.y + first, count: PackedTree.leafCapacity)
        prefetch(columns.z + first, count: PackedTree.leafCapacity)
        prefetch(columns.ids + first, count: PackedTree.leafCapacity)
      }
    }
  }

  /// The binary logarithm of how many places a full node of a level has.
  @inline(__always)
  private static func placesShift(level: Int) -> Int {
    PackedTree.leafCapacity.trailingZeroBitCount + level * PackedTree.fanOut.trailingZeroBitCount
  }
}
