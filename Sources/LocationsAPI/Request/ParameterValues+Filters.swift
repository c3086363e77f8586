import CQL2
import Geo
import Basics
import Points

extension ParameterValues {
  /// Returns the query of the parameters that filter places.
  mutating func filters(by filtering: Filtering) -> PointQuery {
    let center = has(.route) ? nil : coordinate(requiredFor: has(.radius) ? "radius" : nil)
    let radius = self.radius()
    let route = route(radius: radius, by: filtering)
    return PointQuery(
      proximity: center.map { .init(center: $0, radiusMetres: radius) }, box: box(), categories: categories(),
      source: source(), filter: filter(by: filtering), area: area(by: filtering), route: route)
  }

  /// Returns a Boolean value that indicates whether there is exactly one condition on a property.
  func hasOneCondition(onProperty property: PointProperty) -> Bool {
    conditions.count { $0.property.hasSameBytes(as: property.name) } == 1
  }

  /// Removes the conditions on a property and returns their values; `nil` where there are none.
  mutating func takeConditions(onProperty property: PointProperty) -> [String]? {
    let values = conditions.filter { $0.property.hasSameBytes(as: property.name) }.map(\.value)
    conditions.removeAll { $0.property.hasSameBytes(as: property.name) }
    return values.isEmpty ? nil : values
  }

  /// The values of each property's conditions, in the order in which the properties first appear.
  private var valuesOfConditions: [(property: String, values: [String])] {
    var indexes: [ExactText: Int] = [:]
    var properties: [(property: String, values: [String])] = []
    for (property, value) in conditions {
      if let index = indexes[ExactText(property)] {
        properties[index].values.append(value)
      } else {
        indexes[ExactText(property)] = properties.count
        properties.append((property, [value]))
      }
    }
    return properties
  }

  /// Returns the condition of `filter` and of the properties; `nil` where there is none or one is invalid.
  ///
  /// - Parameters:
  ///   - others: further conditions.
  ///   - convert: returns the expression of `filter` as it is evaluated.
  mutating func filter(
    by filtering: Filtering, and others: [FilterExpression] = [],
    _ convert: (FilterExpression) -> FilterExpression = { $0 }
  ) -> PropertyFilter? {
    let errorCount = errors.count
    let language = choice(.filterLanguage, default: object(.filter) == nil ? FilterLanguage.text : .json)
    let hasLanguage = errors.count == errorCount && !isMistyped(.filterLanguage)
    if object(.filter) != nil, hasLanguage, language != .json {
      note(.invalid, Parameter.filterLanguage.name, "must be \(FilterLanguage.json.rawValue) where filter is an object")
    }
    if has(.filterLanguage), !has(.filter) {
      note(.missing, Parameter.filter.name, "must be given where \(Parameter.filterLanguage.name) is")
    }
    guard has(.filter) || !conditions.isEmpty || !others.isEmpty else { return nil }
    var expressions = others
    do {
      if let object = object(.filter) {
        expressions.append(convert(try FilterExpression(json: object)))
      } else if let text = self[.filter], hasLanguage {
        let expression = try language.expression(of: text)
        expressions.append(convert(language == .formerText ? filtering.readingTimes(expression) : expression))
      }
    } catch {
      note(
        .invalid, Parameter.filter.name, "is not a filter in \(language.rawValue), \(error)", pointer: error.pointer)
    }
    for (name, values) in valuesOfConditions where !hasAllErrors {
      do {
        expressions.append(try filtering.condition(onProperty: name, values))
      } catch {
        note(.invalid, name, error.reason)
      }
    }
    guard let condition = FilterExpression(allOf: expressions) else { return nil }
    do {
      return try filtering.filter(condition)
    } catch {
      note(.invalid, Parameter.filter.name, "cannot be evaluated: \(error)")
      return nil
    }
  }
}
