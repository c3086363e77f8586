import Foundation
import HTTPServer
import MemoryStore
import NIOCore
import NIOHTTP1
import Points
import ServiceTestSupport
import Testing

@testable import AccessControl
@testable import LocationsAPI

@Suite struct PublicAddressTests {
  private static let id = "0199a1b2-0000-7000-8000-000000000001"

  /// The targets that responses name: of the next page, of a new place, of one that PUT created, and of a call in the
  /// index.
  private func targets(url: String? = nil, prefix: [String] = [], trusting proxy: String? = nil) async throws
    -> [String]
  {
    let store = MemoryStore()
    let proxies = TrustedProxies(try proxy.map { [try #require(IPNetwork($0))] } ?? [])
    let router = LocationsAPI(
      .init(
        service: PointsService(store: store),
        access: AccessControl(
          AccessPolicy(keys: [APIKey(name: "w", scope: .write, secret: "w")], isLoopback: true)),
        address: PublicAddress(url: url, proxies: proxies), version: "1")
    ).routerOfAllCalls()
    var headers: HTTPHeaders = ["authorization": "Bearer w", "content-type": "application/json"]
    for value in prefix { headers.add(name: "x-forwarded-prefix", value: value) }
    func send(_ method: HTTPMethod, _ target: String, json: String = "") async -> HTTPResponse {
      await router.respond(
        to: ServiceDriver.request(method, target, headers: headers, body: ByteBuffer(string: json)))
    }
    let place = #"{"name":"x","lat":1,"long":2}"#
    let created = await send(.POST, "/locations", json: place)
    let put = await send(.PUT, "/locations/\(Self.id)", json: place)
    let list = await send(.GET, "/locations?limit=1&f=geojson")
    let index = try await send(.GET, "/").body.collect()
    let links = try JSONSerialization.jsonObject(with: Data(index.readableBytesView)) as? [String: Any]
    let link = try #require(list.headers.first(name: "link"))
    return [
      String(link.dropFirst().prefix { $0 != "&" }),
      String(try #require(created.headers.first(name: "location")).dropLast(36)),
      try #require(put.headers.first(name: "location")),
      try #require((links?["links"] as? [String: String])?["categories"]),
    ]
  }

  private static let relative = ["?limit=1", "locations/", id, "categories{?bbox,f,lang,tree}"]

  private static func absolute(_ base: String) -> [String] {
    [
      "\(base)/locations?limit=1", "\(base)/locations/", "\(base)/locations/\(id)",
      "\(base)/categories{?bbox,f,lang,tree}",
    ]
  }

  @Test func withoutAnAddressTargetsAreRelative() async throws {
    #expect(try await targets() == Self.relative)
  }

  @Test(
    arguments: ["", "/", "/poi/"],
    [
      (["?limit=1"], "/locations", "/locations?limit=1"), (["locations/x"], "/locations", "/locations/x"),
      (["x"], "/locations/y", "/locations/x"),
    ])
  func relativeTargetsKeepWorkingUnderAPrefix(prefix: String, references: ([String], String, String)) throws {
    let mount = prefix.hasSuffix("/") ? String(prefix.dropLast()) : prefix
    let base = try #require(URL(string: "http://h" + mount + references.1))

    #expect(
      URL(string: references.0[0], relativeTo: base)?.absoluteURL.absoluteString == "http://h" + mount + references.2)
  }

  @Test(arguments: ["https://example.com/poi", "https://example.com/poi/", "http://[::1]:8080", "https://example.com"])
  func configuredAddressBeginsEveryTarget(url: String) async throws {
    let base = url.hasSuffix("/") ? String(url.dropLast()) : url

    #expect(PublicAddress.isAcceptable(url: url))
    #expect(try await targets(url: url) == Self.absolute(base))
    #expect(try await targets(url: url, prefix: ["/other"], trusting: "127.0.0.0/8") == Self.absolute(base))
  }

  @Test(arguments: ["/poi", "/poi/", "/a/b-c/%20"])
  func prefixOfATrustedProxyBeginsEveryTarget(prefix: String) async throws {
    let base = prefix.hasSuffix("/") ? String(prefix.dropLast()) : prefix

    #expect(try await targets(prefix: [prefix], trusting: "127.0.0.0/8") == Self.absolute(base))
    #expect(try await targets(prefix: [prefix], trusting: "10.0.0.0/8") == Self.relative)
    #expect(try await targets(prefix: [prefix]) == Self.relative)
  }

  /// Maps and GIS tools resolve no references.
  @Test(arguments: [
    "/tiles.json", "/ogc", "/ogc/collections", "/ogc/collections/places/tiles", "/ogc?f=html",
    "/ogc/collections/places/items?limit=1",
  ])
  func absoluteLinksHaveThePrefixToo(target: String) async throws {
    let store = MemoryStore()
    func text(_ address: PublicAddress) async throws -> String {
      let router = DescribedService.api(over: store, address: address).routerOfAllCalls(
        DescribedService.features(over: store))
      let request = ServiceDriver.request(.GET, target, headers: ["x-forwarded-prefix": "/poi"])
      return String(buffer: try await router.respond(to: request).body.collect())
    }
    func links(_ text: String) -> [String] {
      text.matches(of: #/"(http://localhost:8080|https://example.com)?(/[a-z][^"]*)"/#)
        .map { String($0.1 ?? "") + $0.2 }.filter { $0.contains("/ogc") || $0.contains("/tiles") }
    }

    let forwarded = links(
      try await text(PublicAddress(proxies: TrustedProxies([try #require(IPNetwork("127.0.0.0/8"))]))))
    let configured = links(try await text(PublicAddress(url: "https://example.com/poi")))

    let host = target.hasSuffix("html") ? "" : "http://localhost:8080"
    #expect(!forwarded.isEmpty && forwarded.allSatisfy { $0.hasPrefix(host + "/poi/") }, "\(forwarded)")
    #expect(!configured.isEmpty && configured.allSatisfy { $0.hasPrefix("https://example.com/poi/") }, "\(configured)")
  }

  @Test func locationOfANewFeatureHasThePrefixToo() async throws {
    func location(_ address: PublicAddress) async throws -> String? {
      let request = ServiceDriver.request(
        .POST, "/ogc/collections/places/items",
        headers: [
          "x-forwarded-prefix": "/poi", "content-type": "application/geo+json", "authorization": "Bearer w",
        ],
        body: ByteBuffer(
          string: #"{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"name":"a"}}"#))
      var api = LocationsAPI.Configuration(service: PointsService(store: MemoryStore()), version: "1")
      api.access = AccessControl(
        AccessPolicy(keys: [APIKey(name: "w", scope: .write, secret: "w")], isLoopback: true))
      api.address = address
      let response = await LocationsAPI(api).routerOfAllCalls().respond(to: request)
      return response.headers.first(name: "location")
    }

    let proxies = TrustedProxies([try #require(IPNetwork("127.0.0.0/8"))])
    let forwarded = try await location(PublicAddress(proxies: proxies))
    let configured = try await location(PublicAddress(url: "https://example.com/poi"))

    #expect(try #require(forwarded).hasPrefix("http://localhost:8080/poi/ogc/collections/places/items/"))
    #expect(try #require(configured).hasPrefix("https://example.com/poi/ogc/collections/places/items/"))
  }

  @Test(arguments: [
    ["//evil.example"], ["https://evil.example"], ["poi"], ["/a/../b"], ["/a//b"], ["/a b"], ["/a\">"], ["/a", "/b"],
    [""],
    ["/a?b"], ["/a#b"], ["/a, /b"], ["/" + String(repeating: "a", count: 256)], ["/\u{E9}"], ["/."],
  ])
  func invalidForwardedPrefixIsIgnored(values: [String]) async throws {
    #expect(try await targets(prefix: values, trusting: "127.0.0.0/8") == Self.relative)
  }

  @Test(arguments: [
    "example.com", "ftp://example.com", "https://", "https://user@example.com", "https://example.com/a?b",
    "https://example.com/#a", "https://exa mple.com", "https://example.com:port", "//example.com", "/poi",
  ])
  func invalidPublicURLIsRejected(url: String) {
    #expect(!PublicAddress.isAcceptable(url: url))
  }
}
