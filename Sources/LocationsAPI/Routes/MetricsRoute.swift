import HTTPServer
import NIOCore
import NIOHTTP1
import Points

/// What tells how the service does, for machines that keep watch.
public protocol MetricsSource: Sendable {
  /// The media type of ``text()``.
  var contentType: String { get }

  /// The figures of the moment.
  func text() async -> String
}

/// `GET /metrics`: the figures of the moment.
struct MetricsRoute {
  /// The greatest age of the figures: however often they are asked for, they are rendered ten times a second at most.
  static let maximumAge: Duration = .milliseconds(100)

  let source: any MetricsSource
  private let text: RecentValue<ByteBuffer>

  init(source: any MetricsSource, uptime: @escaping @Sendable () -> Duration = monotonicTime) {
    self.source = source
    text = RecentValue(maximumAge: Self.maximumAge, uptime: uptime)
  }

  func respond() async -> HTTPResponse {
    let text = await text.value { [source] in ByteBuffer(string: await source.text()) }
    var response = HTTPResponse(contentType: source.contentType, bytes: text)
    response.headers.add(name: "cache-control", value: "no-store")
    return response
  }
}
