import Logging
import NIOCore
import NIOHTTP1

/// A request as it reached the server: its head, and its body as far as it is read.
public struct HTTPRequest: Sendable {
  /// The method, such as `GET`.
  public var method: HTTPMethod { head.method }

  /// The path of the target, percent-encoded as it came: `/locations/a%20b`. It is `*` for `OPTIONS *`.
  public var path: Substring { head.target.path }

  /// What stands after the target's `?`, percent-encoded as it came; `nil` where there is no `?`.
  public var query: Substring? { head.target.query }

  /// The host and port that the client named: the authority of a target in absolute form, else the only `Host` field,
  /// which is `:authority` in HTTP/2; `nil` where there is none, or several.
  public var authority: Substring? {
    if let authority = head.target.authority { return authority }
    let hosts = headers["host"]
    return hosts.count == 1 ? hosts[0][...] : nil
  }

  /// The header fields in the order they came.
  public var headers: HTTPHeaders { head.headers }

  /// What the request is known by in answers and logs: the client's `X-Request-Id` where it is 1–128 characters out
  /// of `A–Z a–z 0–9 . _ -`, else one made here.
  public var id: String { head.id }

  /// Who sent it, as the socket tells.
  public var remoteAddress: SocketAddress? { head.remoteAddress }

  /// The body; reading it is what lets more of it arrive.
  public var body: HTTPRequestBody

  /// Which step of which trace it is, where its client told of one and a ``TracingResponder`` took it up.
  public internal(set) var trace: TraceParent? {
    get { step?.parent }
    set { step = newValue.map(TraceStep.init) }
  }

  /// The same, of one word's length: a request is passed on through many functions, and few are in a trace.
  var step: TraceStep?

  /// What never changes stands apart, so that a request is passed on by counting two references and not ten.
  private let head: Head

  private final class Head: Sendable {
    let method: HTTPMethod
    let target: RequestTarget
    let headers: HTTPHeaders
    let id: String
    let remoteAddress: SocketAddress?
    let logger: Logger?
    let server: ServerContext?

    init(
      method: HTTPMethod,
      target: RequestTarget,
      headers: HTTPHeaders,
      id: String,
      remoteAddress: SocketAddress?,
      logger: Logger?,
      server: ServerContext?
    ) {
      self.method = method
      self.target = target
      self.headers = headers
      self.id = id
      self.remoteAddress = remoteAddress
      self.logger = logger
      self.server = server
    }
  }

  /// The server that the request came to; `nil` where it was created in process.
  var server: ServerContext? { head.server }

  /// The server's logger with `request-id` set, and in a trace `trace-id` and `span-id`. Made at each call, so that a
  /// request which logs nothing pays nothing.
  public var logger: Logger {
    guard var logger = head.logger else { return Logger(label: "http") { _ in SwiftLogNoOpLogHandler() } }
    logger[metadataKey: "request-id"] = .string(id)
    if let trace {
      logger[metadataKey: "trace-id"] = .stringConvertible(trace.traceID)
      logger[metadataKey: "span-id"] = .string(trace.spanText)
    }
    return logger
  }

  /// Creates a request in process, without a socket.
  ///
  /// - Parameters:
  ///   - method: the method.
  ///   - target: a path with or without a query, such as `/locations?lat=1&long=2`; an absolute URI; or `*`.
  ///   - headers: the header fields.
  ///   - body: the body.
  ///   - id: what the request is known by; by default the client's `X-Request-Id` or a new one.
  ///   - remoteAddress: who is said to have sent it.
  ///   - logger: what ``logger`` is made from; by default nothing is logged.
  public init(
    method: HTTPMethod = .GET,
    target: String,
    headers: HTTPHeaders = [:],
    body: HTTPRequestBody = .empty,
    id: String? = nil,
    remoteAddress: SocketAddress? = nil,
    logger: Logger? = nil
  ) {
    self.init(
      method: method,
      target: RequestTarget(target),
      headers: headers,
      body: body,
      id: id ?? RequestID.accepted(from: headers) ?? RequestID.random(),
      remoteAddress: remoteAddress,
      logger: logger,
      server: nil
    )
  }

  init(
    method: HTTPMethod,
    target: RequestTarget,
    headers: HTTPHeaders,
    body: HTTPRequestBody,
    id: String,
    remoteAddress: SocketAddress?,
    logger: Logger?,
    server: ServerContext?
  ) {
    self.head = Head(
      method: method,
      target: target,
      headers: headers,
      id: id,
      remoteAddress: remoteAddress,
      logger: logger,
      server: server
    )
    self.body = body
  }
}
