import Basics
import Foundation
import Geo
import JSONText
import OpeningHours
import Testing

struct ZoneRulesTests {
  @Test(arguments: [
    "Europe/Berlin", "America/New_York", "America/Sao_Paulo", "Asia/Tehran", "Asia/Kathmandu", "Australia/Lord_Howe",
    "Pacific/Apia", "Africa/Casablanca", "Europe/Dublin", "Antarctica/Troll", "America/Nuuk", "UTC", "Africa/Cairo",
  ])
  func offsetsAreThoseOfFoundation(name: String) throws {
    let rules = try systemZone(name)
    let zone = try #require(TimeZone(identifier: name))
    for instant in stride(from: Int64(0), to: 3_000_000_000, by: 1_000_003) {
      let expected = zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(instant)))
      #expect(rules.offset(at: instant).seconds == expected, "\(name) at \(instant)")
    }
  }

  @Test func localTimesAtAChangeAreInstants() throws {
    let zone = try systemZone("Europe/Berlin")
    // 02:30 does not exist, and is as far after the change.
    #expect(zone.instant(ofLocalSeconds: try seconds("2026-03-29T02:30")) == (try seconds("2026-03-29T01:30")))
    #expect(zone.instant(ofLocalSeconds: try seconds("2026-03-29T03:30")) == (try seconds("2026-03-29T01:30")))
    // 02:30 exists twice, and is the first.
    #expect(zone.instant(ofLocalSeconds: try seconds("2026-10-25T02:30")) == (try seconds("2026-10-25T00:30")))
    #expect(zone.instant(ofLocalSeconds: try seconds("2026-10-25T03:30")) == (try seconds("2026-10-25T02:30")))
    #expect(zone.instant(ofLocalSeconds: try seconds("2090-07-01T12:00")) == (try seconds("2090-07-01T10:00")))
  }

  @Test func otherBytesAreNoZone() throws {
    let data = try Data(contentsOf: URL(filePath: "/usr/share/zoneinfo/Europe/Berlin"))
    for count in 0..<data.count { #expect(ZoneRules(name: "", tzif: data.prefix(count)) == nil) }
  }
}

struct SunTimesTests {
  // Rises and sets as almanacs print them, to the minute.
  @Test(arguments: [
    ("Europe/London", 51.5074, -0.1278, "2026-06-21", "04:43", "21:21"),
    ("America/New_York", 40.7128, -74.0060, "2026-12-21", "07:17", "16:32"),
    ("Australia/Sydney", -33.8688, 151.2093, "2026-12-21", "05:41", "20:05"),
    ("Asia/Tokyo", 35.6762, 139.6503, "2026-06-21", "04:25", "19:00"),
    ("Pacific/Auckland", -36.8509, 174.7645, "2026-06-21", "07:34", "17:11"),
  ])
  func timesAreThoseOfAlmanacs(
    zone: String, latitude: Double, longitude: Double, date: String, sunrise: String, sunset: String
  ) throws {
    let rules = try systemZone(zone)
    let position = try Coordinate(latitude: latitude, longitude: longitude)
    let noon = rules.instant(ofLocalSeconds: try seconds(date + "T12:00"))
    for (event, time) in [(SunEvent.sunrise, sunrise), (.sunset, sunset)] {
      let expected = rules.instant(ofLocalSeconds: try seconds(date + "T" + time))
      guard case .at(let instant) = SunTimes.result(event, noon: noon, at: position) else {
        Issue.record("the sun does not cross the horizon")
        return
      }
      #expect(abs(instant - expected) <= 120, "\(event) \(instant - expected) s")
    }
  }

  @Test func sunStaysAboveOrBelowTheHorizonNearThePoles() throws {
    let tromsø = try Coordinate(latitude: 69.65, longitude: 18.96)
    #expect(SunTimes.result(.sunset, noon: try seconds("2026-06-21T11:00"), at: tromsø) == .above)
    #expect(SunTimes.result(.sunrise, noon: try seconds("2026-12-21T11:00"), at: tromsø) == .below)
    let pole = try Coordinate(latitude: 90, longitude: 0)
    #expect(SunTimes.result(.sunset, noon: try seconds("2026-06-21T12:00"), at: pole) == .above)
    #expect(SunTimes.result(.dusk, noon: try seconds("2026-12-21T12:00"), at: pole) == .below)
  }
}

struct HolidayCalendarTests {
  private func has(_ code: String, _ date: String) throws -> Bool {
    let calendar = try #require(HolidayCalendar(code: code))
    return calendar.dates.contains(try #require(RFC3339.date(of: date)))
  }

  @Test(arguments: [
    ("DE", "2026-10-03", true), ("DE", "2026-08-15", false), ("DE-SL", "2026-08-15", true),
    ("DE-SL", "2026-10-03", true),
    ("US", "2026-11-26", true), ("FR", "2040-07-14", true), ("JP", "2026-05-05", true), ("GB-SCT", "2026-11-30", true),
    ("GB-SCT", "2026-04-06", false), ("DE-XX", "2026-10-03", true),
  ])
  func builtInCalendarsHaveTheHolidays(code: String, date: String, isHoliday: Bool) throws {
    #expect(try has(code, date) == isHoliday)
  }

  @Test func unknownCountriesHaveNoCalendar() {
    #expect(HolidayCalendar(code: "ZZ") == nil)
    #expect(HolidayCalendar(code: "") == nil)
    #expect(HolidayCalendar.builtInCodes.count > 600)
  }
}

struct HolidayRegionTests {
  @Test(arguments: [
    (51.507, -0.127, "GB-ENG"), (55.953, -3.188, "GB-SCT"), (51.48, -3.18, "GB-WLS"), (54.597, -5.93, "GB-NIR"),
    (48.137, 11.575, "DE-BY"), (52.52, 13.405, "DE-BE"), (-33.868, 151.209, "AU-NSW"), (-35.28, 149.13, "AU-ACT"),
    (43.653, -79.383, "CA-ON"), (47.376, 8.541, "CH-ZH"), (41.385, 2.173, "ES-CT"), (48.573, 7.752, "FR-6AE"),
    (46.498, 11.354, "IT-BZ"), (-36.848, 174.763, "NZ-AUK"), (37.775, -122.418, "US-CA"), (21.307, -157.858, "US-HI"),
    (51.88, -176.65, "US-AK"), (52.9, 173.1, "US-AK"), (-22.907, -43.173, "BR-RJ"), (19.076, 72.878, "IN-MH"),
    // The end of the pier of Brighton, and that of Southend, two kilometres from the shore.
    (50.8143, -0.1370, "GB-ENG"), (51.5150, 0.7220, "GB-ENG"),
    // Both sides of the Rhine at Basel and at Laufenburg.
    (47.5596, 7.5886, "CH-BS"), (47.6150, 7.6650, "DE-BW"), (47.5600, 8.0620, "CH-AG"), (47.5690, 8.0640, "DE-BW"),
    // Paris, Rome, the Atlantic and the poles are in no such region.
    (48.857, 2.352, "-"), (41.9, 12.5, "-"), (40, -40, "-"), (90, 0, "-"), (-90, 180, "-"),
  ])
  func regionOfAPositionIsThatOfItsPolygon(latitude: Double, longitude: Double, code: String) throws {
    let position = try Coordinate(latitude: latitude, longitude: longitude)

    #expect(HolidayRegions.codes[HolidayRegions.number(at: position)] == code)
  }

  @Test func everyRegionHasACalendarOfItsOwn() {
    let calendars = Set(HolidayCalendar.builtInCodes)

    #expect(HolidayRegions.codes.count > 250)
    #expect(HolidayRegions.codes.dropFirst().allSatisfy(calendars.contains))
  }
}

struct WeeklyHoursTests {
  private func json(_ text: String) throws -> JSONValue { try JSONReader.value(of: Data(text.utf8)) }

  @Test(arguments: [
    (
      #"{"dayOfWeek":["Monday","https://schema.org/Tuesday"],"opens":"09:00","closes":"17:00:00"}"#, "Mo,Tu 09:00-17:00"
    ),
    (
      #"[{"dayOfWeek":"Friday","opens":"18:00","closes":"02:00"},{"dayOfWeek":"Saturday","opens":"20:00","closes":"23:59"}]"#,
      "Fr 18:00-02:00, Sa 20:00-24:00"
    ),
    (
      #"[{"opens":"09:00","closes":"17:00"},{"validFrom":"2026-12-24","validThrough":"2027-01-06","opens":"00:00","closes":"00:00"}]"#,
      "Mo-Su 09:00-17:00; 2026 Dec 24-2027 Jan 06 off"
    ),
    (
      #"[{"dayOfWeek":"Monday","opens":"09:00","closes":"12:00"},{"dayOfWeek":"PublicHolidays","opens":"00:00","closes":"00:00"}]"#,
      "Mo 09:00-12:00; PH off"
    ),
    (#"["Mo-Fr 09:00-17:00","Sa 10:00-12:00"]"#, "Mo-Fr 09:00-17:00; Sa 10:00-12:00"),
    (#""Mo-Fr 9-17""#, "Mo-Fr 09:00-17:00"),
  ])
  func specificationsOfSchemaOrgBecomeExpressions(source: String, text: String) throws {
    let hours = try #require(HoursExpression(schedule: try json(source)))
    #expect(hours.text == text)
    #expect(try HoursExpression(text: text) == hours)
  }

  @Test(arguments: [
    (#"[{"open":{"day":0,"time":"0000"}}]"#, "Mo-Su"),
    (
      #"[{"open":{"day":1,"time":"0900"},"close":{"day":1,"time":"1730"}},{"open":{"day":2,"time":"0900"},"close":{"day":2,"time":"1730"}}]"#,
      "Mo,Tu 09:00-17:30"
    ),
    (
      #"[{"open":{"day":5,"hour":18,"minute":0},"close":{"day":6,"hour":2,"minute":0}},{"open":{"day":6,"hour":18},"close":{"day":0,"hour":2}}]"#,
      "Fr,Sa 18:00-26:00"
    ),
    (
      #"[{"open":{"day":5,"time":"1800"},"close":{"day":1,"time":"0600"}}]"#,
      "Mo 00:00-06:00; Fr 18:00-24:00; Sa,Su"
    ),
  ])
  func periodsBecomeExpressions(source: String, text: String) throws {
    let hours = try #require(HoursExpression(schedule: try json(source)))
    #expect(hours.text == text)
  }

  @Test(arguments: [
    "{}", "[]", #"[{"open":{"day":7,"time":"0900"}}]"#,
    #"[{"open":{"day":1,"time":"9999"},"close":{"day":1,"time":"1000"}}]"#,
  ])
  func otherPeriodsAreNone(source: String) throws {
    #expect(HoursExpression(schedule: try json(source)) == nil)
  }
}

@Suite struct PositionZoneTests {
  @Test(arguments: [
    (48.2082, 16.3738, "Europe/Vienna"), (37.3293, -121.8893, "America/Los_Angeles"), (28.61, 77.21, "Asia/Kolkata"),
    (27.72, 85.32, "Asia/Kathmandu"), (-31.55, 159.08, "Australia/Lord_Howe"), (1.87, -157.4, "Pacific/Kiritimati"),
    (-43.95, -176.56, "Pacific/Chatham"), (90, 0, "Etc/GMT"), (-90, 180, "Antarctica/McMurdo"),
    (0, -30, "Etc/GMT+2"), (0, 180, "Etc/GMT-12"), (0, -180, "Etc/GMT+12"), (45, -179.999, "Etc/GMT+12"),
    // The border between Germany, the Netherlands and Belgium, and one between neighbouring streets of Baarle.
    (50.7700, 6.0180, "Europe/Amsterdam"), (50.7548, 6.0240, "Europe/Berlin"), (50.7530, 6.0170, "Europe/Brussels"),
    (51.4330, 4.9340, "Europe/Brussels"), (51.4330, 4.9260, "Europe/Amsterdam"),
  ])
  func zoneOfAPositionIsThatOfItsPolygon(latitude: Double, longitude: Double, name: String) throws {
    let position = try Coordinate(latitude: latitude, longitude: longitude)

    #expect(PositionZones.names[PositionZones.number(at: position)] == name)
  }

  @Test func everyZoneHasRulesOfTheSystem() {
    #expect(PositionZones.names.count > 400)
    for number in PositionZones.names.indices {
      #expect(PositionZones.rules(of: number).name == PositionZones.names[number])
    }
  }

  @Test(arguments: [
    "../../../etc/passwd", "", "Europe/../Europe/Vienna", "/usr/share/zoneinfo/Europe/Vienna", "Europe/Nowhere",
    "tzdata.zi",
    "Europe", "Europe//Vienna",
  ])
  func namesOfNoZoneHaveNoRules(name: String) {
    #expect(ZoneRules.system(named: name) == nil)
  }

  @Test func countryIsThatOfTheZone() {
    #expect(ZoneRules.system(named: "Europe/Vienna")?.country == "AT")
    #expect(ZoneRules.system(named: "America/Indiana/Knox")?.country == "US")
    #expect(ZoneRules.utc.country == nil)
  }
}
