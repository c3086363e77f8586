import APIDescription
import Basics
import HTTPServer
import JSONText
import NIOHTTP1
import OpeningHours
import PointFormats
import Points

/// `GET /locations/{id}/hours`: the opening hours of a place on some days.
struct HoursRoute: CallHandler {
  static let call = Call(
    .GET, "/locations/{id}/hours", scope: .read, joinsRestriction: true, id: "getHours", group: .search, link: "hours",
    summary: "Get the opening hours of a place",
    description:
      "The state now, and the times at which the place is open, closed or of unknown state on some days of its"
      + " calendar, by its tag `opening_hours`. Without the tag, or if it cannot be parsed, the state is `unknown`.",
    parameters: [.from, .days], caching: .timed,
    responses: [.init(200, "The opening hours.", media: .json(.hours))])

  /// The accepted range of `days`.
  static let days = 1...31

  static let defaultDays = 7

  let service: PointsService
  let policy: CachePolicy
  let clock: any WallClock

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    var values = try ParameterValues(request, allowing: Self.call.parameters)
    let (firstDay, dayCount) = (values.firstDay(), values.dayCount())
    try values.check()
    let point = try await service.place(try PointID(inPathOf: request), for: request)
    let now = clock.now()
    let hours = PlaceHours(point)
    let from = firstDay ?? hours.date(at: now.secondsSinceEpoch)
    let (state, end) = hours.state(at: now.minutesSinceEpoch * 60)
    var response = HTTPResponse(Self.json(of: hours, state, from: from, days: dayCount))
    if ContentCoding.isAsked(by: request) { try await ContentCoding.apply(to: &response, of: request) }
    response.addCaching(by: policy)
    // Without `from` the first day is another one tomorrow.
    let midnight = firstDay == nil ? hours.instant(ofMidnightAfter: from) / 60 : Expiry.never
    let expiry = min(end / 60, midnight)
    policy.expire(&response.headers, at: expiry, now: now)
    return response
  }

  private static func json(
    of hours: PlaceHours, _ state: PlaceState, from: CivilDate, days: Int
  ) -> JSONWriter<[UInt8]> {
    .object { json in
      if let text = hours.text { json.write(member: "openingHours", text) }
      if let error = hours.error { json.write(member: "error", error.description) }
      json.write(member: "timeZone", state.timeZone)
      if let code = hours.holidayCode { json.write(member: "holidays", code) }
      json.write(member: "openState", state.state.rawValue)
      if let time = state.openUntil { json.write(member: "openUntil", time) }
      if let time = state.opensAt { json.write(member: "opensAt", time) }
      json.write(member: "from", RFC3339.text(of: from))
      json.write(member: "days", days)
      json.write(name: "intervals")
      json.writeArray(of: hours.intervals(from: from, days: days)) { interval, json in
        json.write(member: "start", hours.text(ofInstant: interval.start))
        json.write(member: "end", hours.text(ofInstant: interval.end))
        json.write(member: "state", PlaceState.State(interval.state).rawValue)
        if let comment = interval.comment { json.write(member: "comment", comment.text) }
      }
    }
  }
}

extension Parameter {
  static let from = Parameter("from") {
    .init(
      "First day, from 2000 to 2100, by the calendar of the place; today by default.",
      Schema(.string, nil, ["format": "date", "pattern": "^2(0\\d\\d|100)-"], example: "2026-11-23"))
  }

  static let days = Parameter("days", .integer) {
    .init(
      "Number of days.",
      Schema(
        .integer, nil,
        [
          "minimum": .count(HoursRoute.days.lowerBound), "maximum": .count(HoursRoute.days.upperBound),
          "default": .count(HoursRoute.defaultDays),
        ]))
  }
}

extension ParameterValues {
  /// Returns the first day of `from`; `nil` if it is not given or invalid.
  fileprivate mutating func firstDay() -> CivilDate? {
    guard let text = self[.from] else { return nil }
    let years = PointQuery.Opening.years
    guard let date = RFC3339.date(of: text), years.contains(date.year) else {
      note(
        .invalid, Parameter.from.name,
        "must be a date such as 2026-11-23, from \(years.lowerBound) to \(years.upperBound), got \(quoted(text))")
      return nil
    }
    return date
  }

  /// Returns the number of days of `days`.
  fileprivate mutating func dayCount() -> Int { integer(.days, in: HoursRoute.days) ?? HoursRoute.defaultDays }
}

extension Schema {
  /// The opening hours of some days.
  fileprivate static let hours = Schema(
    .object(
      [
        .optional("openingHours", Schema(.string, "The tag `opening_hours`.", example: "Mo-Fr 09:00-18:00")),
        .optional("error", Schema(.string, "The reason why the tag cannot be parsed.")),
        .required("timeZone", timeZone),
        .optional(
          "holidays", Schema(.string, "Code of ISO 3166 whose public holidays hold; absent if unknown.", example: "AT")),
        .required("openState", openState),
        .optional("openUntil", time), .optional("opensAt", time),
        .required("from", Schema(.string, "First day.", ["format": "date"])),
        .required("days", Schema(.integer, "Number of days.", ["minimum": 1])),
        .required(
          "intervals",
          Schema(
            .array(
              of: Schema(
                .object(
                  [
                    .required("start", time), .required("end", time), .required("state", openState),
                    .optional("comment", Schema(.string, "Comment of the hours.")),
                  ], others: nil))),
            "The intervals from the first midnight to the last, without gaps, with the times of the place's clock.")),
      ], others: nil)
  ).named("Hours", order: 180)
}
