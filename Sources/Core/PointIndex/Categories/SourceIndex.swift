import Geo

/// The places of one source of a ``Segment``.
///
/// Unlike the trees of categories it is built on demand, because few sources are ever searched.
final class SourceIndex: Sendable {
  /// The source's number in the segment.
  let number: UInt32

  /// Marks on the places that are not of the source.
  let others: Tombstones

  private let idOrder: FixedBuffer<UInt32>
  private let ownTree: OwnTree?

  private struct OwnTree: Sendable {
    let slots: FixedBuffer<UInt32>
    let space: FixedBuffer<SpaceBounds>
    let geographic: FixedBuffer<GeographicBounds>
  }

  /// A source with up to 1/16 of the places has a tree of its own; a larger one is searched in the tree over all
  /// places.
  private static let sparseness = 16

  /// Creates the index. O(n).
  ///
  /// - Parameters:
  ///   - number: the source's number in the segment.
  ///   - slotsByID: the slots of all places in the order of their ids.
  init(number: UInt32, records: PointRecords, slotsByID: UnsafeBufferPointer<UInt32>, columns: SegmentColumns) {
    self.number = number
    let others = Tombstones(size: records.count) { records.source(at: $0) != number }
    self.others = others
    let count = records.count - others.count
    func gather(_ slots: some Sequence<UInt32>) -> FixedBuffer<UInt32> {
      FixedBuffer(count: count) { memory in
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
      var nodes = NodeBounds(capacity: PackedTree.nodeCount(places: count))
      nodes.append(treeOf: UnsafeBufferPointer(start: slots.pointer, count: count), columns: columns)
      ownTree = OwnTree(slots: slots, space: FixedBuffer(nodes.space), geographic: FixedBuffer(nodes.geographic))
    } else {
      ownTree = nil
    }
  }

  /// The bytes of the index.
  var byteCount: Int {
    others.byteCount + idOrder.byteCount
      + (ownTree.map { $0.slots.byteCount + $0.space.byteCount + $0.geographic.byteCount } ?? 0)
  }

  /// The slots of the source's places in the order of their ids; valid for the life of the index.
  var slotsByID: UnsafeBufferPointer<UInt32> { .init(start: idOrder.pointer, count: idOrder.count) }

  /// The tree over the places of the source, valid for the life of the index; `nil` if they are so many that the
  /// tree over all places, with ``others``, is as good.
  var tree: PackedTree? {
    ownTree.map { tree in
      PackedTree(
        count: idOrder.count, slots: tree.slots.pointer, space: tree.space.pointer,
        geographic: tree.geographic.pointer, firstNode: nil)
    }
  }
}
