import Basics
import Foundation
import Geo
import OpeningHours
import Testing

/// Returns the rules of a zone of the system.
func systemZone(_ name: String) throws -> ZoneRules {
  let data = try Data(contentsOf: URL(filePath: "/usr/share/zoneinfo/" + name))
  return try #require(ZoneRules(name: name, tzif: data))
}

/// Returns the seconds since 1970 of a time in UTC.
func seconds(_ text: String) throws -> Int64 {
  try #require(RFC3339.microsecondsSinceEpoch(of: text + ":00Z")) / 1_000_000
}

struct HoursEvaluationTests {
  /// Evaluates in UTC, and returns a line for each interval that is not closed: `Mo 10:00-12:00 open`.
  private func lines(
    _ text: String, from start: String, days: Int = 1, holidays: [String] = [], position: Coordinate? = nil
  ) throws -> [String] {
    let context = HoursContext(
      zone: .utc, holidays: HolidayCalendar(days: holidays.map { RFC3339.date(of: $0)! }), position: position)
    let date = try #require(RFC3339.date(of: start))
    return try HoursExpression(text: text).intervals(from: date, days: days, in: context).filter {
      $0.state != .closed || $0.comment != nil
    }.map { interval in
      func time(_ instant: Int64) -> String {
        let minutes = Int(instant / 60) - date.daysSinceEpoch * 1_440
        return String(format: "%d %02d:%02d", minutes / 1_440, minutes / 60 % 24, minutes % 60)
      }
      return "\(time(interval.start))-\(time(interval.end)) \(interval.state)"
        + (interval.comment.map { " " + $0.text } ?? "")
    }
  }

  // 2026-11-23 is a Monday.
  @Test(arguments: [
    ("Mo 10:00-12:00,14:00-16:00", 1, ["0 10:00-0 12:00 open", "0 14:00-0 16:00 open"]),
    ("Mo 22:00-02:00", 2, ["0 22:00-1 02:00 open"]),
    ("Mo 22:00-26:00", 2, ["0 22:00-1 02:00 open"]),
    ("Su 22:00-02:00", 1, ["0 00:00-0 02:00 open"]),
    ("Mo 10:00-10:00", 2, ["0 10:00-1 10:00 open"]),
    ("24/7", 1, ["0 00:00-1 00:00 open"]),
    // A later open rule replaces the day, and what reaches into it; a closed one only its times.
    ("Mo-Fr 08:00-18:00; Mo 10:00-12:00", 1, ["0 10:00-0 12:00 open"]),
    ("Mo-Fr 08:00-18:00, Mo 20:00-22:00", 1, ["0 08:00-0 18:00 open", "0 20:00-0 22:00 open"]),
    ("Mo-Fr 08:00-18:00; Mo 12:00-13:00 off", 1, ["0 08:00-0 12:00 open", "0 13:00-0 18:00 open"]),
    ("Mo-Fr 08:00-18:00; Mo off", 1, []),
    ("22:00-02:00; Tu 12:00-14:00", 2, ["0 00:00-0 02:00 open", "0 22:00-1 00:00 open", "1 12:00-1 14:00 open"]),
    // The hours after midnight of a later rule are added.
    ("Mo 10:00-12:00; Su 22:00-02:00", 1, ["0 00:00-0 02:00 open", "0 10:00-0 12:00 open"]),
    // A fallback holds at the times at which the others are closed.
    (
      "Mo 08:00-12:00 || \"call\"", 1,
      ["0 00:00-0 08:00 unknown call", "0 08:00-0 12:00 open", "0 12:00-1 00:00 unknown call"]
    ),
    ("Mo off || open", 1, ["0 00:00-1 00:00 open"]),
    ("10:00-12:00 \"perhaps\"", 1, ["0 10:00-0 12:00 unknown perhaps"]),
    ("10:00-12:00 open \"a\", 12:00-14:00 open \"b\"", 1, ["0 10:00-0 12:00 open a", "0 12:00-0 14:00 open b"]),
    ("12:00-14:00 off \"lunch\"", 1, ["0 12:00-0 14:00 closed lunch"]),
    // An open end is unknown from its time on.
    ("10:00+", 1, ["0 10:00-1 00:00 unknown"]),
    (
      "18:00-20:00+", 2,
      [
        "0 00:00-0 06:00 unknown", "0 18:00-0 20:00 open", "0 20:00-1 06:00 unknown", "1 18:00-1 20:00 open",
        "1 20:00-2 00:00 unknown",
      ]
    ),
    ("07:00+,12:00-16:00", 1, ["0 07:00-0 12:00 unknown", "0 12:00-0 16:00 open"]),
    ("Mo 10:00", 1, ["0 10:00-1 00:00 unknown"]),
    // School holidays are unknown.
    ("Mo 10:00-12:00; SH off", 1, ["0 10:00-0 12:00 unknown"]),
    ("SH Mo-Fr 10:00-12:00", 1, ["0 10:00-0 12:00 unknown"]),
    ("Mo 10:00-12:00; SH 10:00-12:00", 1, ["0 10:00-0 12:00 open"]),
    // Without a position, the times of the sun are unknown.
    ("sunrise-sunset", 1, ["0 00:00-1 00:00 unknown"]),
  ])
  func rulesOfADayAreCombined(text: String, days: Int, expected: [String]) throws {
    #expect(try lines(text, from: "2026-11-23", days: days) == expected)
  }

  @Test(arguments: [
    ("Dec 24-26", "2026-12-23", false), ("Dec 24-26", "2026-12-26", true), ("Dec 24-Jan 06", "2027-01-06", true),
    ("Dec 24-Jan 06", "2027-01-07", false), ("Nov-Feb", "2026-01-01", true), ("Nov-Feb", "2026-03-01", false),
    ("Feb", "2028-02-29", true), ("Feb 29", "2028-02-29", true), ("Feb 29", "2027-03-01", false),
    ("Feb 29", "2027-02-28", false), ("Feb 29-Mar 02", "2027-03-01", true), ("Feb 10-29", "2027-02-28", true),
    ("2026 Dec 24-Jan 06", "2027-01-02", true), ("2026 Dec 24-Jan 06", "2026-01-02", false),
    ("2026 Dec 24+", "2030-01-01", true), ("2026-2028 Jan 01", "2028-01-01", true),
    ("2026-2030/2", "2027-05-05", false),
    ("2026+", "2099-01-01", true), ("2020-2025", "2026-01-01", false),
    ("easter", "2026-04-05", true), ("easter", "2025-04-20", true), ("easter -2 days", "2026-04-03", true),
    ("easter +50 days", "2026-05-25", true), ("Jan 01 -2 days", "2026-12-30", true),
    ("easter -47 days-easter", "2026-02-17", true),
    ("week 53", "2026-12-28", true), ("week 53", "2027-01-03", true), ("week 53", "2027-12-31", false),
    ("week 01", "2026-01-01", true), ("week 01-53/2", "2026-01-05", false), ("week 50-02", "2027-01-12", true),
    ("Mo[1]", "2026-11-02", true), ("Mo[-1]", "2026-11-30", true), ("Mo[-1]", "2026-11-23", false),
    ("Mo[5]", "2026-11-30", true), ("Su[1] +1 day", "2026-11-02", true), ("Mo[2-4]", "2026-11-23", true),
    ("Mar Su[-1]-Oct Su[-1]", "2026-03-28", false), ("Mar Su[-1]-Oct Su[-1]", "2026-10-25", true),
    ("Dec 01 +Su", "2026-12-06", true), ("Dec 01 -Su", "2026-11-29", true), ("Sa-Mo", "2026-11-23", true),
    ("PH", "2026-11-23", true), ("PH -1 day", "2026-11-22", true), ("PH Tu", "2026-11-23", false),
    ("Tu,PH", "2026-11-23", true),
  ])
  func daysAreSelected(text: String, date: String, isSelected: Bool) throws {
    let open = try lines(text, from: date, holidays: ["2026-11-23"])
    #expect(open == (isSelected ? ["0 00:00-1 00:00 open"] : []))
  }

  @Test(arguments: [
    // The night of 23 hours: at 01:00 UTC the clock goes from 02:00 to 03:00.
    ("Europe/Berlin", "Sa 20:00-04:00", "2026-03-28T22:00", "2026-03-29T02:00"),
    ("Europe/Berlin", "Su 02:30-05:00", "2026-03-29T00:00", "2026-03-29T01:00"),
    ("Europe/Berlin", "Su 02:30-05:00", "2026-03-29T01:30", "2026-03-29T03:00"),
    // The night of 25 hours: at 01:00 UTC it goes from 03:00 to 02:00, and the hour from 02:00 exists twice.
    ("Europe/Berlin", "Sa 20:00-04:00", "2026-10-24T22:00", "2026-10-25T03:00"),
    ("Europe/Berlin", "Sa 20:00-02:30", "2026-10-24T22:00", "2026-10-25T00:30"),
    ("Europe/Berlin", "Sa 20:00-02:30", "2026-10-25T00:45", "2026-10-25T01:00"),
    ("Europe/Berlin", "Sa 20:00-02:30", "2026-10-25T01:00", "2026-10-25T01:30"),
    // Half hours and quarters, and a change of half an hour.
    ("Asia/Kolkata", "10:00-18:00", "2026-11-23T05:00", "2026-11-23T12:30"),
    ("Asia/Kathmandu", "10:00-18:00", "2026-11-23T05:00", "2026-11-23T12:15"),
    ("Australia/Lord_Howe", "10:00-18:00", "2026-10-04T00:00", "2026-10-04T07:00"),
    // Beyond the date line.
    ("Pacific/Kiritimati", "Tu 00:00-12:00", "2026-11-23T10:00", "2026-11-23T22:00"),
    ("Pacific/Pago_Pago", "Su 12:00-24:00", "2026-11-23T10:00", "2026-11-23T11:00"),
  ])
  func nextChangeIsThatOfTheWallClock(zone: String, text: String, from: String, to: String) throws {
    let context = HoursContext(zone: try systemZone(zone))
    let interval = try HoursExpression(text: text).interval(at: try seconds(from), in: context)
    #expect(interval.end == (try seconds(to)))
    #expect(interval.endsWithChange)
  }

  @Test func stateOfALocalTimeNeedsNoInstant() throws {
    let context = HoursContext(zone: try systemZone("America/New_York"))
    let hours = try HoursExpression(text: "Mo 19:00-20:00")
    #expect(hours.state(atLocalSeconds: try seconds("2026-11-23T19:00"), in: context) == .open)
    #expect(hours.state(atLocalSeconds: try seconds("2026-11-23T20:00"), in: context) == .closed)
  }

  @Test(arguments: ["24/7", "off", "Mo-Su", "00:00-24:00", "Mo-Su 00:00-24:00; PH off"])
  func stateWithoutChangeLastsForever(text: String) throws {
    let context = HoursContext(zone: try systemZone("Europe/Berlin"))
    let interval = try HoursExpression(text: text).interval(at: try seconds("2026-11-23T10:00"), in: context)
    #expect(interval.end == .max || !interval.endsWithChange)
  }

  @Test(arguments: ["2090 Dec 24 10:00-12:00", "week 53 Su", "2030-2099/3 Feb 29", "easter +1 day; PH off", "2020"])
  func stepsOfAnEvaluationAreBounded(text: String) throws {
    let context = HoursContext(zone: try systemZone("Europe/Berlin"))
    let hours = try HoursExpression(text: text + String(repeating: "; 2099 Dec 24 Mo[1] off", count: 60))
    var instant = try seconds("2026-11-23T10:00")
    for _ in 0..<100 {
      let interval = hours.interval(at: instant, in: context)
      #expect(interval.end > instant)
      // A week at most is compared with so many selectors.
      #expect(interval.end - instant < 60 * 86_400)
      guard interval.end < .max else { return }
      instant = interval.end
    }
  }

  @Test func intervalsOfAWeekHaveNoGaps() throws {
    let context = HoursContext(zone: try systemZone("Europe/Berlin"))
    let intervals = try HoursExpression(text: "Mo-Fr 09:00-12:00; PH off").intervals(
      from: CivilDate(year: 2026, month: 3, day: 23), days: 7, in: context)
    #expect(zip(intervals, intervals.dropFirst()).allSatisfy { $0.end == $1.start && $0.state != $1.state })
    #expect(intervals.first?.start == (try seconds("2026-03-22T23:00")))
    #expect(intervals.last?.end == (try seconds("2026-03-29T22:00")))
    #expect(intervals.filter { $0.state == .open }.count == 5)
  }

  @Test func spansOfTheSunFollowThePosition() throws {
    // Berlin, 21 June: from 04:43 to 21:33 in summer time.
    let berlin = try Coordinate(latitude: 52.52, longitude: 13.405)
    #expect(try lines("sunrise-sunset", from: "2026-06-21", position: berlin) == ["0 02:43-0 19:33 open"])
    #expect(try lines("(sunrise+01:00)-12:00", from: "2026-06-21", position: berlin) == ["0 03:43-0 12:00 open"])
    // Tromsø has no night then, and no day in December.
    let tromsø = try Coordinate(latitude: 69.65, longitude: 18.96)
    #expect(try lines("sunrise-sunset", from: "2026-06-21", position: tromsø) == ["0 00:00-1 00:00 open"])
    #expect(try lines("sunset-sunrise", from: "2026-06-21", position: tromsø) == [])
    #expect(try lines("sunrise-sunset", from: "2026-12-21", position: tromsø) == [])
    #expect(try lines("sunset-sunrise", from: "2026-12-21", position: tromsø) == ["0 00:00-1 00:00 open"])
  }

  // The sun rises at 03:53 and sets at 22:49 on 20 June, at 09:12 and 15:13 on 10 December.
  @Test(arguments: [
    ("sunset-22:00", "2026-06-20", []), ("sunset-22:00", "2026-12-10", ["15:13-22:00"]),
    ("18:00-sunset", "2026-12-10", []), ("18:00-sunset", "2026-06-20", ["18:00-22:49"]),
    ("sunset-17:00", "2026-06-20", []), ("sunset-23:30", "2026-06-20", ["22:49-23:30"]),
    ("sunset-02:00", "2026-06-20", ["00:00-02:00", "22:49-24:00"]), ("dusk-23:00", "2026-06-20", []),
    ("sunrise-06:00", "2026-12-10", []), ("sunrise-08:00", "2026-06-20", ["03:53-08:00"]),
    ("06:00-sunrise", "2026-06-20", []), ("22:00-sunrise", "2026-06-20", ["00:00-03:53", "22:00-24:00"]),
    ("sunrise-01:00", "2026-06-20", ["00:00-01:00", "03:53-24:00"]),
    ("(sunrise+03:00)-(sunset-03:30)", "2026-12-10", []), ("dawn-(sunrise-01:00)", "2026-12-10", []),
    ("(sunset-01:00)-(sunset+01:00)", "2026-12-10", ["14:13-16:13"]),
    ("Mo-Su 10:00-12:00; sunset-22:00", "2026-06-20", []),
  ])
  func spansThatTheSunReversesAreEmpty(text: String, date: String, expected: [String]) throws {
    let context = HoursContext(
      zone: try systemZone("Europe/Helsinki"), position: try Coordinate(latitude: 60.17, longitude: 24.94))
    let midnight = context.zone.instant(ofLocalSeconds: try seconds(date + "T00:00"))
    let intervals = try HoursExpression(text: text).intervals(
      from: try #require(RFC3339.date(of: date)), days: 1, in: context)
    let spans = intervals.filter { $0.state == .open }.map { interval in
      let minutes = [interval.start, interval.end].map { Int($0 - midnight) / 60 }
      return minutes.map { String(format: "%02d:%02d", $0 / 60, $0 % 60) }.joined(separator: "-")
    }
    #expect(spans == expected)
    #expect(intervals.allSatisfy { $0.state != .unknown })
  }

  @Test func openEndOfAnEmptySpanBeginsAtItsStart() throws {
    // At 56° north, the sun sets at 15:40 in UTC on 10 December.
    let position = try Coordinate(latitude: 56, longitude: 0)
    #expect(
      try lines("18:00-sunset+", from: "2026-12-10", position: position) == [
        "0 00:00-0 04:00 unknown", "0 18:00-1 00:00 unknown",
      ])
  }
}
