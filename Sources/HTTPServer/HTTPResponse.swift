public import NIOCore
public import NIOHTTP1

/// A response.
///
/// The server adds `Content-Length` or `Transfer-Encoding`, `Date`, `Connection` and `X-Request-Id`.
public struct HTTPResponse: Sendable {
  /// The status.
  public var status: HTTPResponseStatus

  /// The header fields, in the order in which they are sent.
  public var headers: HTTPHeaders

  /// The body. Responses to `HEAD` and those of status 204 and 304 are sent without it.
  public var body: HTTPResponseBody

  /// The template of the route, such as `/locations/{id}`, for metrics and logs; it is not sent.
  public var route: String?

  /// The context of the request, for logs; it is not sent.
  var context: RequestContext?

  public init(status: HTTPResponseStatus = .ok, headers: HTTPHeaders = [:], body: HTTPResponseBody = .empty) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  /// The number of fields for which a response reserves capacity: its type, caching and CORS fields, a link.
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
