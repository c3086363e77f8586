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
@testable import Pages

@Suite struct PageTests {
  private struct NoSearches: SearchHistory {
    func searches(
      from start: Timestamp, until end: Timestamp, limit: Int
    ) async throws(PointStoreError) -> SearchReport { SearchReport() }
  }

  private static let pages = ["/docs", "/map", "/status"]

  private static func get(
    _ target: String, headers: HTTPHeaders = [:], baseMap: BaseMap? = nil
  ) async throws -> ServiceDriver.Response {
    let store = MemoryStore()
    let api = LocationsAPI(.init(service: PointsService(store: store), version: "1.2.3"))
    let response = await api.routerOfAllCalls(FeatureCalls(baseMap: baseMap)).respond(
      to: ServiceDriver.request(.GET, target, headers: headers))
    return ServiceDriver.Response(
      target: target, status: Int(response.status.code), headers: response.headers,
      body: Data(try await response.body.collect().readableBytesView))
  }

  /// Returns the paths of the files that a page or a script names.
  private static func references(in response: ServiceDriver.Response) -> [String] {
    let patterns = [#/(?:src|href)="([^"#]+)"/#, #/from "(\.[^"]+)"/#]
    return patterns.flatMap { response.text.matches(of: $0).map { String($0.output.1) } }
      .filter { $0 != "data:," }
  }

  /// Returns a page and all the styles and scripts that it loads, also through other scripts, by path.
  private static func files(of page: String) async throws -> [String: ServiceDriver.Response] {
    var files: [String: ServiceDriver.Response] = [:]
    var open = [page]
    while let path = open.popLast() {
      guard files[path] == nil else { continue }
      let response = try await get(path)
      files[path] = response
      #expect(response.status == 200, "\(path)")
      for reference in references(in: response) {
        #expect(!reference.hasPrefix("/") && !reference.contains(":"), "\(path) has \(reference)")
        let url = try #require(URL(string: reference, relativeTo: URL(string: "http://localhost" + path)))
        if url.path.hasSuffix(".css") || url.path.hasSuffix(".js") { open.append(url.path) }
      }
    }
    return files
  }

  @Test(arguments: pages)
  func aPageLoadsOnlyItsOwnFilesByRelativeReferences(path: String) async throws {
    let files = try await Self.files(of: path)
    let page = try #require(files[path])

    #expect(page.headers["content-type"] == ["text/html; charset=utf-8"])
    #expect(files.keys.contains(path + "/page.css") && files.keys.contains(path + "/page.js"))
    #expect(files.keys.contains("/pages/common.css") && files.keys.contains("/pages/common.js"))
    #expect(page.text.firstMatch(of: /<style|<script>| style=| on[a-z]+=/) == nil)
    for file in files.values {
      #expect(file.text.firstMatch(of: /innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(/) == nil)
    }
  }

  @Test(arguments: pages)
  func thePolicyAllowsNothingInThePageItselfNorFromElsewhere(path: String) async throws {
    let page = try await Self.get(path)
    let policy = try #require(page.headers.first(name: "content-security-policy"))

    #expect(!policy.contains("unsafe") && !policy.contains("*") && !policy.contains("http"))
    for directive in ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"] {
      #expect(policy.contains(directive))
    }
    #expect(page.headers["x-content-type-options"] == ["nosniff"])
    #expect(page.headers["referrer-policy"] == ["no-referrer"])
  }

  @Test(arguments: pages + [PageRoute.textsPath])
  func aPageIsInTheLanguageOfTheRequestWithATagOfItsOwn(path: String) async throws {
    var tags: Set<String> = []
    for (accepted, language) in [("ko-KR, en", "ko"), ("fr;q=0.9, de;q=0.8", "de"), ("fr", "en")] {
      let page = try await Self.get(path, headers: ["accept-language": accepted])

      let start = path.hasSuffix(".json") ? "{\n  \"language\": \"" : "<!doctype html>\n<html lang=\""
      #expect(page.text.hasPrefix(start + language + "\""))
      #expect(!page.text.contains("{{"))
      #expect(page.headers["content-language"] == [language])
      #expect(page.headers["vary"] == ["accept, accept-encoding, accept-language"])
      let tag = try #require(page.headers.first(name: "etag"))
      tags.insert(tag)
      let again = try await Self.get(path, headers: ["accept-language": accepted, "if-none-match": tag])
      #expect(again.status == 304 && again.headers["content-language"] == [language])
    }
    #expect(tags.count == 3)
  }

  /// Texts have several forms where their number decides, by the plural categories of each language.
  private struct Form: Hashable {
    let name: String
    let values: Set<String>
  }

  private static func forms(of texts: PageTexts) throws -> [Form: [String]] {
    let object = try #require(try JSONSerialization.jsonObject(with: Data(texts.file)) as? [String: Any])
    return try object.reduce(into: [:]) { forms, text in
      let all = try #require(text.value as? [String: String] ?? (text.value as? String).map { ["": $0] })
      let values = all["other"] ?? all[""] ?? ""
      #expect(all.values.allSatisfy { !$0.isEmpty }, "\(text.key)")
      let names = Set(values.matches(of: /\{\w+\}/).map { String($0.output) })
      forms[Form(name: text.key, values: names)] = all.keys.sorted()
    }
  }

  @Test func noTextIsMissingInALanguage() throws {
    let english = try Self.forms(of: PageStyle.translated.texts[0])
    let categories = ["en": ["one", "other"], "de": ["one", "other"], "ko": ["other"]]

    #expect(PageStyle.translated.texts.map(\.language) == ["en", "ko", "de"])
    for texts in PageStyle.translated.texts {
      let forms = try Self.forms(of: texts)
      #expect(Set(forms.keys) == Set(english.keys))
      #expect(forms.values.allSatisfy { $0 == [""] || $0 == categories[texts.language] })
    }
  }

  /// The names that pages use, in HTML, scripts and Swift, are those that have a text.
  @Test func everyTextIsUsedAndEveryUsedTextExists() async throws {
    let names = Set(try Self.forms(of: PageStyle.translated.texts[0]).keys.map(\.name)).subtracting(["language"])
    let pages = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Sources").standardized
    let folders = ["CPages", "LocationsAPI", "Features"].map { pages.appending(path: $0) }
    var used: Set<String> = []
    for folder in folders {
      let files = try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
      for case let file as URL in files
      where ["html", "js", "swift"].contains(file.pathExtension) {
        let source = try String(contentsOf: file, encoding: .utf8)
        used.formUnion(
          source.matches(of: /["{`]((?:common|docs|map|ogc|status)\.[a-z]\w*)["}`]/).map { String($0.output.1) })
      }
    }

    #expect(used.subtracting(names).filter { !$0.hasSuffix(".json") } == [])
    // Figures of the status page have an explanation, whose name ends with "Tip".
    #expect(names.subtracting(used).filter { !$0.hasSuffix("Tip") || !used.contains(String($0.dropLast(3))) } == [])
  }

  @Test(arguments: [("/docs", 40_000), ("/map", 130_000), ("/status", 42_000)])
  func aPageAndAllItsFilesAreSmall(path: String, limit: Int) async throws {
    let count = try await Self.files(of: path).values.reduce(0) { $0 + $1.body.count }

    #expect(count < limit)
  }

  @Test(arguments: PageFile.all.filter { $0.bytes.count >= ContentCoding.leastLength }.map(\.path))
  func aFileIsCompressedWhereTheClientAcceptsIt(path: String) async throws {
    let plain = try await Self.get(path)
    let compressed = try await Self.get(path, headers: ["accept-encoding": "gzip"])

    #expect(compressed.headers["content-encoding"] == ["gzip"])
    #expect(compressed.body.count < plain.body.count)
    #expect(compressed.headers["etag"] == plain.headers["etag"])
    #expect(plain.headers["vary"].first?.hasPrefix("accept, accept-encoding") == true)
  }

  @Test(arguments: pages + [PageRoute.mapSettingsPath, PageRoute.statusSettingsPath])
  func pagesAreOpenWhereReadingNeedsAKey(path: String) async throws {
    let access = AccessPolicy(keys: [], isLoopback: false, readRequiresKey: true)
    let driver = ServiceDriver(writing: MemoryStore(), access: access)

    #expect(try await driver.send(.GET, "/locations").status == 401)
    #expect(try await driver.send(.GET, path).status == 200)
  }

  @Test func anUnknownParameterIsRejected() async throws {
    #expect(try await Self.get("/map?x=1").status == 400)
  }

  @Test(arguments: [
    (AccessPolicy(keys: nil, isLoopback: true, scopes: AccessScope.all), ["read", "suggest", "write", "admin"]),
    (AccessPolicy(keys: nil, isLoopback: true), ["read", "write", "admin"]),
    (AccessPolicy(keys: nil, isLoopback: false), ["read"]), (AccessPolicy(keys: [], isLoopback: true), ["read"]),
    (AccessPolicy(keys: [], isLoopback: true, readRequiresKey: true), []),
  ])
  func theStatusPageIsToldWhichCallsNeedNoKey(policy: AccessPolicy, scopes: [String]) async throws {
    let settings = try await ServiceDriver(writing: MemoryStore(), access: policy)
      .send(.GET, PageRoute.statusSettingsPath)

    #expect(try settings.object["openScopes"] as? [String] == scopes)
  }

  @Test(arguments: [false, true])
  func theStatusPageIsToldWhetherThereIsAReportOnSearches(hasSearches: Bool) async throws {
    let store = MemoryStore()
    let driver = ServiceDriver(
      LocationsAPI(.init(service: PointsService(store: store), version: "1")),
      features: FeatureCalls(searches: hasSearches ? NoSearches() : nil))

    let settings = try await driver.send(.GET, PageRoute.statusSettingsPath)
    let report = try await driver.send(.GET, "/analytics/searches")

    #expect(try settings.object["hasSearches"] as? Bool == hasSearches)
    #expect((report.status != 404) == hasSearches)
  }

  // MARK: Base map

  @Test func theBaseMapIsInTheSettingsAndItsOriginInThePolicy() async throws {
    let map = try #require(
      BaseMap(tiles: "https://tile.example.com:8443/a/{z}/{x}/{y}.png?key=k", attribution: "© \"Contributors\""))

    let settings = try await Self.get(PageRoute.mapSettingsPath, baseMap: map)
    let layers = try #require(settings.object["layers"] as? [[String: String]])
    #expect(
      layers == [
        [
          "tiles": "https://tile.example.com:8443/a/{z}/{x}/{y}.png?key=k", "format": "image",
          "attribution": "© \"Contributors\"",
        ]
      ])
    let page = try await Self.get("/map", baseMap: map)
    let policy = try #require(page.headers.first(name: "content-security-policy"))
    #expect(policy.contains("img-src 'self' data: https://tile.example.com:8443;"))
    #expect(page.headers["referrer-policy"] == ["strict-origin"])
    let status = try await Self.get("/status", baseMap: map)
    #expect(status.headers.first(name: "content-security-policy")?.contains("example") == false)
  }

  @Test func withoutABaseMapOfTheOperatorThePageDrawsTheBuiltInOne() async throws {
    let settings = try await Self.get(PageRoute.mapSettingsPath)
    let layers = try #require(settings.object["layers"] as? [[String: Any]])
    let layer = try #require(layers.first)

    #expect(layers.count == 1 && layer["format"] as? String == "vector")
    #expect(layer["tiles"] as? String == "map/land/{z}/{x}/{y}.mvt")
    #expect(layer["maximumZoom"] as? Int == LandTiles.maximumZoom)
    #expect((layer["attribution"] as? String)?.contains("GeoNames") == true)
  }

  @Test func tilesOfTheServerItselfNeedNoOrigin() throws {
    for tiles in ["/basemap/{z}/{x}/{y}.png", "basemap/{z}/{y}/{x}"] {
      #expect(try #require(BaseMap(tiles: tiles, attribution: "A")).origin == nil)
    }
  }

  @Test(arguments: [
    "", "https://tile.example.com/{z}/{x}.png", "https://tile.example.com/{z}/{x}/{y}/{y}.png",
    "https://tile.example.com/{z}/{x}/{y}/{r}.png", "ftp://tile.example.com/{z}/{x}/{y}.png",
    "//tile.example.com/{z}/{x}/{y}.png", "https://{z}/{x}/{y}.png", "javascript:{z}{x}{y}",
    "https://a.example; script-src */{z}/{x}/{y}.png", "https://a.example, b/{z}/{x}/{y}", "https://*/{z}/{x}/{y}.png",
    "https://user@a.example/{z}/{x}/{y}.png", "https://a.example/{z}/{x}/{y}.png\n", "https://a.example/ä/{z}/{x}/{y}",
    "https://a.example/{z}/{x}/{y}" + String(repeating: "a", count: 1000),
  ])
  func otherAddressesAreRejected(tiles: String) {
    #expect(BaseMap(tiles: tiles, attribution: "A") == nil)
  }

  @Test func anAttributionHasOneToAThousandBytes() {
    let tiles = "/{z}/{x}/{y}"
    #expect(BaseMap(tiles: tiles, attribution: "") == nil)
    #expect(BaseMap(tiles: tiles, attribution: String(repeating: "a", count: 1000)) != nil)
    #expect(BaseMap(tiles: tiles, attribution: String(repeating: "a", count: 1001)) == nil)
  }
}
