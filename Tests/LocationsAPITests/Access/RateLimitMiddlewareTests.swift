import HTTPServer
import MemoryStore
import NIOCore
import NIOHTTP1
import Points
import ServiceTestSupport
import Testing

@testable import AccessControl
@testable import LocationsAPI

@Suite struct RateLimitMiddlewareTests {
  /// A service whose clients may ask twice, and then never again.
  private func service(proxies: [String] = []) throws -> Router {
    let keys = ["one", "two"].map { APIKey(name: $0, scope: .write, secret: $0) }
    let access = AccessControl(AccessPolicy(keys: keys, isLoopback: true))
    let rateLimit = RateLimitMiddleware(
      limiter: RateLimiter(RateLimit(requestsPerSecond: 0.1, burst: 2)) { 1 }, access: access,
      proxies: TrustedProxies(try proxies.map { try #require(IPNetwork($0)) }))
    return LocationsAPI(.init(service: PointsService(store: MemoryStore()), access: access, version: "1"))
      .router(joining: FeatureCalls().endpoints, middlewares: [CORSPolicy(), rateLimit])
  }

  private func send(
    to service: Router, _ target: String = "/categories", from address: String = "192.0.2.1",
    headers: HTTPHeaders = [:], times: Int = 1
  ) async throws -> [HTTPResponse] {
    var responses: [HTTPResponse] = []
    for _ in 0..<times {
      let request = HTTPRequest(
        target: target, headers: headers, remoteAddress: try SocketAddress(ipAddress: address, port: 1))
      responses.append(await service.respond(to: request))
    }
    return responses
  }

  @Test func requestBeyondTheLimitGets429WithRetryAfter() async throws {
    let responses = try await send(to: service(), times: 3)

    #expect(responses.map(\.status.code) == [200, 200, 429])
    #expect(
      responses.map { $0.headers["ratelimit"] } == [
        [#""default";r=1;t=10"#], [#""default";r=0;t=20"#], [#""default";r=0;t=10"#],
      ])
    #expect(responses.map { $0.headers["ratelimit-policy"] } == Array(repeating: [#""default";q=2;w=20"#], count: 3))
    #expect(responses.map { $0.headers["retry-after"] } == [[], [], ["10"]])
    // A page must be able to read it.
    #expect(responses[2].headers["access-control-allow-origin"] == ["*"])
    let body = String(buffer: try await responses[2].body.collect())
    #expect(body.contains(#""code":"rate-limited""#) && body.contains("urn:waymark:problem:rate-limited"))
  }

  @Test func addressesHaveSeparateLimits() async throws {
    let service = try service()

    let statuses = [
      try await send(to: service, from: "192.0.2.1", times: 3).last?.status.code,
      try await send(to: service, from: "192.0.2.2").last?.status.code,
      try await send(to: service, from: "2001:db8::1", times: 2).last?.status.code,
      try await send(to: service, from: "2001:db8::ffff:1").last?.status.code,
      try await send(to: service, from: "2001:db8:0:1::1").last?.status.code,
    ]

    #expect(statuses == [429, 200, 200, 429, 200])
  }

  @Test func clientWithAKeyIsCountedByTheKeyNotTheAddress() async throws {
    let service = try service()
    let (one, two): (HTTPHeaders, HTTPHeaders) = (["authorization": "Bearer one"], ["authorization": "Bearer two"])

    let statuses = [
      try await send(to: service, from: "192.0.2.1", headers: one).last?.status.code,
      try await send(to: service, from: "192.0.2.2", headers: one).last?.status.code,
      try await send(to: service, from: "192.0.2.3", headers: one).last?.status.code,
      try await send(to: service, from: "192.0.2.3", headers: two).last?.status.code,
      try await send(to: service, from: "192.0.2.3", times: 2).last?.status.code,
    ]

    #expect(statuses == [200, 200, 429, 200, 200])
  }

  @Test func requestsWithInvalidKeysAreCountedByAddress() async throws {
    let service = try service()

    var statuses: [UInt] = []
    for guess in 0..<4 {
      statuses += try await send(to: service, headers: ["authorization": "Bearer \(guess)"]).map(\.status.code)
    }

    #expect(statuses == [200, 200, 429, 429])
  }

  @Test func requestsWithoutARouteAreCounted() async throws {
    let responses = try await send(to: service(), "/nowhere", times: 3)

    #expect(responses.map(\.status.code) == [404, 404, 429])
  }

  @Test(arguments: ["/health/live", "/health/ready", "/metrics"])
  func probesAreNotCounted(target: String) async throws {
    let responses = try await send(to: service(), target, times: 5)

    #expect(responses.allSatisfy { $0.status.code != 429 && !$0.headers.contains(name: "ratelimit") })
  }

  @Test func clientsBehindATrustedProxyHaveSeparateLimits() async throws {
    let trusting = try service(proxies: ["192.0.2.0/24"])
    let wary = try service()

    func last(_ service: Router) async throws -> UInt? {
      _ = try await send(to: service, headers: ["x-forwarded-for": "203.0.113.1"], times: 2)
      return try await send(to: service, headers: ["x-forwarded-for": "203.0.113.2"]).last?.status.code
    }

    #expect(try await last(trusting) == 200)
    #expect(try await last(wary) == 429)
  }

  @Test func preflightIsNeitherCountedNorRejected() async throws {
    let service = try service()
    let preflight: HTTPHeaders = ["origin": "https://page.example", "access-control-request-method": "POST"]
    func ask(_ headers: HTTPHeaders) async throws -> HTTPResponse {
      await service.respond(
        to: HTTPRequest(
          method: .OPTIONS, target: "/categories", headers: headers,
          remoteAddress: try SocketAddress(ipAddress: "192.0.2.1", port: 1)))
    }

    for _ in 0..<10 {
      let response = try await ask(preflight)
      #expect(response.status == .noContent)
      #expect(response.headers.contains(name: "access-control-allow-headers"))
    }
    let counted = try await send(to: service, times: 3).map(\.status.code)
    let after = try await ask(preflight)
    let plain = try await ask([:])

    #expect(counted == [200, 200, 429])
    #expect(after.status == .noContent)
    #expect(plain.status.code == 429)
  }

  @Test(
    arguments: [
      (.GET, ["origin": "https://page.example", "access-control-request-method": "POST"]),
      (.OPTIONS, ["origin": "https://page.example"]), (.OPTIONS, ["access-control-request-method": "POST"]),
    ] as [(HTTPMethod, HTTPHeaders)])
  func requestThatIsNoPreflightIsCounted(method: HTTPMethod, headers: HTTPHeaders) async throws {
    let service = try service()

    var statuses: [UInt] = []
    for _ in 0..<3 {
      let request = HTTPRequest(
        method: method, target: "/categories", headers: headers,
        remoteAddress: try SocketAddress(ipAddress: "192.0.2.1", port: 1))
      statuses.append(await service.respond(to: request).status.code)
    }

    #expect(statuses.last == 429)
  }

  @Test func pageMayReadTheHeadersOfARateLimitedResponse() async throws {
    let response = try #require(
      try await send(to: service(), headers: ["origin": "https://page.example"], times: 3).last)

    #expect(response.status == .tooManyRequests)
    #expect(response.headers["access-control-expose-headers"] == ["*"])
  }

  @Test func bodyOfARejectedRequestIsNotRead() async throws {
    let service = try service()
    _ = try await send(to: service, times: 2)
    let request = HTTPRequest(
      method: .POST, target: "/locations", headers: ["expect": "100-continue"], body: .bytes(ByteBuffer(string: "no")),
      remoteAddress: try SocketAddress(ipAddress: "192.0.2.1", port: 1))

    #expect(await service.respond(to: request).status.code == 429)
  }
}
