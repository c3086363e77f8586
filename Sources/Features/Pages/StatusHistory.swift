import APIDescription
package import Basics
import HTTPServer
import JSONText
import LocationsAPI
import NIOHTTP1
import Points
import Synchronization

/// The metrics that the charts of the status page are of, recorded in the last hour.
package final class StatusHistory: Sendable {
  /// The time between two samples.
  package static let interval: Duration = .seconds(10)

  /// The number of samples of an hour.
  static let capacity = 360

  struct Sample: Sendable {
    let time: Duration
    let values: [ExactText: Double]
  }

  private let uptime: @Sendable () -> Duration
  private let samples = Mutex<[Sample]>([])

  /// Creates an empty history.
  package init(uptime: @escaping @Sendable () -> Duration = monotonicTime) { self.uptime = uptime }

  /// Adds the current values, and removes the oldest sample beyond an hour.
  ///
  /// - Parameter values: the values by the name and the labels of a series in Prometheus' text format.
  package func record(_ values: [ExactText: Double]) {
    let sample = Sample(time: uptime(), values: values)
    samples.withLock { samples in
      if samples.count >= Self.capacity { samples.removeFirst(samples.count - Self.capacity + 1) }
      samples.append(sample)
    }
  }

  /// The samples as a table: the names of series, and for each sample its age in seconds and the values.
  var json: JSONValue {
    let (samples, now) = (samples.withLock { $0 }, uptime())
    let series = samples.reduce(into: Set()) { $0.formUnion($1.values.keys) }
      .sorted { $0.text < $1.text }
    return [
      "series": .array(series.map { .string($0.text) }),
      "samples": .array(
        samples.map { sample in
          let age = max((now - sample.time) / .seconds(1), 0)
          return [
            "age": Self.number((age * 10).rounded() / 10),
            "values": .array(series.map { sample.values[$0].map(Self.number) ?? .null }),
          ]
        }),
    ]
  }

  private static func number(_ value: Double) -> JSONValue {
    value.isFinite ? .number(Int64(exactly: value).map { "\($0)" } ?? "\(value)") : .null
  }
}

/// `GET /status/history.json`: the metrics of the last hour, for the charts of the status page.
struct StatusHistoryRoute: CallHandler {
  static let call = Call(
    .GET, "/status/history.json", scope: .read, id: "getStatusHistory", group: .operations,
    summary: "Get the status page's metrics of the last hour", caching: .forbidden,
    responses: [.init(200, "The samples.", media: .json(.statusHistory))])

  let history: StatusHistory

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    try ParameterValues(request, allowing: []).check()
    return HTTPResponse(contentType: "application/json", bytes: history.json.text).uncacheable
  }
}

extension Schema {
  fileprivate static let statusHistory = Schema(
    .object(
      [
        .required(
          "series",
          Schema(
            .array(of: Schema(.string)), "The names and labels of the series in Prometheus' text format.")),
        .required(
          "samples",
          Schema(
            .array(
              of: Schema(
                .object(
                  [
                    .required("age", Schema(.number, "The seconds since the sample was taken.")),
                    .required(
                      "values",
                      Schema(
                        .array(of: Schema(.number).orNull),
                        "The values of the series; `null` for one that had not begun.")),
                  ], others: nil))), "The samples, from the oldest.")),
      ], others: nil),
    nil, example: ["series": ["http_requests_in_flight"], "samples": [["age": 4.5, "values": [1]]]]
  ).named("StatusHistory", order: 440)
}
