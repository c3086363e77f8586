import Geo

/// The places of one source in a ``Segment``, never changed once made.
///
/// Categories have a tree each from the beginning; few sources are ever asked for, so that this is made on demand.
final class SourceIndex: Sendable {
  /// The source's number in the segment.
  let number: UInt32

  /// Marks at the places that are not of the source.
  let others: Tombstones

  private let idOrder: Memory<UInt32>
  private let ownTree: OwnTree?

  private struct OwnTree: Sendable {
    let slots: Memory<UInt32>
    let space: Memory<SpaceBounds>
    let geographic: Memory<GeographicBounds>
  }

  /// Up to one place of so many, a source has a tree of its own; a greater one is searched in the tree over all places.
  private static let sparseness = 16

  /// Creates the index. In the order of n.
  ///
  /// - Parameters:
  ///   - number: the source's number in the segment.
  ///   - slotsByID: the slots of all places in the order of their ids.
  init(number: UInt32, records: PlaceRecords, slotsByID: UnsafeBufferPointer<UInt32>, columns: SegmentColumns) {
    self.number = number
    let others = Tombstones(size: records.count) { records.source(at: $0) != number }
    self.others = others
    let count = records.count - others.count
    func gather(_ slots: some Sequence<UInt32>) -> Memory<UInt32> {
      Memory(count: count) { memory in
        var next = memory
        for slot in slots where !others.contains(Int(slot)) {
          next.initialize(to: slot)
          next += 1
        }
      }
    }
    idOrder = gather(slotsByID)
    if count * Self.sparseness <= records.count {
      // Slots are in a spatial order, and so are some of them.
      let slots = gather(0..<UInt32(records.count))
      var nodes = NodeBounds()
      nodes.append(treeOf: UnsafeBufferPointer(start: slots.pointer, count: count), columns: columns)
      ownTree = OwnTree(slots: slots, space: Memory(nodes.space), geographic: Memory(nodes.geographic))
    } else {
      ownTree = nil
    }
  }

  /// The slots of the source's places in the order of their ids; they live as long as the index.
  var slotsByID: UnsafeBufferPointer<UInt32> { .init(start: idOrder.pointer, count: idOrder.count) }

  /// The tree over the source's places, which lives as long as the index; `nil` where they are so many that the tree over
  /// all places, with ``others``, does as well.
  var tree: PackedTree? {
    ownTree.map { tree in
      PackedTree(
        count: idOrder.count, slots: tree.slots.pointer, space: tree.space.pointer,
        geographic: tree.geographic.pointer)
    }
  }
}
