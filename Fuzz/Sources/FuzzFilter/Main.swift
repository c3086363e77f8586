import CQL2
import FuzzSupport
import JSONText
import Points

@main enum Main {
  static func main() { runFuzzer(fuzzFilter) }
}

/// Tests that any bytes are a filter or rejected in both encodings, that the encoding in JSON of a filter is parsed as
/// the same filter, and that a filter that can be compiled is evaluated.
private func fuzzFilter(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let bytes = UnsafeBufferPointer(start: data, count: count)
  let text = String(decoding: bytes, as: UTF8.self)
  for expression in [try? FilterExpression(text: text), try? FilterExpression(json: bytes)].compactMap(\.self) {
    let again = try? FilterExpression(json: expression.json, limits: FilterLimits(bytes: 1 << 24, depth: 1_000))
    precondition(again == expression, "the JSON of a filter is another filter")
    guard let filter = try? PropertyFilter(expression, queryables: queryables, timeLimit: .seconds(1)) else { continue }
    _ = filter.condition.matches(NoValues())
    _ = filter.condition.matches(SomeValues())
  }
  return 0
}

private let queryables = Queryables(types: [
  "n": .number, "d": .date, "t": .timestamp, "l": .stringArray, "b": .boolean,
])

private struct NoValues: FilterRecord {
  func value(ofProperty number: Int) -> FilterValue { .null }
}

private struct SomeValues: FilterRecord {
  func value(ofProperty number: Int) -> FilterValue {
    switch PointProperty(rawValue: number)?.type {
    case .string: .string("a")
    case .number: .number(-0.5)
    case .integer: .number(3)
    case .timestamp: .timestamp(-1)
    case .geometry: .point(x: 1, y: -1)
    default: .null
    }
  }
}
