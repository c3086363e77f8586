import Basics
import NIOHTTP1
public import ServiceContextModule
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

/// The place of a request in a trace: W3C Trace Context's `traceparent` (https://www.w3.org/TR/trace-context/, section
/// 3.2).
public struct TraceParent: Hashable, Sendable {
  /// The identifier of the trace: 128 bits, the upper 64 first; not all zero.
  public let traceID: TraceID

  /// The identifier of this step: 64 bits, not zero.
  public let spanID: UInt64

  /// The eight flags. The lowest indicates that the caller may have recorded its step.
  public let flags: UInt8

  /// The identifier of a trace.
  public struct TraceID: Hashable, Sendable, CustomStringConvertible {
    /// The first 64 bits.
    public let high: UInt64
    /// The last 64 bits.
    public let low: UInt64

    /// 32 digits of base 16 in lower case.
    public var description: String { Hexadecimal.text(high) + Hexadecimal.text(low) }
  }

  /// The ``spanID`` as 16 digits of base 16 in lower case.
  public var spanText: String { Hexadecimal.text(spanID) }

  /// Returns the first step of a new trace.
  public static func random(using generator: inout some RandomNumberGenerator) -> TraceParent {
    let traceID = TraceID(
      high: .random(in: 1 ... .max, using: &generator), low: .random(in: .min ... .max, using: &generator))
    return TraceParent(traceID: traceID, spanID: .random(in: 1 ... .max, using: &generator), flags: 0)
  }

  /// Returns another step of the same trace.
  public func child(using generator: inout some RandomNumberGenerator) -> TraceParent {
    TraceParent(traceID: traceID, spanID: .random(in: 1 ... .max, using: &generator), flags: flags)
  }

  private init(traceID: TraceID, spanID: UInt64, flags: UInt8) {
    self.traceID = traceID
    self.spanID = spanID
    self.flags = flags
  }

  /// Creates a step from a header field's value; `nil` for a value that the standard requires to be ignored.
  ///
  /// Of a later version the four known parts are used and what follows them is ignored.
  public init?(_ text: String) {
    var text = text
    guard let parent = text.withUTF8(Self.parse) else { return nil }
    self = parent
  }

  /// The length of version 00 in bytes.
  private static let length = 55

  private static func parse(_ text: UnsafeBufferPointer<UInt8>) -> TraceParent? {
    let dash = UInt8(ascii: "-")
    guard text.count >= length, text[2] == dash, text[35] == dash, text[52] == dash,
      let version = number(text[0..<2]), version != 0xFF,
      version == 0 ? text.count == length : text.count == length || text[length] == dash,
      let high = number(text[3..<19]), let low = number(text[19..<35]), high | low != 0,
      let span = number(text[36..<52]), span != 0,
      let flags = number(text[53..<55])
    else { return nil }
    return TraceParent(traceID: TraceID(high: high, low: low), spanID: span, flags: UInt8(flags))
  }
}

extension TraceParent: CustomStringConvertible {
  /// The header field's value, of version 00.
  public var description: String {
    "00-\(traceID)-\(spanText)-\(Hexadecimal.text(flags))"
  }
}

extension TraceParent {
  /// Returns the number of digits in lower case; `nil` where there are other bytes among them.
  private static func number(_ digits: Slice<UnsafeBufferPointer<UInt8>>) -> UInt64? {
    var number: UInt64 = 0
    for digit in digits {
      guard !(UInt8(ascii: "A")...UInt8(ascii: "F")).contains(digit), let value = Hexadecimal.value(ofDigit: digit)
      else { return nil }
      number = number << 4 | UInt64(value)
    }
    return number
  }
}

extension ServiceContext {
  /// The current request's place in its trace; `nil` where its client sent none.
  public var traceParent: TraceParent? {
    get { self[TraceParentKey.self] }
    set { self[TraceParentKey.self] = newValue }
  }

  /// The vendor-specific state of the trace, as received: W3C Trace Context's `tracestate`.
  public var traceState: String? {
    get { self[TraceStateKey.self] }
    set { self[TraceStateKey.self] = newValue }
  }
}

private enum TraceParentKey: ServiceContextKey {
  typealias Value = TraceParent
  static let nameOverride: String? = "traceparent"
}

private enum TraceStateKey: ServiceContextKey {
  typealias Value = String
  static let nameOverride: String? = "tracestate"
}
