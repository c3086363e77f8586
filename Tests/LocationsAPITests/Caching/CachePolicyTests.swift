import Basics
import HTTPServer
import JSONText
import MemoryStore
import NIOHTTP1
import Points
import ServiceTestSupport
import TestSupport
import Testing

@testable import LocationsAPI

@Suite struct CachePolicyTests {
  private func respond(
    _ policy: CachePolicy, to target: String, headers: HTTPHeaders = [:], cors: CORSPolicy? = nil
  ) async throws -> HTTPResponse {
    let store = MemoryStore()
    _ = try await store.put(try .at(1, 1, name: "A"), id: .sample(1), if: .none)
    let api = LocationsAPI(.init(service: PointsService(store: store), caching: policy, version: "1"))
    let router = api.router(middlewares: cors.map { [$0] } ?? [])
    return await router.respond(to: ServiceDriver.request(.GET, target, headers: headers))
  }

  @Test(arguments: ["/locations", "/categories", "/locations/\(PointID.sample(1))", "/locations/check?lat=1&long=1"])
  func responsesHaveTheConfiguredCacheDirectives(target: String) async throws {
    let response = try await respond(CachePolicy(directives: "max-age=5, stale-if-error=60"), to: target)

    #expect(response.headers["cache-control"] == ["max-age=5, stale-if-error=60"])
    #expect(response.headers.contains(name: "etag"))
  }

  @Test func withNoStoreListsHaveNoEntityTags() async throws {
    let response = try await respond(CachePolicy(directives: "no-store"), to: "/locations")
    let featured = try await respond(CachePolicy(directives: "no-store"), to: "/locations/featured")

    #expect(response.headers["cache-control"] == ["no-store"])
    #expect(!response.headers.contains(name: "etag"))
    #expect(featured.headers["cache-control"] == ["no-store"])
  }

  @Test(arguments: ["/locations", "/locations/featured", "/locations/\(PointID.sample(1))"])
  func responsesArePrivateWhereReadingNeedsAKey(target: String) async throws {
    let response = try await respond(CachePolicy(directives: "public, max-age=5", readsNeedKey: true), to: target)

    #expect(response.headers["cache-control"].first?.hasPrefix("private, max-age=") == true)
    #expect(response.headers["cache-control"].first?.contains("public") == false)
    #expect(response.headers[canonicalForm: "vary"].contains("authorization"))
  }

  @Test func responsesVaryByOriginWhereOriginsAreRestricted() async throws {
    let listed = try await respond(
      CachePolicy(), to: "/locations", cors: CORSPolicy(origins: .list(["https://example.com"])))
    let open = try await respond(CachePolicy(), to: "/locations", cors: CORSPolicy(origins: .any))

    #expect(Set(listed.headers[canonicalForm: "vary"]) == ["accept", "accept-encoding", "origin"])
    #expect(Set(open.headers[canonicalForm: "vary"]) == ["accept", "accept-encoding"])
  }

  @Test(arguments: ["no-cache", "no-store", "max-age=5", "public, max-age=60, s-maxage=\"7\"", "private=\"x, y\""])
  func validCacheDirectivesAreAccepted(text: String) {
    #expect(CachePolicy.areDirectives(text))
  }

  @Test(arguments: ["", " ", "max-age=", "a b", "no-cache,", "no-cache\r\nx: y", "é", "max-age=\"5"])
  func invalidCacheDirectivesAreRejected(text: String) {
    #expect(!CachePolicy.areDirectives(text))
  }
}
