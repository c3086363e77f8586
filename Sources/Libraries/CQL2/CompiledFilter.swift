import Geo
import Basics
import Foundation

/// A filter that is ready to be evaluated on many records.
///
/// The logic has three values: a comparison with null is neither true nor false, and a record matches only where the
/// whole is true.
public struct CompiledFilter: Sendable {
  private let root: Predicate

  /// The number of predicates and operands, which the work of an evaluation grows with.
  public let termCount: Int

  /// Creates a filter from an expression that can be true or false.
  ///
  /// - Parameter property: returns the property of a name.
  /// - Throws: ``FilterError`` where a property or function is unknown, or operands are of types that cannot be compared,
  ///   such as two geometries neither of which is a property.
  public init(
    _ expression: FilterExpression, property: @escaping (String) throws(FilterError) -> FilterProperty
  ) throws(FilterError) {
    var compiler = FilterCompiler(property: property)
    root = try compiler.predicate(expression)
    termCount = compiler.termCount
  }

  /// Returns a Boolean value that indicates whether a record matches.
  public func matches(_ record: some FilterRecord) -> Bool { root.evaluate(record) == true }
}

/// A predicate whose properties are known and whose operands are of the right types.
indirect enum Predicate: Sendable {
  case constant(Bool?)
  case and([Predicate])
  case or([Predicate])
  case not(Predicate)
  /// A comparison of values of the same type.
  case comparison(FilterOperator, Operand, Operand)
  case like(Operand, LikePattern)
  case between(Operand, Operand, Operand)
  case isIn(Operand, [Operand])
  /// The same with strings that are known.
  case isInTexts(Operand, Set<ExactText>)
  case isNull(Operand)
  case isNullTime(TimeOperand)
  case booleanOperand(Operand)
  /// A relation of a property to a geometry.
  case spatial(FilterOperator, property: Int, PlanarShape, isSecond: Bool)
  /// A relation of the points of two properties.
  case pointsRelate(FilterOperator, Int, Int)
  case temporal(FilterOperator, TimeOperand, TimeOperand)
  case array(FilterOperator, Operand, Operand)

  /// Returns whether the predicate is true of a record; `nil` where that is unknown.
  func evaluate(_ record: some FilterRecord) -> Bool? {
    switch self {
    case .constant(let value): return value
    case .and(let operands):
      var result: Bool? = true
      for operand in operands {
        switch operand.evaluate(record) {
        case false?: return false
        case nil: result = nil
        case true?: break
        }
      }
      return result
    case .or(let operands):
      var result: Bool? = false
      for operand in operands {
        switch operand.evaluate(record) {
        case true?: return true
        case nil: result = nil
        case false?: break
        }
      }
      return result
    case .not(let operand): return operand.evaluate(record).map { !$0 }
    case .comparison(let comparison, let left, let right):
      return left.value(in: record).satisfies(comparison, right.value(in: record))
    case .like(let text, let pattern):
      guard case .string(let text) = text.value(in: record) else { return nil }
      return pattern.matches(text.text)
    case .between(let value, let least, let most):
      guard case .number(let value) = value.value(in: record), case .number(let least) = least.value(in: record),
        case .number(let most) = most.value(in: record)
      else { return nil }
      return value >= least && value <= most
    case .isIn(let value, let elements):
      let value = value.value(in: record)
      var result: Bool? = false
      for element in elements {
        switch value.satisfies(.equal, element.value(in: record)) {
        case true?: return true
        case nil: result = nil
        case false?: break
        }
      }
      return result
    case .isInTexts(let value, let texts):
      guard case .string(let text) = value.value(in: record) else { return nil }
      return texts.contains(text)
    case .isNull(let operand): return operand.value(in: record) == .null
    case .isNullTime(let time): return time.span(in: record) == nil
    case .booleanOperand(let operand):
      guard case .boolean(let value) = operand.value(in: record) else { return nil }
      return value
    case .spatial(let relation, let property, let shape, let isSecond):
      guard case .point(let x, let y) = record.value(ofProperty: property) else { return nil }
      return shape.satisfies(relation, point: PlanePoint(x: x, y: y), isSecond: isSecond)
    case .pointsRelate(let relation, let left, let right):
      guard case .point(let leftX, let leftY) = record.value(ofProperty: left),
        case .point(let rightX, let rightY) = record.value(ofProperty: right)
      else { return nil }
      let isSame = leftX == rightX && leftY == rightY
      switch relation {
      case .spatiallyDisjoint: return !isSame
      case .spatiallyTouches, .spatiallyCrosses, .spatiallyOverlaps: return false
      default: return isSame
      }
    case .temporal(let relation, let left, let right):
      guard let left = left.span(in: record), let right = right.span(in: record) else { return nil }
      return left.satisfies(relation, right)
    case .array(let relation, let left, let right):
      guard let left = left.elements(in: record), let right = right.elements(in: record) else { return nil }
      switch relation {
      case .arrayContains: return left.isSuperset(of: right)
      case .arrayContainedBy: return left.isSubset(of: right)
      case .arrayOverlaps: return !left.isDisjoint(with: right)
      default: return left == right
      }
    }
  }
}

/// A value that a predicate is about.
indirect enum Operand: Sendable {
  case constant(FilterValue)
  case property(Int)
  case withoutCase(Operand)
  case withoutAccents(Operand)
  case arithmetic(FilterOperator, Operand, Operand)
  case predicate(Predicate)
  case array([Operand])

  func value(in record: some FilterRecord) -> FilterValue {
    switch self {
    case .constant(let value): return value
    case .property(let number): return record.value(ofProperty: number)
    case .withoutCase(let operand):
      guard case .string(let text) = operand.value(in: record) else { return .null }
      return .string(ExactText(TextFolding.withoutCase(text.text)))
    case .withoutAccents(let operand):
      guard case .string(let text) = operand.value(in: record) else { return .null }
      return .string(ExactText(TextFolding.withoutAccents(text.text)))
    case .arithmetic(let operation, let left, let right):
      guard case .number(let left) = left.value(in: record), case .number(let right) = right.value(in: record) else {
        return .null
      }
      let result = operation.result(left, right)
      return result.isFinite ? .number(result) : .null
    case .predicate(let predicate): return predicate.evaluate(record).map { .boolean($0) } ?? .null
    case .array(let elements): return .array(elements.map { $0.value(in: record) })
    }
  }

  /// Returns the elements of an array in a record; `nil` where it or an element is null.
  func elements(in record: some FilterRecord) -> Set<FilterValue>? {
    guard case .array(let elements) = value(in: record), !elements.contains(.null) else { return nil }
    return Set(elements)
  }
}

/// A time that a temporal predicate is about.
enum TimeOperand: Sendable {
  case constant(TimeSpan)
  case instant(Operand)
  /// An interval; `nil` for an open end.
  case interval(Operand?, Operand?)

  /// Returns the span in a record; `nil` if it is null.
  func span(in record: some FilterRecord) -> TimeSpan? {
    switch self {
    case .constant(let span): return span
    case .instant(let operand): return TimeSpan(operand.value(in: record))
    case .interval(let first, let last):
      var start = first == nil ? TimeSpan.always : nil
      var end = last == nil ? TimeSpan.always : nil
      if let first { start = TimeSpan(first.value(in: record)) }
      if let last { end = TimeSpan(last.value(in: record)) }
      guard var start, var end else { return nil }
      if start.isInDays != end.isInDays { (start, end) = (start.inMicroseconds, end.inMicroseconds) }
      return TimeSpan(start: start.start, end: end.end, isInDays: start.isInDays)
    }
  }
}

extension TimeSpan {
  /// The span without a start or an end.
  static let always = TimeSpan(start: .min, end: .max, isInDays: true)

  /// Creates the span of a date or time; `nil` of any other value.
  init?(_ value: FilterValue) {
    switch value {
    case .date(let days): self.init(start: Int64(days), end: Int64(days), isInDays: true)
    case .timestamp(let time): self.init(start: time, end: time, isInDays: false)
    default: return nil
    }
  }
}

extension FilterOperator {
  /// Returns the result of an arithmetic operator.
  fileprivate func result(_ left: Double, _ right: Double) -> Double {
    switch self {
    case .add: left + right
    case .subtract: left - right
    case .multiply: left * right
    case .divide: left / right
    case .modulo: left.truncatingRemainder(dividingBy: right)
    case .integerDivide: (left / right).rounded(.towardZero)
    case .power: pow(left, right)
    default: .nan
    }
  }

  /// Returns a Boolean value that indicates whether the comparison holds for a sign: -1 for less, 0 for equal, 1 for
  /// greater.
  fileprivate func holds(for sign: Int) -> Bool {
    switch self {
    case .equal: sign == 0
    case .notEqual: sign != 0
    case .less: sign < 0
    case .lessOrEqual: sign <= 0
    case .greater: sign > 0
    default: sign >= 0
    }
  }
}

extension FilterValue {
  /// Returns whether a comparison with another value holds; `nil` where one is null or they cannot be compared.
  fileprivate func satisfies(_ comparison: FilterOperator, _ other: FilterValue) -> Bool? {
    func result<Value: Comparable>(_ left: Value, _ right: Value) -> Bool {
      comparison.holds(for: left < right ? -1 : left == right ? 0 : 1)
    }
    switch (self, other) {
    case (.string(let left), .string(let right)):
      if comparison == .equal { return left == right }
      return result(left, right)
    case (.number(let left), .number(let right)): return result(left, right)
    case (.boolean(let left), .boolean(let right)): return result(left ? 1 : 0, right ? 1 : 0)
    case (.date(let left), .date(let right)): return result(left, right)
    case (.timestamp(let left), .timestamp(let right)): return result(left, right)
    // A date is its first moment here, as in SQL.
    case (.date(let left), .timestamp(let right)):
      return result(left.multipliedReportingOverflow(by: Int(TimeSpan.microsecondsPerDay)).partialValue, Int(right))
    case (.timestamp(let left), .date(let right)):
      return result(Int(left), right.multipliedReportingOverflow(by: Int(TimeSpan.microsecondsPerDay)).partialValue)
    default: return nil
    }
  }
}

/// A translator of expressions to predicates.
private struct FilterCompiler {
  let property: (String) throws(FilterError) -> FilterProperty

  /// The number of predicates and operands so far.
  private(set) var termCount = 0

  private enum OperandType {
    case string, number, boolean, instant, interval, geometry, array

    init(_ type: FilterType) {
      switch type {
      case .string: self = .string
      case .integer, .number: self = .number
      case .boolean: self = .boolean
      case .date, .timestamp: self = .instant
      case .geometry: self = .geometry
      case .stringArray: self = .array
      }
    }

    /// The type in words for users.
    var name: String {
      switch self {
      case .string: "a string"
      case .number: "a number"
      case .boolean: "a Boolean value"
      case .instant: "a date or timestamp"
      case .interval: "an interval"
      case .geometry: "a geometry"
      case .array: "an array"
      }
    }
  }

  init(property: @escaping (String) throws(FilterError) -> FilterProperty) {
    self.property = property
  }

  // MARK: Predicates

  mutating func predicate(_ expression: FilterExpression) throws(FilterError) -> Predicate {
    termCount += 1
    switch expression {
    case .boolean(let value): return .constant(value)
    case .operation(let operation, let operands):
      guard OperandKinds.predicate.contains(operation.result) else { break }
      return try predicate(operation, operands)
    case .function(let name, _): throw unknownFunction(name)
    default: break
    }
    return .booleanOperand(try operand(expression, of: .boolean, in: "the filter"))
  }

  private mutating func predicate(
    _ operation: FilterOperator, _ operands: [FilterExpression]
  ) throws(FilterError) -> Predicate {
    switch operation.family {
    case .logical:
      var predicates: [Predicate] = []
      for operand in operands { predicates.append(try predicate(operand)) }
      return operation == .and ? .and(predicates) : .or(predicates)
    case .negation: return .not(try predicate(operands[0]))
    case .comparison:
      let (left, leftType) = try self.operand(operands[0])
      let right = try operand(operands[1], of: leftType, in: operation.name, with: operands[0])
      return .comparison(operation, left, right)
    case .like:
      let text = try operand(operands[0], of: .string, in: operation.name)
      guard case .constant(.string(let pattern)) = try operand(operands[1], of: .string, in: operation.name) else {
        throw FilterError(.filter, "expected a string as the pattern of LIKE")
      }
      return .like(text, LikePattern(pattern.text))
    case .between:
      return .between(
        try operand(operands[0], of: .number, in: operation.name),
        try operand(operands[1], of: .number, in: operation.name),
        try operand(operands[2], of: .number, in: operation.name))
    case .isIn: return try membership(operands)
    case .isNull: return try nullity(operands[0])
    case .spatial: return try spatial(operation, operands[0], operands[1])
    case .temporal:
      return .temporal(operation, try time(operands[0], in: operation), try time(operands[1], in: operation))
    case .array:
      return .array(
        operation, try operand(operands[0], of: .array, in: operation.name),
        try operand(operands[1], of: .array, in: operation.name))
    case .text, .arithmetic: return .booleanOperand(try operand(operands[0], of: .boolean, in: operation.name))
    }
  }

  private mutating func membership(_ operands: [FilterExpression]) throws(FilterError) -> Predicate {
    let (value, type) = try operand(operands[0])
    guard case .array(let expressions) = operands[1] else { throw FilterError(.filter, "expected a list after IN") }
    var elements: [Operand] = []
    for expression in expressions {
      elements.append(try operand(expression, of: type, in: "IN", with: operands[0]))
    }
    let texts = elements.compactMap { element -> ExactText? in
      guard case .constant(.string(let text)) = element else { return nil }
      return text
    }
    return texts.count == elements.count ? .isInTexts(value, Set(texts)) : .isIn(value, elements)
  }

  private mutating func nullity(_ expression: FilterExpression) throws(FilterError) -> Predicate {
    switch expression {
    case .geometry: return .constant(false)
    case .interval: return .isNullTime(try time(expression))
    default: return .isNull(try operand(expression).operand)
    }
  }

  // MARK: Operands

  private func unknownFunction(_ name: ExactText) -> FilterError {
    FilterError(.filter, "the function '\(name.text.prefix(100))' is not one of CQL2's")
  }

  /// Returns an operand that must be of a type.
  private mutating func operand(
    _ expression: FilterExpression, of type: OperandType, in place: String, with other: FilterExpression? = nil
  ) throws(FilterError) -> Operand {
    let (operand, found) = try operand(expression)
    guard found != type else { return operand }
    let text = FilterCompiler.shortText(of: expression)
    if let other {
      let otherText = FilterCompiler.shortText(of: other)
      throw FilterError(
        .filter, "\(otherText) is \(type.name), and cannot be compared with \(text), which is \(found.name)")
    }
    throw FilterError(.filter, "expected \(type.name) as an operand of \(place), but \(text) is \(found.name)")
  }

  /// Returns the beginning of an expression's text.
  private static func shortText(of expression: FilterExpression) -> String {
    let text = expression.text
    return text.unicodeScalars.count > 60
      ? String(String.UnicodeScalarView(text.unicodeScalars.prefix(60))) + "…" : text
  }

  private mutating func operand(
    _ expression: FilterExpression
  ) throws(FilterError) -> (operand: Operand, type: OperandType) {
    termCount += 1
    switch expression {
    case .string(let text): return (.constant(.string(text)), .string)
    case .number(let number): return (.constant(.number(number)), .number)
    case .boolean(let value): return (.constant(.boolean(value)), .boolean)
    case .date(let date): return (.constant(.date(date.daysSinceEpoch)), .instant)
    case .timestamp(let time): return (.constant(.timestamp(time)), .instant)
    case .property(let name):
      let property = try property(name.text)
      return (.property(property.number), OperandType(property.type))
    case .operation(let operation, let operands):
      switch operation.family {
      case .text: return (try folded(operation, operands[0]), .string)
      case .arithmetic:
        return (
          .arithmetic(
            operation, try operand(operands[0], of: .number, in: operation.name),
            try operand(operands[1], of: .number, in: operation.name)), .number
        )
      default: return (.predicate(try predicate(operation, operands)), .boolean)
      }
    case .array(let elements):
      var operands: [Operand] = []
      for element in elements {
        let (operand, type) = try operand(element)
        guard type != .geometry, type != .interval else {
          throw FilterError(.filter, "an array with \(type.name) cannot be compared")
        }
        operands.append(operand)
      }
      return (.array(operands), .array)
    case .function(let name, _): throw unknownFunction(name)
    case .interval: return (.constant(.null), .interval)
    case .geometry: return (.constant(.null), .geometry)
    }
  }

  private mutating func folded(
    _ operation: FilterOperator, _ expression: FilterExpression
  ) throws(FilterError) -> Operand {
    let operand = try operand(expression, of: .string, in: operation.name)
    guard case .constant(.string(let text)) = operand else {
      return operation == .casei ? .withoutCase(operand) : .withoutAccents(operand)
    }
    let folded = operation == .casei ? TextFolding.withoutCase(text.text) : TextFolding.withoutAccents(text.text)
    return .constant(.string(ExactText(folded)))
  }

  // MARK: Geometries

  /// Returns the number of the property that an operand of a relation is.
  private mutating func propertyNumber(
    _ expression: FilterExpression, in relation: FilterOperator
  ) throws(FilterError) -> Int {
    guard case .property(let number) = try operand(expression, of: .geometry, in: relation.name) else {
      throw FilterError(.filter, "expected a geometry as an operand of \(relation.name)")
    }
    return number
  }

  private mutating func spatial(
    _ relation: FilterOperator, _ left: FilterExpression, _ right: FilterExpression
  ) throws(FilterError) -> Predicate {
    switch (left, right) {
    case (.geometry, .geometry):
      throw FilterError(
        .filter,
        "one side of \(relation.name) must be the place's geometry (the property geometry),"
          + " but both are literal geometries")
    case (_, .geometry(let geometry)):
      let number = try propertyNumber(left, in: relation)
      return .spatial(relation, property: number, PlanarShape(geometry), isSecond: false)
    case (.geometry(let geometry), _):
      let number = try propertyNumber(right, in: relation)
      return .spatial(relation, property: number, PlanarShape(geometry), isSecond: true)
    default:
      let number = try propertyNumber(left, in: relation)
      return .pointsRelate(relation, number, try propertyNumber(right, in: relation))
    }
  }

  // MARK: Times

  private mutating func time(
    _ expression: FilterExpression, in relation: FilterOperator? = nil
  ) throws(FilterError) -> TimeOperand {
    guard case .interval(let first, let last) = expression else {
      let operand = try operand(expression, of: .instant, in: relation?.name ?? "an interval")
      if let relation, !relation.acceptsInstants {
        throw FilterError(
          .filter,
          "expected intervals as operands of \(relation.name), but \(Self.shortText(of: expression)) is an instant")
      }
      guard case .constant(let value) = operand, let span = TimeSpan(value) else { return .instant(operand) }
      return .constant(span)
    }
    func end(_ expression: FilterExpression?) throws(FilterError) -> Operand? {
      guard let expression else { return nil }
      return try operand(expression, of: .instant, in: "INTERVAL")
    }
    return .interval(try end(first), try end(last))
  }
}

extension FilterOperator {
  /// A Boolean value that indicates whether the operands of the temporal function can be instants.
  fileprivate var acceptsInstants: Bool {
    switch self {
    case .temporallyAfter, .temporallyBefore, .temporallyDisjoint, .temporallyEquals, .temporallyIntersects: true
    default: false
    }
  }
}
