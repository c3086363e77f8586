import Crypto
import Foundation
import HTTPServer
import NIOHTTP1
import Points
import TestSupport
import Testing

@testable import LocationsAPI

/// OGC API Features: the pages in HTML.
@Suite struct FeaturePageTests {
  private static let items = FeaturesService.items
  private static let hostile = "<script>alert('x')</script> & \"quoted\""

  private static let targets = [
    "/ogc", "/ogc/conformance", "/ogc/collections", "/ogc/collections/places", items,
    "/ogc/collections/places/queryables", "/ogc/collections/places/schema", items + "/\(PointID.sample(1))",
  ]

  private static func service() async throws -> FeaturesService {
    try await FeaturesService(
      [
        .at(1, 2, name: hostile, category: hostile, tags: ["a<b": hostile]), .at(3, 4, name: "other"),
      ], collections: "food=<b>")
  }

  private static func page(_ target: String, _ service: FeaturesService) async throws -> ServiceDriver.Response {
    try await service.get(target + (target.contains("?") ? "&" : "?") + "f=html")
  }

  @Test(arguments: targets) func pageLoadsAndRunsNothing(target: String) async throws {
    let page = try await Self.page(target, try await Self.service())
    let policy = try #require(page.headers.first(name: "content-security-policy"))

    #expect(page.status == 200)
    #expect(policy.hasPrefix("default-src 'none'; style-src 'sha256-"))
    #expect(!policy.contains("unsafe"))
    #expect(page.text.firstMatch(of: /<script|<img|<link|<iframe|<form| src=| style=| on[a-z]+=/) == nil)
    let style = try #require(page.text.firstMatch(of: /<style>(.*)<\/style>/)).output.1
    let digest = Data(SHA256.hash(data: Data(style.utf8))).base64EncodedString()
    #expect(policy.contains("'sha256-\(digest)'"))
    #expect(page.headers["x-content-type-options"] == ["nosniff"])
  }

  @Test(arguments: targets) func linksOfAPageLeadToPagesAndDocuments(target: String) async throws {
    let service = try await Self.service()
    let page = try await Self.page(target, service)

    let references = page.text.matches(of: /href="([^"]*)"/).map { String($0.output.1).replacing("&amp;", with: "&") }
    #expect(!references.isEmpty)
    for reference in references {
      #expect(reference.hasPrefix("http://localhost:8080/"))
      #expect(try await service.get(reference.pathAndQuery).status == 200, "\(reference)")
    }
  }

  @Test func textsOfPlacesAreEscaped() async throws {
    let service = try await Self.service()
    let list = try await Self.page(Self.items, service).text
    let place = try await Self.page(Self.items + "/\(PointID.sample(1))", service).text

    let escaped = "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &amp; &quot;quoted&quot;"
    #expect(list.contains(escaped))
    #expect(place.contains(escaped) && place.contains("a&lt;b"))
  }

  @Test func pageOfItemsHasTheirNumberASketchAndTheNextPage() async throws {
    let service = try await FeaturesService(try FeaturesService.places(25))
    let page = try await Self.page(Self.items, service).text

    #expect(page.contains("10 of 25 items."))
    #expect(page.matches(of: #/<circle /#).count == 10)
    let next = try #require(page.firstMatch(of: /href="([^"]*)">Next page/)).output.1
    let second = try await service.get(String(next).replacing("&amp;", with: "&").pathAndQuery)
    #expect(second.text.contains("p11") && !second.text.contains(">p10<"))
  }

  @Test func sketchIsFiniteWhereverPlacesAre() async throws {
    for places in [
      [(90.0, 0.0), (-90, 180)], [(0, 0), (0, 0)], [(89.9, 1), (90, 2)], [(0, -180), (0, 180)], [(5, 5)],
    ] {
      let service = try await FeaturesService(try places.map { try .at($0.0, $0.1, name: "p") })
      let page = try await Self.page(Self.items, service).text

      #expect(!page.contains("nan") && !page.contains("inf\""))
      #expect(page.matches(of: #/<circle /#).count == places.count)
    }
  }
}
