import Basics

/// A translator of expressions to predicates.
struct FilterCompiler {
  let property: (String) throws(FilterError) -> FilterProperty

  /// The number of predicates and operands so far.
  private(set) var termCount = 0

  private var comparisons = ComparisonBudget()

  /// The type of an operand.
  enum OperandType {
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

  private enum Place {
    case shape(PlanarShape)
    case property(Int)
  }

  private mutating func place(
    _ expression: FilterExpression, in relation: FilterOperator
  ) throws(FilterError) -> Place {
    if case .geometry(let geometry) = expression { return .shape(PlanarShape(geometry)) }
    guard case .property(let number) = try operand(expression, of: .geometry, in: relation.name) else {
      throw FilterError(.filter, "expected a geometry as an operand of \(relation.name)")
    }
    return .property(number)
  }

  private mutating func spatial(
    _ relation: FilterOperator, _ left: FilterExpression, _ right: FilterExpression
  ) throws(FilterError) -> Predicate {
    switch (try place(left, in: relation), try place(right, in: relation)) {
    case (.shape(let left), .shape(let right)):
      return .constant(try IntersectionMatrix(left, right, &comparisons).satisfies(relation))
    case (.property(let number), .shape(let shape)):
      return .spatial(relation, property: number, shape, isSecond: false)
    case (.shape(let shape), .property(let number)):
      return .spatial(relation, property: number, shape, isSecond: true)
    case (.property(let left), .property(let right)): return .pointsRelate(relation, left, right)
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
