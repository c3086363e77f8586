import Geo
import OpeningHours
import Testing

/// The example of the README.
@Suite struct ReadmeExampleTests {
  @Test func shopOfTheExampleIsClosedUntilTheNextMorning() throws {
    let position = try Coordinate(latitude: 48.2082, longitude: 16.3738)
    let hours = try HoursExpression(text: "Mo-Fr 09:00-18:00; Sa 10:00-14:00; PH off")
    let zone = PositionZones.rules(of: PositionZones.number(at: position))
    let context = HoursContext(zone: zone, holidays: HolidayCalendar(code: "AT") ?? .none, position: position)
    let interval = hours.interval(at: 1_795_802_400, in: context)  // the state, and until when it lasts

    // From Friday 2026-11-27, 19:00 to Saturday, 10:00 in Vienna.
    #expect(interval.state == .closed)
    #expect(interval.end == 1_795_856_400)
  }
}
