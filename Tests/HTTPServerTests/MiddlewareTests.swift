import HTTPServer
import NIOCore
import NIOHTTP1
import Synchronization
import Testing

@Suite struct MiddlewareTests {
  /// A middleware that records what it sees, and adds its name to responses.
  private final class Recorder: Middleware {
    let name: String
    let requests = Mutex<[(route: String?, scope: AccessScope?, limit: Int?)]>([])

    init(_ name: String) { self.name = name }

    nonisolated(nonsending) func respond(to request: HTTPRequest, next: MiddlewareChain) async -> HTTPResponse {
      requests.withLock { $0.append((request.route?.template, request.route?.scope, request.body.limit)) }
      var response = await next.respond(to: request)
      response.headers.add(name: "passed", value: name)
      return response
    }
  }

  /// A middleware that responds by itself.
  private struct Rejection: Middleware {
    nonisolated(nonsending) func respond(to request: HTTPRequest, next: MiddlewareChain) async -> HTTPResponse {
      HTTPResponse(status: .forbidden)
    }
  }

  /// A middleware that adds its name to responses without waiting.
  private struct Mark: SynchronousMiddleware {
    let name: String

    func change(_ response: inout HTTPResponse, to request: HTTPRequest) {
      response.headers.add(name: "passed", value: name)
    }
  }

  /// A middleware that rejects the requests it intercepts.
  private struct Selective: Middleware {
    func intercepts(_ request: HTTPRequest) -> Bool { request.headers.contains(name: "reject") }

    nonisolated(nonsending) func respond(to request: HTTPRequest, next: MiddlewareChain) async -> HTTPResponse {
      HTTPResponse(status: .forbidden)
    }
  }

  private struct Handler: RouteHandler {
    func respond(to request: HTTPRequest) -> HTTPResponse { .text(request.principal.name ?? "anonymous") }
  }

  /// A middleware that attaches a sender.
  private struct Sender: Middleware {
    nonisolated(nonsending) func respond(to request: HTTPRequest, next: MiddlewareChain) async -> HTTPResponse {
      var request = request
      request.principal = Principal(name: "sender", namespace: "s")
      return await next.respond(to: request)
    }
  }

  private let route = Route(
    .PUT, "/things/{id}", scope: .write, bodyLimit: .bytes(3), handler: Handler())

  @Test func responsesPassTheMiddlewaresInTheOppositeOrder() async {
    let router = Router([route], middlewares: [Recorder("first"), Recorder("second")])

    let response = await router.respond(to: HTTPRequest(method: .PUT, target: "/things/a"))

    #expect(response.status == .ok)
    #expect(response.headers["passed"] == ["second", "first"])
  }

  @Test func middlewareSeesTheDeclarationOfTheMatchedRoute() async throws {
    let recorder = Recorder("r")
    let router = Router([route], middlewares: [recorder])

    _ = await router.respond(to: HTTPRequest(method: .PUT, target: "/things/a"))

    let seen = try #require(recorder.requests.withLock { $0.first })
    #expect(seen.route == "/things/{id}")
    #expect(seen.scope == .write)
    #expect(seen.limit == 3)
  }

  @Test(arguments: [
    (HTTPMethod.GET, "/nowhere", 404), (.GET, "/things/a", 405), (.OPTIONS, "/things/a", 204),
    (.PUT, "/things/%zz", 400), (.PUT, "/things/long", 413),
  ])
  func requestThatTheRouterRejectsPassesThemWithoutARoute(method: HTTPMethod, target: String, status: UInt) async {
    let recorder = Recorder("r")
    let router = Router([route], middlewares: [recorder])
    let body = HTTPRequestBody.bytes(ByteBuffer(string: target.hasSuffix("long") ? "four" : ""))

    let response = await router.respond(to: HTTPRequest(method: method, target: target, body: body))

    #expect(response.status.code == status)
    #expect(response.headers["passed"] == ["r"])
    #expect(recorder.requests.withLock { $0.map(\.route) } == [nil])
  }

  @Test func middlewareThatRespondsItselfEndsTheChain() async {
    let inner = Recorder("inner")
    let router = Router([route], middlewares: [Recorder("outer"), Rejection(), inner])

    let response = await router.respond(to: HTTPRequest(method: .PUT, target: "/things/a"))

    #expect(response.status == .forbidden)
    #expect(response.headers["passed"] == ["outer"])
    #expect(inner.requests.withLock { $0.isEmpty })
  }

  @Test func synchronousMiddlewaresChangeResponsesAtTheirPlaceInTheOrder() async {
    let middlewares: [any Middleware] = [
      Mark(name: "first"), Recorder("second"), Mark(name: "third"), Mark(name: "fourth"),
    ]
    let router = Router([route], middlewares: middlewares)

    let response = await router.respond(to: HTTPRequest(method: .PUT, target: "/things/a"))

    #expect(response.headers["passed"] == ["fourth", "third", "second", "first"])
  }

  /// A handler that has a response at once unless the request asks it to wait.
  private struct Prompt: RouteHandler {
    func respondAtOnce(to request: HTTPRequest) throws(Problem) -> HTTPResponse? {
      if request.path.hasSuffix("bad") { throw .invalidParameter("id", "must not be bad") }
      return request.headers.contains(name: "wait") ? nil : .text("at once " + request.pathParameters["id"])
    }

    func respond(to request: HTTPRequest) -> HTTPResponse { .text("waited " + request.pathParameters["id"]) }
  }

  @Test func responseAtOncePassesTheSynchronousMiddlewares() async throws {
    let prompt = Route(.GET, "/things/{id}", handler: Prompt())
    let router = Router([prompt], middlewares: [Mark(name: "first"), Selective(), Mark(name: "second")])
    var request = HTTPRequest(target: "/things/a")
    var wrong = HTTPRequest(target: "/things/bad")
    var missing = HTTPRequest(target: "/nothing")

    let response = try #require(router.respondAtOnce(to: &request))

    #expect(String(buffer: try await response.body.collect()) == "at once a")
    #expect(response.headers["passed"] == ["second", "first"])
    #expect(response.route == "/things/{id}")
    #expect(router.respondAtOnce(to: &wrong)?.status == .badRequest)
    #expect(router.respondAtOnce(to: &missing)?.status == .notFound)
  }

  @Test(arguments: ["reject", "wait"])
  func requestThatIsInterceptedOrWaitsHasNoResponseAtOnce(field: String) async throws {
    let router = Router([Route(.GET, "/things/{id}", handler: Prompt())], middlewares: [Selective()])
    var request = HTTPRequest(target: "/things/a", headers: [field: "yes"])

    #expect(router.respondAtOnce(to: &request) == nil)

    #expect(request.route?.template == "/things/{id}")
    let response = await router.respond(to: request)
    #expect(response.status == (field == "reject" ? .forbidden : .ok))
  }

  @Test func requestWithTheRouteOfAnotherRouterIsRoutedAgain() async throws {
    let other = Router([Route(.GET, "/things/{id}", handler: Prompt())])
    let restricted = Router([Route(.GET, "/things/{id}", handler: Handler())])
    var request = HTTPRequest(target: "/things/a", headers: ["wait": "yes"])
    _ = other.respondAtOnce(to: &request)

    let response = await restricted.respond(to: request)

    #expect(String(buffer: try await response.body.collect()) == "anonymous")
  }

  @Test func requestWithTheRouteOfAnotherRouterHasNoneWhereNoneMatches() async throws {
    let other = Router([Route(.GET, "/things/{id}", handler: Prompt())])
    let restricted = Router([Route(.GET, "/others/{id}", handler: Handler())])
    var request = HTTPRequest(target: "/things/a", headers: ["wait": "yes"])
    _ = other.respondAtOnce(to: &request)

    let response = await restricted.respond(to: request)

    #expect(response.status == .notFound)
  }

  @Test func requestThatIsNotInterceptedSkipsTheMiddleware() async {
    let router = Router([route], middlewares: [Selective()])

    let responses = [
      await router.respond(to: HTTPRequest(method: .PUT, target: "/things/a")),
      await router.respond(to: HTTPRequest(method: .PUT, target: "/things/a", headers: ["reject": "yes"])),
    ]

    #expect(responses.map(\.status) == [.ok, .forbidden])
  }

  @Test func handlerReceivesThePrincipalOfTheMiddleware() async throws {
    let (known, unknown) = (Router([route], middlewares: [Sender()]), Router([route]))
    let request = HTTPRequest(method: .PUT, target: "/things/a")

    let texts = [
      String(buffer: try await known.respond(to: request).body.collect()),
      String(buffer: try await unknown.respond(to: request).body.collect()),
    ]

    #expect(texts == ["sender", "anonymous"])
  }

  @Test func completedRequestsAreReportedToEachMiddlewareInOrder() {
    let order = Order()
    let middlewares = [Observer(note: { order.add(1) }), Observer(note: { order.add(2) })]

    Router([route], middlewares: middlewares).requestCompleted(
      CompletedRequest(id: "a", method: .PUT, route: nil, status: .ok, bodyBytes: 0, duration: nil))

    #expect(order.numbers == [1, 2])
  }
}

private struct Observer: SynchronousMiddleware {
  let note: @Sendable () -> Void

  func requestCompleted(_ request: CompletedRequest) { note() }
}

/// Numbers in the order in which they were added.
private final class Order: Sendable {
  private let added = Mutex<[Int]>([])

  var numbers: [Int] { added.withLock { $0 } }

  func add(_ number: Int) { added.withLock { $0.append(number) } }
}
