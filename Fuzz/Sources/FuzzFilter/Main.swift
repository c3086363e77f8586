import Basics
import CQL2
import FuzzSupport
import JSONText
import Points

@main enum Main {
  static func main() { runFuzzer(fuzzFilter) }
}

/// Tests that any bytes are a filter or rejected in both encodings, that both encodings of a filter are parsed as the
/// same filter, and that a filter that can be compiled is evaluated.
private func fuzzFilter(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let bytes = expanded(UnsafeBufferPointer(start: data, count: count), upTo: FilterLimits().bytes)
  if let expression = try? FilterExpression(text: String(decoding: bytes, as: UTF8.self)) {
    testEncodings(of: expression, hasText: true)
    testEvaluation(of: expression)
  }
  if let expression = try? FilterExpression(json: bytes) {
    testEncodings(of: expression, hasText: expression.hasText)
    testEvaluation(of: expression)
  }
  return 0
}

private func testEncodings(of expression: FilterExpression, hasText: Bool) {
  let limits = FilterLimits(bytes: 1 << 24, depth: 1_000)
  precondition(
    (try? FilterExpression(json: expression.json, limits: limits)) == expression,
    "the JSON of a filter is another filter")
  let again = try? FilterExpression(text: expression.text, limits: limits)
  precondition(!hasText || again == expression, "the text of a filter is another filter")
}

/// Tests that no record matches a filter and its negation.
private func testEvaluation(of expression: FilterExpression) {
  guard let filter = condition(expression) else { return }
  guard let negation = condition(.operation(.not, [expression])) else { fatalError("no negation of a filter") }
  precondition(
    !filter.matches(SomeValues()) || !negation.matches(SomeValues()), "a record matches a filter and its negation")
  precondition(
    !filter.matches(NoValues()) || !negation.matches(NoValues()), "a record matches a filter and its negation")
}

private func condition(_ expression: FilterExpression) -> CompiledFilter? {
  (try? PropertyFilter(expression, queryables: queryables))?.condition
}

private let queryables = Queryables(types: [
  "n": .number, "d": .date, "t": .timestamp, "l": .stringArray, "b": .boolean, "i": .integer,
])

private struct NoValues: FilterRecord {
  func value(ofProperty number: Int) -> FilterValue { .null }
}

/// A record with a value of each property of places.
private struct SomeValues: FilterRecord {
  func value(ofProperty number: Int) -> FilterValue {
    switch PointField(rawValue: number)?.filterType {
    case .string: .string("a")
    case .number: .number(-0.5)
    case .integer: .number(3)
    case .timestamp: .timestamp(-1)
    case .geometry: .point(x: 1, y: -1)
    default: .null
    }
  }
}

extension FilterExpression {
  private var operands: [FilterExpression] {
    switch self {
    case .operation(_, let operands), .function(_, let operands), .array(let operands): operands
    case .interval(let first, let last): [first, last].compactMap(\.self)
    default: []
    }
  }

  /// A Boolean value that indicates whether the text encoding can express the filter.
  fileprivate var hasText: Bool {
    switch self {
    case .string(let text): text.text.utf8.last != UInt8(ascii: "\\")
    case .function: false
    case .operation(.isNull, let operands):
      if case .array(let elements) = operands[0], elements.count == 1 { false } else { operands[0].hasText }
    default: operands.allSatisfy(\.hasText)
    }
  }
}
