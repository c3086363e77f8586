import Foundation
import Basics

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
  /// - Throws: ``FilterError`` where a property or function is unknown, or operands are of types that cannot be
  ///   compared.
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
      return shape.satisfies(relation, point: FlatPoint(x, y), isSecond: isSecond)
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

  /// Returns the value in a record.
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

  /// Returns the span in a record; `nil` where it is null.
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
