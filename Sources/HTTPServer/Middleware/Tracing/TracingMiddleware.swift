import NIOHTTP1
public import Tracing

/// A middleware that continues the traces of clients (W3C Trace Context).
///
/// A request with a valid `traceparent` becomes a step of its trace with a span id of its own: in
/// ``HTTPRequest/trace``, which the request's logger includes, in ``CompletedRequest/trace``, and in the task's
/// `ServiceContext`, where the code that the handler calls finds it. With a tracer each request is a span too, with or
/// without a trace of its client. Responses do not mention it: `traceresponse` is a draft. Without either, a request
/// costs a look-up in its header fields.
public struct TracingMiddleware: Middleware {
  private let tracer: (any Tracer)?

  /// The length in bytes up to which the standard requires `tracestate` to be passed on; a longer one is left out
  /// whole.
  static let maximumStateBytes = 512

  /// Creates a middleware.
  ///
  /// - Parameter tracer: the tracer that records spans, and extracts from header fields what it needs for that.
  public init(tracer: (any Tracer)? = nil) {
    self.tracer = tracer
  }

  /// Returns a Boolean value that indicates whether the request is in a trace, or becomes a span.
  public func intercepts(_ request: HTTPRequest) -> Bool {
    tracer != nil || request.headers.contains(name: "traceparent")
  }

  /// Returns the response of the next middleware, called in the trace of the request.
  nonisolated(nonsending) public func respond(to request: HTTPRequest, next: MiddlewareChain) async -> HTTPResponse {
    let parent = Self.parent(in: request.headers)
    guard parent != nil || tracer != nil else { return await next.respond(to: request) }
    var request = request
    var context = ServiceContext.current ?? .topLevel
    if let parent {
      var generator = SystemRandomNumberGenerator()
      request.trace = parent.child(using: &generator)
      context.traceParent = request.trace
      context.traceState = Self.state(in: request.headers)
    }
    guard let tracer else { return await respond(to: request, in: context, next: next) }
    tracer.extract(request.headers, into: &context, using: HeaderFields())
    let span = tracer.startAnySpan(request.method.rawValue, context: context, ofKind: .server)
    let response = await respond(to: request, in: span.context, next: next)
    if let route = response.route {
      span.operationName = "\(request.method.rawValue) \(route)"
      span.attributes["http.route"] = route
    }
    // OpenTelemetry's names (semantic conventions for HTTP spans).
    span.attributes["http.request.method"] = request.method.rawValue
    span.attributes["http.response.status_code"] = Int64(response.status.code)
    if response.status.code >= 500 { span.setStatus(SpanStatus(code: .error)) }
    span.end()
    return response
  }

  nonisolated(nonsending) private func respond(
    to request: HTTPRequest, in context: ServiceContext, next: MiddlewareChain
  ) async -> HTTPResponse {
    var response = await ServiceContext.$current.withValue(context) { await next.respond(to: request) }
    response.context = request.context
    return response
  }

  /// Returns the only `traceparent`; `nil` where there are several, none of which can be trusted.
  static func parent(in headers: HTTPHeaders) -> TraceParent? {
    guard let first = headers.first(name: "traceparent"), let parent = TraceParent(first) else { return nil }
    return headers["traceparent"].count == 1 ? parent : nil
  }

  /// Returns all fields of `tracestate` joined; `nil` where there is none, or too much.
  static func state(in headers: HTTPHeaders) -> String? {
    let state = headers["tracestate"].joined(separator: ",")
    return state.isEmpty || state.utf8.count > maximumStateBytes ? nil : state
  }
}

private struct HeaderFields: Extractor {
  func extract(key: String, from headers: HTTPHeaders) -> String? { headers.first(name: key) }
}
