import NIOHTTP1
public import Tracing

/// Takes up the traces that clients are in (W3C Trace Context) before another responder answers.
///
/// A request with a valid `traceparent` is a step of its trace with an id of its own: in ``HTTPRequest/trace``, which the
/// request's logger tells, in ``EndedRequest/trace``, and in the task's `ServiceContext`, where what the handler calls
/// finds it. With a tracer each request is a span too, whether its client told of a trace or not. Answers tell nothing of
/// it: `traceresponse` is a draft. Without either a request pays for looking at its header fields.
public struct TracingResponder: HTTPResponder {
  private let responder: any HTTPResponder
  private let tracer: (any Tracer)?

  /// The standard asks that so much of `tracestate` be passed on at least; what is longer is left out whole.
  static let maximumStateBytes = 512

  /// Creates a responder.
  ///
  /// - Parameters:
  ///   - responder: what answers.
  ///   - tracer: what records spans, and reads from header fields what it needs for that; none by default.
  public init(_ responder: any HTTPResponder, tracer: (any Tracer)? = nil) {
    self.responder = responder
    self.tracer = tracer
  }

  /// The other responder's answer.
  nonisolated(nonsending) public func respond(to request: HTTPRequest) async -> HTTPResponse {
    let parent = Self.parent(in: request.headers)
    guard parent != nil || tracer != nil else { return await responder.respond(to: request) }
    var request = request
    var context = ServiceContext.current ?? .topLevel
    if let parent {
      var generator = SystemRandomNumberGenerator()
      request.trace = parent.child(using: &generator)
      context.traceParent = request.trace
      context.traceState = Self.state(in: request.headers)
    }
    return await respond(to: request, in: context)
  }

  nonisolated(nonsending) private func respond(
    to request: HTTPRequest, in context: ServiceContext
  ) async -> HTTPResponse {
    guard let tracer else { return await respond(to: request, as: context) }
    var context = context
    tracer.extract(request.headers, into: &context, using: HeaderFields())
    let span = tracer.startAnySpan(request.method.rawValue, context: context, ofKind: .server)
    let response = await respond(to: request, as: span.context)
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
    to request: HTTPRequest, as context: ServiceContext
  ) async -> HTTPResponse {
    var response = await ServiceContext.$current.withValue(context) { await responder.respond(to: request) }
    response.step = request.step
    return response
  }

  /// The one `traceparent` there is; of several none can be believed.
  static func parent(in headers: HTTPHeaders) -> TraceParent? {
    guard let first = headers.first(name: "traceparent"), let parent = TraceParent(first) else { return nil }
    return headers["traceparent"].count == 1 ? parent : nil
  }

  /// All of `tracestate` in one; `nil` where there is none, or too much.
  static func state(in headers: HTTPHeaders) -> String? {
    let state = headers["tracestate"].joined(separator: ",")
    return state.isEmpty || state.utf8.count > maximumStateBytes ? nil : state
  }
}

/// How a tracer reads header fields.
private struct HeaderFields: Extractor {
  func extract(key: String, from headers: HTTPHeaders) -> String? { headers.first(name: key) }
}
