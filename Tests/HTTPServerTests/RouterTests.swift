import Basics
import HTTPServer
import JSONText
import Logging
import NIOCore
import NIOHTTP1
import Synchronization
import TestSupport
import Testing

@Suite struct RouterTests {
  /// A router whose handlers respond with their template and path parameters.
  private static var router: Router {
    var routes: [Route] = []
    routes.on(.GET, "/") { _, _ in .text("root") }
    routes.on(.GET, "/places") { _, _ in .text("all") }
    routes.on(.POST, "/places") { _, _ in .text("made", status: .created) }
    routes.on(.GET, "/places/{id}") { _, parameters in .text("one " + parameters["id"]) }
    routes.on(.DELETE, "/places/{id}") { _, _ in HTTPResponse(status: .noContent) }
    routes.on(.GET, "/places/check") { _, _ in .text("check") }
    routes.on(.GET, "/{kind}/{id}/tags") { _, parameters in .text(parameters["kind"] + " tags " + parameters["id"]) }
    routes.on(.GET, "/kinds") { _, _ in .text("kinds") }
    routes.on(.GET, "/a\u{323}\u{307}") { _, _ in .text("marks") }
    routes.on(.GET, "/a\u{323}\u{307}/{id}") { _, _ in .text("marks") }
    routes.on(.GET, "/places/{id}/tags") { _, parameters in .text("place tags " + parameters["id"]) }
    return Router(routes)
  }

  private static func respond(
    _ method: HTTPMethod = .GET,
    _ target: String,
    headers: HTTPHeaders = [:],
    router: Router = router
  ) async throws -> (response: HTTPResponse, text: String) {
    let response = await router.respond(to: HTTPRequest(method: method, target: target, headers: headers))
    return (response, String(buffer: try await response.body.collect()))
  }

  // MARK: Finding a route

  @Test(arguments: [
    ("/", "root"), ("/places", "all"), ("/places?x=/places/1", "all"), ("/places/17", "one 17"),
    ("/places/check", "check"), ("/places/a%20b%2Fc", "one a b/c"), ("/places/%C3%A9", "one é"), ("/places/+", "one +"),
    ("/%70laces", "all"), ("/%70laces/17", "one 17"), ("/places/chec%6B", "check"), ("/places/7/tags", "place tags 7"),
    ("/shops/7/tags", "shops tags 7"), ("http://host/places/17?x", "one 17"), ("/places/..", "one .."),
    ("/kinds", "kinds"),
  ])
  func pathFindsItsHandler(target: String, expected: String) async throws {
    let (response, text) = try await Self.respond(.GET, target)

    #expect(response.status == .ok)
    #expect(text == expected)
  }

  @Test(arguments: [
    "/place", "/placesx", "/places/", "/places//tags", "/places/1/2", "//places", "/PLACES", "/places/check/", "*",
    "places", "/a\u{307}\u{323}", "/a\u{307}\u{323}/1",
  ])
  func pathOfNoRouteIsNotFound(target: String) async throws {
    let (response, text) = try await Self.respond(.GET, target)

    #expect(response.status == .notFound)
    #expect(text.contains(#""code":"not-found""#))
  }

  @Test func responseHasTheTemplateOfItsRoute() async throws {
    let found = try await Self.respond(.GET, "/places/17").response
    let missing = try await Self.respond(.GET, "/nowhere").response

    #expect(found.route == "/places/{id}")
    #expect(missing.route == nil)
  }

  @Test func orderOfRegistrationDoesNotMatter() async throws {
    var routes: [Route] = []
    routes.on(.GET, "/{a}/{b}") { _, _ in .text("both") }
    routes.on(.GET, "/a/{b}") { _, _ in .text("second") }
    routes.on(.GET, "/a/b") { _, _ in .text("none") }
    let router = Router(routes)

    let responses = try await [
      Self.respond(.GET, "/a/b", router: router).text, Self.respond(.GET, "/a/x", router: router).text,
      Self.respond(.GET, "/x/b", router: router).text,
    ]

    #expect(responses == ["none", "second", "both"])
  }

  private struct Places {
    func list(_ request: HTTPRequest, _ parameters: PathParameters) async throws -> HTTPResponse { .text("listed") }
  }

  @Test func methodOfAnotherTypeCanBeAHandler() async throws {
    var routes: [Route] = []
    routes.on(.GET, "/", handler: Places().list)
    let router = Router(routes)
    let text = try await Self.respond(.GET, "/", router: router).text

    #expect(text == "listed")
  }

  // MARK: Undecodable paths

  @Test(arguments: ["/places/%zz", "/places/%4", "/places/%ff", "/places/%C3%28"])
  func undecodablePathParameterIsNamed(target: String) async throws {
    let (response, text) = try await Self.respond(.GET, target)

    #expect(response.status == .badRequest)
    #expect(text.contains(#""code":"invalid-parameter""#))
    #expect(text.contains(#""parameter":"id""#))
  }

  @Test func undecodablePathWithoutARouteIsReported() async throws {
    let (response, text) = try await Self.respond(.GET, "/nowhere/at/all/%ff")

    #expect(response.status == .badRequest)
    #expect(text.contains(#""parameter":"path""#))
  }

  // MARK: Methods

  @Test func unsupportedMethodIsRejectedWithTheAllowedMethods() async throws {
    let (response, text) = try await Self.respond(.PUT, "/places/17")

    #expect(response.status == .methodNotAllowed)
    #expect(response.headers["allow"] == ["DELETE, GET, HEAD, OPTIONS"])
    #expect(text.contains(#""code":"method-not-allowed""#))
  }

  @Test func headIsServedByGet() async throws {
    let response = try await Self.respond(.HEAD, "/places").response

    #expect(response.status == .ok)
    #expect(response.body.length == 3)
  }

  @Test func optionsListsTheMethodsOfAPath() async throws {
    let path = try await Self.respond(.OPTIONS, "/places").response
    let server = try await Self.respond(.OPTIONS, "*").response
    let nowhere = try await Self.respond(.OPTIONS, "/nowhere").response

    #expect([path.status, server.status, nowhere.status] == [.noContent, .noContent, .notFound])
    #expect(path.headers["allow"] == ["GET, HEAD, OPTIONS, POST"])
    #expect(server.headers["allow"] == ["DELETE, GET, HEAD, OPTIONS, POST"])
  }

  // MARK: Errors of handlers

  private struct Secret: Error { let password = "hunter2" }

  private static func failing(_ error: any Error) -> Router {
    var routes: [Route] = []
    routes.on(.GET, "/") { _, _ in throw error }
    return Router(routes, problemTypePrefix: "urn:test:")
  }

  @Test func thrownProblemIsTheResponse() async throws {
    let problem = Problem(.conflict, code: "conflict", detail: "taken", headers: ["retry-after": "7"])
    let (response, text) = try await Self.respond(.GET, "/", router: Self.failing(problem))

    #expect(response.status == .conflict)
    #expect(response.headers["content-type"] == ["application/problem+json"])
    #expect(response.headers["retry-after"] == ["7"])
    #expect(text.contains(#""type":"urn:test:conflict""#))
  }

  @Test func unexpectedErrorIsLoggedWithTheRequestIDAndNotSent() async throws {
    let log = LogRecorder()
    let request = HTTPRequest(target: "/", id: "the-id", logger: log.logger)
    let response = await Self.failing(Secret()).respond(to: request)
    let text = String(buffer: try await response.body.collect())

    #expect(response.status == .internalServerError)
    #expect(text.contains(#""code":"internal""#))
    #expect(!text.contains("hunter2"))
    #expect(log.lines.count == 1)
    #expect(log.lines.first?.contains("hunter2") == true)
    #expect(log.lines.first?.contains("the-id") == true)
  }

  @Test(arguments: [
    (HTTPBodyError.tooLarge(limit: 5), HTTPResponseStatus.payloadTooLarge), (.timedOut, .requestTimeout),
    (.disconnected, .badRequest),
  ])
  func bodyErrorsHaveTheirOwnResponses(error: HTTPBodyError, status: HTTPResponseStatus) async throws {
    let response = try await Self.respond(.GET, "/", router: Self.failing(error)).response

    #expect(response.status == status)
  }

  // MARK: Bodies

  @Test func bodyOverTheRouteLimitIsRejectedBeforeTheHandler() async throws {
    let calls = Counter()
    var routes: [Route] = []
    routes.on(.POST, "/", bodyLimit: .bytes(3)) { _, _ in
      calls.add()
      return HTTPResponse()
    }
    let router = Router(routes)
    let long = await router.respond(
      to: HTTPRequest(method: .POST, target: "/", body: .bytes(ByteBuffer(string: "four")))
    )
    let short = await router.respond(
      to: HTTPRequest(method: .POST, target: "/", body: .bytes(ByteBuffer(string: "two")))
    )

    #expect([long.status, short.status] == [.payloadTooLarge, .ok])
    #expect(calls.value == 1)
  }

  // MARK: CORS

  @Test(arguments: ["/places", "/nowhere", "/places/%zz"]) func everyResponseAllowsAnyOriginByDefault(target: String)
    async throws
  {
    var routes: [Route] = []
    routes.on(.GET, "/places") { _, _ in .text("all") }
    routes.on(.GET, "/places/{id}") { _, _ in .text("one") }
    let router = Router(routes, middlewares: [CORSPolicy()])
    let response = try await Self.respond(.GET, target, headers: ["Origin": "https://page"], router: router).response

    #expect(response.headers["access-control-allow-origin"] == ["*"])
    #expect(response.headers["access-control-expose-headers"] == ["*"])
  }

  @Test func onlyListedOriginsMayReadResponses() async throws {
    var routes: [Route] = []
    routes.on(.GET, "/") { _, _ in HTTPResponse() }
    let router = Router(routes, middlewares: [CORSPolicy(origins: .list(["https://good"]))])
    let good = try await Self.respond(.GET, "/", headers: ["Origin": "https://good"], router: router).response
    let bad = try await Self.respond(.GET, "/", headers: ["Origin": "https://bad"], router: router).response

    #expect(good.headers["access-control-allow-origin"] == ["https://good"])
    #expect(bad.headers["access-control-allow-origin"] == [])
    #expect([good, bad].map { $0.headers["vary"] } == [["origin"], ["origin"]])
  }

  @Test func preflightListsAllowedMethodsAndHeaders() async throws {
    var routes: [Route] = []
    routes.on(.PUT, "/") { _, _ in HTTPResponse() }
    let policy = CORSPolicy(allowedHeaders: ["If-Match"], maximumAgeSeconds: 60)
      .allowing(["X-Own", "Accept-Language", "If-Match", "Content-Crs"])
    let router = Router(routes, middlewares: [policy])
    let response = try await Self.respond(
      .OPTIONS,
      "/",
      headers: ["Origin": "https://page", "Access-Control-Request-Method": "PUT"],
      router: router
    ).response

    #expect(response.status == .noContent)
    #expect(response.headers["access-control-allow-methods"] == ["OPTIONS, PUT"])
    #expect(response.headers["access-control-allow-headers"] == ["Content-Crs, If-Match, X-Own"])
    #expect(response.headers["access-control-max-age"] == ["60"])
  }
}
