import Basics
import CQL2
import Geo
import JSONText
import Points

extension PointQuery {
  /// The query with conditions that follow from its filter and that an index knows: a box, categories, a source. It has
  /// the same places. `nil` if none can match.
  var narrowedByFilter: PointQuery? {
    guard let filter else { return self }
    var query = self
    var edges = BoxEdges()
    for condition in filter.expression.conjuncts {
      edges.narrow(by: condition)
      if let names = condition.texts(equalTo: .category) {
        let categories = Set(names)
        query.categories = query.categories.isEmpty ? categories : query.categories.intersection(categories)
        guard !query.categories.isEmpty else { return nil }
      }
      if query.source == nil, let names = condition.texts(equalTo: .source), names.count == 1 {
        query.source = Source(name: names[0].text)
      }
    }
    guard edges.isNarrowed else { return query }
    guard let box = edges.box else { return nil }
    query.box = query.box.map { $0.intersection(box) } ?? box
    return query
  }
}

extension BoundingBox {
  /// Returns the part of the box in another one, or the box itself where the part is not one box of plain numbers.
  fileprivate func intersection(_ other: BoundingBox) -> BoundingBox {
    // A place on the antimeridian is in boxes on both of its sides.
    for box in [self, other] where box.crossesAntimeridian || box.west == -180 || box.east == 180 { return self }
    let part = try? BoundingBox(
      west: max(west, other.west), south: max(south, other.south), east: min(east, other.east),
      north: min(north, other.north))
    guard let part, !part.crossesAntimeridian else { return self }
    return part
  }
}

extension FilterExpression {
  /// The conditions all of which must hold.
  var conjuncts: [FilterExpression] {
    guard case .operation(.and, let operands) = self else { return [self] }
    return operands
  }

  /// Returns the texts one of which a property has where the condition holds; `nil` where that is unknown.
  func texts(equalTo field: PointField) -> [ExactText]? {
    guard case .operation(let operation, let operands) = self, operands.count == 2 else { return nil }
    let name = FilterExpression.property(ExactText(field.name))
    switch (operation, operands[0], operands[1]) {
    case (.equal, name, .string(let text)), (.equal, .string(let text), name): return [text]
    case (.isIn, name, .array(let elements)):
      let texts = elements.compactMap { element -> ExactText? in
        guard case .string(let text) = element else { return nil }
        return text
      }
      return texts.count == elements.count ? texts : nil
    default: return nil
    }
  }
}

/// The edges of a box that conditions confine places to.
private struct BoxEdges {
  private var west = -180.0
  private var south = -90.0
  private var east = 180.0
  private var north = 90.0
  private var crossing: FilterGeometry.Box?

  /// A Boolean value that indicates whether a condition was one on the position.
  private(set) var isNarrowed = false

  /// The box; `nil` if it is empty.
  var box: BoundingBox? {
    if let crossing, west == -180, east == 180 {
      return try? BoundingBox(
        west: min(max(crossing.west, -180), 180), south: max(south, crossing.south),
        east: min(max(crossing.east, -180), 180), north: min(north, crossing.north))
    }
    guard west <= east else { return nil }
    return try? BoundingBox(west: west, south: south, east: east, north: north)
  }

  mutating func narrow(by condition: FilterExpression) {
    guard case .operation(let operation, let operands) = condition else { return }
    let geometry = FilterExpression.property(ExactText(PointField.geometry.name))
    switch (operands.first, operands.dropFirst().first, operands.dropFirst(2).first) {
    case (geometry, .geometry(let shape), nil) where operation.isWithinBounds,
      (.geometry(let shape), geometry, nil) where operation.isWithinBounds:
      narrow(by: shape)
    case (.property(let name), .number(let number), nil): narrow(by: name, operation, number)
    case (.property(let name), .number(let least), .number(let most)) where operation == .between:
      narrow(by: name, .greaterOrEqual, least)
      narrow(by: name, .lessOrEqual, most)
    default: break
    }
  }

  private mutating func narrow(by geometry: FilterGeometry) {
    isNarrowed = true
    if case .box(let box) = geometry, box.west > box.east {
      crossing = box
      return
    }
    let bounds = geometry.bounds
    (west, east) = (max(west, bounds.west), min(east, bounds.east))
    (south, north) = (max(south, bounds.south), min(north, bounds.north))
  }

  private mutating func narrow(by name: ExactText, _ comparison: FilterOperator, _ number: Double) {
    let isLongitude: Bool
    switch PointField(queryable: name.text) {
    case .latitude: isLongitude = false
    case .longitude: isLongitude = true
    default: return
    }
    if [.greater, .greaterOrEqual, .equal].contains(comparison) {
      isNarrowed = true
      if isLongitude { west = max(west, number) } else { south = max(south, number) }
    }
    if [.less, .lessOrEqual, .equal].contains(comparison) {
      isNarrowed = true
      if isLongitude { east = min(east, number) } else { north = min(north, number) }
    }
  }
}

extension FilterOperator {
  /// A Boolean value that indicates whether places in the spatial relation to a geometry are within its bounds.
  fileprivate var isWithinBounds: Bool {
    switch self {
    case .spatiallyIntersects, .spatiallyWithin, .spatiallyContains, .spatiallyEquals, .spatiallyTouches: true
    default: false
    }
  }
}

/// The places that may match a query by one of the conditions of its filter that all must hold: those with values of an
/// indexed tag, or with ids.
struct IndexPlan {
  private enum Condition {
    case tag(PropertyFilter.Tag, [ClosedRange<UInt64>])
    case ids([PointID])
  }

  /// The slots by part, each once and in ascending order, removed places included.
  let slots: [[UInt32]]

  /// Creates the plan of the most selective condition; `nil` if there is none, or a search by the other conditions
  /// is likely to examine fewer places.
  init?(_ query: PointQuery, in snapshot: PointSnapshot) {
    guard let filter = query.filter else { return nil }
    let conditions = filter.expression.conjuncts.compactMap { Self.condition($0, of: filter) }
    var best: (condition: Condition, count: Int)?
    for condition in conditions {
      let count = Self.count(of: condition, in: snapshot)
      if best.map({ count < $0.count }) ?? true { best = (condition, count) }
    }
    guard let best, Self.isWorthwhile(best.count, for: query, in: snapshot) else { return nil }
    slots = snapshot.parts.map { Self.slots(of: best.condition, in: $0.segment) }
  }

  // MARK: Conditions

  /// Returns the condition of an expression; `nil` if no index has it.
  private static func condition(_ expression: FilterExpression, of filter: PropertyFilter) -> Condition? {
    if let texts = expression.texts(equalTo: .id) {
      // An id is compared as a text: in another spelling it is none of a place.
      return .ids(texts.compactMap { PointID($0.text) })
    }
    guard case .operation(let operation, let operands) = expression, operands.count >= 2 else { return nil }
    if let tag = filter.tag(operands[0]) {
      return ranges(operation, tag, Array(operands.dropFirst())).map { .tag(tag, $0) }
    }
    // A literal before the property.
    if operands.count == 2, let tag = filter.tag(operands[1]), let flipped = operation.flipped {
      return ranges(flipped, tag, [operands[0]]).map { .tag(tag, $0) }
    }
    return nil
  }

  /// Returns the ranges of keys of a comparison of a tag with literals; `nil` if an index does not have it.
  private static func ranges(
    _ operation: FilterOperator, _ tag: PropertyFilter.Tag, _ literals: [FilterExpression]
  ) -> [ClosedRange<UInt64>]? {
    guard let kind = tag.index else { return nil }
    func key(_ literal: FilterExpression?) -> UInt64? {
      literal.flatMap { TagKey.value(of: $0, as: tag.type) }.flatMap { TagKey.key(of: $0, in: kind) }
    }
    func keys(_ literal: FilterExpression?) -> [UInt64]? {
      guard case .array(let elements)? = literal else { return nil }
      let keys = elements.compactMap { key($0) }
      return keys.count == elements.count && !keys.isEmpty ? keys : nil
    }
    if tag.type == .stringArray {
      switch operation {
      // A list that contains all elements contains the first.
      case .arrayContains: return keys(literals.first).map { [$0[0]...$0[0]] }
      case .arrayOverlaps: return keys(literals.first).map { $0.map { $0...$0 } }
      default: return nil
      }
    }
    switch operation {
    case .equal: return key(literals.first).map { [$0...$0] }
    case .isIn: return keys(literals.first).map { $0.map { $0...$0 } }
    case .less, .lessOrEqual: return kind == .sorted ? key(literals.first).map { [0...$0] } : nil
    case .greater, .greaterOrEqual: return kind == .sorted ? key(literals.first).map { [$0 ... .max] } : nil
    case .between:
      guard kind == .sorted, literals.count == 2, let least = key(literals[0]), let most = key(literals[1]) else {
        return nil
      }
      return least <= most ? [least...most] : []
    default: return nil
    }
  }

  // MARK: Slots

  private static func count(of condition: Condition, in snapshot: PointSnapshot) -> Int {
    switch condition {
    case .ids(let ids): ids.count
    case .tag(let tag, let ranges): snapshot.parts.reduce(0) { $0 + $1.segment.index(ofTag: tag).count(in: ranges) }
    }
  }

  private static func slots(of condition: Condition, in segment: Segment) -> [UInt32] {
    switch condition {
    case .ids(let ids): Set(ids.compactMap { segment.slot(of: $0) }).sorted().map { UInt32($0) }
    case .tag(let tag, let ranges): segment.index(ofTag: tag).slots(in: ranges)
    }
  }

  // MARK: Costs

  /// The number of places that are examined without a comparison with other plans.
  private static let few = 256

  /// Returns a Boolean value that indicates whether so many places are fewer than those that a search in the order of
  /// the result examines: up to all that the other indexes leave, but not more than it takes to fill the page if the
  /// matches are evenly spread over them.
  private static func isWorthwhile(_ count: Int, for query: PointQuery, in snapshot: PointSnapshot) -> Bool {
    if count <= few { return true }
    var scope = snapshot.count
    if !query.categories.isEmpty {
      let inCategories = snapshot.parts.reduce(0) { sum, part in
        query.categories.reduce(sum) { sum, category in
          sum + (part.segment.categories.number(of: category.text).map { part.segment.categories.count(of: $0) } ?? 0)
        }
      }
      scope = min(scope, inCategories)
    }
    let toFillPage = Double(query.limit + 1) * Double(scope) / Double(count)
    if Double(count) >= toFillPage || count >= scope { return false }
    guard let region = RegionFilter(query) else { return true }
    var inRegion = 0
    for part in snapshot.parts {
      var estimate = RegionCount(in: region, isEstimate: true)
      withExtendedLifetime(part) {
        SearchTree(part: 0, columns: part.segment.columns, tombstones: nil, nodes: part.segment.tree).walk(&estimate)
      }
      inRegion += estimate.places
    }
    return count < inRegion
  }
}

extension PropertyFilter {
  /// Returns the tag that an expression is, where it is one.
  fileprivate func tag(_ expression: FilterExpression) -> Tag? {
    guard case .property(let name) = expression, PointField(queryable: name.text) == nil else { return nil }
    let jsonKey = JSONString.bytes(of: Queryables.tagKey(ofProperty: name.text) ?? name.text)
    return tags.first { $0.jsonKey == jsonKey }
  }
}

extension FilterOperator {
  /// The comparison with its operands exchanged; `nil` for an operator that is none.
  fileprivate var flipped: FilterOperator? {
    switch self {
    case .equal: .equal
    case .less: .greater
    case .lessOrEqual: .greaterOrEqual
    case .greater: .less
    case .greaterOrEqual: .lessOrEqual
    case .arrayOverlaps: .arrayOverlaps
    default: nil
    }
  }
}
