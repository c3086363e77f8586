import Basics

extension FilterExpression {
  /// Creates the expression of a text in the encoding CQL2 Text. Linear in its length; the stack is bounded by the
  /// maximum depth.
  ///
  /// - Throws: ``FilterError`` with the character at which something else was expected.
  public init(text: String, limits: FilterLimits = FilterLimits()) throws(FilterError) {
    guard text.utf8.count <= limits.bytes else {
      throw FilterError(.filter, "expected at most \(limits.bytes) bytes, got \(text.utf8.count)")
    }
    var parser = try TextParser(text, limits: limits)
    self = try parser.filter()
  }
}

/// A parser of CQL2 Text by recursive descent (OGC 21-065, annex B).
struct TextParser {
  /// An expression with what is known of its text.
  struct Parsed {
    var expression: FilterExpression
    /// The index of its first character.
    var start: Int
    /// The number of expressions within each other, itself included.
    var depth = 1
    /// The number of parentheses of its own that it is in.
    var groups = 0
  }

  var lexer: Lexer
  var budget: FilterBudget

  init(_ text: String, limits: FilterLimits) throws(FilterError) {
    lexer = try Lexer(text)
    budget = FilterBudget(limits)
  }

  func error(_ reason: String) -> FilterError { FilterError(.character(lexer.start + 1), reason) }

  /// Parses the whole text.
  mutating func filter() throws(FilterError) -> FilterExpression {
    let parsed = try expression()
    try requirePredicate(parsed)
    guard lexer.token == .end else { throw error("expected AND, OR or the end of the filter") }
    return parsed.expression
  }

  // MARK: Tokens

  func isAt(_ symbol: String) -> Bool { lexer.token == .symbol(symbol) }

  mutating func take(_ symbol: String) throws(FilterError) -> Bool {
    guard isAt(symbol) else { return false }
    try lexer.advance()
    return true
  }

  mutating func require(_ symbol: String) throws(FilterError) {
    guard try take(symbol) else { throw error("expected '\(symbol)'") }
  }

  func isAt(keyword: String) -> Bool {
    guard case .name(let name) = lexer.token else { return false }
    return name.utf8.count == keyword.utf8.count && name.uppercased() == keyword
  }

  mutating func take(keyword: String) throws(FilterError) -> Bool {
    guard isAt(keyword: keyword) else { return false }
    try lexer.advance()
    return true
  }

  // MARK: Nodes

  /// Returns an operation after its operands were checked.
  func operation(_ operation: FilterOperator, _ operands: [Parsed]) throws(FilterError) -> Parsed {
    for (index, operand) in operands.enumerated() {
      guard let reason = operation.expectation(instead: operand.expression, at: index) else { continue }
      throw FilterError(.character(operand.start + 1), reason)
    }
    return try node(.joined(operation, operands.map(\.expression)), of: operands)
  }

  /// Returns an expression that contains others, after its depth was checked.
  func node(_ expression: FilterExpression, start: Int? = nil, of parts: [Parsed]) throws(FilterError) -> Parsed {
    let depth = 1 + (parts.map(\.depth).max() ?? 0)
    let start = start ?? parts.first?.start ?? lexer.start
    guard depth <= budget.limits.depth else { throw FilterError(.character(start + 1), budget.depthReason) }
    return Parsed(expression: expression, start: start, depth: depth)
  }

  /// Runs a rule within parentheses or an operator that stands before its operand.
  mutating func nested<Value>(
    _ rule: (inout TextParser) throws(FilterError) -> Value
  ) throws(FilterError) -> Value {
    guard budget.enter() else { throw error(budget.depthReason) }
    defer { budget.leave() }
    return try rule(&self)
  }

  /// Checks that an expression can be true or false.
  private func requirePredicate(_ parsed: Parsed) throws(FilterError) {
    guard !OperandKinds.logical.contains(parsed.expression.kind) else { return }
    switch parsed.expression.kind {
    case .array, .geometry, .interval: throw FilterError(.character(parsed.start + 1), "expected a predicate")
    default: throw error("expected a comparison operator, LIKE, BETWEEN, IN or IS NULL")
    }
  }

  // MARK: Predicates

  /// Parses an expression of any kind.
  mutating func expression() throws(FilterError) -> Parsed {
    try chain(of: .or) { parser throws(FilterError) in
      try parser.chain(of: .and) { parser throws(FilterError) in try parser.factor() }
    }
  }

  private mutating func chain(
    of operation: FilterOperator, _ rule: (inout TextParser) throws(FilterError) -> Parsed
  ) throws(FilterError) -> Parsed {
    let first = try rule(&self)
    guard isAt(keyword: operation.name) else { return first }
    try requirePredicate(first)
    var operands = [first]
    while try take(keyword: operation.name) {
      let operand = try rule(&self)
      try requirePredicate(operand)
      operands.append(operand)
    }
    return try self.operation(operation, operands)
  }

  private mutating func factor() throws(FilterError) -> Parsed {
    let start = lexer.start
    guard try take(keyword: "NOT") else { return try predicate() }
    let operand = try predicate()
    try requirePredicate(operand)
    return try negation(of: operand, start: start)
  }

  private func negation(of operand: Parsed, start: Int) throws(FilterError) -> Parsed {
    var negation = try operation(.not, [operand])
    negation.start = start
    return negation
  }

  private static let comparisons: [String: FilterOperator] = [
    "=": .equal, "<>": .notEqual, "<": .less, ">": .greater, "<=": .lessOrEqual, ">=": .greaterOrEqual,
  ]

  private mutating func predicate() throws(FilterError) -> Parsed {
    let left = try arithmetic()
    if case .symbol(let symbol) = lexer.token, let comparison = Self.comparisons[symbol] {
      try lexer.advance()
      return try operation(comparison, [left, try arithmetic()])
    }
    if try take(keyword: "IS") {
      let isNegated = try take(keyword: "NOT")
      guard try take(keyword: "NULL") else { throw error(isNegated ? "expected NULL" : "expected NOT NULL or NULL") }
      let isNull = try operation(.isNull, [left])
      return isNegated ? try negation(of: isNull, start: left.start) : isNull
    }
    let isNegated = try take(keyword: "NOT")
    let positive: Parsed
    if try take(keyword: "LIKE") {
      positive = try operation(.like, [left, try primary()])
    } else if try take(keyword: "BETWEEN") {
      let least = try arithmetic()
      guard try take(keyword: "AND") else { throw error("expected AND between the bounds of BETWEEN") }
      positive = try operation(.between, [left, least, try arithmetic()])
    } else if try take(keyword: "IN") {
      let start = lexer.start
      try require("(")
      let elements = try nested { parser throws(FilterError) in
        try parser.list { parser throws(FilterError) in try parser.arithmetic() }
      }
      positive = try operation(.isIn, [left, try node(.array(elements.map(\.expression)), start: start, of: elements)])
    } else if isNegated {
      throw error("expected LIKE, BETWEEN or IN")
    } else {
      return left
    }
    return isNegated ? try negation(of: positive, start: left.start) : positive
  }

  /// Parses the elements of a list up to the parenthesis that ends it.
  mutating func list(
    _ rule: (inout TextParser) throws(FilterError) -> Parsed
  ) throws(FilterError) -> [Parsed] {
    guard try !take(")") else { return [] }
    var elements: [Parsed] = []
    repeat { elements.append(try rule(&self)) } while try take(",")
    guard try take(")") else { throw error("expected ',' or ')'") }
    return elements
  }

  // MARK: Arithmetic

  private mutating func arithmetic() throws(FilterError) -> Parsed {
    var left = try term()
    while true {
      if try take("+") {
        left = try operation(.add, [left, try term()])
      } else if try take("-") {
        left = try operation(.subtract, [left, try term()])
      } else {
        return left
      }
    }
  }

  private mutating func term() throws(FilterError) -> Parsed {
    var left = try power()
    while true {
      if try take("*") {
        left = try operation(.multiply, [left, try power()])
      } else if try take("/") {
        left = try operation(.divide, [left, try power()])
      } else if try take("%") {
        left = try operation(.modulo, [left, try power()])
      } else if try take(keyword: "DIV") {
        left = try operation(.integerDivide, [left, try power()])
      } else {
        return left
      }
    }
  }

  private mutating func power() throws(FilterError) -> Parsed {
    let base = try signed()
    guard try take("^") else { return base }
    let result = try operation(.power, [base, try signed()])
    guard !isAt("^") else { throw error("expected parentheses around one of several powers") }
    return result
  }

  private mutating func signed() throws(FilterError) -> Parsed {
    let start = lexer.start
    let isNegative = isAt("-")
    guard isNegative || isAt("+") else { return try primary() }
    try lexer.advance()
    if case .number(let number) = lexer.token {
      try lexer.advance()
      return Parsed(expression: .number(isNegative ? -number : number), start: start)
    }
    guard isNegative, !isAt("-"), !isAt("+") else { throw error("expected a number") }
    let operand = try primary()
    return try operation(.multiply, [Parsed(expression: .number(-1), start: start), operand])
  }

  // MARK: Operands

  /// Parses a literal, a property, a function or something in parentheses.
  mutating func primary() throws(FilterError) -> Parsed {
    let start = lexer.start
    switch lexer.token {
    case .string(let text):
      try lexer.advance()
      return Parsed(expression: .string(ExactText(text)), start: start)
    case .number(let number):
      try lexer.advance()
      return Parsed(expression: .number(number), start: start)
    case .quotedName(let name):
      try lexer.advance()
      return Parsed(expression: .property(ExactText(name)), start: start)
    case .symbol("("):
      try lexer.advance()
      return try nested { parser throws(FilterError) in try parser.group(start: start) }
    case .name(let name): return try named(name)
    case .symbol, .end: throw error("expected a property, a literal, a function or '('")
    }
  }

  /// Parses what an opening parenthesis begins: an array, or an expression.
  private mutating func group(start: Int) throws(FilterError) -> Parsed {
    let elements = try list { parser throws(FilterError) in try parser.expression() }
    guard elements.count == 1, var only = elements.first else {
      var parts: [Parsed] = []
      for element in elements { parts.append(try array(element)) }
      return try node(.array(parts.map(\.expression)), start: start, of: parts)
    }
    only.groups += 1
    only.start = start
    return only
  }

  /// Returns an element of an array or an argument of a function: there, something in parentheses of its own is an
  /// array of one element.
  private func array(_ parsed: Parsed) throws(FilterError) -> Parsed {
    var parsed = parsed
    for _ in 0..<parsed.groups { parsed = try node(.array([parsed.expression]), start: parsed.start, of: [parsed]) }
    return parsed
  }

  private static let reserved: Set = ["AND", "OR", "NOT", "LIKE", "BETWEEN", "IN", "IS", "NULL", "DIV"]

  /// Parses what a name begins.
  private mutating func named(_ name: String) throws(FilterError) -> Parsed {
    let start = lexer.start
    let keyword = name.uppercased()
    if keyword == "TRUE" || keyword == "FALSE" {
      try lexer.advance()
      return Parsed(expression: .boolean(keyword == "TRUE"), start: start)
    }
    guard !Self.reserved.contains(keyword) else {
      throw error("expected a property, a literal or a function, got the keyword \(keyword)")
    }
    if let geometry = try geometry(keyword) { return Parsed(expression: .geometry(geometry), start: start) }
    guard lexer.isBeforeParenthesis else {
      try lexer.advance()
      return Parsed(expression: .property(ExactText(name)), start: start)
    }
    try lexer.advance()
    try require("(")
    switch keyword {
    case "DATE":
      let instant = try instant()
      guard case .date = instant.expression else {
        throw FilterError(.character(instant.start + 1), "expected a date such as '2026-11-21'")
      }
      try require(")")
      return Parsed(expression: instant.expression, start: start)
    case "TIMESTAMP":
      let instant = try instant()
      guard case .timestamp = instant.expression else {
        throw FilterError(.character(instant.start + 1), "expected a time such as '2026-11-21T10:15:00Z'")
      }
      try require(")")
      return Parsed(expression: instant.expression, start: start)
    case "INTERVAL": return try interval(start: start)
    default: break
    }
    let operation = FilterOperator.functions[keyword]
    let hasArrays = operation == nil || operation?.family == .array
    let operands = try nested { parser throws(FilterError) in
      try parser.list { parser throws(FilterError) in
        let operand = try parser.expression()
        return hasArrays ? try parser.array(operand) : operand
      }
    }
    guard let operation else {
      return try node(.function(ExactText(name), operands.map(\.expression)), start: start, of: operands)
    }
    guard operation.operandCount.contains(operands.count) else {
      let count = operation.operandCount.lowerBound
      throw FilterError(
        .character(start + 1), "expected \(count) operand\(count == 1 ? "" : "s") of \(keyword), got \(operands.count)")
    }
    var result = try self.operation(operation, operands)
    result.start = start
    return result
  }
}
