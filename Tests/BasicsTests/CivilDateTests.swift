import Basics
import Testing

@Suite struct CivilDateTests {
  @Test(arguments: [
    (0, CivilDate(year: 1970, month: 1, day: 1)), (-1, CivilDate(year: 1969, month: 12, day: 31)),
    (11_016, CivilDate(year: 2000, month: 2, day: 29)), (11_017, CivilDate(year: 2000, month: 3, day: 1)),
    (-719_468, CivilDate(year: 0, month: 3, day: 1)), (-719_469, CivilDate(year: 0, month: 2, day: 29)),
    (2_932_896, CivilDate(year: 9999, month: 12, day: 31)),
  ])
  func knownDaysHaveTheirDates(days: Int, date: CivilDate) {
    #expect(CivilDate(daysSinceEpoch: days) == date)
    #expect(date.daysSinceEpoch == days)
  }

  @Test func eachDayOfEightCenturiesFollowsTheOneBefore() {
    var last = CivilDate(daysSinceEpoch: -146_098)
    for days in -146_097...146_097 {
      let date = CivilDate(daysSinceEpoch: days)

      #expect(date.daysSinceEpoch == days)
      let isNextDay = (date.year, date.month, date.day) == (last.year, last.month, last.day + 1)
      let isNextMonth = (date.year, date.month, date.day) == (last.year, last.month + 1, 1) && last.day >= 28
      let isNextYear = (date.year, date.month, date.day) == (last.year + 1, 1, 1) && last.month == 12 && last.day == 31
      #expect(isNextDay || isNextMonth || isNextYear)
      last = date
    }
  }

  @Test(arguments: [(2026, 2, 29), (1900, 2, 29), (2026, 4, 31)])
  func dayBeyondTheMonthIsADayOfTheNextMonth(year: Int, month: Int, day: Int) {
    let date = CivilDate(year: year, month: month, day: day)

    #expect(CivilDate(daysSinceEpoch: date.daysSinceEpoch) == CivilDate(year: year, month: month + 1, day: 1))
  }
}

@Suite struct FNV1aTests {
  @Test(arguments: [("", 0xCBF2_9CE4_8422_2325), ("a", 0xAF63_DC4C_8601_EC8C), ("foobar", 0x8594_4171_F739_67E8)])
  func hashesEqualThePublishedValues(text: String, expected: UInt64) {
    var hash = FNV1a()

    hash.combine(bytes: text.utf8)

    #expect(hash.value == expected)
  }
}

@Suite struct SipHashTests {
  /// Reference values of OpenSSL's SIPHASH with one round for each word and three at the end.
  @Test(
    arguments: [
      (0, "", 0x5CB9_6F6B_A2A4_FCFC), (1, "a", 0x191E_FFD3_459C_7E1D),
      (0x0706_0504_0302_0100, "\u{8}\t\n\u{b}\u{c}\r\u{e}", 0xD320_D86D_2A51_9956),
    ] as [(UInt64, String, UInt64)])
  func hashIsThatOfTheReference(number: UInt64, text: String, expected: UInt64) {
    let key = SipHash.Key(first: 0x0706_0504_0302_0100, second: 0x0F0E_0D0C_0B0A_0908)

    let hash = ContiguousArray(text.utf8).withUnsafeBufferPointer { SipHash.hash(number, followedBy: $0, key: key) }

    #expect(hash == expected)
  }
}
