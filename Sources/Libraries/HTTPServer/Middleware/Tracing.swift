import Basics
import NIOHTTP1

/// A middleware that continues the traces of clients (W3C Trace Context).
///
/// A request with a valid `traceparent` becomes a step of its trace with a span id of its own: in
/// ``HTTPRequest/trace``, which the request's logger includes, and in ``CompletedRequest/trace``. Responses do not
/// mention it: `traceresponse` is a draft. Without it, a request costs a look-up in its header fields.
public struct TracingMiddleware: Middleware {
  /// Creates a middleware.
  public init() {}

  /// Returns a Boolean value that indicates whether the request may be in a trace.
  public func intercepts(_ request: HTTPRequest) -> Bool { request.headers.contains(name: "traceparent") }

  /// Returns the response of the next middleware, called in the trace of the request.
  nonisolated(nonsending) public func respond(to request: HTTPRequest, next: MiddlewareChain) async -> HTTPResponse {
    guard let parent = Self.parent(in: request.headers) else { return await next.respond(to: request) }
    var request = request
    var generator = SystemRandomNumberGenerator()
    request.trace = parent.child(using: &generator)
    var response = await next.respond(to: request)
    response.context = request.context
    return response
  }

  /// Returns the only `traceparent`; `nil` if there are several, none of which can be trusted.
  static func parent(in headers: RequestFields) -> TraceParent? {
    guard let first = headers.first(name: "traceparent"), let parent = TraceParent(first) else { return nil }
    return headers["traceparent"].count == 1 ? parent : nil
  }
}
