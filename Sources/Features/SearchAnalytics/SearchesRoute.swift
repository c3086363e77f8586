import APIDescription
import Basics
import HTTPServer
import JSONText
package import LocationsAPI
import NIOHTTP1
import PointFormats
package import Points

/// The call that reports searches.
package struct SearchReportCalls: Sendable {
  private let api: LocationsAPI
  private let history: (any SearchHistory)?

  /// Creates the call.
  ///
  /// - Parameter history: the history of searches; `nil` if none is kept, so that the call is 404.
  package init(_ api: LocationsAPI, history: (any SearchHistory)?) {
    self.api = api
    self.history = history
  }

  package var endpoints: [Endpoint] { [SearchesRoute(history: history, clock: api.configuration.clock).endpoint] }
}

/// `GET /analytics/searches`: a report of the searches in a period.
struct SearchesRoute: CallHandler {
  static let call = Call(
    .GET, "/analytics/searches", scope: .admin, id: "getSearchReport", group: .operations, link: "searches",
    summary: "Get a report of the searches in a period", parameters: [.limit, .format, .since, .periodEnd],
    describing: [
      "f": .format([.json]),
      "since": .init("Beginning of the period; a day before its end by default.", Parameter.timeSchema),
    ], caching: .forbidden,
    responses: [.init(200, "The report.", media: .json(.searchReport))], problems: [.notFound])

  /// The default period.
  static let defaultSpan = Duration.seconds(24 * 60 * 60)

  /// The history; `nil` where none is kept.
  let history: (any SearchHistory)?
  let clock: any WallClock

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    guard let history else {
      throw .notFound("this server records no searches; ANALYTICS=postgres records them")
    }
    let arguments = try SearchesArguments(request, now: clock.now())
    let report = try await request.result(
      of: await history.searches(from: arguments.since, until: arguments.until, limit: arguments.limit))
    return HTTPResponse(SearchReportJSON.text(of: report, from: arguments.since, until: arguments.until)).uncacheable
  }
}

/// The arguments of `GET /analytics/searches`.
struct SearchesArguments: Hashable {
  let since: Timestamp
  let until: Timestamp
  let limit: Int

  /// Creates the arguments from a request.
  ///
  /// - Throws: `Problem` 400 with every invalid parameter, or 406.
  init(_ request: HTTPRequest, now: Timestamp) throws(Problem) {
    var values = try ParameterValues(request, allowing: SearchesRoute.call.parameters)
    until = values.time(.periodEnd, before: now) ?? now
    since = values.time(.since, before: now) ?? until.earlier(by: SearchesRoute.defaultSpan)
    limit = values.limit()
    if since >= until { values.note(.invalid, "since", "must be before until") }
    try values.check()
    _ = try PointFormat.chosen(by: values[.format], accept: request.headers, from: [.json])
  }
}

extension Parameter {
  static let periodEnd = Parameter("until") {
    .init("End of the period; now by default.", timeSchema)
  }

  fileprivate static let timeSchema = Schema(
    .anyOf([
      Schema(.string, "A time (RFC 3339).", ["format": "date-time"], example: "2026-11-21T10:15:00Z"),
      Schema(
        .string, "A duration before now (ISO 8601), in weeks, or in days, hours, minutes and seconds.",
        ["pattern": "^P([0-9]{1,5}W|(?=[0-9T])([0-9]{1,5}D)?(T(?=[0-9])([0-9]{1,5}H)?([0-9]{1,5}M)?([0-9]{1,5}S)?)?)$"],
        example: "PT24H"),
    ]))
}

extension ParameterValues {
  /// Returns the value of a parameter that is a time, or a duration before now; `nil` where it is absent or invalid. An
  /// invalid value is noted.
  fileprivate mutating func time(_ parameter: Parameter, before now: Timestamp) -> Timestamp? {
    guard let text = self[parameter] else { return nil }
    if let time = Timestamp(rfc3339: text) { return time }
    if let duration = Duration(iso8601: text) { return now.earlier(by: duration) }
    let form = "must be a time such as 2026-11-21T10:15:00Z, or a duration before now such as PT24H"
    note(.invalid, parameter.name, "\(form), got '\(text.prefix(50))'")
    return nil
  }
}

extension Timestamp {
  fileprivate func earlier(by duration: Duration) -> Timestamp {
    Timestamp(microsecondsSinceEpoch: microsecondsSinceEpoch - duration.components.seconds * 1_000_000)
  }
}

enum SearchReportJSON {
  /// Returns the report of a stretch of time as one object.
  static func text(of report: SearchReport, from start: Timestamp, until end: Timestamp) -> JSONWriter<[UInt8]> {
    var json = JSONWriter()
    json.beginObject()
    json.write(member: "since", start.description)
    json.write(member: "until", end.description)
    write(report.total, to: &json)
    json.write(name: "durationMs")
    json.beginObject()
    write(milliseconds: report.medianDuration, as: "p50", to: &json)
    write(milliseconds: report.slowDuration, as: "p99", to: &json)
    json.endObject()
    for (name, cells) in [
      ("busiestCells" as StaticString, report.busiestCells), ("cellsFoundNothing", report.emptiestCells),
    ] {
      write(cells, as: name, to: &json) { cell, json in
        json.write(name: "lat")
        json.write(json: "\(Double(cell.latitudeHundredths) / 100)")
        json.write(name: "long")
        json.write(json: "\(Double(cell.longitudeHundredths) / 100)")
      }
    }
    write(report.categories, as: "categories", to: &json) { $1.write(member: "category", $0.text) }
    if let texts = report.textsFoundNothing {
      write(texts, as: "textsFoundNothing", to: &json) { $1.write(member: "text", $0.text) }
    }
    write(report.hours, as: "hours", to: &json) { $1.write(member: "hour", $0.description) }
    json.endObject()
    return json
  }

  private static func write<Subject>(
    _ counts: [SearchReport.SubjectCount<Subject>],
    as name: StaticString,
    to json: inout JSONWriter<[UInt8]>,
    _ writeSubject: (Subject, inout JSONWriter<[UInt8]>) -> Void
  ) {
    json.write(name: name)
    json.writeArray(of: counts) { entry, json in
      writeSubject(entry.subject, &json)
      write(entry.count, to: &json)
    }
  }

  private static func write(_ count: SearchReport.Count, to json: inout JSONWriter<[UInt8]>) {
    json.write(member: "searches", count.searches)
    json.write(member: "foundNothing", count.foundNothing)
  }

  private static func write(
    milliseconds duration: Duration?, as name: StaticString, to json: inout JSONWriter<[UInt8]>
  ) {
    json.write(name: name)
    json.write(json: duration.map { "\(Double($0 / .microseconds(1)) / 1000)" } ?? "null")
  }
}

extension Schema {
  fileprivate static let searchReport: Schema = {
    let counts: [Property] = [.required("searches", count), .required("foundNothing", count)]
    func list(_ subject: [Property]) -> Schema { Schema(.array(of: Schema(.object(subject + counts, others: nil)))) }
    let cells = list([.required("lat", latitude), .required("long", longitude)])
    let milliseconds = Schema(.number, nil, ["minimum": 0]).orNull
    return Schema(
      .object(
        [.required("since", time), .required("until", time)] + counts + [
          .required(
            "durationMs",
            Schema(.object([.required("p50", milliseconds), .required("p99", milliseconds)], others: nil))),
          .required("busiestCells", cells), .required("cellsFoundNothing", cells),
          .required("categories", list([.required("category", Schema(.string))])),
          .optional("textsFoundNothing", list([.required("text", Schema(.string))])),
          .required("hours", list([.required("hour", time)])),
        ], others: nil)
    ).named("SearchReport", order: 340)
  }()
}
