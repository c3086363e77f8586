import Basics
import Testing

struct RFC3339Tests {
  @Test(arguments: ["2026-11-21", "0000-01-01", "2024-02-29", "9999-12-31"])
  func dateIsReadAndWritten(text: String) throws {
    #expect(RFC3339.text(of: try #require(RFC3339.date(of: text))) == text)
  }

  @Test(arguments: ["", "2026", "2026-1-21", "2026-02-29", "2026-13-01", "2026-00-10", "2026-11-21T", " 2026-11-21"])
  func otherTextIsNoDate(text: String) {
    #expect(RFC3339.date(of: text) == nil)
  }

  @Test(
    arguments: [
      ("1970-01-01T00:00:00Z", 0), ("1970-01-01T01:00:00.5+01:00", 500_000), ("1969-12-31t23:59:59.999999z", -1),
    ] as [(String, Int64)])
  func timeIsRead(text: String, microseconds: Int64) {
    #expect(RFC3339.microsecondsSinceEpoch(of: text) == microseconds)
  }

  @Test(arguments: [
    ("0000-01-01T00:00:00+00:00", "0000-01-01T00:00:00Z"), ("0000-01-01T00:00:00+00:01", nil),
    ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z"), ("9999-12-31T23:59:60Z", nil),
    ("9999-12-31T00:00:00-23:59", "9999-12-31T23:59:00Z"), ("9999-12-31T23:59:00-00:01", nil),
  ])
  func timeOfAYearWithoutTextIsNone(text: String, written: String?) {
    let time = RFC3339.microsecondsSinceEpoch(of: text)
    #expect(time.map { RFC3339.text(microsecondsSinceEpoch: $0) } == written)
  }
}
