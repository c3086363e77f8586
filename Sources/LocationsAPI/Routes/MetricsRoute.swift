import HTTPServer
import NIOHTTP1

/// What tells how the service does, for machines that keep watch.
public protocol MetricsSource: Sendable {
  /// The media type of ``text()``.
  var contentType: String { get }

  /// The figures of the moment.
  func text() async -> String
}

/// `GET /metrics`: the figures of the moment.
struct MetricsRoute {
  let source: any MetricsSource

  func respond() async -> HTTPResponse {
    var response = HTTPResponse(contentType: source.contentType, bytes: Array(await source.text().utf8))
    response.headers.add(name: "cache-control", value: "no-store")
    return response
  }
}
