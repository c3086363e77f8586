public import Logging
public import NIOCore
public import NIOHTTP1

/// A request: its head, and its body as far as it has been read.
public struct HTTPRequest: Sendable {
  /// The method, such as `GET`.
  public var method: HTTPMethod { head.method }

  /// The path of the target, percent-encoded as received: `/locations/a%20b`. It is `*` for `OPTIONS *`.
  public var path: Substring { head.target.path }

  /// The part of the target after the `?`, percent-encoded as received; `nil` where there is no `?`.
  public var query: Substring? { head.target.query }

  /// The host and port that the client named: the authority of a target in absolute form, else the only `Host` field,
  /// which is `:authority` in HTTP/2; `nil` where there is none, or several.
  public var authority: Substring? {
    if let authority = head.target.authority { return authority }
    let hosts = headers["host"]
    return hosts.count == 1 ? hosts[0][...] : nil
  }

  /// The header fields in the order in which they were received.
  public var headers: HTTPHeaders { head.headers }

  /// The identifier of the request in responses and logs: the client's `X-Request-Id` where it is 1–128 characters out
  /// of `A–Z a–z 0–9 . _ -`, else a generated one.
  public var id: String { head.id }

  /// The address of the socket's peer.
  public var remoteAddress: SocketAddress? { head.remoteAddress }

  /// The body. Reading it lets more of it arrive.
  public var body: HTTPRequestBody

  /// The route that the router has matched; `nil` before that, and for a request that the router is going to reject.
  public private(set) var route: Route?

  /// The values of the parameters in the path, percent-decoded.
  public private(set) var pathParameters = PathParameters.none

  /// The request's place in its trace; `nil` where its client sent none, or no ``TracingMiddleware`` took it up.
  public internal(set) var trace: TraceParent? {
    get { context?.trace }
    set { context = RequestContext(trace: newValue, principal: principal) }
  }

  /// The sender, as the authentication middleware has determined it; anonymous before that.
  public var principal: Principal {
    get { context?.principal ?? .anonymous }
    set { context = RequestContext(trace: trace, principal: newValue) }
  }

  private(set) var context: RequestContext?

  /// Attaches the matched route, whose limit the body is held to.
  mutating func setRoute(_ route: Route, _ parameters: PathParameters) {
    self.route = route
    pathParameters = parameters
    body = body.limited(by: route.bodyLimit)
  }

  /// The immutable part. It stands behind a reference, so that passing a request on retains few references and not ten.
  private let head: Head

  final class Head: Sendable {
    let method: HTTPMethod
    let target: RequestTarget
    let headers: HTTPHeaders
    let id: String
    let remoteAddress: SocketAddress?
    let logger: Logger?
    let server: ServerContext?

    init(
      method: HTTPMethod, target: RequestTarget, headers: HTTPHeaders, id: String, remoteAddress: SocketAddress?,
      logger: Logger?, server: ServerContext?
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

  /// A Boolean value that indicates whether the request came over TLS.
  public var isEncrypted: Bool { server?.isSecure ?? false }

  /// The server's logger with `request-id` set, and in a trace `trace-id` and `span-id`. It is created at each call, so
  /// that a request that logs nothing pays nothing.
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
  ///   - id: the identifier; by default the client's `X-Request-Id` or a generated one.
  ///   - remoteAddress: the address of the sender.
  ///   - logger: the base of ``logger``; by default nothing is logged.
  public init(
    method: HTTPMethod = .GET,
    target: String,
    headers: HTTPHeaders = [:],
    body: HTTPRequestBody = .empty,
    id: String? = nil,
    remoteAddress: SocketAddress? = nil,
    logger: Logger? = nil
  ) {
    let head = Head(
      method: method,
      target: RequestTarget(target),
      headers: headers,
      id: id ?? RequestID.accepted(from: headers) ?? RequestID.random(),
      remoteAddress: remoteAddress,
      logger: logger,
      server: nil
    )
    self.init(head, body: body)
  }

  init(_ head: Head, body: HTTPRequestBody) {
    self.head = head
    self.body = body
  }
}
