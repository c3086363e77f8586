import NIOCore
import NIOHTTP1

/// An answer.
///
/// The server adds what it knows itself: `Content-Length` or `Transfer-Encoding`, `Date`, `Connection` and
/// `X-Request-Id`.
public struct HTTPResponse: Sendable {
  /// The status.
  public var status: HTTPResponseStatus

  /// The header fields, in the order they are sent.
  public var headers: HTTPHeaders

  /// The body. Answers to `HEAD` and those of status 204 and 304 are sent without it.
  public var body: HTTPResponseBody

  /// The template of the route that answered, such as `/locations/{id}`, for metrics and logs; it is not sent.
  public var route: String?

  /// Which step of which trace it answers, for logs; it is not sent.
  var step: TraceStep?

  /// Creates a response.
  public init(status: HTTPResponseStatus = .ok, headers: HTTPHeaders = [:], body: HTTPResponseBody = .empty) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  /// How many fields an answer has room for from the start: its type, what caches and browsers are told, a link.
  private static let usualFieldCount = 8

  /// Creates a response of bytes in memory with their media type.
  public init(status: HTTPResponseStatus = .ok, contentType: String, bytes: ByteBuffer) {
    var headers = HTTPHeaders()
    headers.reserveCapacity(Self.usualFieldCount)
    headers.add(name: "content-type", value: contentType)
    self.init(status: status, headers: headers, body: .bytes(bytes))
  }

  /// Creates a response of bytes in memory with their media type.
  public init(status: HTTPResponseStatus = .ok, contentType: String, bytes: [UInt8]) {
    self.init(status: status, contentType: contentType, bytes: ByteBuffer(bytes: bytes))
  }
}
