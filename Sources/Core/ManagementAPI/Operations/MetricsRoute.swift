import APIDescription
import HTTPServer
import LocationsAPI
import NIOCore
import NIOHTTP1
import Points

/// A source of metrics in a text format.
package protocol MetricsSource: Sendable {
  /// The media type of ``text()``.
  var contentType: String { get }

  /// Returns the current values.
  func text() async -> String
}

/// `GET /metrics`: the current values of the metrics.
struct MetricsRoute: CallHandler {
  static let call = Call(
    .GET, "/metrics", scope: .read, id: "getMetrics", group: .operations, link: "metrics", summary: "Get the metrics",
    ignoresQuery: true, caching: .forbidden,
    responses: [
      .init(
        200, "The current values for Prometheus.",
        media: [
          .init("text/plain", Schema(.string), example: "# TYPE http_connections_open gauge\nhttp_connections_open 3\n")
        ])
    ])

  /// The maximum age of the values: they are rendered ten times a second at most, whatever the rate of requests.
  static let maximumAge: Duration = .milliseconds(100)

  let source: any MetricsSource
  private let text: RecentValue<ByteBuffer>

  init(source: any MetricsSource, uptime: @escaping @Sendable () -> Duration = monotonicTime) {
    self.source = source
    text = RecentValue(maximumAge: Self.maximumAge, uptime: uptime)
  }

  func respond(to request: HTTPRequest) async -> HTTPResponse {
    let text = await text.value { [source] in ByteBuffer(string: await source.text()) }
    return HTTPResponse(contentType: source.contentType, bytes: text).uncacheable
  }
}
