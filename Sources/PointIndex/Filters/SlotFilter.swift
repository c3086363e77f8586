import Basics
import CQL2
import Geo
import JSONText
import Points

/// The conditions of a query, without its order and position, for one place at a time.
struct QueryFilter {
  private let region: RegionFilter?
  private let route: RouteFilter?
  private let proximity: ProximityFilter?
  private let categories: Set<ExactText>
  private let source: PointQuery.Source?
  private let filter: PropertyFilter?

  /// Creates the conditions.
  ///
  /// - Parameter limit: the time limit of the search; `nil` if it has none.
  init(_ query: PointQuery, _ limit: SearchLimit? = nil) {
    region = RegionFilter(query, limit)
    route = query.route.map { RouteFilter($0, limit) }
    proximity = query.proximity.flatMap { $0.radiusMetres == nil ? nil : ProximityFilter($0, after: nil) }
    categories = query.categories
    source = query.source
    filter = query.filter
  }

  /// Returns a Boolean value that indicates whether the place in a slot matches.
  func matches(_ slot: Int, of segment: Segment) -> Bool {
    let columns = segment.columns
    if let region, !region.contains(slot, columns) { return false }
    if !categories.isEmpty {
      let category = segment.records.category(at: slot)
      guard category != PointRecord.none,
        categories.contains(ExactText(segment.categories.names[Int(category)]))
      else { return false }
    }
    if let source, !segment.records.isPoint(at: slot, of: source) { return false }
    if let route, route.nearest(to: slot, columns) == nil { return false }
    if let proximity, !proximity.contains(slot, columns) { return false }
    return filter?.matches(slot, of: segment) ?? true
  }
}

/// The property filter of a search, with the time limit of that.
final class SlotFilter {
  private let filter: PropertyFilter
  private let segments: [Segment]
  private let limit: SearchLimit
  private let steps: Int

  /// Creates the filter at the start of a search.
  ///
  /// - Parameter limit: the time limit of the search, after which no place matches.
  init(_ filter: PropertyFilter, in snapshot: PointSnapshot, _ limit: SearchLimit) {
    self.filter = filter
    segments = snapshot.parts.map(\.segment)
    self.limit = limit
    steps = max(SearchLimit.stepsPerEvaluation, SearchLimit.stepsPerTerm * filter.condition.termCount)
  }

  /// Returns a Boolean value that indicates whether the place in a slot of a tree matches.
  func matches(_ slot: Int, in tree: SearchTree) -> Bool { matches(slot, of: segments[Int(tree.part)]) }

  /// Returns a Boolean value that indicates whether the place in a slot of a segment matches.
  @inline(never)
  func matches(_ slot: Int, of segment: Segment) -> Bool {
    limit.spend(steps) && filter.matches(slot, of: segment)
  }
}

extension PropertyFilter {
  /// Returns a Boolean value that indicates whether the place in a slot matches.
  func matches(_ slot: Int, of segment: Segment) -> Bool {
    condition.matches(SlotRecord(slot: slot, segment: segment, tags: tags))
  }
}

/// The place in a slot as a record of a filter.
private struct SlotRecord: FilterRecord {
  let slot: Int
  let segment: Segment
  let tags: [PropertyFilter.Tag]

  func value(ofProperty number: Int) -> FilterValue {
    guard let property = PointProperty(rawValue: number) else {
      return segment.records.value(ofTag: tags[number - PropertyFilter.firstTag], at: slot)
    }
    let columns = segment.columns
    switch property {
    case .id: return .string(ExactText(columns.ids[slot].description))
    case .name: return .string(ExactText(segment.records.name(at: slot)))
    case .category:
      let category = segment.records.category(at: slot)
      return category == PointRecord.none ? .null : .string(ExactText(segment.categories.names[Int(category)]))
    case .latitude: return .number(columns.coordinates[slot].latitude)
    case .longitude: return .number(columns.coordinates[slot].longitude)
    case .geometry:
      return .point(x: columns.coordinates[slot].longitude, y: columns.coordinates[slot].latitude)
    case .createdAt: return .timestamp(segment.records.record(at: slot).createdAtMicroseconds)
    case .updatedAt: return .timestamp(segment.records.record(at: slot).updatedAtMicroseconds)
    case .source: return segment.records.origin(at: slot).map { .string(ExactText($0.source)) } ?? .null
    case .sourceID: return segment.records.origin(at: slot).map { .string(ExactText($0.sourceID)) } ?? .null
    case .version: return .number(Double(segment.records.record(at: slot).version))
    }
  }
}

extension PointRecords {
  /// Returns the value of a tag of the place in a slot, null where it has none of the tag's type.
  func value(ofTag tag: PropertyFilter.Tag, at slot: Int) -> FilterValue {
    guard let text = Self.text(ofTag: tag.jsonKey, in: tags(at: slot)) else { return .null }
    return FilterValue(text, as: tag.type) ?? .null
  }

  /// Returns the value of a member of a stored object of strings, by its name as a JSON string.
  static func text(ofTag key: [UInt8], in object: UnsafeBufferPointer<UInt8>) -> String? {
    var position = 1
    while position < object.count, object[position] == UInt8(ascii: "\"") {
      let name = position..<end(ofStringAt: position, in: object)
      let value = name.upperBound + 1..<end(ofStringAt: name.upperBound + 1, in: object)
      guard value.upperBound <= object.count else { return nil }
      if name.count == key.count, object[name].elementsEqual(key) {
        var reader = JSONReader(UnsafeBufferPointer(rebasing: object[value]))
        return (try? reader.readString())?.string
      }
      // The comma, or the end.
      position = value.upperBound + 1
    }
    return nil
  }

  /// Returns the index after the closing quotation mark of the string that begins at an index.
  private static func end(ofStringAt start: Int, in bytes: UnsafeBufferPointer<UInt8>) -> Int {
    var position = start + 1
    while true {
      position = JSONString.endOfPlainText(in: bytes, from: position)
      guard position < bytes.count, bytes[position] != UInt8(ascii: "\"") else { return min(position, bytes.count) + 1 }
      // A backslash, and what it escapes.
      position += 2
    }
  }
}
