import OpenStreetMap
import Testing

@Suite struct OSMAreaTests {
  private func area(_ text: String) throws -> OSMArea { try OSMArea(geoJSON: Array(text.utf8)) }

  private static let square = "[[0,0],[10,0],[10,10],[0,10],[0,0]]"
  private static let hole = "[[4,4],[6,4],[6,6],[4,6],[4,4]]"

  @Test(arguments: [
    #"{"type":"Polygon","coordinates":[\#(square),\#(hole)]}"#,
    #"{"type":"MultiPolygon","coordinates":[[[[20,20],[21,20],[21,21],[20,20]]],[\#(square),\#(hole)]]}"#,
    #"{"type":"Feature","properties":{},"geometry":{"type":"Polygon","coordinates":[\#(square),\#(hole)]}}"#,
    """
    {"type":"FeatureCollection","features":[{"type":"Feature","geometry":null},{"type":"Feature","geometry":
    {"type":"GeometryCollection","geometries":[{"type":"Polygon","coordinates":[\(square),\(hole)]}]}}]}
    """,
  ])
  func positionsInPolygonsAndOutsideHolesAreContained(text: String) throws {
    let area = try area(text)

    #expect(area.contains(OSMPosition(latitude: 2, longitude: 8)))
    #expect(!area.contains(OSMPosition(latitude: 5, longitude: 5)))
    #expect(!area.contains(OSMPosition(latitude: 5, longitude: 10.5)))
    #expect(!area.contains(OSMPosition(latitude: -1, longitude: 5)))
  }

  @Test(arguments: [
    ("{", "is not valid JSON"), ("[]", "contains no GeoJSON Polygon"),
    (#"{"type":"Point","coordinates":[1,2]}"#, "contains no GeoJSON Polygon"),
    (#"{"type":"Polygon"}"#, "an array of rings"), (#"{"type":"Polygon","coordinates":[]}"#, "an array of rings"),
    (#"{"type":"Polygon","coordinates":[[[0,0],[1,0],[0,0]]]}"#, "at least 4 positions"),
    (#"{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,1]]]}"#, "of which the last is the first"),
    (#"{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,91],[0,0]]]}"#, "a latitude from -90 to 90"),
    (#"{"type":"Polygon","coordinates":[[[0],[1],[2],[0]]]}"#, "a longitude from -180 to 180"),
  ])
  func otherTextsAreRejected(text: String, expected: String) {
    #expect { try area(text) } throws: { "\($0)".contains(expected) }
  }
}
