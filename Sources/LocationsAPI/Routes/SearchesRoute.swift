import HTTPServer
import JSONText
import NIOHTTP1
import PointFormats
import Points

/// `GET /analytics/searches`: a report of the searches in a period.
struct SearchesRoute: CallHandler {
  static let call = Call(
    .GET, "/analytics/searches", scope: .admin, id: "getSearchReport", group: .operations, link: "searches",
    summary: "Get a report of the searches in a period", parameters: [.since, .until, .limit, .format],
    describing: ["f": .format([.json])], caching: .forbidden,
    responses: [.init(200, "The report.", media: .json(.component("SearchReport")))], problems: [.notFound])

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
    let report = try await request.reportingStoreErrors { () throws(PointStoreError) in
      try await history.searches(from: arguments.since, until: arguments.until, limit: arguments.limit)
    }
    var response = HTTPResponse(SearchReportJSON.text(of: report, from: arguments.since, until: arguments.until))
    response.headers.add(name: "cache-control", value: "no-store")
    return response
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
    until = values.time(.until, before: now) ?? now
    since = values.time(.since, before: now) ?? until.earlier(by: SearchesRoute.defaultSpan)
    limit = values.limit()
    if since >= until { values.note(.invalid, "since", "must be before until") }
    try values.check()
    _ = try PointFormat.chosen(by: values[.format], accept: request.headers, from: [.json])
  }
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
