import Geo
import JSONText
import Points

/// A numbering of texts in the order of their first use.
struct TextNumbers: Sendable {
  private(set) var texts: [String] = []
  private var numbers: [ExactText: UInt32] = [:]

  /// Returns the number of a text, a new one for a new text; `nil` for no text.
  mutating func number(of text: String?) -> UInt32? {
    guard let text else { return nil }
    if let number = numbers[ExactText(text)] { return number }
    let number = UInt32(texts.count)
    numbers[ExactText(text)] = number
    texts.append(text)
    return number
  }

  /// Returns the number of a text, or `nil` where it has none.
  func existingNumber(of text: String) -> UInt32? { numbers[ExactText(text)] }
}

extension Segment {
  static func inSpatialOrder(_ points: ContiguousArray<PointOfInterest>) -> ContiguousArray<SpatialOrder.Item> {
    var items = ContiguousArray<SpatialOrder.Item>()
    items.reserveCapacity(points.count)
    for (index, point) in points.enumerated() {
      let position = EarthCentred(point.draft.coordinate)
      items.append(.init(x: position.x, y: position.y, z: position.z, index: UInt32(index)))
    }
    items.withUnsafeMutableBufferPointer { SpatialOrder.sort($0) }
    return items
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

  /// Returns the slots by the source references of the places in them.
  static func index(_ origins: some Collection<SourceReference?>) -> HashIndex {
    var index = HashIndex(capacity: origins.lazy.count { $0 != nil })
    for (slot, origin) in origins.enumerated() {
      if let origin { index.insert(UInt32(slot), hash: origin.hashValue) }
    }
    return index
  }
}
