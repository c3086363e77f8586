public import Basics
import FairShares
public import Logging
public import NIOCore
public import NIOHTTP1

/// A request: its head, and its body as far as it has been read.
public struct HTTPRequest: Sendable {
  /// The method, such as `GET`.
  public var method: HTTPMethod { head.method }

  /// The path of the target, percent-encoded as received: `/items/a%20b`. It is `*` for `OPTIONS *`.
  public var path: Substring { head.target.path }

  /// The part of the target after the `?`, percent-encoded as received; `nil` if there is no `?`.
  public var query: Substring? { head.target.query }

  /// The host and port that the client named: the authority of a target in absolute form, else the only `Host` field,
  /// which is `:authority` in HTTP/2; `nil` if there is none, or several.
  public var authority: Substring? {
    if let authority = head.target.authority { return authority }
    return headers.only(name: "host")?[...]
  }

  /// The header fields in the order in which they were received.
  public var headers: RequestFields { head.headers }

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

  /// The request's place in its trace; `nil` if its client sent none, or no ``TracingMiddleware`` continued it.
  public internal(set) var trace: TraceParent? {
    get { context?.trace }
    set { context = RequestContext(trace: newValue, principal: principal, storeTime: storeTime) }
  }

  /// The sender, as the authentication middleware has determined it; anonymous before that.
  public var principal: Principal {
    get { context?.principal ?? .anonymous }
    set { context = RequestContext(trace: trace, principal: newValue, storeTime: storeTime) }
  }

  /// The time that the request has waited for a store so far, to which its handler adds; `nil` if it is not measured.
  package var storeTime: ElapsedTime? {
    get { context?.storeTime }
    set { context = RequestContext(trace: trace, principal: principal, storeTime: newValue) }
  }

  /// The part of the data that the sender may know of; `nil` for all of it.
  package var restriction: AccessRestriction? { context?.principal.restriction }

  private(set) var context: RequestContext?

  /// Attaches the matched route, whose limit the body is held to.
  mutating func setRoute(_ route: Route, _ parameters: PathParameters) {
    self.route = route
    pathParameters = parameters
    body = body.limited(by: route.bodyLimit)
  }

  /// Detaches the route.
  mutating func removeRoute() {
    guard route != nil else { return }
    route = nil
    pathParameters = .none
  }

  /// The immutable part. It stands behind a reference, so that passing a request on retains few references and not ten.
  private let head: Head

  final class Head: Sendable {
    let method: HTTPMethod
    let target: RequestTarget
    let headers: RequestFields
    let id: String
    let remoteAddress: SocketAddress?
    let logger: Logger?
    let server: ServerContext?

    init(
      method: HTTPMethod, target: RequestTarget, headers: RequestFields, id: String, remoteAddress: SocketAddress?,
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

  /// The server that the request came to; `nil` if it was created in process.
  var server: ServerContext? { head.server }

  /// A Boolean value that indicates whether the request came over TLS.
  public var isEncrypted: Bool { server?.isSecure ?? false }

  /// The server's logger with `request-id` set, and in a trace `trace-id` and `span-id`. It is created at each call, so
  /// that a request that logs nothing has no cost.
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
  ///   - target: a path with or without a query, such as `/items?page=2`; an absolute URI; or `*`.
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
    let headers = RequestFields(headers)
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

  /// Returns a request in process for another route, of the same sender and with the same id.
  package func subrequest(
    _ method: HTTPMethod, _ target: String, headers: HTTPHeaders, body: HTTPRequestBody = .empty
  ) -> HTTPRequest {
    let head = Head(
      method: method, target: RequestTarget(target), headers: RequestFields(headers), id: id,
      remoteAddress: remoteAddress, logger: head.logger, server: server)
    var request = HTTPRequest(head, body: body)
    request.context = context
    return request
  }
}

extension HTTPRequest {
  /// Returns the whole body, up to its limit. Until the request has ended, it counts towards the memory of all bodies.
  ///
  /// - Throws: ``Problem`` of a body that did not arrive, or 503 `overloaded` if it had to give way to others.
  package func collectBody() async throws(Problem) -> ByteBuffer {
    do throws(HTTPBodyError) {
      guard let server, case .stream(let stream) = body.source else { return try await body.collect() }
      let share = server.bodies.share(of: sender) { [weak stream] in stream?.finish(.failure(.overloaded)) }
      guard share.hold(0) else { throw .overloaded }
      return try await waiting { () async throws(HTTPBodyError) in try await body.collect(holding: share) }
    } catch {
      guard let server, error == .overloaded else { throw error.problem }
      throw server.overloaded(HTTPBodyError.overloadedDetail)
    }
  }

  /// Returns the whole body if it is short and has arrived, as ``collectBody()`` does but without an asynchronous call,
  /// which takes memory; `nil` for another body.
  ///
  /// - Throws: ``Problem`` of a body that exceeds its limit.
  @inline(never)
  package func shortBody() throws(Problem) -> ByteBuffer? {
    guard case .stream(let stream) = body.source else { return nil }
    do throws(HTTPBodyError) {
      guard let bytes = stream.takeShort() else { return nil }
      try body.checkAnnouncedLength()
      if let limit = body.limit, bytes.readableBytes > limit { throw .tooLarge(limit: limit) }
      return bytes
    } catch {
      throw error.problem
    }
  }

  /// Waits for something that may take long and needs little memory. Meanwhile the request is not one of the current
  /// requests, whose number is limited; the caller limits how many wait.
  package func waiting<Value, Failure>(
    _ body: () async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    guard let server else { return try await body() }
    server.requestWaits()
    defer { server.requestContinues() }
    return try await body()
  }
}

/// A request's body: a sequence of buffers, read once.
///
/// Reading lets the client send on: at most a few tens of kilobytes wait here unread. What is unread when the response
/// is sent is discarded, or, if there is much of it, the connection is closed after the response.
public struct HTTPRequestBody: Sendable, AsyncSequence {
  /// A chunk of the body.
  public typealias Element = ByteBuffer

  /// The reason why reading stopped.
  public typealias Failure = HTTPBodyError

  fileprivate enum Source: Sendable {
    case empty
    case bytes(ByteBuffer)
    case stream(RequestBodyStream)
  }

  fileprivate let source: Source

  /// The length in bytes that the client announced; `nil` if it announced none, 0 for an empty body.
  public let announcedLength: Int?

  /// The maximum number of bytes; `nil` is any number. A longer body throws ``HTTPBodyError/tooLarge(limit:)``.
  public var limit: Int?

  /// The body of a request without one.
  public static let empty = HTTPRequestBody(source: .empty, announcedLength: 0, limit: nil)

  /// Returns a body of bytes in memory, for requests that are created in process.
  public static func bytes(_ bytes: ByteBuffer, limit: Int? = nil) -> HTTPRequestBody {
    HTTPRequestBody(source: .bytes(bytes), announcedLength: bytes.readableBytes, limit: limit)
  }

  static func stream(_ stream: RequestBodyStream, announcedLength: Int?, limit: Int?) -> HTTPRequestBody {
    HTTPRequestBody(source: .stream(stream), announcedLength: announcedLength, limit: limit)
  }

  private init(source: Source, announcedLength: Int?, limit: Int?) {
    self.source = source
    self.announcedLength = announcedLength
    self.limit = limit
  }

  /// Checks that the client announced no more than ``limit`` bytes, before any of them is read.
  ///
  /// - Throws: ``HTTPBodyError/tooLarge(limit:)``.
  public func checkAnnouncedLength() throws(HTTPBodyError) {
    if let limit, let announcedLength, announcedLength > limit { throw .tooLarge(limit: limit) }
  }

  /// Returns the whole body, up to its ``limit``.
  ///
  /// - Throws: ``HTTPBodyError``; at once when the announced length is too much.
  public func collect() async throws(HTTPBodyError) -> ByteBuffer { try await collect(holding: nil) }

  fileprivate func collect(holding share: BodyShare<RequestSender>?) async throws(HTTPBodyError) -> ByteBuffer {
    try checkAnnouncedLength()
    if case .bytes(let bytes) = source { return bytes }
    if case .stream(let stream) = source, let share { stream.keep(share) }
    var whole = ByteBuffer()
    var chunks = makeAsyncIterator()
    while let chunk = try await chunks.next(isolation: #isolation) {
      if whole.readableBytes == 0 {
        whole = chunk
      } else {
        whole.writeImmutableBuffer(chunk)
      }
      if let share, !share.hold(whole.storageCapacity) { throw .overloaded }
    }
    share?.noteWhole()
    return whole
  }

  /// Returns the whole body, up to a limit that replaces its own.
  ///
  /// - Throws: ``HTTPBodyError``; at once when the announced length is too much.
  public func collect(upTo limit: Int) async throws(HTTPBodyError) -> ByteBuffer {
    var body = self
    body.limit = limit
    return try await body.collect()
  }

  /// Returns an iterator. A body can be read once; a second iterator continues where the first one stopped.
  public func makeAsyncIterator() -> Iterator { Iterator(body: self) }

  /// An iterator over the chunks of a body.
  public struct Iterator: AsyncIteratorProtocol {
    private let body: HTTPRequestBody
    private var taken = 0
    private var isFinished = false

    fileprivate init(body: HTTPRequestBody) {
      self.body = body
    }

    /// Returns the next chunk, which is never empty; `nil` at the end.
    ///
    /// - Throws: ``HTTPBodyError``.
    public mutating func next(
      isolation actor: isolated (any Actor)? = #isolation
    ) async throws(HTTPBodyError) -> ByteBuffer? {
      guard !isFinished else { return nil }
      switch body.source {
      case .empty:
        return nil
      case .bytes(let bytes):
        isFinished = true
        return bytes.readableBytes == 0 ? nil : try checked(bytes)
      case .stream(let stream):
        if taken == 0 { try body.checkAnnouncedLength() }
        guard let chunk = try await stream.next() else {
          isFinished = true
          return nil
        }
        return try checked(chunk)
      }
    }

    private mutating func checked(_ chunk: ByteBuffer) throws(HTTPBodyError) -> ByteBuffer {
      taken += chunk.readableBytes
      if let limit = body.limit, taken > limit {
        isFinished = true
        throw .tooLarge(limit: limit)
      }
      return chunk
    }
  }
}

/// The reason why a request's body could not be read to its end.
public enum HTTPBodyError: Error, Hashable, Sendable {
  /// The body is longer than the limit, in bytes.
  case tooLarge(limit: Int)

  /// The client sent too slowly.
  case timedOut

  /// The client went away, or broke the rules of HTTP, before the body's end.
  case disconnected

  /// The task that reads it was cancelled.
  case cancelled

  /// The bodies of all requests took too much memory.
  case overloaded

  static let overloadedDetail = "the bodies of other requests take too much memory"

  /// The response's problem.
  public var problem: Problem {
    switch self {
    case .tooLarge(let limit):
      Problem(.payloadTooLarge, code: "body-too-large", detail: "the body may have at most \(limit) bytes")
    case .timedOut:
      Problem(.requestTimeout, code: "request-timeout", detail: "the body did not arrive in time")
    case .disconnected, .cancelled:
      Problem(.badRequest, code: "malformed-body", detail: "the body ended early")
    case .overloaded: Problem(.serviceUnavailable, code: "overloaded", detail: Self.overloadedDetail)
    }
  }
}

/// The two parts of a request target that a server acts on (RFC 9112, section 3.2).
struct RequestTarget: Sendable {
  /// The path, percent-encoded: it begins with `/`, or is `*`, or is whatever else the client sent.
  let path: Substring
  let query: Substring?

  /// The authority of a target in absolute form, which takes precedence over `Host` (RFC 9112, section 3.2.2).
  let authority: Substring?

  /// Creates the parts of a target in origin form, absolute form (the scheme is dropped) or asterisk form.
  init(_ target: String) {
    let utf8 = target.utf8
    var start = utf8.startIndex
    var authority: Substring?
    if utf8.first != UInt8(ascii: "/"), let rest = Self.afterScheme(of: target[...]) {
      start = rest.utf8.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
      authority = rest[..<start]
    }
    self.authority = authority
    let end = Self.endOfPath(in: target, from: start)
    path = start == end && authority != nil ? "/" : target[start..<end]
    query = end == utf8.endIndex ? nil : target[utf8.index(after: end)...]
  }

  /// A Boolean value that indicates whether the path can be routed.
  var isValid: Bool { path.utf8.first == UInt8(ascii: "/") || path == "*" }

  private static func endOfPath(in target: String, from start: String.Index) -> String.Index {
    var text = target
    let offset = target.utf8.distance(from: target.startIndex, to: start)
    let end = text.withUTF8 { $0.firstIndex(of: UInt8(ascii: "?"), from: offset) ?? $0.count }
    return target.utf8.index(target.startIndex, offsetBy: end)
  }

  /// Returns the part after `http://` or `https://`; `nil` for another form.
  private static func afterScheme(of target: Substring) -> Substring? {
    let start = target.prefix(8).lowercased()
    if start.hasPrefix("http://") { return target[target.utf8.index(target.startIndex, offsetBy: 7)...] }
    if start.hasPrefix("https://") { return target[target.utf8.index(target.startIndex, offsetBy: 8)...] }
    return nil
  }
}
