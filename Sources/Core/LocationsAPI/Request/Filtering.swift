package import CQL2
import Basics
package import Points
package import SearchWords

/// The operator's decisions about filters.
package struct Filtering: Sendable {
  /// The types of tags.
  package let queryables: Queryables

  /// The longest time that a search with a condition that only an index evaluates may take.
  package let timeLimit: Duration

  /// The tree of categories.
  package var categories = CategoryTree.empty

  /// The time of day, at which places are open.
  package var clock: any WallClock = SystemClock()

  package init(queryables: Queryables = Queryables(), timeLimit: Duration = .seconds(1)) {
    self.queryables = queryables
    self.timeLimit = timeLimit
  }

  package func filter(_ condition: FilterExpression) throws(FilterError) -> PropertyFilter {
    try PropertyFilter(condition, queryables: queryables)
  }

  /// Returns the condition with the strings that are compared with dates and times as dates and times, as GDAL means
  /// them.
  func readingTimes(_ condition: FilterExpression) -> FilterExpression {
    guard case .operation(let operation, let operands) = condition else { return condition }
    guard operands.count == 2, case .property(let name) = operands[0], case .string(let text) = operands[1] else {
      return .operation(operation, operands.map(readingTimes))
    }
    let type = type(ofProperty: name.text)
    guard type == .timestamp || type == .date, let time = FilterExpression(text.text, as: type) else {
      return condition
    }
    return .operation(operation, [operands[0], time])
  }

  private func type(ofProperty name: String) -> FilterType {
    PointField(queryable: name)?.filterType ?? queryables.type(ofTag: Queryables.tagKey(ofProperty: name) ?? name)
  }

  /// Returns the condition that a property has one of the values of a parameter, which are of the property's type.
  func condition(onProperty name: String, _ values: [String]) throws(FilterError) -> FilterExpression {
    let type = type(ofProperty: name)
    var literals: [FilterExpression] = []
    for value in values {
      guard let literal = FilterExpression(value, as: type) else {
        throw .invalidValue("must be a value of the type \(type.rawValue), got '\(value.prefix(50))'")
      }
      literals.append(literal)
    }
    let property = FilterExpression.property(ExactText(name))
    if type == .stringArray { return .operation(.arrayOverlaps, [property, .array(literals)]) }
    if literals.count == 1 { return .operation(.equal, [property, literals[0]]) }
    return .operation(.isIn, [property, .array(literals)])
  }
}

/// The encoding of a filter in a parameter.
enum FilterLanguage: String, CaseIterable {
  case text = "cql2-text"
  case json = "cql2-json"
  /// The name by which GDAL asks for the text encoding.
  case formerText = "cql-text"

  /// Returns the expression of a text in the encoding.
  func expression(of text: String) throws(FilterError) -> FilterExpression {
    switch self {
    case .text, .formerText: try FilterExpression(text: text)
    case .json: try FilterExpression(json: text.utf8)
    }
  }
}
