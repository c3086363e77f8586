import Points
import Testing

@Suite struct TimestampTests {
  @Test(arguments: [
    (0, "1970-01-01T00:00:00Z"), (-1, "1969-12-31T23:59:59Z"), (86_399, "1970-01-01T23:59:59Z"),
    (951_782_400, "2000-02-29T00:00:00Z"), (951_868_800, "2000-03-01T00:00:00Z"),
    (1_709_164_800, "2024-02-29T00:00:00Z"),
    (4_107_542_399, "2100-02-28T23:59:59Z"), (4_107_542_400, "2100-03-01T00:00:00Z"),
    (-2_203_977_600, "1900-02-28T00:00:00Z"),
    (-2_203_891_200, "1900-03-01T00:00:00Z"), (1_763_633_700, "2025-11-20T10:15:00Z"),
    (2_147_483_648, "2038-01-19T03:14:08Z"),
    (253_402_300_799, "9999-12-31T23:59:59Z"), (253_402_300_800, "010000-01-01T00:00:00Z"),
    (-62_135_596_800, "0001-01-01T00:00:00Z"), (-62_167_219_200, "0000-01-01T00:00:00Z"),
    (-62_167_219_201, "-0001-12-31T23:59:59Z"),
  ])
  func secondsAreWrittenAsRFC3339(seconds: Int64, text: String) {
    #expect(Timestamp(microsecondsSinceEpoch: seconds * 1_000_000).description == text)
  }

  @Test(arguments: [
    (1, "1970-01-01T00:00:00.000001Z"), (500_000, "1970-01-01T00:00:00.5Z"), (120_000, "1970-01-01T00:00:00.12Z"),
    (1_000_010, "1970-01-01T00:00:01.00001Z"), (-1, "1969-12-31T23:59:59.999999Z"),
    (-1_500_000, "1969-12-31T23:59:58.5Z"),
  ])
  func aFractionIsWrittenWithoutTrailingZeros(microseconds: Int64, text: String) {
    #expect(Timestamp(microsecondsSinceEpoch: microseconds).description == text)
  }

  @Test(arguments: [Int64.min, .max])
  func theFarthestTimesFitTheUpperBound(microseconds: Int64) {
    let length = Timestamp(microsecondsSinceEpoch: microseconds).description.utf8.count

    #expect(length <= Timestamp.maximumTextLength)
  }

  /// Counted day by day with the calendar's own rule.
  @Test func everyDayOfFourHundredYearsFollowsTheOneBefore() {
    let lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    var (year, month, day) = (1900, 1, 1)
    func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    for days in Int64(-25_567)..<(-25_567 + 146_097) {
      let expected = "\(year)-\(two(month))-\(two(day))T00:00:00Z"
      let isRight = Timestamp(microsecondsSinceEpoch: days * 86_400_000_000).description == expected
      guard isRight else {
        Issue.record("\(expected) is not day \(days)")
        return
      }
      let isLeapYear = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
      day += 1
      if day > lengths[month - 1] + (month == 2 && isLeapYear ? 1 : 0) { (month, day) = (month + 1, 1) }
      if month > 12 { (year, month) = (year + 1, 1) }
    }
    #expect(year == 2300)
  }

  @Test(arguments: [(0, 0), (999, 0), (1000, 1), (-1, -1), (-1000, -1), (-1001, -2)] as [(Int64, Int64)])
  func millisecondsAreRoundedDown(microseconds: Int64, milliseconds: Int64) {
    #expect(Timestamp(microsecondsSinceEpoch: microseconds).millisecondsSinceEpoch == milliseconds)
  }

  @Test func earlierTimesComeFirst() {
    #expect(Timestamp(microsecondsSinceEpoch: -1) < Timestamp(microsecondsSinceEpoch: 0))
  }
}
