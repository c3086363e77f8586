import Basics
import Geo
import JSONText
import PointFormats
import Points
import Testing

/// Tests of rows whose position follows from a geometry that is no point, or from a member of it.
@Suite struct GeometryTests {
  private static let square = #"{"type":"Polygon","coordinates":[[[10,50],[12,50],[12,52],[10,52],[10,50]]]}"#

  @Test(arguments: [PointFormat.json, .geoJSON, .geoJSONSequence, .ndjson])
  func anAreaIsAPlaceInside(format: PointFormat) throws {
    let feature = #"{"type":"Feature","geometry":\#(Self.square),"properties":{"name":"A"}}"#

    let row = try #require(Parsed(feature, format).rows.first)

    #expect(abs(row.draft.coordinate.latitude - 51) < 1 && abs(row.draft.coordinate.longitude - 11) < 1)
  }

  @Test(arguments: [
    // The middle by length, and of several lines that of the longest.
    (#"{"type":"LineString","coordinates":[[10,50],[10.01,50],[10.016,50]]}"#, 10.008),
    (#"{"type":"MultiLineString","coordinates":[[[9,50],[9.001,50]],[[10,50],[10.004,50]]]}"#, 10.002),
    // A segment of 143 km, whose middle on a map is 478 m off the shortest way: the position is its end.
    (#"{"type":"LineString","coordinates":[[10,50],[12,50]]}"#, 10),
    (#"{"type":"MultiPoint","coordinates":[[11,50],[0,0]]}"#, 11),
    (#"{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[11,50]}]}"#, 11),
  ])
  func otherGeometriesHaveAPosition(geometry: String, longitude: Double) throws {
    let row = try #require(
      Parsed(#"{"type":"Feature","geometry":\#(geometry),"properties":{"name":"A"}}"#, .geoJSON).rows.first)

    #expect(row.draft.coordinate.latitude == 50)
    #expect(abs(row.draft.coordinate.longitude - longitude) < 1e-9)
  }

  @Test func rowsWithANullGeometryAreSkippedAndCounted() async throws {
    let feature = #"{"type":"Feature","geometry":null,"properties":{"name":"A"}}"#
    let point = #"{"type":"Feature","geometry":{"type":"Point","coordinates":[2,1.5]},"properties":{"name":"B"}}"#
    let notes = ImportNotes()
    let text = [feature, point, #"{"name":"C","geometry":null}"#, feature].joined(separator: "\n")

    var names: [Int: String] = [:]
    for try await batch in PointFileReader(
      [Array(text.utf8)].async, parser: PointParser(format: .ndjson), notes: notes,
      onRejection: { Issue.record("\($0)") })
    {
      for row in batch { names[row.number] = row.draft.name }
    }

    #expect(names == [2: "B"])
    #expect(notes.warnings == ["3 rows were skipped, as the geometry is null"])
  }

  @Test(arguments: [
    #"{"geometry":{"type":"Point","coordinates":[2,1]},"name":"A","k":"v"}"#,
    #"{"name":"A","geometry":"POINT (2 1)","k":"v"}"#, #"{"name":"A","k":"v","geometry":"SRID=4326;POINT(2 1)"}"#,
  ])
  func aMemberWithAGeometryIsThePositionOfAnObject(text: String) throws {
    for format in [PointFormat.ndjson, .json] {
      let row = try #require(Parsed(format == .json ? "[\(text)]" : text, format).rows.first)

      #expect(row.draft.coordinate.latitude == 1 && row.draft.coordinate.longitude == 2)
      #expect(row.draft.tags.dictionary == ["k": "v"])
    }
  }

  @Test func aGeometryBesideCoordinatesIsATag() throws {
    let row = try #require(Parsed(#"{"geometry":"POINT (3 4)","name":"A","lat":1,"long":2}"#, .ndjson).rows.first)

    #expect(row.draft.coordinate.latitude == 1 && row.draft.tags.dictionary == ["geometry": "POINT (3 4)"])
  }

  @Test func onePlaceByItselfMustBeAPoint() {
    let square = #"{"type":"Feature","geometry":\#(Self.square),"properties":{"name":"A"}}"#
    #expect(throws: PointDocument.Failure.self) { try PointDocument(square.utf8, form: .feature) }
    let null = #"{"type":"Feature","geometry":null,"properties":{"name":"A"}}"#
    #expect(throws: PointDocument.Failure.self) { try PointDocument(null.utf8, form: .feature) }
  }
}
