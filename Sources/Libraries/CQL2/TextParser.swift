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

  private var lexer: Lexer
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

  private func isAt(_ symbol: String) -> Bool { lexer.token == .symbol(symbol) }

  mutating func take(_ symbol: String) throws(FilterError) -> Bool {
    guard isAt(symbol) else { return false }
    try lexer.advance()
    return true
  }

  mutating func require(_ symbol: String) throws(FilterError) {
    guard try take(symbol) else { throw error("expected '\(symbol)'") }
  }

  private func isAt(keyword: String) -> Bool {
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
  private mutating func nested<Value>(
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
  private mutating func primary() throws(FilterError) -> Parsed {
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

extension TextParser {
  private static let geometries: Set = [
    "POINT", "LINESTRING", "POLYGON", "MULTIPOINT", "MULTILINESTRING", "MULTIPOLYGON",
  ]

  /// Parses a text that is a geometry as a whole.
  mutating func geometry() throws(FilterError) -> FilterGeometry {
    guard case .name(let name) = lexer.token, let geometry = try geometry(name.uppercased()) else {
      throw error("expected a geometry such as POLYGON((...))")
    }
    guard lexer.token == .end else { throw error("expected the end of the geometry") }
    return geometry
  }

  /// Parses the geometry that a keyword begins; returns `nil`, with nothing read, where it begins none.
  mutating func geometry(_ keyword: String) throws(FilterError) -> FilterGeometry? {
    let isSimple = Self.geometries.contains(keyword)
    guard isSimple || keyword == "GEOMETRYCOLLECTION" || keyword == "BBOX" else { return nil }
    var next = lexer
    try next.advance()
    let isFollowed =
      switch next.token {
      case .symbol("("): true
      case .name(let name): name.uppercased() == "Z" || name.uppercased() == "EMPTY"
      default: false
      }
    guard isFollowed else { return nil }
    if isSimple { return .simple(try simple()) }
    try lexer.advance()
    if keyword == "BBOX" { return .box(try box()) }
    _ = try take(keyword: "Z")
    return .collection(
      try sequence { parser throws(FilterError) in
        guard case .name(let name) = parser.lexer.token, Self.geometries.contains(name.uppercased()) else {
          throw parser.error("expected a geometry that is not a collection")
        }
        return try parser.simple()
      })
  }

  /// Parses a geometry that is not a collection, from its keyword on.
  private mutating func simple() throws(FilterError) -> FilterGeometry.Simple {
    guard case .name(let name) = lexer.token else { throw error("expected a geometry") }
    try lexer.advance()
    _ = try take(keyword: "Z")
    switch name.uppercased() {
    case "POINT": return .point(try point())
    case "LINESTRING": return .lineString(try line())
    case "POLYGON": return .polygon(try polygon())
    case "MULTIPOINT":
      return .multiPoint(
        try sequence { parser throws(FilterError) in
          try parser.isAt("(") ? parser.point() : parser.position()
        })
    case "MULTILINESTRING": return .multiLineString(try sequence { parser throws(FilterError) in try parser.line() })
    default: return .multiPolygon(try sequence { parser throws(FilterError) in try parser.polygon() })
    }
  }

  /// Parses values in parentheses, with commas between them.
  private mutating func sequence<Value>(
    _ rule: (inout TextParser) throws(FilterError) -> Value
  ) throws(FilterError) -> [Value] {
    try require("(")
    var values: [Value] = []
    repeat { values.append(try rule(&self)) } while try take(",")
    guard try take(")") else { throw error("expected ',' or ')'") }
    return values
  }

  private mutating func point() throws(FilterError) -> FilterGeometry.Position {
    try require("(")
    let position = try position()
    try require(")")
    return position
  }

  private mutating func line() throws(FilterError) -> [FilterGeometry.Position] {
    let start = lexer.start
    let positions = try sequence { parser throws(FilterError) in try parser.position() }
    guard positions.count >= FilterGeometry.leastLine else {
      throw FilterError(.character(start + 1), "expected at least \(FilterGeometry.leastLine) positions in a line")
    }
    return positions
  }

  private mutating func polygon() throws(FilterError) -> [[FilterGeometry.Position]] {
    try sequence { parser throws(FilterError) in
      let start = parser.lexer.start
      let ring = try parser.sequence { parser throws(FilterError) in try parser.position() }
      if let reason = FilterGeometry.expectation(insteadOfRing: ring) {
        throw FilterError(.character(start + 1), reason)
      }
      return ring
    }
  }

  private mutating func position() throws(FilterError) -> FilterGeometry.Position {
    guard budget.countVertex() else { throw error(budget.vertexReason) }
    let (x, y) = (try coordinate(), try coordinate())
    if isAt(",") || isAt(")") { return FilterGeometry.Position(x: x, y: y) }
    return FilterGeometry.Position(x: x, y: y, z: try coordinate())
  }

  private mutating func coordinate() throws(FilterError) -> Double {
    let isNegative = try take("-")
    if !isNegative { _ = try take("+") }
    guard case .number(let number) = lexer.token else { throw error("expected a number") }
    try lexer.advance()
    return isNegative ? -number : number
  }

  private mutating func box() throws(FilterError) -> FilterGeometry.Box {
    let start = lexer.start
    let numbers = try sequence { parser throws(FilterError) in try parser.coordinate() }
    guard let box = FilterGeometry.Box(numbers) else {
      throw FilterError(
        .character(start + 1), "expected west, south, east and north, or also two heights, with south at most north")
    }
    return box
  }
}

extension TextParser {
  /// Parses a string that is a date or a time.
  mutating func instant() throws(FilterError) -> Parsed {
    guard case .string(let text) = lexer.token else { throw error("expected a date or a time in quotes") }
    guard let instant = FilterExpression(instant: text) else {
      throw error("expected a date such as '2026-11-21' or a time such as '2026-11-21T10:15:00Z'")
    }
    let parsed = Parsed(expression: instant, start: lexer.start)
    try lexer.advance()
    return parsed
  }

  mutating func interval(start: Int) throws(FilterError) -> Parsed {
    let first = try intervalEnd()
    try require(",")
    let last = try intervalEnd()
    try require(")")
    return try node(.interval(first?.expression, last?.expression), start: start, of: [first, last].compactMap(\.self))
  }

  private mutating func intervalEnd() throws(FilterError) -> Parsed? {
    if lexer.token == .string("..") {
      try lexer.advance()
      return nil
    }
    if case .string = lexer.token { return try instant() }
    let end = try nested { parser throws(FilterError) in try parser.primary() }
    guard OperandKinds.intervalEnd.contains(end.expression.kind) else {
      throw FilterError(.character(end.start + 1), "expected \(OperandKinds.intervalEnd.description), or '..'")
    }
    return end
  }
}

extension FilterExpression {
  /// Creates a date or a timestamp from its text; `nil` for any other.
  init?(instant text: String) {
    if let date = RFC3339.date(of: text) {
      self = .date(date)
    } else if let time = RFC3339.microsecondsSinceEpoch(of: text) {
      self = .timestamp(microsecondsSinceEpoch: time)
    } else {
      return nil
    }
  }
}

/// A token of the text encoding.
enum Token: Hashable {
  /// A name without quotation marks, which may be a keyword.
  case name(String)
  /// A name in quotation marks.
  case quotedName(String)
  case string(String)
  case number(Double)
  /// An operator or a bracket.
  case symbol(String)
  case end
}

/// A reader of the tokens of the text encoding.
private struct Lexer {
  private let scalars: [Unicode.Scalar]
  private var next = 0

  /// The token that was read last.
  private(set) var token = Token.end

  /// The index of the token's first character.
  private(set) var start = 0

  init(_ text: String) throws(FilterError) {
    scalars = Array(text.unicodeScalars)
    try advance()
  }

  /// A Boolean value that indicates whether an opening parenthesis follows the token.
  var isBeforeParenthesis: Bool {
    var index = next
    while index < scalars.count, scalars[index].isFilterSpace { index += 1 }
    return index < scalars.count && scalars[index] == "("
  }

  /// Reads the next token.
  mutating func advance() throws(FilterError) {
    while next < scalars.count, scalars[next].isFilterSpace { next += 1 }
    start = next
    guard next < scalars.count else {
      token = .end
      return
    }
    let first = scalars[next]
    switch first {
    case "'": token = .string(try quoted("'"))
    case "\"":
      let name = try quoted("\"")
      guard !name.isEmpty else { throw FilterError(.character(start + 1), "expected a name in the quotation marks") }
      token = .quotedName(name)
    case "0"..."9", ".": token = .number(try number())
    case "<", ">":
      next += 1
      var symbol = String(first)
      if next < scalars.count, scalars[next] == "=" || (first == "<" && scalars[next] == ">") {
        symbol.unicodeScalars.append(scalars[next])
        next += 1
      }
      token = .symbol(symbol)
    case "=", "(", ")", ",", "+", "-", "*", "/", "%", "^":
      next += 1
      token = .symbol(String(first))
    case _ where first.isNameStart:
      while next < scalars.count, scalars[next].isNamePart { next += 1 }
      token = .name(text(start..<next))
    default:
      throw FilterError(.character(start + 1), "expected a name, a number, a string or an operator")
    }
  }

  private func text(_ range: Range<Int>) -> String {
    var text = String.UnicodeScalarView()
    text.append(contentsOf: scalars[range])
    return String(text)
  }

  /// Reads what is between two quotes. Twice the quote is the quote itself; in a string, a backslash before it too.
  private mutating func quoted(_ quote: Unicode.Scalar) throws(FilterError) -> String {
    var text = String.UnicodeScalarView()
    next += 1
    while next < scalars.count {
      let scalar = scalars[next]
      let following = next + 1 < scalars.count ? scalars[next + 1] : nil
      if scalar == quote {
        next += 1
        guard following == quote else { return String(text) }
      } else if scalar == "\\", quote == "'", following == quote {
        next += 1
      }
      guard scalars[next] != "\0" else { throw FilterError(.character(next + 1), "expected no NUL character") }
      text.append(scalars[next])
      next += 1
    }
    throw FilterError(.character(scalars.count + 1), "expected \(quote) at the end of what begins with it")
  }

  private mutating func number() throws(FilterError) -> Double {
    func skipDigits() -> Bool {
      let first = next
      while next < scalars.count, ("0"..."9").contains(scalars[next]) { next += 1 }
      return next > first
    }
    let hasInteger = skipDigits()
    var hasFraction = false
    if next < scalars.count, scalars[next] == "." {
      next += 1
      hasFraction = skipDigits()
    }
    guard hasInteger || hasFraction else { throw FilterError(.character(start + 1), "expected a digit") }
    if next < scalars.count, scalars[next] == "e" || scalars[next] == "E" {
      next += 1
      if next < scalars.count, scalars[next] == "+" || scalars[next] == "-" { next += 1 }
      guard skipDigits() else { throw FilterError(.character(next + 1), "expected the digits of an exponent") }
    }
    guard next == scalars.count || !scalars[next].isNamePart else {
      throw FilterError(.character(next + 1), "expected the end of a number")
    }
    // `5.` is a number here.
    guard let value = Double(text(start..<next)) ?? Double(text(start..<next) + "0"), value.isFinite else {
      throw FilterError(.character(start + 1), "expected a number of at most 1.8e308")
    }
    return value
  }
}

extension Unicode.Scalar {
  /// A Boolean value that indicates whether the character separates tokens.
  fileprivate var isFilterSpace: Bool {
    switch value {
    case 0x09...0x0D, 0x20, 0x85, 0xA0, 0x1680, 0x2000...0x200A, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000: true
    default: false
    }
  }

  /// A Boolean value that indicates whether a name without quotation marks may begin with the character, by the rule
  /// `identifierStart` of OGC 21-065.
  fileprivate var isNameStart: Bool {
    switch value {
    case 0x3A, 0x5F, 0x41...0x5A, 0x61...0x7A, 0xC0...0xD6, 0xD8...0xF6, 0xF8...0x2FF, 0x370...0x37D, 0x37F...0x167F,
      0x1681...0x1FFE, 0x200C...0x200D, 0x2070...0x218F, 0x2C00...0x2FEF, 0x3001...0xD7FF, 0xF900...0xFDCF,
      0xFDF0...0xFFFD, 0x10000...0xEFFFF:
      true
    default: false
    }
  }

  /// A Boolean value that indicates whether a name without quotation marks may go on with the character.
  fileprivate var isNamePart: Bool {
    switch value {
    case 0x2E, 0x30...0x39, 0x300...0x36F, 0x203F...0x2040: true
    default: isNameStart
    }
  }
}
