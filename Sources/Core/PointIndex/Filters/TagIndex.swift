import Basics
import CQL2
import JSONText
import Points

/// The places of a ``Segment`` by the values of a tag.
///
/// A value is reduced to 64 bits: to a hash, or, where ranges are searched, to a number whose order is that of the
/// values. Several values may have the same one, so that a look-up may return places with others: the filter is
/// evaluated on each. A place with a list is there once for each element.
final class TagIndex: Sendable {
  let tag: PropertyFilter.Tag

  private let keys: FixedBuffer<UInt64>
  private let slots: FixedBuffer<UInt32>

  /// Creates the index. O(n log n) for the n places that have the tag.
  init(_ tag: PropertyFilter.Tag, records: PointRecords) {
    self.tag = tag
    let kind = tag.index ?? .hash
    var entries: ContiguousArray<(key: UInt64, slot: UInt32)> = []
    for slot in 0..<records.count {
      switch records.value(ofTag: tag, at: slot) {
      case .null: break
      case .array(let elements):
        for element in elements {
          if let key = TagKey.key(of: element, in: kind) { entries.append((key, UInt32(slot))) }
        }
      case let value:
        if let key = TagKey.key(of: value, in: kind) { entries.append((key, UInt32(slot))) }
      }
    }
    entries.sort { ($0.key, $0.slot) < ($1.key, $1.slot) }
    keys = FixedBuffer(entries.lazy.map(\.key))
    slots = FixedBuffer(entries.lazy.map(\.slot))
  }

  var byteCount: Int { keys.byteCount + slots.byteCount }

  /// Returns the number of entries with keys in ranges.
  func count(in ranges: [ClosedRange<UInt64>]) -> Int { ranges.reduce(0) { $0 + positions(in: $1).count } }

  /// Returns the slots of the entries with keys in ranges, each once, in ascending order.
  func slots(in ranges: [ClosedRange<UInt64>]) -> [UInt32] {
    var found: [UInt32] = []
    for range in ranges {
      for position in positions(in: range) { found.append(slots.pointer[position]) }
    }
    found.sort()
    var count = 0
    for slot in found where count == 0 || found[count - 1] != slot {
      found[count] = slot
      count += 1
    }
    found.removeLast(found.count - count)
    return found
  }

  private func positions(in range: ClosedRange<UInt64>) -> Range<Int> {
    let keys = UnsafeBufferPointer(start: keys.pointer, count: keys.count)
    let start = keys.firstPosition { $0 >= range.lowerBound }
    return start..<keys.firstPosition { $0 > range.upperBound }
  }
}

/// The keys of values in a ``TagIndex``.
enum TagKey {
  /// Returns the key of a value; `nil` for one that is not indexed.
  static func key(of value: FilterValue, in kind: TagIndexKind) -> UInt64? {
    switch kind {
    case .sorted: orderedKey(of: value)
    case .hash: hash(of: value)
    }
  }

  private static func hash(of value: FilterValue) -> UInt64? {
    guard case .string(let text) = value else { return orderedKey(of: value) }
    var hash = FNV1a()
    hash.combine(bytes: text.text.utf8)
    return hash.value
  }

  /// Returns a number whose order is that of the values of a type.
  private static func orderedKey(of value: FilterValue) -> UInt64? {
    let signBit: UInt64 = 1 << 63
    switch value {
    case .string(let text):
      // The first eight bytes: in UTF-8 their order is that of the Unicode scalars.
      var key: UInt64 = 0
      var count = 0
      for byte in text.text.utf8.prefix(8) {
        key = key << 8 | UInt64(byte)
        count += 1
      }
      return count == 0 ? 0 : key << UInt64(8 * (8 - count))
    case .number(let number):
      // Of negative numbers all bits are inverted; -0 is 0.
      let bits = (number + 0).bitPattern
      return bits & signBit == 0 ? bits | signBit : ~bits
    case .boolean(let isSet): return isSet ? 1 : 0
    case .date(let days): return UInt64(bitPattern: Int64(days)) ^ signBit
    case .timestamp(let microseconds): return UInt64(bitPattern: microseconds) ^ signBit
    case .null, .point, .array: return nil
    }
  }

  /// Returns the value of a literal that values of a type are compared with as they are; `nil` for any other
  /// expression.
  static func value(of expression: FilterExpression, as type: FilterType) -> FilterValue? {
    switch (expression, type) {
    case (.string(let text), .string), (.string(let text), .stringArray): .string(text)
    case (.number(let number), .number), (.number(let number), .integer): .number(number)
    case (.boolean(let isSet), .boolean): .boolean(isSet)
    case (.date(let date), .date): .date(date.daysSinceEpoch)
    case (.timestamp(let microseconds), .timestamp): .timestamp(microseconds)
    default: nil
    }
  }
}
