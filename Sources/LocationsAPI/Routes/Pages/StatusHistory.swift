import Basics
import HTTPServer
import JSONText
import NIOHTTP1
import Points
import Synchronization

/// The metrics that the charts of the status page are of, recorded in the last hour.
///
/// It has sums over all routes but those of the page itself and of probes, so that a sample has some fifty numbers
/// whatever the number of routes.
package final class StatusHistory: Sendable {
  /// The time between two samples.
  package static let interval: Duration = .seconds(10)

  /// The number of samples of an hour.
  static let capacity = 360

  /// The recorded metrics.
  private static let names: Set<ExactText> = [
    "http_requests_total", "http_request_duration_seconds_bucket", "store_call_duration_seconds_bucket",
    "http_requests_in_flight", "http_connections_open", "process_cpu_seconds_total", "process_resident_memory_bytes",
  ]

  /// The routes that the page and probes call.
  private static let ownRoutes: Set<ExactText> = ["/metrics", "/status/history.json", "/health/ready", "/health/live"]

  struct Sample: Sendable {
    let time: Duration
    /// The values by the name and the labels of a series in Prometheus' text format.
    let values: [ExactText: Double]
  }

  private let source: any MetricsSource
  private let uptime: @Sendable () -> Duration
  private let samples = Mutex<[Sample]>([])

  /// Creates an empty history.
  package init(_ source: any MetricsSource, uptime: @escaping @Sendable () -> Duration = monotonicTime) {
    self.source = source
    self.uptime = uptime
  }

  /// Adds the current values, and removes the oldest sample beyond an hour.
  package func record() async {
    let sample = Sample(time: uptime(), values: Self.totals(of: await source.text()))
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

  /// Returns the sums of the recorded metrics in Prometheus' text format, by the first digit of the status and the bound
  /// of the bucket.
  private static func totals(of text: String) -> [ExactText: Double] {
    var totals: [ExactText: Double] = [:]
    for line in text.split(separator: "\n") where !line.hasPrefix("#") {
      guard let space = line.lastIndex(of: " "), let value = Double(line[line.index(after: space)...]) else { continue }
      let series = line[..<space]
      let name = series.prefix { $0 != "{" }
      guard names.contains(ExactText(String(name))) else { continue }
      let labels = series.dropFirst(name.count)
      guard label("route", of: labels).map({ !ownRoutes.contains(ExactText(String($0))) }) ?? true else { continue }
      let kept = [
        label("status", of: labels).map { "status=\"\($0.prefix(1))xx\"" },
        label("le", of: labels).map { "le=\"\($0)\"" },
      ].compactMap(\.self)
      let total = ExactText("\(name)" + (kept.isEmpty ? "" : "{\(kept.joined(separator: ","))}"))
      totals[total, default: 0] += value
    }
    return totals
  }

  /// Returns the value of a label; `nil` if there is none. The recorded metrics have none with quotation marks.
  private static func label(_ name: String, of labels: Substring) -> Substring? {
    guard let start = labels.firstRange(of: "{\(name)=\"") ?? labels.firstRange(of: ",\(name)=\"") else { return nil }
    return labels[start.upperBound...].prefix { $0 != "\"" }
  }
}

/// `GET /status/history.json`: the metrics of the last hour, for the charts of the status page.
struct StatusHistoryRoute: CallHandler {
  static let call = Call(
    .GET, "/status/history.json", scope: .read, id: "getStatusHistory", group: .operations,
    summary: "Get the status page's metrics of the last hour", caching: .forbidden,
    responses: [.init(200, "The samples.", media: .json(.component("StatusHistory")))])

  let history: StatusHistory

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    try ParameterValues(request, allowing: []).check()
    var response = HTTPResponse(contentType: "application/json", bytes: history.json.text)
    response.headers.add(name: "cache-control", value: "no-store")
    return response
  }
}
