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

  /// The slot of each place; `nil` if a place's slot is its position.
  let slots: UnsafePointer<UInt32>?

  /// The bounds of each node.
  let space: UnsafePointer<SpaceBounds>
  let geographic: UnsafePointer<GeographicBounds>

  /// The number of the first node among those of the trees of the segment; `nil` if they are not counted.
  let firstNode: Int?

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
      metres.include(columns.positions[slot])
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

/// A tree with the columns of its places, as a search reads them.
///
/// The memory it points to belongs to the ``Segment`` and the ``PointSnapshot``.
struct SearchTree: BitwiseCopyable {
  /// The index of the places' part in the snapshot.
  let part: UInt32

  /// The columns of the part's segment.
  let columns: SegmentColumns

  /// A bit for each slot, set where the place was removed; `nil` if none was.
  let tombstones: UnsafePointer<UInt64>?

  /// The nodes of the tree over the places.
  let nodes: PackedTree

  /// The condition on opening hours, by which nodes are skipped; `nil` if there is none. It belongs to the search.
  var opening: Unmanaged<OpeningFilter>?

  /// Returns the slot of the place at a position in the tree.
  @inline(__always)
  func slot(of place: Int) -> Int {
    nodes.slots.map { Int($0[place]) } ?? place
  }

  /// A Boolean value that indicates whether the place in a slot was removed.
  @inline(__always)
  func isDead(_ slot: Int) -> Bool {
    guard let tombstones else { return false }
    return tombstones[slot >> 6] & (1 << UInt64(slot & 63)) != 0
  }
}

/// A search that is guided through a tree by ``SearchTree/walk(_:)``.
protocol TreeVisitor: ~Copyable {
  /// Returns the priority of a node, least first, or `nil` to skip it with all beneath it.
  mutating func key(ofNode node: Int, places: Range<Int>, in tree: SearchTree) -> Double?

  /// Returns a Boolean value that indicates whether a node with this key is still to be visited when its turn comes.
  func wants(_ key: Double) -> Bool

  /// Searches the places of a leaf, by their positions in the tree.
  mutating func visit(places: Range<Int>, in tree: SearchTree)
}

extension SearchTree {
  /// The nodes to visit, the next one on top, in two columns: allocations of up to 1,024 bytes are on the stack.
  private struct Stack: BitwiseCopyable {
    let keys: UnsafeMutablePointer<Double>
    let nodes: UnsafeMutablePointer<(number: UInt32, level: Int32)>
    var depth = 0

    static let capacity = maximumLevels * PackedTree.fanOut
  }

  /// The maximum number of levels of a tree over 2³² places.
  private static let maximumLevels = 10

  /// Visits the nodes depth first, of each node's children the one with the least key first.
  @inline(__always)
  func walk<Visitor: TreeVisitor & ~Copyable>(_ visitor: inout Visitor) {
    let count = nodes.count
    guard count > PackedTree.leafCapacity else {
      if count > 0 { visitor.visit(places: 0..<count, in: self) }
      return
    }
    withUnsafeTemporaryAllocation(of: Int.self, capacity: Self.maximumLevels + 1) { starts in
      // The first node of each level, and one past the last node.
      starts[0] = 0
      var levels = 0
      var nodeCount = (count + PackedTree.leafCapacity - 1) / PackedTree.leafCapacity
      while true {
        starts[levels + 1] = starts[levels] + nodeCount
        levels += 1
        if nodeCount <= PackedTree.fanOut { break }
        nodeCount = (nodeCount + PackedTree.fanOut - 1) / PackedTree.fanOut
      }
      withUnsafeTemporaryAllocation(of: Double.self, capacity: Stack.capacity) { keys in
        withUnsafeTemporaryAllocation(of: (number: UInt32, level: Int32).self, capacity: Stack.capacity) { nodes in
          var stack = Stack(keys: keys.baseAddress.unsafelyUnwrapped, nodes: nodes.baseAddress.unsafelyUnwrapped)
          let top = levels - 1
          push(starts[top]..<starts[levels], level: top, start: starts[top], &stack, &visitor)
          while stack.depth > 0 {
            stack.depth -= 1
            guard visitor.wants(stack.keys[stack.depth]) else { continue }
            let (number, level) = (Int(stack.nodes[stack.depth].number), Int(stack.nodes[stack.depth].level))
            let index = number - starts[level]
            if let opening, !mayMatch(opening, node: index, ofLevel: level, starts: starts) { continue }
            if level == 0 {
              let first = index * PackedTree.leafCapacity
              visitor.visit(places: first..<min(first + PackedTree.leafCapacity, count), in: self)
            } else {
              let first = starts[level - 1] + index * PackedTree.fanOut
              let children = first..<min(first + PackedTree.fanOut, starts[level])
              push(children, level: level - 1, start: starts[level - 1], &stack, &visitor)
              prefetchTop(of: stack, starts: starts)
            }
          }
        }
      }
    }
  }

  @inline(__always)
  private func mayMatch(
    _ opening: Unmanaged<OpeningFilter>, node: Int, ofLevel level: Int, starts: UnsafeMutableBufferPointer<Int>
  ) -> Bool {
    opening._withUnsafeGuaranteedRef {
      $0.mayMatch(
        node: node, ofLevel: level, starts: UnsafePointer(starts.baseAddress.unsafelyUnwrapped), in: nodes)
    }
  }

  /// Pushes the nodes that the visitor does not skip, the one with the least key on top.
  @inline(__always)
  private func push<Visitor: TreeVisitor & ~Copyable>(
    _ siblings: Range<Int>,
    level: Int,
    start: Int,
    _ stack: inout Stack,
    _ visitor: inout Visitor
  ) {
    let bottom = stack.depth
    var depth = bottom
    let count = nodes.count
    let shift = Self.placesShift(level: level)
    for node in siblings {
      // Unchecked, so that a visitor that ignores the places does not pay for them.
      let first = (node &- start) &<< shift
      let places = Range(uncheckedBounds: (first, min(first &+ 1 &<< shift, count)))
      guard let key = visitor.key(ofNode: node, places: places, in: self) else { continue }
      var position = depth
      while position > bottom, stack.keys[position &- 1] < key {
        stack.keys[position] = stack.keys[position &- 1]
        stack.nodes[position] = stack.nodes[position &- 1]
        position &-= 1
      }
      stack.keys[position] = key
      stack.nodes[position] = (UInt32(truncatingIfNeeded: node), Int32(truncatingIfNeeded: level))
      depth &+= 1
    }
    stack.depth = depth
  }

  /// The number of nodes whose contents are prefetched while a node is examined.
  private static let prefetched = 2

  /// Prefetches the children of the nodes on top of the stack.
  @inline(__always)
  private func prefetchTop(of stack: Stack, starts: UnsafeMutableBufferPointer<Int>) {
    for position in max(stack.depth - Self.prefetched, 0)..<stack.depth {
      let (number, level) = (Int(stack.nodes[position].number), Int(stack.nodes[position].level))
      let index = number - starts[level]
      if level > 0 {
        prefetch(nodes.space + starts[level - 1] + index * PackedTree.fanOut, count: PackedTree.fanOut)
      } else if nodes.slots == nil {
        let first = index * PackedTree.leafCapacity
        prefetch(columns.positions + first, count: PackedTree.leafCapacity)
        prefetch(columns.ids + first, count: PackedTree.leafCapacity)
      }
    }
  }

  /// The binary logarithm of the number of places beneath a full node of a level.
  @inline(__always)
  private static func placesShift(level: Int) -> Int {
    PackedTree.leafCapacity.trailingZeroBitCount + level * PackedTree.fanOut.trailingZeroBitCount
  }
}

/// The bounds of some places in the earth-centred frame, in metres.
///
/// The numbers are rounded outwards: a node takes half the memory of one with the numbers of the places, and has at most
/// a metre more on each side.
struct SpaceBounds: BitwiseCopyable {
  private(set) var minX = Float.infinity
  private(set) var minY = Float.infinity
  private(set) var minZ = Float.infinity
  private(set) var maxX = -Float.infinity
  private(set) var maxY = -Float.infinity
  private(set) var maxZ = -Float.infinity

  mutating func include(_ position: EarthCentred) {
    minX = min(minX, Float(roundingDown: position.x))
    minY = min(minY, Float(roundingDown: position.y))
    minZ = min(minZ, Float(roundingDown: position.z))
    maxX = max(maxX, Float(roundingUp: position.x))
    maxY = max(maxY, Float(roundingUp: position.y))
    maxZ = max(maxZ, Float(roundingUp: position.z))
  }

  mutating func include(_ other: SpaceBounds) {
    minX = min(minX, other.minX)
    minY = min(minY, other.minY)
    minZ = min(minZ, other.minZ)
    maxX = max(maxX, other.maxX)
    maxY = max(maxY, other.maxY)
    maxZ = max(maxZ, other.maxZ)
  }

  /// The corner with the least numbers, and that with the greatest.
  @inline(__always)
  var least: EarthCentred { EarthCentred(x: Double(minX), y: Double(minY), z: Double(minZ)) }
  @inline(__always)
  var greatest: EarthCentred { EarthCentred(x: Double(maxX), y: Double(maxY), z: Double(maxZ)) }

  /// Returns the square of the distance from a position to the nearest part of the bounds.
  @inline(__always)
  func leastChordSquared(to position: EarthCentred) -> Double {
    let (least, greatest) = (least, greatest)
    let dx = Self.greater(Self.greater(least.x - position.x, position.x - greatest.x), 0)
    let dy = Self.greater(Self.greater(least.y - position.y, position.y - greatest.y), 0)
    let dz = Self.greater(Self.greater(least.z - position.z, position.z - greatest.z), 0)
    return dx * dx + dy * dy + dz * dz
  }

  /// Returns the greater of two numbers, in one instruction; `max` takes four, for its order of equal ones.
  @inline(__always)
  private static func greater(_ a: Double, _ b: Double) -> Double { a > b ? a : b }

  /// Returns the square of the distance from a position to the farthest corner of the bounds.
  @inline(__always)
  func greatestChordSquared(to position: EarthCentred) -> Double {
    let (least, greatest) = (least, greatest)
    let dx = max(position.x - least.x, greatest.x - position.x)
    let dy = max(position.y - least.y, greatest.y - position.y)
    let dz = max(position.z - least.z, greatest.z - position.z)
    return dx * dx + dy * dy + dz * dz
  }

  /// The square of the length of the diagonal.
  var diagonalSquared: Double { least.chordSquared(to: greatest) }
}

/// The bounds of some places in degrees, as plain numbers, rounded outwards: no range wraps.
struct GeographicBounds: BitwiseCopyable {
  private(set) var south = Float.infinity
  private(set) var west = Float.infinity
  private(set) var north = -Float.infinity
  private(set) var east = -Float.infinity

  init() {}

  init(south: Double, west: Double, north: Double, east: Double) {
    self.south = Float(roundingDown: south)
    self.west = Float(roundingDown: west)
    self.north = Float(roundingUp: north)
    self.east = Float(roundingUp: east)
  }

  mutating func include(_ coordinate: Coordinate) {
    let (latitude, longitude) = (coordinate.latitude, coordinate.longitude)
    include(GeographicBounds(south: latitude, west: longitude, north: latitude, east: longitude))
  }

  mutating func include(_ other: GeographicBounds) {
    south = min(south, other.south)
    north = max(north, other.north)
    west = min(west, other.west)
    east = max(east, other.east)
  }
}

extension Float {
  /// Creates the greatest number that is not above another.
  @inline(__always)
  fileprivate init(roundingDown value: Double) {
    let nearest = Float(value)
    self = Double(nearest) > value ? nearest.nextDown : nearest
  }

  /// Creates the least number that is not below another.
  @inline(__always)
  fileprivate init(roundingUp value: Double) {
    let nearest = Float(value)
    self = Double(nearest) < value ? nearest.nextUp : nearest
  }
}
