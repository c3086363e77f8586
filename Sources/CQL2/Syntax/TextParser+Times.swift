import Basics

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
