import CQL2
import Geo
import Basics
import Points

extension PointQuery {
  /// The query with conditions that follow from its filter and that an index knows: a box, categories, a source. It has
  /// the same places. `nil` where none can match.
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
  func texts(equalTo property: PointProperty) -> [ExactText]? {
    guard case .operation(let operation, let operands) = self, operands.count == 2 else { return nil }
    let name = FilterExpression.property(ExactText(property.name))
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

  /// The box; `nil` where it is empty.
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
    let geometry = FilterExpression.property(ExactText(PointProperty.geometry.name))
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
    switch PointProperty(name: name.text) {
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
