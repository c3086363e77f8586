import Geo
import Points

/// The places of each category in a ``Segment``: in the order of a tree of their own, and by id.
struct CategoryIndex: Sendable {
  /// The categories; a category's number is its position.
  let names: [String]

  private let numbers: TextNumbers
  private let nameStarts: Memory<Int>
  private let nameBytes: Memory<UInt8>
  private let placeStarts: ContiguousArray<Int>
  private let nodeStarts: ContiguousArray<Int>
  private let slots: Memory<UInt32>
  private let idOrder: Memory<UInt32>
  private let space: Memory<SpaceBounds>
  private let geographic: Memory<GeographicBounds>

  /// Creates the index. In the order of n log n.
  init(
    numbers: TextNumbers,
    records: PlaceRecords,
    idOrder order: Memory<UInt32>,
    columns: SegmentColumns
  ) {
    names = numbers.texts
    self.numbers = numbers
    nameBytes = Memory(numbers.texts.flatMap(\.utf8))
    nameStarts = Memory(
      numbers.texts.reduce(into: [0]) { starts, name in starts.append(starts[starts.count - 1] + name.utf8.count) })
    var starts = ContiguousArray(repeating: 0, count: numbers.texts.count + 1)
    for slot in 0..<records.count {
      let category = records.category(at: slot)
      if category != PlaceRecord.none { starts[Int(category) + 1] += 1 }
    }
    var nodeStarts: ContiguousArray = [0]
    for category in numbers.texts.indices {
      nodeStarts.append(nodeStarts[category] + PackedTree.nodeCount(places: starts[category + 1]))
      starts[category + 1] += starts[category]
    }
    placeStarts = starts
    self.nodeStarts = nodeStarts
    slots = Self.inSpatialOrder(
      Self.grouped(0..<UInt32(records.count), by: records, starts: starts),
      starts: starts,
      columns: columns
    )
    idOrder = Self.grouped(UnsafeBufferPointer(start: order.pointer, count: order.count), by: records, starts: starts)
    var nodes = NodeBounds()
    for category in numbers.texts.indices {
      let places = UnsafeBufferPointer(
        start: slots.pointer + starts[category],
        count: starts[category + 1] - starts[category]
      )
      nodes.append(treeOf: places, columns: columns)
    }
    space = Memory(nodes.space)
    geographic = Memory(nodes.geographic)
  }

  /// The number of a category that a place here has, or `nil`.
  func number(of category: String) -> Int? {
    numbers.existingNumber(of: category).map { Int($0) }
  }

  /// The categories' names in UTF-8, one behind another, and where each starts; they live as long as the segment.
  var namePointers: (starts: UnsafePointer<Int>, names: UnsafePointer<UInt8>) {
    (nameStarts.pointer, nameBytes.pointer)
  }

  /// How many places have the category.
  func count(of category: Int) -> Int { placeStarts[category + 1] - placeStarts[category] }

  /// The tree over the category's places; it lives as long as the segment.
  func tree(of category: Int) -> PackedTree {
    PackedTree(
      count: count(of: category),
      slots: slots.pointer + placeStarts[category],
      space: space.pointer + nodeStarts[category],
      geographic: geographic.pointer + nodeStarts[category]
    )
  }

  /// The slots of the category's places in the order of their ids; they live as long as the segment.
  func slotsByID(of category: Int) -> UnsafeBufferPointer<UInt32> {
    .init(start: idOrder.pointer + placeStarts[category], count: count(of: category))
  }

  /// The slots with those of each category in the order that its tree wants.
  private static func inSpatialOrder(
    _ slots: Memory<UInt32>,
    starts: ContiguousArray<Int>,
    columns: SegmentColumns
  ) -> Memory<UInt32> {
    var items: ContiguousArray<SpatialOrder.Item> = []
    items.reserveCapacity(slots.count)
    for position in 0..<slots.count {
      let index = slots.pointer[position]
      let slot = Int(index)
      items.append(.init(x: columns.x[slot], y: columns.y[slot], z: columns.z[slot], index: index))
    }
    items.withUnsafeMutableBufferPointer { items in
      for (start, end) in zip(starts, starts.dropFirst()) { SpatialOrder.sort(.init(rebasing: items[start..<end])) }
    }
    return Memory(items.lazy.map(\.index))
  }

  /// The slots in their order, but those of each category together.
  private static func grouped(
    _ order: some Sequence<UInt32>,
    by records: PlaceRecords,
    starts: ContiguousArray<Int>
  ) -> Memory<UInt32> {
    var next = starts
    return Memory(count: starts[starts.count - 1]) { memory in
      for slot in order {
        let category = records.category(at: Int(slot))
        guard category != PlaceRecord.none else { continue }
        (memory + next[Int(category)]).initialize(to: slot)
        next[Int(category)] += 1
      }
    }
  }
}
