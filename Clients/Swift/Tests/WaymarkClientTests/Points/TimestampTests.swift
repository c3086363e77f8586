import Foundation
import Testing

@testable import WaymarkClient

@Suite struct TimestampTests {
  @Test(
    arguments: [
      ("1970-01-01T00:00:00Z", 0), ("2026-11-20T10:15:00Z", 1_795_169_700), ("2026-11-20t10:15:00.5z", 1_795_169_700.5),
      ("2026-11-20T10:15:00.123456Z", 1_795_169_700.123456), ("2026-11-20T11:45:00+01:30", 1_795_169_700),
      ("2026-11-20T02:15:00-08:00", 1_795_169_700), ("2000-02-29T23:59:60Z", 951_868_800),
      ("1969-12-31T23:59:59Z", -1), ("0000-01-01T00:00:00Z", -62_167_219_200),
      ("9999-12-31T23:59:59Z", 253_402_300_799), ("2026-11-20T10:15:00.1234567890123Z", 1_795_169_700.123456789),
    ] as [(String, Double)])
  func timeIsParsed(text: String, seconds: Double) throws {
    let date = try #require(RFC3339.date(from: text))

    #expect(abs(date.timeIntervalSince1970 - seconds) < 1e-6)
  }

  @Test(
    arguments: [
      "", "2026-11-20", "2026-11-20T10:15Z", "2026-11-20T10:15:00", "2026-13-01T00:00:00Z", "2026-02-29T00:00:00Z",
      "2100-02-29T00:00:00Z", "2026-11-20T24:00:00Z", "2026-11-20T10:60:00Z", "2026-11-20T10:15:61Z",
      "2026-11-20T10:15:00.Z", "2026-11-20T10:15:00+1:00", "2026-11-20T10:15:00+24:00", "2026-11-20 10:15:00Z",
      "+026-11-20T10:15:00Z", "2026-11-20T10:15:00ZZ", "２０２６-11-20T10:15:00Z",
    ])
  func malformedTimeIsRejected(text: String) {
    #expect(RFC3339.date(from: text) == nil)
  }

  @Test func headerDateIsParsed() {
    #expect(HTTPDate.date(from: "Sun, 06 Nov 1994 08:49:37 GMT") == Date(timeIntervalSince1970: 784_111_777))
  }

  @Test(
    arguments: [
      "", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "Sun, 06 Nov 1994 08:49:37 UTC",
      "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49 GMT", "Sun, 06 Nov 1994 08:xx:37 GMT",
    ])
  func malformedHeaderDateIsRejected(text: String) {
    #expect(HTTPDate.date(from: text) == nil)
  }
}
