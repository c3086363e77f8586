import Geo
import Points

extension FixedBuffer {
  /// Creates a buffer of a value of each item.
  init(_ items: ContiguousArray<SpatialOrder.Item>, _ value: (SpatialOrder.Item) -> Element) {
    self.init(count: items.count) { memory in
      items.withUnsafeBufferPointer { items in
        for slot in 0..<items.count { (memory + slot).initialize(to: value(items[slot])) }
      }
    }
  }

  /// Creates a buffer of the values in the order of the items that stand for them.
  init(_ values: ContiguousArray<Element>, in items: ContiguousArray<SpatialOrder.Item>) {
    self.init(count: items.count) { memory in
      values.withUnsafeBufferPointer { values in
        items.withUnsafeBufferPointer { items in
          for slot in 0..<items.count { (memory + slot).initialize(to: values[Int(items[slot].index)]) }
        }
      }
    }
  }
}

extension Segment {
  /// Returns the places in the order of their slots.
  static func inSpatialOrder(_ coordinates: ContiguousArray<Coordinate>) -> ContiguousArray<SpatialOrder.Item> {
    var items = ContiguousArray<SpatialOrder.Item>()
    items.reserveCapacity(coordinates.count)
    for (index, coordinate) in coordinates.enumerated() {
      let position = EarthCentred(coordinate)
      items.append(.init(x: position.x, y: position.y, z: position.z, index: UInt32(index)))
    }
    items.withUnsafeMutableBufferPointer { SpatialOrder.sort($0) }
    return items
  }

  /// Returns the records in the order of the items, with the starts of their texts in the same order; and the starts of
  /// the texts that they had.
  static func records(
    _ records: ContiguousArray<PointRecord>,
    in items: ContiguousArray<SpatialOrder.Item>
  ) -> (records: FixedBuffer<PointRecord>, formerStarts: FixedBuffer<Int>) {
    records.withUnsafeBufferPointer { records in
      let formerStarts = FixedBuffer(items) { records[Int($0.index)].start }
      var end = 0
      let inOrder = FixedBuffer(items) { item in
        var record = records[Int(item.index)]
        record.start = end
        end += record.textLength
        return record
      }
      return (inOrder, formerStarts)
    }
  }

  /// Returns the texts of the records, which had other starts in the given texts.
  static func texts(
    _ texts: ContiguousArray<UInt8>,
    of records: FixedBuffer<PointRecord>,
    formerStarts: FixedBuffer<Int>
  ) -> FixedBuffer<UInt8> {
    FixedBuffer(count: texts.count) { memory in
      texts.withUnsafeBufferPointer { texts in
        guard let start = texts.baseAddress else { return }
        for slot in 0..<records.count {
          let record = records.pointer[slot]
          (memory + record.start).initialize(from: start + formerStarts.pointer[slot], count: record.textLength)
        }
      }
    }
  }

  /// Returns the slots in the order of the ids.
  static func order(of ids: FixedBuffer<PointID>) -> FixedBuffer<UInt32> {
    var entries = ContiguousArray<(id: PointID, slot: UInt32)>()
    entries.reserveCapacity(ids.count)
    for slot in 0..<ids.count { entries.append((ids.pointer[slot], UInt32(slot))) }
    entries.sort { $0.id < $1.id }
    return FixedBuffer(entries.lazy.map(\.slot))
  }

  /// Returns the slots in the order of the shuffle keys, then of the ids.
  static func shuffleOrder(of ids: FixedBuffer<PointID>) -> FixedBuffer<UInt32> {
    var entries = ContiguousArray<(key: UInt64, slot: UInt32)>()
    entries.reserveCapacity(ids.count)
    for slot in 0..<ids.count { entries.append((ids.pointer[slot].shuffleKey, UInt32(slot))) }
    entries.sort { left, right in
      left.key != right.key ? left.key < right.key : ids.pointer[Int(left.slot)] < ids.pointer[Int(right.slot)]
    }
    return FixedBuffer(entries.lazy.map(\.slot))
  }
}
