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

@Suite struct ShapeTests {
  /// A hundred places on the equator, a hundredth of a degree apart.
  private func driver(timeLimit: Duration = .seconds(600)) async throws -> ServiceDriver {
    let places = try (0..<100).map { number in
      try PointDraft.at(
        0, Double(number) / 100, name: "E\(number)", category: number.isMultiple(of: 2) ? "even" : "odd",
        tags: ["n": "\(number)", "list": "a;b"], sourceID: "\(number)")
    }
    let queryables = Queryables(types: ["n": .integer, "list": .stringArray])
    return try await ServiceDriver(places: places, filtering: Filtering(queryables: queryables, timeLimit: timeLimit))
  }

  private func target(_ parameters: KeyValuePairs<String, String>, path: String = "/locations") -> String {
    path + "?"
      + parameters.map { name, value in
        "\(name)=\(value.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")"
      }.joined(separator: "&")
  }

  private static let triangle = "POLYGON((0.005 -1, 0.035 -1, 0.02 1, 0.005 -1))"
  private static let triangleJSON =
    #"{"type":"Polygon","coordinates":[[[0.005,-1],[0.035,-1],[0.02,1],[0.005,-1]]]}"#

  // MARK: Areas

  @Test(arguments: [triangle, triangleJSON, #"{"type":"Feature","properties":null,"geometry":\#(triangleJSON)}"#])
  func placesWithinAPolygonAreFound(area: String) async throws {
    let driver = try await driver()

    #expect(try await Set(driver.send(.GET, target(["within": area])).names) == ["E2"])
    #expect(try await driver.send(.GET, target(["within": area, "lat": "0", "long": "0"])).names == ["E2"])
    #expect(try await driver.send(.GET, target(["within": area, "q": "e2"])).names == ["E2"])
    #expect(
      try await driver.send(.GET, target(["within": area, "q": "e"], path: "/locations/suggest")).text.contains("E2"))
  }

  @Test func holesPartsAndOtherFiltersCompose() async throws {
    let driver = try await driver()
    let area =
      "MULTIPOLYGON(((0.005 -1, 0.095 -1, 0.095 1, 0.005 1, 0.005 -1), (0.025 -0.5, 0.065 -0.5, 0.065 0.5, 0.025 0.5, 0.025 -0.5)), ((0.295 -1, 0.325 -1, 0.325 1, 0.295 1, 0.295 -1)))"

    let response = try await driver.send(
      .GET, target(["within": area, "category": "even", "filter": "n > 2", "lat": "0", "long": "1", "limit": "3"]))

    #expect(try response.names == ["E32", "E30", "E8"])
  }

  @Test(arguments: [
    ("POINT(1 2)", "expected a polygon or a multipolygon"),
    ("POLYGON((0 0, 1 1, 0 0))", "at character 9: expected at least 4 positions in a ring"),
    ("POLYGON((0 0, 1 0, 1 1, 0 1))", "at character 9: expected a ring to end at its first position"),
    (
      "POLYGON((0 0, 1 0, 1 100, 0 0))",
      "expected a longitude from -180 to 180 and a latitude from -90 to 90, got 1.0 100.0"
    ),
    (
      "POLYGON((0 0, 180 0, 90 45, 0 0))",
      "expected a position between (0.0 0.0) and (180.0 0.0), which are nearly antipodal"
    ),
    ("POLYGON((0 0, 0 0, 1 1, 0 0))", "expected at least three positions that differ in a ring, and two in a line"),
    ("POLYGON((0 0, 1 0, 1 1, 0 0)) x", "at character 31: expected the end of the geometry"),
    ("", "at character 1: expected a geometry such as POLYGON((...))"), ("{}", "expected a geometry"),
    (#"{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,"x"],[0,0]]]}"#, "at /coordinates/0/2"),
  ])
  func textThatIsNoAreaIsRejectedWithWhatWasExpected(area: String, reason: String) async throws {
    let response = try await driver().send(.GET, target(["within": area]))

    #expect(response.status == 400)
    #expect(response.text.contains(reason), "\(response.text)")
    #expect(response.text.contains(#""parameter":"within""#))
  }

  @Test func verticesAndLengthsAreLimited() async throws {
    let driver = try await driver()
    let many = (0...10_000).map { "[\(Double($0) / 100),0]" }.joined(separator: ",")
    let body = #"{"within":{"type":"Polygon","coordinates":[[\#(many),[0,0]]]}}"#
    let long = "POLYGON((0 0, 1 0, 1 1, 0 0" + String(repeating: " ", count: 33_000) + "))"

    let response = try await driver.send(.POST, "/locations/search", json: body)
    #expect(response.status == 400)
    #expect(response.text.contains("expected at most 10000 vertices"), "\(response.text)")
    #expect(try await driver.send(.GET, target(["within": long])).text.contains("expected at most 32768 bytes"))
    #expect(
      try await driver.send(.GET, target(["route": String(repeating: "?", count: 20_004), "radius": "1"])).text
        .contains("expected at most 10000 positions"))
  }

  @Test func searchInAnAreaIsEndedAtTheTimeLimit() async throws {
    let driver = try await driver(timeLimit: .zero)
    let zigzag = (0..<1_400).map { $0.isMultiple(of: 2) ? "[-0.05,-0.1]" : "[1.05,0.1]" }.joined(separator: ",")
    let body = #"{"within":{"type":"Polygon","coordinates":[[\#(zigzag),[0,9],[-0.05,-0.1]]]}}"#

    let response = try await driver.send(.POST, "/locations/search", json: body)

    #expect(response.status == 503)
    #expect(response.text.contains("filter-timeout"))
  }

  // MARK: Routes

  @Test func placesAlongARouteAreInItsOrderOnPages() async throws {
    let driver = try await driver()
    var (names, next): ([String], String?) = (
      [], target(["route": "LINESTRING(0.405 0.01, 0.295 0, 0.3 0.1, 0.1 0)", "radius": "1200", "limit": "4"])
    )
    while let page = next {
      let response = try await driver.send(.GET, page)
      names += try response.names
      next = response.next
    }

    let expected = ((30...40).reversed().map { "E\($0)" }) + ["E29"]
    #expect(Array(names.prefix(12)) == expected, "\(names)")
    #expect(names.last == "E10" || names.last == "E9", "\(names)")
    #expect(Set(names).count == names.count)
  }

  @Test func distancesFromAndAlongTheRouteAreGiven() async throws {
    let driver = try await driver()
    let route = target(["route": "LINESTRING(0 0.001, 1 0.001)", "radius": "111", "limit": "2", "category": "odd"])

    let json = try await driver.send(.GET, route)
    let csv = try await driver.send(.GET, route + "&f=csv&fields=name,distance,alongMetres")
    let geoJSON = try await driver.send(.GET, route + "&f=geojson")

    #expect(json.text.contains(#""distance":110.6,"alongMetres":1113.2"#), "\(json.text)")
    #expect(csv.text.hasPrefix("name,distance,alongMetres\r\nE1,110.6,1113.2\r\n"), "\(csv.text)")
    #expect(geoJSON.text.contains(#""alongMetres":1113.2"#), "\(geoJSON.text)")
    #expect(
      try await driver.send(.GET, target(["route": "LINESTRING(0 0.001, 1 0.001)", "radius": "110"])).names == [])
  }

  @Test func polylinesAndOtherSearchesTakeRoutes() async throws {
    let driver = try await driver()
    // (0, 0) and (0, 0.05).
    #expect(
      try await driver.send(.GET, target(["route": "???owH", "radius": "1"])).names == [
        "E0", "E1", "E2", "E3", "E4", "E5",
      ])
    #expect(try await driver.send(.GET, target(["route": "???owH", "radius": "1", "q": "e3"])).names == ["E3"])
  }

  @Test(
    arguments: [
      (["route": "LINESTRING(0 0, 1 1)"], "radius must be given if route is given"),
      (["route": "LINESTRING(0 0, 1 1)", "radius": "1000001"], "radius must be at most 1000000 metres"),
      (
        ["route": "LINESTRING(0 0, 1 1)", "radius": "1", "lat": "1", "long": "1"],
        "lat must not be given if route is given"
      ),
      (["route": "LINESTRING(0 0, 0 0)", "radius": "1"], "expected at least three positions"),
      (["route": "LINESTRING(0 0)", "radius": "1"], "at character 11: expected at least 2 positions in a line"),
      (["route": "_p~iF", "radius": "1"], "at character 6: expected a longitude"),
      (["route": "POINT(1 1)", "radius": "1"], "expected a line string"),
    ] as [([String: String], String)])
  func textThatIsNoRouteIsRejected(parameters: [String: String], reason: String) async throws {
    let target =
      "/locations?"
      + parameters.map { name, value in
        "\(name)=\(value.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")"
      }.joined(separator: "&")

    let response = try await driver().send(.GET, target)

    #expect(response.status == 400)
    #expect(response.text.contains(reason), "\(response.text)")
  }
}
