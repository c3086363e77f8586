import Foundation
import HTTPServer
import NIOHTTP1
import Points
import ServiceTestSupport
import TestSupport
import Testing

@testable import LocationsAPI
@testable import OGC

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

  @Test(arguments: targets) func pageLoadsOnlyFilesOfTheService(target: String) async throws {
    let page = try await Self.page(target, try await Self.service())
    let policy = try #require(page.headers.first(name: "content-security-policy"))

    #expect(page.status == 200)
    #expect(policy.hasPrefix("default-src 'none'; script-src 'self'; style-src 'self';"))
    #expect(!policy.contains("unsafe") && !policy.contains("http"))
    #expect(page.text.firstMatch(of: /<script>|<style|<img|<iframe|<form| style=| on[a-z]+=/) == nil)
    #expect(page.headers["x-content-type-options"] == ["nosniff"])
  }

  @Test(arguments: targets) func pageIsInTheLanguageOfTheRequest(target: String) async throws {
    let service = try await Self.service()
    var tags: Set<String> = []
    for (accepted, language) in [("de-AT, en;q=0.5", "de"), ("ko", "ko"), ("fr, *", "en"), (nil, "en")] {
      let headers: HTTPHeaders = accepted.map { ["accept-language": $0] } ?? [:]
      let page = try await service.get(target + "?f=html", headers: headers)

      #expect(page.text.contains("<html lang=\"\(language)\">"))
      #expect(page.headers["content-language"] == [language])
      #expect(page.headers["vary"].joined().contains("accept-language"))
      if let tag = page.headers.first(name: "etag"), accepted != nil { tags.insert(tag) }
    }
    #expect([0, 3].contains(tags.count))
    let document = try await service.get(target + "?f=json", headers: ["accept-language": "de"])
    #expect(!document.headers.contains(name: "content-language"))
  }

  /// The references of pages are relative, so that they lead there under any path prefix.
  @Test(arguments: targets + ["/ogc/"], ["", "/poi", "/a/b"])
  func linksOfAPageLeadToPagesAndDocuments(target: String, prefix: String) async throws {
    let service = try await Self.service()
    let page = try await Self.page(target, service)

    let references = page.text.matches(of: /(?:href|src)="([^"]*)"/)
      .map { String($0.output.1).replacing("&amp;", with: "&") }.filter { $0 != "data:," }
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

  @Test func pageOfItemsHasTheirNumberAMapAndTheNextPage() async throws {
    let service = try await FeaturesService(try FeaturesService.places(25))
    let page = try await Self.page(Self.items, service).text

    #expect(page.contains("10 of 25"))
    #expect(page.contains("id=\"map\"") && page.matches(of: #/ data-lat="/#).count == 10)
    let next = try #require(page.firstMatch(of: /href="([^"]*)">Next page/)).output.1
    let base = URL(string: "http://localhost:8080" + Self.items)
    let target = try #require(URL(string: String(next).replacing("&amp;", with: "&"), relativeTo: base)).absoluteString
    let second = try await service.get(target.pathAndQuery)
    #expect(second.text.contains("p11") && !second.text.contains(">p10<"))
  }

  @Test func pageOfAnItemHasItsPositionForTheMap() async throws {
    let page = try await Self.page(Self.items + "/\(PointID.sample(1))", try await Self.service()).text

    #expect(page.contains("id=\"map\""))
    #expect(page.contains(#" data-lat="1.0" data-long="2.0" "#))
  }
}
