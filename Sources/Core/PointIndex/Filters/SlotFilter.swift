import Basics
import CQL2
import Geo
import JSONText
import PointDetails
import Points

/// The conditions of a query, without its order and position, for one place at a time.
struct QueryFilter {
  private let region: RegionFilter?
  private let route: RouteFilter?
  private let proximity: ProximityFilter?
  private let categories: Set<ExactText>
  private let excludedCategories: Set<ExactText>
  private let source: PointQuery.Source?
  private let ids: Set<PointID>
  private let filter: PropertyFilter?
  private let opening: PointQuery.Opening?

  /// Creates the conditions.
  ///
  /// - Parameter limit: the time limit of the search; `nil` if it has none.
  init(_ query: PointQuery, _ limit: SearchLimit? = nil) {
    region = RegionFilter(query, limit)
    route = query.route.map { RouteFilter($0, limit) }
    proximity = query.proximity.flatMap { $0.radiusMetres == nil ? nil : ProximityFilter($0, after: nil) }
    categories = query.categories
    excludedCategories = query.excludedCategories
    source = query.source
    ids = Set(query.ids)
    filter = query.filter
    opening = query.opening
  }

  /// Returns a Boolean value that indicates whether the place in a slot matches.
  func matches(_ slot: Int, of segment: Segment) -> Bool {
    let columns = segment.columns
    if let region, !region.contains(slot, columns) { return false }
    if !categories.isEmpty || !excludedCategories.isEmpty, !matchesCategory(slot, of: segment) { return false }
    if let source, !segment.records.isPoint(at: slot, of: source) { return false }
    if !ids.isEmpty, !ids.contains(columns.ids[slot]) { return false }
    if let route, route.nearest(to: slot, columns) == nil { return false }
    if let proximity, !proximity.contains(slot, columns) { return false }
    if let filter, !filter.matches(slot, of: segment) { return false }
    return opening.map { OpeningFilter($0, in: segment, nil).matches(slot) } ?? true
  }

  private func matchesCategory(_ slot: Int, of segment: Segment) -> Bool {
    let category = segment.records.category(at: slot)
    guard category != PointRecord.none else { return categories.isEmpty }
    let name = ExactText(segment.categories.names[Int(category)])
    return (categories.isEmpty || categories.contains(name)) && !excludedCategories.contains(name)
  }
}

/// The property filter of a search, its condition on opening hours and its excluded categories, with the limit of the
/// search.
final class SlotFilter {
  private let filter: PropertyFilter?
  private let segments: [Segment]
  /// The condition on opening hours in each part; empty if there is none.
  private let openings: [OpeningFilter]
  /// The Boolean values that indicate which categories of each part are excluded, by their numbers; empty if none is.
  private let excluded: [[Bool]]
  private let limit: SearchLimit
  private let steps: Int

  /// Creates the filter at the start of a search; `nil` if the query has none of the conditions.
  ///
  /// - Parameter limit: the limit of the search, after which no place matches.
  init?(_ query: PointQuery, in snapshot: PointSnapshot, _ limit: SearchLimit) {
    guard query.filter != nil || query.opening != nil || !query.excludedCategories.isEmpty else { return nil }
    filter = query.filter
    let segments = snapshot.parts.map(\.segment)
    self.segments = segments
    openings = query.opening.map { opening in segments.map { OpeningFilter(opening, in: $0, limit) } } ?? []
    excluded =
      query.excludedCategories.isEmpty
      ? []
      : segments.map { $0.categories.names.map { query.excludedCategories.contains(ExactText($0)) } }
    self.limit = limit
    steps = query.filter?.stepsPerEvaluation ?? 0
  }

  /// Returns the condition on opening hours in a part; `nil` if there is none.
  func opening(ofPart part: Int) -> OpeningFilter? { openings.isEmpty ? nil : openings[part] }

  /// Returns a Boolean value that indicates whether the place in a slot of a tree matches.
  func matches(_ slot: Int, in tree: SearchTree) -> Bool { matches(slot, ofPart: Int(tree.part)) }

  /// Returns a Boolean value that indicates whether the place in a slot of a part matches.
  @inline(never)
  func matches(_ slot: Int, ofPart part: Int) -> Bool {
    if !excluded.isEmpty, isExcluded(slot, ofPart: part) { return false }
    if !openings.isEmpty, !openings[part].matches(slot) { return false }
    guard let filter else { return true }
    return limit.spend(steps) && filter.matches(slot, of: segments[part])
  }

  /// The number of steps to read the category of a place.
  private static let stepsPerCategory = 4

  private func isExcluded(_ slot: Int, ofPart part: Int) -> Bool {
    guard limit.spend(Self.stepsPerCategory) else { return true }
    let category = segments[part].records.category(at: slot)
    return category != PointRecord.none && excluded[part][Int(category)]
  }
}

extension PropertyFilter {
  /// The number of steps of the evaluation on one place.
  var stepsPerEvaluation: Int {
    max(SearchLimit.stepsPerEvaluation, SearchLimit.stepsPerTerm * condition.termCount)
  }

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
    guard let field = PointField(rawValue: number) else {
      return segment.records.value(ofTag: tags[number - PropertyFilter.firstTag], at: slot)
    }
    let columns = segment.columns
    switch field {
    case .id: return .string(ExactText(columns.ids[slot].description))
    case .name: return .string(ExactText(segment.records.name(at: slot)))
    case .category:
      let category = segment.records.category(at: slot)
      return category == PointRecord.none ? .null : .string(ExactText(segment.categories.names[Int(category)]))
    case .latitude: return .number(columns.coordinates[slot].latitude)
    case .longitude: return .number(columns.coordinates[slot].longitude)
    case .geometry:
      return .point(x: columns.coordinates[slot].longitude, y: columns.coordinates[slot].latitude)
    case .createdAt: return .timestamp(segment.records.stamp(at: slot).createdAtMicroseconds)
    case .updatedAt: return .timestamp(segment.records.stamp(at: slot).updatedAtMicroseconds)
    case .source: return segment.records.origin(at: slot).map { .string(ExactText($0.source)) } ?? .null
    case .sourceID: return segment.records.origin(at: slot).map { .string(ExactText($0.sourceID)) } ?? .null
    case .version: return .number(Double(segment.records.stamp(at: slot).version))
    case .operatingStatus:
      let category = segment.records.category(at: slot)
      let status = segment.records.withTags(at: slot) { tags in
        OperatingStatus(
          tags: tags, category: category == PointRecord.none ? nil : segment.categories.names[Int(category)])
      }
      return .string(ExactText(status.rawValue))
    // Conditions cannot name these.
    case .distance, .along, .tags, .attribution, .openState, .openUntil, .opensAt, .timeZone, .label, .score, .match:
      return .null
    }
  }
}

extension PointRecords {
  /// Returns the value of a tag of the place in a slot, null where it has none of the tag's type.
  func value(ofTag tag: PropertyFilter.Tag, at slot: Int) -> FilterValue {
    guard let text = withTags(at: slot, { Self.text(ofTag: tag.jsonKey, in: $0) }) else { return .null }
    return FilterValue(text, as: tag.type) ?? .null
  }

  /// Returns the value of a member of a stored object of strings, by its name as a JSON string.
  static func text(ofTag key: [UInt8], in object: UnsafeBufferPointer<UInt8>) -> String? {
    var text: String?
    JSONString.forEachMember(ofStrings: object) { name, value in
      guard name.count == key.count, object[name].elementsEqual(key) else { return true }
      var reader = JSONReader(UnsafeBufferPointer(rebasing: object[value]))
      text = (try? reader.readString())?.string
      return false
    }
    return text
  }
}
