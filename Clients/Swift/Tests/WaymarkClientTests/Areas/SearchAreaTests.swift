import Foundation
import Testing

@testable import WaymarkClient

@Suite struct SearchAreaTests {
  private let triangle: [Coordinate]
  private let hole: [Coordinate]

  init() throws {
    triangle = try [(0, 0), (10, 0), (0, 10.5)].map { try Coordinate(latitude: $0.1, longitude: $0.0) }
    hole = try [(1, 1), (2, 1), (1, 2)].map { try Coordinate(latitude: $0.1, longitude: $0.0) }
  }

  @Test func ringsAreClosedInTheText() throws {
    let area = try SearchArea(triangle, holes: [hole + [hole[0]]])

    #expect(
      area.wkt == "POLYGON((0.0 0.0,10.0 0.0,0.0 10.5,0.0 0.0),(1.0 1.0,2.0 1.0,1.0 2.0,1.0 1.0))")
    #expect(area.polygons == [try SearchArea.Polygon(triangle, holes: [hole])])
  }

  @Test func severalPolygonsAreAMultipolygon() throws {
    let area = try SearchArea(polygons: [SearchArea.Polygon(triangle), SearchArea.Polygon(hole)])

    #expect(
      area.wkt == "MULTIPOLYGON(((0.0 0.0,10.0 0.0,0.0 10.5,0.0 0.0)),((1.0 1.0,2.0 1.0,1.0 2.0,1.0 1.0)))")
    #expect(
      String(decoding: try ServiceJSON.data(of: area.geoJSON), as: UTF8.self)
        == #"{"coordinates":[[[[0,0],[10,0],[0,10.5],[0,0]]],[[[1,1],[2,1],[1,2],[1,1]]]],"type":"MultiPolygon"}"#)
  }

  @Test func fewerThanThreeVerticesAreRejected() throws {
    let (first, second) = (triangle[0], triangle[1])

    #expect(throws: RequestError.tooFewPositions) { try SearchArea([]) }
    #expect(throws: RequestError.tooFewPositions) { try SearchArea([first, second]) }
    #expect(throws: RequestError.tooFewPositions) { try SearchArea([first, second, first, second, first]) }
    #expect(throws: RequestError.tooFewPositions) { try SearchArea(triangle, holes: [[first, second]]) }
    #expect(throws: RequestError.tooFewPositions) { try SearchArea(polygons: []) }
  }

  @Test(arguments: [
    "POLYGON((0 0,10 0,0 10.5,0 0),(1 1,2 1,1 2,1 1))",
    " polygon z ( ( 0 0 5 , 1e1 0 5,\n+0.0 10.5 5, -0 0 5) ,( 1 1 1,2 1 1,1 2 1,1 1 1)) ",
    "MultiPolygon(((0 0,10 0,0 10.5,0 0),(1 1,2 1,1 2,1 1)))",
  ])
  func wktIsParsed(text: String) throws {
    #expect(try SearchArea(wkt: text) == SearchArea(triangle, holes: [hole]))
  }

  @Test(arguments: [
    #"{"type":"Polygon","coordinates":[[[0,0],[10,0],[0,10.5],[0,0]],[[1,1],[2,1],[1,2],[1,1]]]}"#,
    #"{"type":"MultiPolygon","coordinates":[[[[0,0,7],[10,0,7],[0,10.5,7],[0,0,7]],[[1,1],[2,1],[1,2],[1,1]]]]}"#,
    """
    {"type":"Feature","properties":null,"geometry":
    {"type":"Polygon","coordinates":[[[0,0],[10,0],[0,10.5],[0,0]],[[1,1],[2,1],[1,2],[1,1]]]}}
    """,
    """
    {"type":"FeatureCollection","features":[{"type":"Feature","properties":{},"geometry":
    {"type":"Polygon","coordinates":[[[0,0],[10,0],[0,10.5],[0,0]],[[1,1],[2,1],[1,2],[1,1]]]}}]}
    """,
  ])
  func geoJSONIsParsed(text: String) throws {
    #expect(try SearchArea(geoJSON: text) == SearchArea(triangle, holes: [hole]))
  }

  @Test(arguments: [
    "", "POINT(1 2)", "POLYGON", "POLYGON EMPTY", "POLYGON()", "POLYGON(())", "POLYGON((0 0,10 0,0 10,0 0)",
    "POLYGON((0 0,10 0,0 10,0 0)) x", "POLYGON((0 0,10 0,0 10,1 1))", "POLYGON((0 0,10 0,0 0))",
    "POLYGON((0 0,10,0 0))",
    "POLYGON((0 0,x 0,0 10,0 0))", "POLYGON((0 0 0 0 0,10 0,0 10,0 0))", "MULTIPOLYGON((0 0,10 0,0 10,0 0))",
    "POLYGON((0 0,nan 0,0 10,0 0))", "POLYGONZZ((0 0,10 0,0 10,0 0))", "{}",
  ])
  func malformedWKTIsRejected(text: String) {
    let error = #expect(throws: RequestError.self) { try SearchArea(wkt: text) }
    guard case .invalidGeometry(let reason)? = error else {
      Issue.record("\(error as Any)")
      return
    }
    #expect(!reason.isEmpty)
  }

  @Test(arguments: [
    "", "[]", "{}", #"{"type":"Point","coordinates":[1,2]}"#, #"{"type":"Polygon","coordinates":[]}"#,
    #"{"type":"Polygon","coordinates":[[]]}"#, #"{"type":"Polygon","coordinates":[[[0],[1],[2],[0]]]}"#,
    #"{"type":"Polygon","coordinates":[[[0,0],[10,0],[0,10]]]}"#, #"{"type":"MultiPolygon","coordinates":[]}"#,
    #"{"type":"Polygon","coordinates":[[["0",0],[10,0],[0,10],["0",0]]]}"#, #"{"type":"Feature","geometry":null}"#,
    #"{"type":"FeatureCollection","features":[]}"#,
  ])
  func malformedGeoJSONIsRejected(text: String) {
    let error = #expect(throws: RequestError.self) { try SearchArea(geoJSON: text) }
    guard case .invalidGeometry? = error else {
      Issue.record("\(error as Any)")
      return
    }
  }

  @Test func deeplyNestedGeoJSONIsRejected() {
    let depth = 100_000
    let features = String(repeating: #"{"type":"FeatureCollection","features":["#, count: depth)

    #expect(throws: RequestError.self) { try SearchArea(geoJSON: features) }
    #expect(throws: RequestError.self) {
      try SearchArea(geoJSON: features + String(repeating: "]}", count: depth))
    }
  }

  @Test func coordinatesOutOfRangeAreRejected() {
    #expect(throws: RequestError.invalidCoordinate) {
      try SearchArea(wkt: "POLYGON((0 0,181 0,0 10,0 0))")
    }
    #expect(throws: RequestError.invalidCoordinate) {
      try SearchArea(geoJSON: #"{"type":"Polygon","coordinates":[[[0,0],[1,91],[0,10],[0,0]]]}"#)
    }
  }

  @Test func textOfAnyAreaIsParsedToTheSameArea() throws {
    var generator = SeededGenerator(seed: 1)
    for _ in 0..<200 {
      func ring() throws -> [Coordinate] {
        try (0..<Int.random(in: 3...8, using: &generator)).map { _ in
          let scale: Double = [1, 1e-5, 1e-12].randomElement(using: &generator) ?? 1
          return try Coordinate(
            latitude: .random(in: -90...90, using: &generator) * scale,
            longitude: .random(in: -180...180, using: &generator) * scale)
        }
      }
      let area = try SearchArea(
        polygons: (0..<Int.random(in: 1...3, using: &generator)).map { _ in
          try SearchArea.Polygon(ring(), holes: Int.random(in: 0...2, using: &generator) == 2 ? [ring()] : [])
        })
      let geoJSON = String(decoding: try ServiceJSON.data(of: area.geoJSON), as: UTF8.self)

      #expect(try SearchArea(wkt: area.wkt) == area)
      #expect(try SearchArea(geoJSON: geoJSON) == area)
    }
  }
}
