import FuzzSupport
import Geo
@testable import OpeningHours

@main enum Main {
  static func main() { runFuzzer(fuzzHours) }
}

/// Tests that any bytes are opening hours or rejected, that the canonical text of hours has the same meaning, and that
/// their evaluation ends and agrees with itself.
private func fuzzHours(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let bytes = UnsafeBufferPointer(start: data, count: count)
  _ = ZoneRules(name: "", tzif: bytes)
  let text = String(decoding: expanded(bytes, upTo: HoursExpression.maximumBytes), as: UTF8.self)
  guard let hours = try? HoursExpression(text: text) else { return 0 }
  // The canonical text may be longer than the limit.
  if hours.text.utf8.count <= HoursExpression.maximumBytes {
    guard let again = try? HoursExpression(text: hours.text) else {
      fatalError("the canonical text is rejected: \(hours.text)")
    }
    precondition(again == hours, "the canonical text has another meaning: \(hours.text)")
  }
  let position = try? Coordinate(latitude: Double(count % 19) * 10 - 90, longitude: 20)
  for position in [nil, position] {
    let context = HoursContext(zone: .utc, holidays: HolidayCalendar(code: "DE") ?? .none, position: position)
    var instant: Int64 = 1_800_000_000
    for _ in 0..<3 {
      let interval = hours.interval(at: instant, in: context)
      precondition(interval.end > instant, "an interval is empty")
      precondition(
        hours.state(atLocalSeconds: instant, in: context) == interval.state, "the states of an instant differ")
      guard interval.end < .max else { break }
      precondition(
        hours.interval(at: interval.end - 1, in: context).state == interval.state, "a state changes within its interval"
      )
      instant = interval.end
    }
  }
  return 0
}
