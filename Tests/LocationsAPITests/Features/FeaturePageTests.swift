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

  /// The references of pages are relative, so that they lead there under any path prefix.
  @Test(arguments: targets + ["/ogc/"], ["", "/poi", "/a/b"])
  func linksOfAPageLeadToPagesAndDocuments(target: String, prefix: String) async throws {
    let service = try await Self.service()
    let page = try await Self.page(target, service)

    let references = page.text.matches(of: /href="([^"]*)"/).map { String($0.output.1).replacing("&amp;", with: "&") }
    #expect(!references.isEmpty)
    let base = URL(string: "http://localhost:8080\(prefix)\(target)")
    for reference in references {
      let resolved = try #require(URL(string: reference, relativeTo: base)).absoluteString
      #expect(resolved.hasPrefix("http://localhost:8080\(prefix)/"), "\(reference)")
      let own = resolved.pathAndQuery.dropFirst(prefix.count)
      #expect(try await service.get(String(own)).status == 200, "\(reference)")
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
    let base = URL(string: "http://localhost:8080" + Self.items)
    let target = try #require(URL(string: String(next).replacing("&amp;", with: "&"), relativeTo: base)).absoluteString
    let second = try await service.get(target.pathAndQuery)
    #expect(second.text.contains("p11") && !second.text.contains(">p10<"))
  }

  @Test func pagesHaveColoursForADarkScheme() async throws {
    let page = try await Self.page("/ogc", try await Self.service()).text

    #expect(page.contains("<meta name=\"color-scheme\" content=\"light dark\">"))
    #expect(page.contains("@media(prefers-color-scheme:dark)"))
  }

  @Test func labelsOfASketchAreOnTheEarthAndZeroHasNoSign() async throws {
    for places in [[(-0.4, -0.3), (0.3, 0.4)], [(-80.0, -170.0), (85, 179)], [(-0.0004, 0.0002), (0.0003, -0.0001)]] {
      let service = try await FeaturesService(try places.map { try .at($0.0, $0.1, name: "p") })
      let page = try await Self.page(Self.items, service).text

      let labels = page.matches(of: /(-?[0-9.]+)°/).map { String($0.output.1) }
      #expect(labels.contains("0"), "\(labels)")
      #expect(!labels.contains { $0.hasPrefix("-0") && Double($0) == 0 })
      #expect(labels.allSatisfy { abs(Double($0) ?? .nan) <= 180 })
      let parallels = page.matches(of: /x="2" y="[0-9.]+">(-?[0-9.]+)°/).compactMap { Double($0.output.1) }
      #expect(!parallels.isEmpty && parallels.allSatisfy { abs($0) <= 90 }, "\(parallels)")
    }
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
