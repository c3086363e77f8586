public import Basics
import NIOCore
public import NIOHTTP1
import Synchronization

/// A type that responds to requests: a router, or a single function of a test.
public protocol HTTPResponder: Sendable {
  /// Returns the response to the request if nothing has to be waited for; by default `nil`, which has
  /// ``respond(to:)`` called. The body is not a stream.
  ///
  /// The server calls it as it calls ``respond(to:)``, and saves a task, its memory and the copies that a task makes of
  /// what it uses. A call that returns `nil` has had no effect but that on the request, which is passed on: a router
  /// attaches the route.
  func respondAtOnce(to request: inout HTTPRequest) -> HTTPResponse?

  /// Responds to the request.
  ///
  /// The server calls it on the connection's event loop, where it may do as much work as a look-up in memory takes.
  /// Work that waits must suspend and never block. The task is cancelled when the client is known to have gone. The
  /// requests of one HTTP/1.1 connection come one after the other.
  nonisolated(nonsending) func respond(to request: HTTPRequest) async -> HTTPResponse

  /// Receives each request whose response has ended, for metrics and logs.
  ///
  /// The server calls it on the connection's event loop, once for each request that was begun and once for each that
  /// was rejected before it could be parsed. It must return at once.
  func requestCompleted(_ request: CompletedRequest)
}

extension HTTPResponder {
  /// Returns `nil`.
  public func respondAtOnce(to request: inout HTTPRequest) -> HTTPResponse? { nil }

  /// Does nothing.
  public func requestCompleted(_ request: CompletedRequest) {}
}

/// A cross-cutting concern: code that takes part in every request, whatever its route.
///
/// A chain of middlewares is composed once, when the server starts. A request passes them in the order of their list,
/// and its response in the opposite order. The router has matched the route before the first of them runs, so that each
/// can read its declaration in ``HTTPRequest/route``. A request that the router is going to reject has no route there.
public protocol Middleware: Sendable {
  /// Returns a Boolean value that indicates whether a request passes ``respond(to:next:)``; `true` by default.
  ///
  /// A request that does not pass costs no asynchronous call, which takes memory.
  func intercepts(_ request: HTTPRequest) -> Bool

  /// Responds to a request, as a rule with the response of the next middleware, which may be changed on its way.
  ///
  /// See ``HTTPResponder/respond(to:)`` for where it runs and what it may do there.
  nonisolated(nonsending) func respond(to request: HTTPRequest, next: MiddlewareChain) async -> HTTPResponse

  /// Receives each request whose response has ended; see ``HTTPResponder/requestCompleted(_:)``.
  func requestCompleted(_ request: CompletedRequest)
}

extension Middleware {
  /// Returns `true`.
  public func intercepts(_ request: HTTPRequest) -> Bool { true }

  /// Does nothing.
  public func requestCompleted(_ request: CompletedRequest) {}
}

/// A middleware that neither rejects requests nor waits: it changes responses, or only receives completed requests.
public protocol SynchronousMiddleware: Middleware {
  /// Changes a response on its way.
  func change(_ response: inout HTTPResponse, to request: HTTPRequest)
}

extension SynchronousMiddleware {
  /// Does nothing.
  public func change(_ response: inout HTTPResponse, to request: HTTPRequest) {}

  /// Returns `false`.
  public func intercepts(_ request: HTTPRequest) -> Bool { false }

  /// Returns the changed response of the next middleware.
  nonisolated(nonsending) public func respond(to request: HTTPRequest, next: MiddlewareChain) async -> HTTPResponse {
    var response = await next.respond(to: request)
    change(&response, to: request)
    return response
  }
}

/// The rest of a chain of middlewares, up to the responder at its end.
public struct MiddlewareChain: HTTPResponder {
  /// A middleware. Its subclass calls it where it is stored: a call of an existential value copies that first, and all
  /// threads would count references to the one copy.
  ///
  /// It is immutable.
  private class Link: @unchecked Sendable {
    let middleware: any Middleware

    init(_ middleware: any Middleware) { self.middleware = middleware }

    func intercepts(_ request: HTTPRequest) -> Bool { true }
    func change(_ response: inout HTTPResponse, to request: HTTPRequest) {}
    func requestCompleted(_ request: CompletedRequest) {}

    static func of(_ middleware: any Middleware) -> Link {
      func typed(_ middleware: some Middleware) -> Link { TypedLink(middleware) }
      func synchronous(_ middleware: some SynchronousMiddleware) -> Link { SynchronousLink(middleware) }
      if let middleware = middleware as? any SynchronousMiddleware { return synchronous(middleware) }
      return typed(middleware)
    }
  }

  private class TypedLink<Wrapped: Middleware>: Link, @unchecked Sendable {
    let wrapped: Wrapped

    init(_ wrapped: Wrapped) {
      self.wrapped = wrapped
      super.init(wrapped)
    }

    override func intercepts(_ request: HTTPRequest) -> Bool { wrapped.intercepts(request) }
    override func requestCompleted(_ request: CompletedRequest) { wrapped.requestCompleted(request) }
  }

  private final class SynchronousLink<Wrapped: SynchronousMiddleware>: TypedLink<Wrapped>, @unchecked Sendable {
    override func change(_ response: inout HTTPResponse, to request: HTTPRequest) {
      wrapped.change(&response, to: request)
    }
  }

  private final class Links: Sendable {
    let all: [Link]
    let end: any HTTPResponder
    private let uncounted: [Unmanaged<Link>]

    init(_ middlewares: [any Middleware], end: any HTTPResponder) {
      all = middlewares.map { Link.of($0) }
      uncounted = all.map { .passUnretained($0) }
      self.end = end
    }

    /// Calls a link without counting a reference to it.
    func with<Value>(_ index: Int, _ call: (Link) -> Value) -> Value {
      uncounted[index]._withUnsafeGuaranteedRef(call)
    }
  }

  private let links: Links
  private var start = 0

  /// Creates a chain.
  ///
  /// - Parameters:
  ///   - middlewares: the middlewares in the order in which a request passes them.
  ///   - responder: the responder at the end of the chain.
  public init(_ middlewares: [any Middleware], endingIn responder: any HTTPResponder) {
    links = Links(middlewares, end: responder)
  }

  /// Returns the response of the end of the chain if no middleware intercepts the request and it has one at once.
  public func respondAtOnce(to request: inout HTTPRequest) -> HTTPResponse? {
    let index = indexOfInterceptor(of: request)
    guard index == links.all.count, var response = links.end.respondAtOnce(to: &request) else { return nil }
    change(&response, to: request, before: index)
    return response
  }

  /// Passes the request on.
  nonisolated(nonsending) public func respond(to request: HTTPRequest) async -> HTTPResponse {
    let index = indexOfInterceptor(of: request)
    var response: HTTPResponse
    if index < links.all.count {
      response = await links.all[index].middleware.respond(to: request, next: chain(after: index))
    } else {
      response = await links.end.respond(to: request)
    }
    change(&response, to: request, before: index)
    return response
  }

  // Synchronous functions, because their code would enlarge the frame of the asynchronous one.

  @inline(never)
  private func indexOfInterceptor(of request: HTTPRequest) -> Int {
    var index = start
    while index < links.all.count, !links.with(index, { $0.intercepts(request) }) { index += 1 }
    return index
  }

  private func chain(after index: Int) -> MiddlewareChain {
    var chain = self
    chain.start = index + 1
    return chain
  }

  @inline(never)
  private func change(_ response: inout HTTPResponse, to request: HTTPRequest, before end: Int) {
    var index = end
    while index > start {
      index -= 1
      links.with(index) { $0.change(&response, to: request) }
    }
  }

  /// Reports the request to each middleware, in the order of the list.
  public func requestCompleted(_ request: CompletedRequest) {
    for index in links.all.indices { links.with(index) { $0.requestCompleted(request) } }
  }
}

/// The state that middlewares attach to a request. It stands behind a reference because most requests have none.
final class RequestContext: Sendable {
  let trace: TraceParent?
  let principal: Principal
  let storeTime: ElapsedTime?

  init(trace: TraceParent?, principal: Principal, storeTime: ElapsedTime?) {
    self.trace = trace
    self.principal = principal
    self.storeTime = storeTime
  }
}

/// A sum of durations, which may be added on any thread.
package final class ElapsedTime: Sendable {
  private let nanoseconds = Atomic<Int64>(0)

  package init() {}

  package var total: Duration { .nanoseconds(nanoseconds.load(ordering: .relaxed)) }

  /// Adds the time since a moment.
  package func add(since start: ContinuousClock.Instant) {
    let (seconds, attoseconds) = (ContinuousClock.now - start).components
    nanoseconds.wrappingAdd(seconds * 1_000_000_000 + attoseconds / 1_000_000_000, ordering: .relaxed)
  }
}

/// The authenticated sender of a request. Two are equal if they have the same ``namespace``, whatever their
/// restriction: limits are those of a sender.
public struct Principal: Hashable, Sendable {
  /// The name under which the sender is known; `nil` if it is not authenticated.
  public let name: String?

  /// The prefix that separates the data of this sender from that of others, such as idempotency keys. It has no colon
  /// and does not change.
  public let namespace: String

  /// The part of the data that the sender may know of; `nil` for all of it.
  package private(set) var restriction: AccessRestriction?

  /// A sender that is not authenticated.
  public static let anonymous = Principal(name: nil, namespace: "")

  public init(name: String?, namespace: String) {
    self.name = name
    self.namespace = namespace
  }

  /// Returns the sender with a restriction.
  package func restricted(to restriction: AccessRestriction?) -> Principal {
    var principal = self
    principal.restriction = restriction
    return principal
  }

  public static func == (left: Principal, right: Principal) -> Bool {
    left.namespace.hasSameBytes(as: right.namespace)
  }

  public func hash(into hasher: inout Hasher) { namespace.hashBytes(into: &hasher) }
}

/// The restriction of a key or a token as it is stated there; the service interprets it.
package struct AccessRestriction: Hashable, Sendable {
  /// The condition on the data; `nil` for any.
  package let filter: ExactText?

  /// The areas, of which the data must be in at least one; empty for data anywhere.
  package let areas: [ExactText]

  /// Creates a restriction.
  package init(filter: String?, areas: [String] = []) {
    self.filter = filter.map { ExactText($0) }
    self.areas = areas.map { ExactText($0) }
  }
}

/// The report of a request whose response has ended, for metrics and logs.
public struct CompletedRequest: Sendable {
  /// The identifier of the request in its response.
  public let id: String

  /// The method; `nil` if the request could not be parsed.
  public let method: HTTPMethod?

  /// The template of the route, such as `/items/{id}`; `nil` if there was none.
  public internal(set) var route: String?

  /// The request's place in its trace; `nil` if its client sent none.
  public internal(set) var trace: TraceParent?

  /// The status of the response; `nil` if the client disconnected before a response began.
  public internal(set) var status: HTTPResponseStatus?

  /// The number of bytes of the response's body that were passed to the connection, without framing.
  public internal(set) var bodyBytes = 0

  /// The time from the end of the request's head to the end of the response; `nil` if no head could be parsed.
  public internal(set) var duration: Duration?

  /// A Boolean value that indicates whether the response was sent to its end. Otherwise the client disconnected, or the
  /// response was cut off.
  public internal(set) var isWhole = true

  /// A Boolean value that indicates whether the response had no end of its own; see ``HTTPResponseBody/live(_:)``.
  public internal(set) var isLive = false

  private let start: NIODeadline?

  init(id: String, method: HTTPMethod) {
    self.id = id
    self.method = method
    start = .now()
  }

  /// Creates the report of input that was rejected before it could be parsed, or one for tests of its receivers.
  public init(
    id: String, method: HTTPMethod?, route: String?, status: HTTPResponseStatus?, bodyBytes: Int, duration: Duration?,
    isWhole: Bool = true
  ) {
    self.id = id
    self.method = method
    self.route = route
    self.status = status
    self.bodyBytes = bodyBytes
    self.duration = duration
    self.isWhole = isWhole
    start = nil
  }

  /// Records the response, whose head is being sent.
  mutating func begin(_ response: HTTPResponse) {
    status = response.status
    route = response.route
    trace = response.context?.trace
    isLive = response.body.isLive
  }

  mutating func end(isWhole: Bool) {
    self.isWhole = isWhole
    duration = start.map { Duration(.now() - $0) }
  }
}
