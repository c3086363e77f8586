import Basics
public import Geo
public import Points
import Synchronization

/// The places of each category of a ``Segment``: a tree over them, and their order by id.
struct CategoryIndex: Sendable {
  /// The names of the categories by their numbers.
  var names: [String] { numbers.texts }

  let numbers: TextNumbers

  /// The names in UTF-8.
  let packedNames: PackedTexts
  private let placeStarts: ContiguousArray<Int>
  private let nodeStarts: ContiguousArray<Int>
  private let slots: FixedBuffer<UInt32>
  private let idOrder: FixedBuffer<UInt32>
  private let space: FixedBuffer<SpaceBounds>
  private let geographic: FixedBuffer<GeographicBounds>

  /// Creates the index. O(n log n).
  init(
    numbers: TextNumbers,
    records: PointRecords,
    idOrder order: FixedBuffer<UInt32>,
    columns: SegmentColumns
  ) {
    self.numbers = numbers
    packedNames = PackedTexts(numbers.texts)
    var starts = ContiguousArray(repeating: 0, count: numbers.texts.count + 1)
    for slot in 0..<records.count {
      let category = records.category(at: slot)
      if category != PointRecord.none { starts[Int(category) + 1] += 1 }
    }
    for category in numbers.texts.indices { starts[category + 1] += starts[category] }
    placeStarts = starts
    nodeStarts = Self.nodeStarts(placeStarts)
    let (grouping, nodeCount) = (starts, nodeStarts[numbers.texts.count])
    let (trees, idOrder) = Parallel.both(where: records.count > Parallel.maximumUndivided) {
      let slots = Self.inSpatialOrder(
        Self.grouped(0..<UInt32(records.count), by: records, starts: grouping),
        starts: grouping,
        columns: columns
      )
      var nodes = NodeBounds(capacity: nodeCount)
      for (start, end) in zip(grouping, grouping.dropFirst()) {
        nodes.append(
          treeOf: UnsafeBufferPointer(start: slots.pointer + start, count: end - start),
          columns: columns
        )
      }
      return (slots, FixedBuffer(nodes.space), FixedBuffer(nodes.geographic))
    } and: {
      Self.grouped(
        UnsafeBufferPointer(start: order.pointer, count: order.count),
        by: records,
        starts: grouping
      )
    }
    (slots, space, geographic) = trees
    self.idOrder = idOrder
  }

  /// Creates the index of a segment in a file.
  init(_ file: SegmentFile) throws(IndexFileError) {
    packedNames = try PackedTexts(file, starts: .categoryNameStarts, bytes: .categoryNames)
    numbers = TextNumbers(packedNames.texts)
    placeStarts = try file.column(.categoryStarts, count: numbers.texts.count + 1).array
    nodeStarts = Self.nodeStarts(placeStarts)
    let (placeCount, nodeCount) = (placeStarts[numbers.texts.count], nodeStarts[numbers.texts.count])
    slots = try file.column(.categorySlots, count: placeCount)
    idOrder = try file.column(.categoryIDOrder, count: placeCount)
    space = try file.column(.categorySpaceBounds, count: nodeCount)
    geographic = try file.column(.categoryGeographicBounds, count: nodeCount)
  }

  func write(to file: inout SegmentFileWriter) throws(IndexFileError) {
    try packedNames.write(to: &file, starts: .categoryNameStarts, bytes: .categoryNames)
    try file.append(.categoryStarts, FixedBuffer(placeStarts))
    try file.append(.categorySlots, slots)
    try file.append(.categoryIDOrder, idOrder)
    try file.append(.categorySpaceBounds, space)
    try file.append(.categoryGeographicBounds, geographic)
  }

  /// Returns the start of the nodes of each category's tree, and the end of the last one's.
  ///
  /// - Parameter placeStarts: the start of the places of each category, and the end of the last one's.
  private static func nodeStarts(_ placeStarts: ContiguousArray<Int>) -> ContiguousArray<Int> {
    var starts = ContiguousArray(repeating: 0, count: placeStarts.count)
    for category in 0..<placeStarts.count - 1 {
      let count = placeStarts[category + 1] - placeStarts[category]
      starts[category + 1] = starts[category] + PackedTree.nodeCount(places: count)
    }
    return starts
  }

  /// The number of bytes of the trees and orders.
  var byteCount: Int { slots.byteCount + idOrder.byteCount + space.byteCount + geographic.byteCount }

  /// The number of nodes of the trees.
  var nodeCount: Int { space.count }

  /// Returns the number of a category, or `nil` if no place has it.
  func number(of category: String) -> Int? {
    numbers.existingNumber(of: category).map { Int($0) }
  }

  func count(of category: Int) -> Int { placeStarts[category + 1] - placeStarts[category] }

  /// Returns the tree over the places of a category, valid for the life of the segment.
  func tree(of category: Int) -> PackedTree {
    PackedTree(
      count: count(of: category),
      slots: slots.pointer + placeStarts[category],
      space: space.pointer + nodeStarts[category],
      geographic: geographic.pointer + nodeStarts[category],
      firstNode: nodeStarts[category]
    )
  }

  /// Returns the slots of the places of a category in the order of their ids, valid for the life of the segment.
  func slotsByID(of category: Int) -> UnsafeBufferPointer<UInt32> {
    .init(start: idOrder.pointer + placeStarts[category], count: count(of: category))
  }

  /// Returns the slots with those of each category in the order of its tree.
  private static func inSpatialOrder(
    _ slots: FixedBuffer<UInt32>,
    starts: ContiguousArray<Int>,
    columns: SegmentColumns
  ) -> FixedBuffer<UInt32> {
    var items: ContiguousArray<SpatialOrder.Item> = []
    items.reserveCapacity(slots.count)
    for position in 0..<slots.count {
      let index = slots.pointer[position]
      let slot = Int(index)
      items.append(.init(position: columns.positions[slot], index: index))
    }
    items.withUnsafeMutableBufferPointer { items in
      for (start, end) in zip(starts, starts.dropFirst()) { SpatialOrder.sort(.init(rebasing: items[start..<end])) }
    }
    return FixedBuffer(items.lazy.map(\.index))
  }

  /// Returns the slots in their order, but those of each category together.
  private static func grouped(
    _ order: some Sequence<UInt32>,
    by records: PointRecords,
    starts: ContiguousArray<Int>
  ) -> FixedBuffer<UInt32> {
    var next = starts
    return FixedBuffer(count: starts[starts.count - 1]) { memory in
      for slot in order {
        let category = records.category(at: Int(slot))
        guard category != PointRecord.none else { continue }
        (memory + next[Int(category)]).initialize(to: slot)
        next[Int(category)] += 1
      }
    }
  }
}

extension PointSnapshot {
  /// Returns every category that a place has, or a place in the box, with its number of places, the most frequent
  /// first.
  ///
  /// Without a box the counts are computed once for each snapshot, in O(c log c) for c categories. With one: O(c + e + r)
  /// for e places in tree leaves at the edge of the box and r removed places.
  public func categoryCounts(in box: BoundingBox?) -> [CategoryCount] {
    if let box { return counts(in: RegionFilter(BoxFilter(box))) }
    return categoryCountsCache.withLock { cache in
      if let cache { return cache }
      let counts = counts()
      cache = counts
      return counts
    }
  }

  private func counts() -> [CategoryCount] {
    sortedCounts { part in
      let categories = part.segment.categories
      var counts = categories.names.indices.map { categories.count(of: $0) }
      for (category, dead) in part.deadCounts.enumerated() { counts[category] -= Int(dead) }
      return counts
    }
  }

  private func counts(in region: RegionFilter) -> [CategoryCount] {
    sortedCounts { part in
      let (categories, columns) = (part.segment.categories, part.segment.columns)
      var counts = categories.names.indices.map { number in
        var count = RegionCount(in: region, isEstimate: false)
        SearchTree(part: 0, columns: columns, tombstones: nil, nodes: categories.tree(of: number)).walk(&count)
        return count.places
      }
      part.forEachDeadPlace { category, slot in
        if region.contains(slot, columns) { counts[category] -= 1 }
      }
      return counts
    }
  }

  /// Returns the sums of the parts' counts.
  ///
  /// - Parameter countsOfPart: returns the counts of a part by the numbers of its categories.
  private func sortedCounts(_ countsOfPart: (Part) -> [Int]) -> [CategoryCount] {
    var sums: [ExactText: Int] = [:]
    for part in parts {
      let counts = withExtendedLifetime(part) { countsOfPart(part) }
      for (name, count) in zip(part.segment.categories.names, counts) where count > 0 {
        sums[ExactText(name), default: 0] += count
      }
    }
    return sums.map { CategoryCount(category: $0.key.text, count: $0.value) }.sorted { left, right in
      left.count != right.count
        ? left.count > right.count : left.category.utf8.lexicographicallyPrecedes(right.category.utf8)
    }
  }
}

extension PointSnapshot.Part {
  /// Calls the closure with the category and the slot of each removed place that has a category.
  fileprivate func forEachDeadPlace(_ body: (_ category: Int, _ slot: Int) -> Void) {
    tombstones?.forEach { slot in
      let category = segment.records.category(at: slot)
      if category != PointRecord.none { body(Int(category), slot) }
    }
  }
}
