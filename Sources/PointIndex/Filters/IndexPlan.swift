import Basics
import CQL2
import Geo
import JSONText
import Points

/// The places that may match a query by one of the conditions of its filter that all must hold: those with values of an
/// indexed tag, or with ids.
struct IndexPlan {
  private enum Condition {
    case tag(PropertyFilter.Tag, [ClosedRange<UInt64>])
    case ids([PointID])
  }

  /// The slots by part, each once and in ascending order, removed places included.
  let slots: [[UInt32]]

  /// Creates the plan of the most selective condition; `nil` where there is none, or a search by the other conditions
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

  /// Returns the condition of an expression; `nil` where no index has it.
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

  /// Returns the ranges of keys of a comparison of a tag with literals; `nil` where an index does not have it.
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
    guard case .property(let name) = expression, PointProperty(name: name.text) == nil else { return nil }
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
