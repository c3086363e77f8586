public import Basics

/// An expression of the Common Query Language (OGC 21-065, CQL2), as both of its encodings write it.
///
/// The operands of each operation are of the kinds that the language's grammar has there; what their values are, and
/// whether a property exists, is known when the expression is compiled with ``CompiledFilter``.
public indirect enum FilterExpression: Hashable, Sendable {
  case string(ExactText)

  /// A finite number.
  case number(Double)

  /// `TRUE` or `FALSE`.
  case boolean(Bool)

  case date(CivilDate)

  /// A time.
  case timestamp(microsecondsSinceEpoch: Int64)

  /// The time between two dates or times, both included; `nil` for an end that is open.
  case interval(FilterExpression?, FilterExpression?)

  case geometry(FilterGeometry)

  case array([FilterExpression])

  case property(ExactText)

  /// A predicate or function of the language with its operands. Those of ``FilterOperator/isIn`` are a value and an
  /// array.
  case operation(FilterOperator, [FilterExpression])

  /// A call of a function that the language does not define.
  case function(ExactText, [FilterExpression])
}

/// The bounds of what is accepted as a filter.
public struct FilterLimits: Hashable, Sendable {
  /// The maximum number of bytes of a filter's text.
  public var bytes: Int

  /// The maximum number of expressions within each other.
  public var depth: Int

  /// The maximum number of vertices of all geometries together.
  public var vertices: Int

  public init(bytes: Int = 32 * 1024, depth: Int = 64, vertices: Int = 10_000) {
    self.bytes = bytes
    self.depth = depth
    self.vertices = vertices
  }
}

/// The reason why a text is not a filter, or why a filter cannot be evaluated.
public struct FilterError: Error, Hashable, Sendable {
  /// The part of a filter that an error is in.
  public enum Position: Hashable, Sendable {
    /// A character of a text, by its number from 1 on. Characters are Unicode scalars.
    case character(Int)

    /// A value of a JSON text, as a JSON pointer (RFC 6901).
    case pointer(String)

    /// The filter as a whole.
    case filter
  }

  /// The part that the error is in.
  public let position: Position

  /// The description of what was expected there.
  public let reason: String

  init(_ position: Position, _ reason: String) {
    self.position = position
    self.reason = reason
  }

  /// Returns the error of a value that is not of its property's type.
  public static func invalidValue(_ reason: String) -> FilterError { FilterError(.filter, reason) }

  /// Returns the error of a geometry that is not of the kind that is needed.
  public static func invalidGeometry(_ reason: String) -> FilterError { FilterError(.filter, reason) }

  /// Returns the error of a property that the records do not have.
  public static func unknownProperty(_ name: String) -> FilterError {
    FilterError(.filter, "there is no property '\(name.prefix(100))'")
  }
}

extension FilterError: CustomStringConvertible {
  /// A message for users, with the position.
  public var description: String {
    switch position {
    case .character(let number): "at character \(number): \(reason)"
    case .pointer(let pointer): pointer.isEmpty ? reason : "at \(pointer): \(reason)"
    case .filter: reason
    }
  }
}

/// The kinds of expressions that an operand can be.
struct OperandKinds: OptionSet {
  let rawValue: UInt16

  static let predicate = OperandKinds(rawValue: 1)
  static let boolean = OperandKinds(rawValue: 2)
  static let number = OperandKinds(rawValue: 4)
  static let string = OperandKinds(rawValue: 8)
  static let instant = OperandKinds(rawValue: 16)
  static let interval = OperandKinds(rawValue: 32)
  static let geometry = OperandKinds(rawValue: 64)
  static let array = OperandKinds(rawValue: 128)
  static let property = OperandKinds(rawValue: 256)
  static let function = OperandKinds(rawValue: 512)

  /// The kinds that can be true or false.
  static let logical: OperandKinds = [.predicate, .boolean, .function]

  static let numeric: OperandKinds = [.number, .property, .function]
  static let text: OperandKinds = [.string, .property, .function]
  static let scalar: OperandKinds = [.boolean, .number, .string, .instant, .property, .function]
  static let spatial: OperandKinds = [.geometry, .property, .function]
  static let temporal: OperandKinds = [.instant, .interval, .property, .function]
  static let arrays: OperandKinds = [.array, .property, .function]
  static let intervalEnd: OperandKinds = [.instant, .property, .function]
  static let any = OperandKinds(rawValue: 1023)

  private static let names: [(kind: OperandKinds, name: String)] = [
    (.predicate, "a predicate"), (.boolean, "TRUE or FALSE"), (.number, "a number"), (.string, "a string"),
    (.instant, "a date or timestamp"), (.interval, "an interval"), (.geometry, "a geometry"), (.array, "an array"),
    (.property, "a property"), (.function, "a function"),
  ]

  /// The kinds as an enumeration for users.
  var description: String {
    let names = Self.names.filter { contains($0.kind) }.map(\.name)
    return names.isEmpty ? "nothing" : names.listed("or")
  }
}

extension FilterExpression {
  /// Returns an operation. The operands of an `AND` within an `AND` become its own, and so for `OR`.
  static func joined(_ operation: FilterOperator, _ operands: [FilterExpression]) -> FilterExpression {
    guard operation.family == .logical else { return .operation(operation, operands) }
    let joined = operands.flatMap { operand in
      guard case .operation(operation, let inner) = operand else { return [operand] }
      return inner
    }
    return .operation(operation, joined)
  }

  /// The kind of the expression.
  var kind: OperandKinds {
    switch self {
    case .string: .string
    case .number: .number
    case .boolean: .boolean
    case .date, .timestamp: .instant
    case .interval: .interval
    case .geometry: .geometry
    case .array: .array
    case .property: .property
    case .operation(let operation, _): operation.result
    case .function: .function
    }
  }

  /// A Boolean value that indicates whether the expression is a string, or `CASEI` or `ACCENTI` of one.
  var isPattern: Bool {
    switch self {
    case .string: true
    case .operation(.casei, let operands), .operation(.accenti, let operands): operands[0].isPattern
    default: false
    }
  }
}

extension FilterExpression {
  /// The names of the properties in the expression, in their order.
  public var propertyNames: [ExactText] {
    switch self {
    case .property(let name): [name]
    case .operation(_, let operands), .function(_, let operands), .array(let operands):
      operands.flatMap(\.propertyNames)
    case .interval(let first, let last): [first, last].compactMap(\.self).flatMap(\.propertyNames)
    case .string, .number, .boolean, .date, .timestamp, .geometry: []
    }
  }
}

extension FilterExpression {
  /// Creates the expression that all conditions hold; `nil` if there is none.
  public init?(allOf conditions: [FilterExpression]) {
    guard let first = conditions.first else { return nil }
    self = conditions.count == 1 ? first : .joined(.and, conditions)
  }

  /// Creates the literal that a text stands for, such as that of a parameter; `nil` if it is none of the type.
  public init?(_ text: String, as type: FilterType) {
    switch FilterValue(text, as: type) {
    case .string(let text): self = .string(text)
    case .number(let number): self = .number(number)
    case .boolean(let value): self = .boolean(value)
    case .date(let days): self = .date(CivilDate(daysSinceEpoch: days))
    case .timestamp(let time): self = .timestamp(microsecondsSinceEpoch: time)
    // One value of a list.
    case .array: self = .string(ExactText(text))
    case .null, .point, nil: return nil
    }
  }
}

/// The counts that limit what a parser builds.
struct FilterBudget {
  let limits: FilterLimits
  private var level = 0
  private var vertices = 0

  init(_ limits: FilterLimits) {
    self.limits = limits
  }

  var depthReason: String { "expected expressions at most \(limits.depth) deep" }

  var vertexReason: String { "expected at most \(limits.vertices) vertices in all geometries" }

  /// Enters an expression; returns `false` where it is too deep.
  mutating func enter() -> Bool {
    level += 1
    return level <= limits.depth
  }

  mutating func leave() { level -= 1 }

  /// Counts a vertex; returns `false` where it is one too many.
  mutating func countVertex() -> Bool {
    vertices += 1
    return vertices <= limits.vertices
  }
}
