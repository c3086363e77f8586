import Geo
import JSONText
import Points
import Synchronization

/// The columns of a segment that searches read, a slot to a place.
///
/// They live as long as the ``Segment`` they come from.
struct SegmentColumns: BitwiseCopyable {
  let ids: UnsafePointer<PointID>
  let x: UnsafePointer<Double>
  let y: UnsafePointer<Double>
  let z: UnsafePointer<Double>
  let coordinates: UnsafePointer<Coordinate>
}

/// Some of a store's places with every index over them, never changed once made.
///
/// A place is known by its slot. Slots are in the spatial order of the tree over all places, so that a leaf's places are
/// neighbours in every column.
final class Segment: Sendable {
  /// How many places there are, at least one.
  let count: Int

  /// What searches do not read of the places, by slot.
  let records: PlaceRecords

  /// The places of each category, with a tree each.
  let categories: CategoryIndex

  /// The indexes of the sources that were asked for, the latest last.
  private let sourceIndexes = Mutex<[SourceIndex]>([])

  private let ids: Memory<PointID>
  private let x: Memory<Double>
  private let y: Memory<Double>
  private let z: Memory<Double>
  private let coordinates: Memory<Coordinate>
  private let spaceBounds: Memory<SpaceBounds>
  private let geographicBounds: Memory<GeographicBounds>
  private let idOrder: Memory<UInt32>
  private let shuffleOrder: Memory<UInt32>
  private let origins: HashIndex

  /// Creates a segment of the places, of which there is at least one. No two have the same id or the same origin.
  ///
  /// In the order of n log n.
  init(_ points: ContiguousArray<PointOfInterest>) {
    precondition(points.count < UInt32.max)
    let count = points.count
    self.count = count
    let items = Self.inSpatialOrder(points)
    x = Memory(items.lazy.map(\.x))
    y = Memory(items.lazy.map(\.y))
    z = Memory(items.lazy.map(\.z))
    (ids, coordinates) = points.withUnsafeBufferPointer { points in
      (
        Memory(items.lazy.map { points[Int($0.index)].id }),
        Memory(items.lazy.map { points[Int($0.index)].place.coordinate })
      )
    }
    let columns = SegmentColumns(
      ids: ids.pointer,
      x: x.pointer,
      y: y.pointer,
      z: z.pointer,
      coordinates: coordinates.pointer
    )
    // The places' texts on one processor, the orders and hashes on another.
    let (texts, orders) = Parallel.both(where: count > 20_000) {
      points.withUnsafeBufferPointer { points in
        var categories = TextNumbers()
        return (PlaceRecords(points, order: items, categories: &categories), categories)
      }
    } and: { [ids] in
      points.withUnsafeBufferPointer { points in
        (
          Self.order(of: ids), Self.shuffleOrder(of: ids),
          Self.index(items.lazy.map { points[Int($0.index)].place.origin })
        )
      }
    }
    let categoryNumbers: TextNumbers
    (records, categoryNumbers) = texts
    (idOrder, shuffleOrder, origins) = orders
    var nodes = NodeBounds()
    nodes.append(treeOf: 0..<UInt32(count), columns: columns)
    spaceBounds = Memory(nodes.space)
    geographicBounds = Memory(nodes.geographic)
    categories = CategoryIndex(
      numbers: categoryNumbers,
      records: records,
      idOrder: idOrder,
      columns: columns
    )
  }

  /// The columns, which live as long as the segment.
  var columns: SegmentColumns {
    SegmentColumns(ids: ids.pointer, x: x.pointer, y: y.pointer, z: z.pointer, coordinates: coordinates.pointer)
  }

  /// What summaries are made of, which lives as long as the segment.
  var summaryColumns: SummaryColumns {
    SummaryColumns(
      ids: ids.pointer,
      coordinates: coordinates.pointer,
      records: records.pointers.records,
      texts: records.pointers.texts,
      categoryStarts: categories.namePointers.starts,
      categoryNames: categories.namePointers.names
    )
  }

  /// The tree over all places, which lives as long as the segment.
  var tree: PackedTree {
    PackedTree(count: count, slots: nil, space: spaceBounds.pointer, geographic: geographicBounds.pointer)
  }

  /// The slots in the order of their places' ids; they live as long as the segment.
  var slotsByID: UnsafeBufferPointer<UInt32> { .init(start: idOrder.pointer, count: count) }

  /// The slots in the order of their places' shuffle keys, then ids; they live as long as the segment.
  var slotsByShuffleKey: UnsafeBufferPointer<UInt32> { .init(start: shuffleOrder.pointer, count: count) }

  /// The place in a slot.
  func point(at slot: Int) -> PointOfInterest {
    records.point(
      at: slot,
      id: ids.pointer[slot],
      coordinate: coordinates.pointer[slot],
      categories: categories.names
    )
  }

  /// The maximum number of sources whose indexes are kept.
  private static let maximumSourceIndexes = 4

  /// Returns the index of the places of a source; `nil` where no place is of it. Made in the order of n when a source is
  /// first asked for, and kept for a few sources.
  func index(ofSource source: String) -> SourceIndex? {
    guard let number = records.number(ofSource: source) else { return nil }
    if let known = sourceIndexes.withLock({ $0.first { $0.number == number } }) { return known }
    // Not under the lock: other searches would wait.
    let index = SourceIndex(number: number, records: records, slotsByID: slotsByID, columns: columns)
    sourceIndexes.withLock { indexes in
      indexes.removeAll { $0.number == number }
      if indexes.count == Self.maximumSourceIndexes { indexes.removeFirst() }
      indexes.append(index)
    }
    return index
  }

  /// The slot of the place with that id, or `nil`. In the order of log n.
  func slot(of id: PointID) -> Int? {
    let position = slotsByID.firstPosition { !(ids.pointer[Int($0)] < id) }
    guard position < count else { return nil }
    let slot = Int(slotsByID[position])
    return ids.pointer[slot] == id ? slot : nil
  }

  /// The slot of the place that came from there, or `nil`. Constant time on average.
  func slot(of origin: Place.Origin) -> Int? {
    origins.first(hash: origin.exactHash) { records.place(at: Int($0), cameFrom: origin) }.map { Int($0) }
  }
}

extension Place.Origin {
  /// A hash of the texts' bytes, different in each process.
  var exactHash: Int {
    var hasher = Hasher()
    source.hashBytes(into: &hasher)
    sourceID.hashBytes(into: &hasher)
    return hasher.finalize()
  }

  /// Whether both are the same bytes.
  func isIdentical(to other: Place.Origin) -> Bool {
    sourceID.hasSameBytes(as: other.sourceID) && source.hasSameBytes(as: other.source)
  }
}

extension Place.Origin? {
  /// Whether both are the same bytes, or both none.
  func isIdentical(to other: Place.Origin?) -> Bool {
    switch (self, other) {
    case (nil, nil): true
    case (let left?, let right?): left.isIdentical(to: right)
    default: false
    }
  }
}

extension UnsafeBufferPointer {
  /// The first position whose element has a property that all later ones have too; the count where none has. In the
  /// order of log n.
  func firstPosition(where hasProperty: (Element) -> Bool) -> Int {
    var low = 0
    var high = count
    while low < high {
      let middle = low + (high - low) / 2
      if hasProperty(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
