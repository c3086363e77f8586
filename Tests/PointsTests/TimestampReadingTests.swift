import Points
import Testing

@Suite struct TimestampReadingTests {
  @Test(arguments: [
    ("1970-01-01T00:00:00Z", 0), ("2026-11-21T10:15:00Z", 1_795_256_100_000_000),
    ("2026-11-21T11:15:00.25+01:00", 1_795_256_100_250_000), ("2026-11-21t09:45:00-00:30", 1_795_256_100_000_000),
    ("1969-12-31T23:59:59.9999999Z", -1), ("2024-02-29T00:00:00z", 1_709_164_800_000_000),
    ("0000-01-01T00:00:00Z", -62_167_219_200_000_000), ("2016-12-31T23:59:60Z", 1_483_228_800_000_000),
  ])
  func timesOfRFC3339AreRead(text: String, microseconds: Int64) {
    #expect(Timestamp(rfc3339: text)?.microsecondsSinceEpoch == microseconds)
  }

  @Test(arguments: [
    "", "2026-11-21", "2026-11-21T10:15Z", "2026-11-21T10:15:00", "2026-11-21 10:15:00Z", "2026-13-01T00:00:00Z",
    "2026-02-29T00:00:00Z", "2026-00-01T00:00:00Z", "2026-01-00T00:00:00Z", "2026-01-01T24:00:00Z",
    "2026-01-01T00:60:00Z", "2026-01-01T00:00:61Z", "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00+1:00",
    "2026-01-01T00:00:00+24:00", "2026-01-01T00:00:00Zx", "+2026-01-01T00:00:00Z", "２026-01-01T00:00:00Z",
    "2026-01-01T00:00:00+01:00:00", "20260101T000000Z",
  ])
  func textThatIsNoTimeIsRejected(text: String) {
    #expect(Timestamp(rfc3339: text) == nil)
  }

  @Test(arguments: Array(stride(from: Int64(-62_167_219_200), through: 253_402_300_799, by: 9_876_543_211)))
  func descriptionIsParsedBack(seconds: Int64) {
    let time = Timestamp(microsecondsSinceEpoch: seconds * 1_000_000 + 123_456)

    #expect(Timestamp(rfc3339: time.description) == time)
  }
}
