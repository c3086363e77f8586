/// A predicate, function or arithmetic operator that the Common Query Language defines. The raw value is its name in
/// JSON.
public enum FilterOperator: String, Hashable, Sendable, CaseIterable {
  case and, or, not

  case equal = "="
  case notEqual = "<>"
  case less = "<"
  case greater = ">"
  case lessOrEqual = "<="
  case greaterOrEqual = ">="

  case like, between
  case isIn = "in"
  case isNull

  case casei, accenti

  case add = "+"
  case subtract = "-"
  case multiply = "*"
  case divide = "/"
  case power = "^"
  case modulo = "%"
  case integerDivide = "div"

  case spatiallyContains = "s_contains"
  case spatiallyCrosses = "s_crosses"
  case spatiallyDisjoint = "s_disjoint"
  case spatiallyEquals = "s_equals"
  case spatiallyIntersects = "s_intersects"
  case spatiallyOverlaps = "s_overlaps"
  case spatiallyTouches = "s_touches"
  case spatiallyWithin = "s_within"

  case temporallyAfter = "t_after"
  case temporallyBefore = "t_before"
  case temporallyContains = "t_contains"
  case temporallyDisjoint = "t_disjoint"
  case temporallyDuring = "t_during"
  case temporallyEquals = "t_equals"
  case temporallyFinishedBy = "t_finishedBy"
  case temporallyFinishes = "t_finishes"
  case temporallyIntersects = "t_intersects"
  case temporallyMeets = "t_meets"
  case temporallyMetBy = "t_metBy"
  case temporallyOverlappedBy = "t_overlappedBy"
  case temporallyOverlaps = "t_overlaps"
  case temporallyStartedBy = "t_startedBy"
  case temporallyStarts = "t_starts"

  case arrayContainedBy = "a_containedBy"
  case arrayContains = "a_contains"
  case arrayEquals = "a_equals"
  case arrayOverlaps = "a_overlaps"

  /// A group of operators with operands of the same kinds.
  enum Family {
    case logical, negation, comparison, like, between, isIn, isNull, text, arithmetic, spatial, temporal, array
  }

  /// The operator's group.
  var family: Family {
    switch self {
    case .and, .or: .logical
    case .not: .negation
    case .equal, .notEqual, .less, .greater, .lessOrEqual, .greaterOrEqual: .comparison
    case .like: .like
    case .between: .between
    case .isIn: .isIn
    case .isNull: .isNull
    case .casei, .accenti: .text
    case .add, .subtract, .multiply, .divide, .power, .modulo, .integerDivide: .arithmetic
    case .spatiallyContains, .spatiallyCrosses, .spatiallyDisjoint, .spatiallyEquals, .spatiallyIntersects,
      .spatiallyOverlaps, .spatiallyTouches, .spatiallyWithin:
      .spatial
    case .arrayContainedBy, .arrayContains, .arrayEquals, .arrayOverlaps: .array
    default: .temporal
    }
  }

  /// The kind of the operation.
  var result: OperandKinds {
    switch family {
    case .text: .string
    case .arithmetic: .number
    default: .predicate
    }
  }

  /// The accepted numbers of operands.
  var operandCount: ClosedRange<Int> {
    switch family {
    case .logical: 2...Int.max
    case .negation, .isNull, .text: 1...1
    case .between: 3...3
    default: 2...2
    }
  }

  func operandKinds(at index: Int) -> OperandKinds {
    switch family {
    case .logical, .negation: .logical
    case .comparison: .scalar
    case .like: index == 0 ? .text : .string
    case .between, .arithmetic: .numeric
    case .isIn: index == 0 ? .scalar : .array
    case .isNull: .any
    case .text: .text
    case .spatial: .spatial
    case .temporal: .temporal
    case .array: .arrays
    }
  }

  /// Returns what is expected instead of an operand; `nil` if it is right.
  func expectation(instead operand: FilterExpression, at index: Int) -> String? {
    let kinds = operandKinds(at: index)
    if self == .like, index == 1 { return operand.isPattern ? nil : "expected a string as the pattern of LIKE" }
    guard kinds.contains(operand.kind) else { return "expected \(kinds.description) as an operand of \(name)" }
    guard self == .isIn, case .array(let elements) = operand else { return nil }
    if elements.isEmpty { return "expected at least one value in the list of IN" }
    let areScalars = elements.allSatisfy { OperandKinds.scalar.contains($0.kind) }
    return areScalars ? nil : "expected \(OperandKinds.scalar.description) in the list of IN"
  }

  /// The name in the text encoding.
  var name: String { self == .isNull ? "IS NULL" : rawValue.uppercased() }

  /// The operators that are written as functions in the text encoding, by their names in capitals.
  static let functions: [String: FilterOperator] = Dictionary(
    uniqueKeysWithValues: allCases.compactMap { operation in
      switch operation.family {
      case .text, .spatial, .temporal, .array: (operation.name, operation)
      default: nil
      }
    }
  )
}
