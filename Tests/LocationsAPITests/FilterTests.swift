import Basics
import CQL2
import Foundation
import HTTPServer
import JSONText
import MemoryStore
import NIOHTTP1
import Points
import ServiceTestSupport
import TestSupport
import Testing

@testable import LocationsAPI

@Suite struct FilterTests {
  /// A hundred places on the equator, a hundredth of a degree apart, that may be exported.
  private func driver(timeLimit: Duration = .seconds(600)) async throws -> ServiceDriver {
    let places = try (0..<100).map { number in
      try PointDraft.at(
        0, Double(number) / 100, name: "E\(number)", category: number.isMultiple(of: 2) ? "even" : "odd",
        tags: ["n": "\(number)", "name": "é", "list": "a;b", "odd \"key\"": "\(number % 3)"], sourceID: "\(number)")
    }
    let store = MemoryStore.countingFromOne()
    _ = try await store.load(
      AsyncStream([places.enumerated().map { ImportRow(number: $0.offset + 1, id: nil, draft: $0.element) }]))
    let queryables = Queryables(types: ["n": .integer, "list": .stringArray])
    return ServiceDriver(
      LocationsAPI(
        .init(
          service: PointsService(store: store),
          filtering: Filtering(queryables: queryables, timeLimit: timeLimit), version: "1.2.3")))
  }

  private func target(_ filter: String, _ rest: String = "") -> String {
    let allowed = CharacterSet.alphanumerics
    return "/locations?filter=\(filter.addingPercentEncoding(withAllowedCharacters: allowed) ?? "")\(rest)"
  }

  @Test(arguments: [
    ("name = 'E7'", ["E7"]), ("n < 3", ["E0", "E1", "E2"]), ("n > 97 AND category = 'odd'", ["E99"]),
    ("name IN ('E5', 'E6') AND NOT category = 'odd'", ["E6"]), ("tag.name = 'é' AND n = 4", ["E4"]),
    ("tag.n = 4", ["E4"]), ("a_contains(list, ('b')) AND n = 8", ["E8"]),
    ("\"odd \"\"key\"\"\" = '1' AND n < 5", ["E1", "E4"]),
    ("s_intersects(geometry, bbox(0.005, -1, 0.025, 1))", ["E1", "E2"]), ("long BETWEEN 0.01 AND 0.02", ["E1", "E2"]),
    ("sourceId = '31'", ["E31"]), ("nothing = 'x'", []), ("accenti(tag.name) = 'e' AND n = 1", ["E1"]),
    ("TRUE AND n = 3", ["E3"]),
  ])
  func placesAreFilteredByTheirProperties(filter: String, names: [String]) async throws {
    let driver = try await driver()

    let byDistance = try await driver.send(.GET, target(filter, "&lat=0&long=-1"))
    let byID = try await driver.send(.GET, target(filter, "&fields=*"))

    #expect(try byDistance.names == names, "\(byDistance.text)")
    #expect(try Set(byID.names) == Set(names))
  }

  @Test func filterComposesWithEveryOtherFilter() async throws {
    let driver = try await driver()

    let response = try await driver.send(
      .GET, target("n > 10", "&lat=0&long=0.2&radius=20000&bbox=0,-1,0.15,1&category=odd&tag.n=13&tag.n=15&tag.n=17"))

    #expect(try response.names == ["E15", "E13"], "\(response.text)")
  }

  @Test func tagsAreFilteredByTheirTypes() async throws {
    let driver = try await driver()

    #expect(try await driver.send(.GET, "/locations?tag.n=07.0").names == ["E7"])
    #expect(try await driver.send(.GET, "/locations?tag.list=b&tag.list=x&tag.n=3").names == ["E3"])
    #expect(try await driver.send(.GET, "/locations?tag.name=%C3%A9&tag.n=3").names == ["E3"])
    #expect(try await driver.send(.GET, "/locations?tag.name=e&tag.n=3").names == [])
    #expect(try await driver.send(.GET, "/locations?tag.odd%20%22key%22=2&limit=1000").names.count == 33)
  }

  @Test func jsonAndTheFormerNameOfTheTextAreAccepted() async throws {
    let driver = try await driver()
    let json = #"{"op":"and","args":[{"op":"=","args":[{"property":"n"},5]},true]}"#

    #expect(try await driver.send(.GET, target(json, "&filter-lang=cql2-json")).names == ["E5"])
    #expect(try await driver.send(.GET, target("n = 5", "&filter-lang=cql2-text")).names == ["E5"])
    #expect(try await driver.send(.GET, target("n = 5", "&filter-lang=cql-text")).names == ["E5"])
  }

  @Test func pagesOfAFilterHaveEveryMatchOnce() async throws {
    let driver = try await driver()
    for order in ["", "&lat=0&long=0.5"] {
      var names: [String] = []
      var next: String? = target("n % 3 = 0", "&limit=4\(order)")
      while let target = next {
        let response = try await driver.send(.GET, target)
        names += try response.names
        next = response.headers["link"].first.flatMap { $0.firstMatch(of: /<(\?[^>]*)>/).map { "/locations\($0.1)" } }
      }
      #expect(names.count == 34)
      #expect(Set(names) == Set(stride(from: 0, to: 100, by: 3).map { "E\($0)" }))
    }
  }

  /// The conditions on names and remainders examine all places; an export has no time limit.
  @Test(arguments: [
    ("name LIKE 'E_5'", "", 9), ("n % 3 = 0", "", 34), ("n % 3 = 0 OR name = 'E1'", "", 35),
    ("name LIKE 'E_5'", "&category=odd&bbox=0,-1,0.5,1", 4), ("name = 'none'", "", 0),
  ])
  func exportHasThePlacesOfAFilterThatNoIndexKnows(filter: String, rest: String, count: Int) async throws {
    let driver = try await driver(timeLimit: .seconds(-1))

    let response = try await driver.send(
      .GET, target(filter, rest).replacing("/locations?", with: "/locations/export?f=ndjson&"))

    #expect(response.status == 200)
    #expect(response.text.split(separator: "\n").count == count, "\(response.text)")
  }

  @Test func cursorOfAnotherFilterIsRejected() async throws {
    let driver = try await driver()
    let first = try await driver.send(.GET, target("n > 3", "&limit=2"))
    let link = try #require(first.headers["link"].first)
    let cursor = try #require(link.firstMatch(of: /cursor=([^&>]*)/)).1

    #expect(try await driver.send(.GET, target("n > 3", "&limit=2&cursor=\(cursor)")).status == 200)
    #expect(try await driver.send(.GET, target("n > 4", "&limit=2&cursor=\(cursor)")).status == 400)
    #expect(try await driver.send(.GET, "/locations?limit=2&cursor=\(cursor)").status == 400)
    #expect(try await driver.send(.GET, target("n > 3", "&limit=2&tag.n=9&cursor=\(cursor)")).status == 400)
  }

  @Test(arguments: [
    ("name", "", "filter", "is not a filter in cql2-text, at character 5: expected a comparison operator"),
    ("name = ", "", "filter", "at character 8: expected a property"),
    ("{}", "&filter-lang=cql2-json", "filter", "is not a filter in cql2-json, expected an object"),
    (#"{"op":"="}"#, "&filter-lang=cql2-json", "filter", "expected a member args"),
    ("n = 'x'", "", "filter", "cannot be evaluated: \"n\" is a number, and cannot be compared with 'x'"),
    ("name = 1", "", "filter", "cannot be evaluated"), ("avg(n) = 1", "", "filter", "the function 'avg'"),
    ("n = 1", "&filter-lang=sql", "filter-lang", "must be one of cql2-text, cql2-json, cql-text"),
    ("n = 1", "&filter=n", "filter", "must not be repeated"),
    ("n = 1", "&tag.n=x", "tag.n", "must be a value of the type integer, got 'x'"),
    ("n = 1", "&tag.=x", "tag.", "is not a parameter of this call"),
  ])
  func errorNamesTheParameterAndThePosition(
    filter: String, rest: String, parameter: String, detail: String
  ) async throws {
    let response = try await driver().send(.GET, target(filter, rest))

    #expect(response.status == 400)
    let errors = try #require(try response.object["errors"] as? [[String: String]])
    #expect(
      errors.contains { $0["parameter"] == parameter && $0["detail"]?.contains(detail) == true }, "\(response.text)")
  }

  @Test(arguments: FilterOperator.allCases.filter { $0.rawValue.hasPrefix("s_") })
  func relationOfTwoLiteralGeometriesIsRejected(relation: FilterOperator) async throws {
    let driver = try await driver()
    let text = "\(relation.rawValue)(POLYGON((0 0, 2 0, 2 2, 0 0)), BBOX(1, 1, 3, 3))"
    let polygon = #"{"type":"Polygon","coordinates":[[[0,0],[2,0],[2,2],[0,0]]]}"#
    let json = #"{"op":"\#(relation.rawValue)","args":[\#(polygon),{"bbox":[1,1,3,3]}]}"#

    let responses = [
      try await driver.send(.GET, target(text)),
      try await driver.send(.GET, target(json, "&filter-lang=cql2-json")),
      try await driver.send(.POST, "/locations/search", json: #"{"filter":"\#(text)"}"#),
      try await driver.send(.POST, "/locations/search", json: #"{"filter":\#(json)}"#),
    ]

    let reason =
      "one side of \(relation.rawValue.uppercased()) must be the place's geometry (the property geometry),"
      + " but both are literal geometries"
    for (response, location) in zip(
      responses, [("parameter", "filter"), ("parameter", "filter"), ("pointer", "/filter"), ("pointer", "/filter")])
    {
      #expect(response.status == 400)
      let errors = try #require(try response.object["errors"] as? [[String: String]])
      #expect(errors.map { $0[location.0] } == [location.1], "\(response.text)")
      #expect(errors.map { $0["detail"] } == ["cannot be evaluated: \(reason)"], "\(response.text)")
    }
  }

  @Test func languageWithoutAFilterIsAnError() async throws {
    let response = try await driver().send(.GET, "/locations?filter-lang=cql2-text")

    #expect(response.status == 400)
    #expect(response.text.contains("missing-parameter"))
  }

  @Test func searchBeyondItsTimeLimitIsAProblemThatSaysSo() async throws {
    let driver = try await driver(timeLimit: .seconds(-1))
    for rest in ["", "&lat=0&long=0", "&fields=*", "&bbox=-1,-1,1,1"] {
      let response = try await driver.send(.GET, target("name = 'none'", rest))

      #expect(response.status == 503)
      #expect(response.headers["retry-after"] == ["10"])
      #expect(try response.object["code"] as? String == "filter-timeout")
    }
    // Few places are examined, which takes less time than reading a clock is worth.
    #expect(try await driver.send(.GET, target("s_equals(geometry, point(0.5 0))")).names == ["E50"])
  }

  @Test(arguments: [(PointStoreError.indexRequired, 501, "POINT_INDEX"), (.indexNotReady, 503, "not ready")])
  func missingIndexIsAProblemThatSaysSo(error: PointStoreError, status: Int, detail: String) async throws {
    let driver = ServiceDriver(store: StubStore(failing: error))

    let response = try await driver.send(.GET, target("name = 'x'", "&fields=*"))

    #expect(response.status == status)
    #expect(response.text.contains(detail))
  }
}
