import Basics
import CQL2
import Foundation
import HTTPServer
import JSONText
import NIOHTTP1
import Points
import ServiceTestSupport
import TestSupport
import Testing

@testable import LocationsAPI

@Suite struct SearchRouteTests {
  private func driver() async throws -> ServiceDriver {
    let places = try (0..<100).map { number in
      try PointDraft.at(
        0, Double(number) / 100, name: "E\(number)", category: ["a, b", "c", "d"][number % 3],
        tags: ["n": "\(number)", "open": "\(number.isMultiple(of: 2))"], sourceID: "\(number)")
    }
    return try await ServiceDriver(
      places: places, filtering: Filtering(queryables: Queryables(types: ["n": .integer]), timeLimit: .seconds(600)))
  }

  private static let path = "/locations/search"

  @Test(arguments: [
    (#"{"filter":{"op":"=","args":[{"property":"n"},5]}}"#, "filter=n%20%3D%205"),
    (#"{"filter":"n = 5","filter-lang":"cql2-text"}"#, "filter=n%20%3D%205"),
    (
      #"{"category":["a, b"],"lat":0,"lng":0.5,"radius":9000,"limit":3}"#,
      "category=a%2C%20b&lat=0&long=0.5&radius=9000&limit=3"
    ),
    (
      #"{"category":"c","bbox":[0,-1,0.5,1],"fields":["id","name"],"limit":1.000e3}"#,
      "category=c&bbox=0,-1,0.5,1&fields=id,name&limit=1000"
    ),
    (#"{"tag.n":[3,"4"],"tag.open":"false"}"#, "tag.n=3&tag.n=4&tag.open=false"),
    (#"{"tag.open":true,"source":"test","sourceId":"8"}"#, "tag.open=true&source=test&sourceId=8"),
    (#"{"q":"e7","autocomplete":true,"lang":["de","en"]}"#, "q=e7&autocomplete=true&lang=de,en"),
    (#"{"route":"???owH","radius":1,"f":"geojson"}"#, "route=%3F%3F%3FowH&radius=1&f=geojson"),
    (#"{}"#, ""),
  ])
  func bodySaysWhatTheQueryDoes(body: String, query: String) async throws {
    let driver = try await driver()

    let response = try await driver.send(.POST, Self.path, json: body)
    let expected = try await driver.send(.GET, "/locations?" + query)

    #expect(response.status == 200 && expected.status == 200, "\(response.text) \(expected.text)")
    #expect(response.headers.first(name: "content-type") == expected.headers.first(name: "content-type"))
    #expect(response.headers.first(name: "cache-control") == "no-store")
    #expect(response.headers["vary"] == expected.headers["vary"])
    if query != "" && !query.contains("geojson") { #expect(response.text == expected.text) }
  }

  @Test func pagesFollowTheLinkWithTheSameBody() async throws {
    let driver = try await driver()
    let body =
      #"{"within":{"type":"Polygon","coordinates":[[[-1,-1],[0.305,-1],[0.305,1],[-1,1],[-1,-1]]]},"lat":0,"long":1,"limit":7}"#
    var names: [String] = []
    var next: String? = Self.path
    var cursors: [String] = []
    while let target = next {
      let response = try await driver.send(.POST, target, json: body)
      names += try response.names
      next = response.next
      if let next, let cursor = next.split(separator: "=").last { cursors.append(String(cursor)) }
      #expect(next?.hasPrefix(Self.path + "?cursor=") ?? true, "\(next ?? "")")
    }

    #expect(names == (0...30).reversed().map { "E\($0)" })
    // The cursor may be in the body too.
    let second = try await driver.send(
      .POST, Self.path, json: String(body.dropLast()) + #","cursor":"\#(try #require(cursors.first))"}"#)
    #expect(try second.names == Array(names[7..<14]))
  }

  @Test(arguments: [
    (#"{"limit":"ten"}"#, "/limit", "invalid-parameter"), (#"{"limit":0}"#, "/limit", "invalid-parameter"),
    (#"{"limit":1.5}"#, "/limit", "invalid-parameter"), (#"{"limit":1e400}"#, "/limit", "invalid-parameter"),
    (#"{"lat":1}"#, "/long", "missing-parameter"), (#"{"nothing":1}"#, "/nothing", "unknown-parameter"),
    (#"{"a/b~":1}"#, "/a~1b~0", "unknown-parameter"), (#"{"category":[1]}"#, "/category", "invalid-parameter"),
    (#"{"category":[]}"#, "/category", "invalid-parameter"), (#"{"bbox":[1,2,3]}"#, "/bbox", "invalid-parameter"),
    (#"{"bbox":"1,2,3,4"}"#, "/bbox", "invalid-parameter"),
    (#"{"autocomplete":"true","q":"a"}"#, "/autocomplete", "invalid-parameter"),
    (#"{"filter":{"op":"=","args":[{"property":"n"},null]}}"#, "/filter/args/1", "invalid-parameter"),
    (#"{"filter":{"op":"="},"filter-lang":"cql2-text"}"#, "/filter-lang", "invalid-parameter"),
    (
      #"{"within":{"type":"Polygon","coordinates":[[[0,0],[1,1],[0]]]}}"#, "/within/coordinates/0/2",
      "invalid-parameter"
    ),
    (#"{"within":5}"#, "/within", "invalid-parameter"), (#"{"tag.n":{}}"#, "/tag.n", "invalid-parameter"),
    (#"{"tag.n":"x"}"#, "/tag.n", "invalid-parameter"), (#"{"lon":1,"lng":2,"lat":1}"#, "/lng", "invalid-parameter"),
    (#"{"lon":181,"lat":1}"#, "/lon", "invalid-parameter"),
  ])
  func problemsNameThePointerOfTheMember(body: String, pointer: String, code: String) async throws {
    let response = try await driver().send(.POST, Self.path, json: body)

    #expect(response.status == 400)
    #expect(response.text.contains(#""pointer":"\#(pointer)""#), "\(response.text)")
    #expect(response.text.contains(code), "\(response.text)")
  }

  @Test(arguments: [("category", 1_000), ("tag.k", 25_000)])
  func conditionsAreBounded(member: String, maximum: Int) async throws {
    let driver = try await driver()
    for count in [maximum, maximum + 1] {
      let values = (0..<count).map { #""c\#($0)""# }.joined(separator: ",")

      let response = try await driver.send(.POST, Self.path, json: #"{"\#(member)":[\#(values)]}"#)

      #expect(response.status == (count > maximum ? 400 : 200), "\(response.text)")
      if count > maximum { #expect(try response.pointers == ["/\(member)"], "\(response.text)") }
    }
  }

  @Test func lengthsOfShapesAreBounded() async throws {
    let ring = (0..<6).map { $0.isMultiple(of: 2) ? "[0,-50]" : "[\(60 + $0),50]" } + ["[0,-50]"]
    let rings = Array(repeating: "[\(ring.joined(separator: ","))]", count: 3).joined(separator: ",")
    let line = (0..<20).map { $0.isMultiple(of: 2) ? "[0,-50]" : "[100,50]" }.joined(separator: ",")
    let driver = try await driver()
    for (body, pointer) in [
      (#"{"within":{"type":"Polygon","coordinates":[\#(rings)]}}"#, "/within"),
      (#"{"route":{"type":"LineString","coordinates":[\#(line)]},"radius":100}"#, "/route"),
    ] {
      let response = try await driver.send(.POST, Self.path, json: body)

      #expect(response.status == 400)
      #expect(response.text.contains("expected edges of at most 200000 km altogether"), "\(response.text)")
      #expect(try response.pointers == [pointer], "\(response.text)")
    }
  }

  @Test(arguments: [
    (#"{"lat":"1","long":2}"#, "/lat"), (#"{"lat":1,"lon":"2"}"#, "/lon"),
    (#"{"lat":1,"long":null,"radius":5}"#, "/long"),
    (#"{"source":5,"sourceId":"a"}"#, "/source"), (#"{"filter":5,"filter-lang":"cql2-text"}"#, "/filter"),
    (#"{"filter":"n = 5","filter-lang":5}"#, "/filter-lang"),
    (#"{"filter":{"op":"=","args":[{"property":"n"},5]},"filter-lang":"x"}"#, "/filter-lang"),
    (#"{"route":5,"radius":5}"#, "/route"), (#"{"route":"???owH","radius":"5"}"#, "/radius"),
    (#"{"within":5}"#, "/within"),
    (#"{"q":5,"autocomplete":true,"sort":"relevance"}"#, "/q"), (#"{"bbox":[1,2,"3",4]}"#, "/bbox"),
    (#"{"limit":"5"}"#, "/limit"), (#"{"fields":5}"#, "/fields"), (#"{"cursor":5}"#, "/cursor"),
  ])
  func oneMistakeIsOneError(body: String, pointer: String) async throws {
    let response = try await driver().send(.POST, Self.path, json: body)

    #expect(response.status == 400)
    #expect(try response.pointers == [pointer], "\(response.text)")
  }

  @Test(arguments: [
    "lat=91&long=2", "bbox=1,2,3", "radius=x&lat=0&long=0", "filter=n%20=%20", "limit=0", "tag.n=x", "nothing=1",
    "category=", "within=POINT(1%202)",
  ])
  func invalidParameterBesideACursorIsOneError(query: String) async throws {
    let driver = try await driver()
    for search in ["/locations?limit=2", "/locations?q=e&limit=2", "/ogc/collections/places/items?limit=2"] {
      let isFeatures = search.hasPrefix("/ogc")
      // The features have neither a position nor an area, and may have an empty category, which no place has.
      guard !isFeatures || !["lat", "radi", "tag.", "within", "category"].contains(where: { query.hasPrefix($0) })
      else { continue }
      let page = try await driver.send(.GET, search)
      let link =
        try isFeatures
        ? (page.object["links"] as? [[String: Any]])?.first { $0["rel"] as? String == "next" }?["href"] as? String
        : page.next
      let next = try #require(link).pathAndQuery
      #expect(try await driver.send(.GET, next).status == 200)
      let target = query.hasPrefix("limit") ? next.replacing("limit=2", with: query) : next + "&" + query

      let response = try await driver.send(.GET, target)

      #expect(response.status == 400)
      #expect(try response.parameters.count == 1 && response.parameters != ["cursor"], "\(target) \(response.text)")
    }
  }

  @Test func invalidMemberBesideACursorIsOneError() async throws {
    let driver = try await driver()
    let next = try #require(try await driver.send(.POST, Self.path, json: #"{"limit":2}"#).next)

    let response = try await driver.send(.POST, next, json: #"{"limit":2,"lat":91,"long":2}"#)

    #expect(response.status == 400)
    #expect(try response.pointers == ["/lat"], "\(response.text)")
  }

  @Test(arguments: [
    "{}", #"{"type":"Point","coordinates":[1,2]}"#, #""POINT(1 2)""#, #""POLYGON((""#, #""POLYGON((0 0,1 1))""#,
    #""x""#,
    "\"POLYGON((\(String(repeating: "1 2,", count: 9000))))\"", #""{}""#, #""""#,
  ])
  func problemOfAnAreaDoesNotNameAFilter(area: String) async throws {
    let driver = try await driver()

    var response = try await driver.send(.POST, Self.path, json: #"{"within":\#(area)}"#)
    #expect(response.status == 400)
    #expect(!response.text.contains("filter"), "\(response.text)")
    guard area.hasPrefix("\""), area.utf8.count < 10_000 else { return }
    let text = area.dropFirst().dropLast().replacing(" ", with: "%20")
    response = try await driver.send(.GET, "/locations?within=\(text)")
    #expect(response.status == 400)
    #expect(!response.text.contains("filter"), "\(response.text)")
  }

  @Test(arguments: [
    ("{", #""a$":1,"#, #""limit":1}"#), ("{", #""tag.n$":{},"#, #""limit":1}"#),
    (#"{"category":["#, "\"\",", #""a"]}"#),
    (#"{"fields":["#, "\"x\",", #""id"]}"#), ("{", #""limit$":0,"#, #""lat":1}"#),
  ])
  func problemsListAHundredViolationsAtMost(start: String, part: String, end: String) async throws {
    let body = start + (0..<20_000).map { part.replacing("$", with: "\($0)") }.joined() + end

    let response = try await driver().send(.POST, Self.path, json: body)

    #expect(response.status == 400)
    #expect(try (response.object["errors"] as? [Any])?.count == 100)
    #expect(try (response.object["detail"] as? String)?.hasSuffix("; there may be more") == true)
  }

  /// The number of tags is bounded by the size of the body alone, and the work by their number.
  @Test func conditionsOnManyTagsAreEvaluated() async throws {
    let driver = try await driver()
    let tags = (0..<20_000).map { #","tag.x\#($0)":1"# }.joined()
    let values = (10..<20_000).map { "\($0)," }.joined()

    let none = try await driver.send(.POST, Self.path, json: #"{"tag.n":5\#(tags)}"#)
    let some = try await driver.send(.POST, Self.path, json: #"{"tag.n":[\#(values)5],"limit":1000}"#)

    #expect(none.status == 200 && none.text == "[]")
    #expect(try Set(some.names) == Set((10..<100).map { "E\($0)" } + ["E5"]))
  }

  /// A text is bounded by its size, an object by its vertices and the size of the body.
  @Test(arguments: [
    ("within", "POLYGON((POSITIONS))", #"{"type":"Polygon","coordinates":[[POSITIONS]]}"#),
    ("route", "LINESTRING(POSITIONS)", #"{"type":"LineString","coordinates":[POSITIONS]}"#),
    (
      "filter", "S_INTERSECTS(geometry,MULTIPOINT(POSITIONS))",
      #"{"op":"s_intersects","args":[{"property":"geometry"},{"type":"MultiPoint","coordinates":[POSITIONS]}]}"#
    ),
  ])
  func objectsMayBeLongerThanTexts(member: String, text: String, object: String) async throws {
    let driver = try await driver()
    func send(vertices: Int, isText: Bool) async throws -> ServiceDriver.Response {
      let start = "16.345678901 48.123456789"
      let positions = [start] + (2..<vertices).map { "16.\(100_000_000 + $0) 48.3" } + [start]
      let list = isText ? positions : positions.map { "[\($0.replacing(" ", with: ","))]" }
      let value = (isText ? "\"\(text)\"" : object).replacing("POSITIONS", with: list.joined(separator: ","))
      return try await driver.send(
        .POST, Self.path, json: #"{"\#(member)":\#(value)\#(member == "route" ? #","radius":1"# : "")}"#)
    }

    let shortText = try await send(vertices: 1_000, isText: true)
    let longText = try await send(vertices: 2_000, isText: true)
    let longObject = try await send(vertices: 10_000, isText: false)
    let longestObject = try await send(vertices: 10_001, isText: false)

    #expect(shortText.status == 200, "\(shortText.text)")
    #expect(longText.status == 400 && longText.text.contains("expected at most 32768 bytes"), "\(longText.text)")
    #expect(longObject.status == 200, "\(longObject.text)")
    #expect(
      longestObject.status == 400 && longestObject.text.contains("expected at most 10000 vertices"),
      "\(longestObject.text)")
  }

  @Test func bodiesThatAreNoObjectsAreRejected() async throws {
    let driver = try await driver()

    #expect(try await driver.send(.POST, Self.path, json: "[]").status == 400)
    #expect(try await driver.send(.POST, Self.path, json: "{").status == 400)
    #expect(try await driver.send(.POST, Self.path, json: String(repeating: "[", count: 100_000)).status == 400)
    #expect(
      try await driver.send(.POST, Self.path, headers: ["content-type": "text/plain"], json: "{}").status
        == 415)
    let query = try await driver.send(.POST, Self.path + "?limit=5", json: "{}")
    #expect(query.status == 400 && query.text.contains(#""parameter":"limit""#), "\(query.text)")
    let both = try await driver.send(.POST, Self.path + "?f=json", json: #"{"f":"geojson"}"#)
    #expect(both.status == 400 && both.text.contains(#""pointer":"/f""#), "\(both.text)")
  }
}
