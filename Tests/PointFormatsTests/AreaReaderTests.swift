import Geo
import Points
import Testing

@testable import PointFormats

@Suite struct AreaReaderTests {
  private static let ring = "[[16,48],[17,48.5],[17.25e0,49],[16,48]]"

  private static func feature(_ name: String, _ coordinates: String = "[\(ring)]", type: String = "Polygon") -> String {
    #"{"type":"Feature","id":7,"geometry":{"type":"\#(type)","coordinates":\#(coordinates)},"#
      + #""properties":{"name":"\#(name)","note":"a \"[{ \\"}}"#
  }

  private static func rows(_ text: String, _ format: PointFormat, chunk: Int = .max) throws -> AreaRows {
    var rows = AreaRows(options: try RowOptions(source: "s"))
    var splitter = try AreaSplitter(format: format)
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let part = Array(rest.prefix(chunk))
      rest = rest.dropFirst(chunk)
      for area in try part.withUnsafeBufferPointer({ try splitter.areas(in: $0) }) { rows.append(area) }
    }
    for area in try splitter.end() { rows.append(area) }
    return rows
  }

  private static let collection =
    "\u{FEFF}{ \"type\" : \"FeatureCollection\",\n \"bbox\": [1, 2],\n \"features\" : [\n  "
    + [
      feature("A"), feature("B", "[ \(ring) , [ [16.1,48.2],\t[16.2,48.2],[16.2,48.3],[16.1,48.2] ] ]"),
      feature("C", "[[\(ring)]]", type: "MultiPolygon"), feature("D", "[[[16,48],[17,\"x\"]]]"),
      feature("E", "[[16 48]]"), "7", feature("F", "[[[1,2],[3,4],[1,2]]]"),
    ].joined(separator: " ,\n  ") + "\n ],\n \"crs\": { \"coordinates\": [1] } }\n"

  @Test(arguments: [1, 2, 3, 7, 64, .max])
  func areasOfACollectionAreTheSameInChunksOfAnyLength(chunk: Int) throws {
    let rows = try Self.rows(Self.collection, .geoJSON, chunk: chunk)

    #expect(rows.rows.map(\.draft.name) == ["A", "B", "C"])
    #expect(rows.rows.map(\.draft.outline.positionCount) == [3, 6, 3])
    #expect(rows.rows.map(\.draft.outline.isMultiple) == [false, false, true])
    #expect(rows.rows.map(\.number) == [1, 2, 3] && rows.lastRow == 7)
    #expect(rows.rows[0].draft.tags["note"] == #"a "[{ \"#)
    #expect(rows.rows[0].draft.origin?.sourceID == "7")
    let details = rows.report.rejections.map(\.detail)
    #expect(rows.report.rejections.map(\.number) == [4, 5, 6, 7])
    #expect(details[0].hasPrefix("/geometry/coordinates/0/1 must be a longitude"), "\(details)")
    #expect(details[1].contains("not valid JSON"), "\(details)")
    #expect(details[2].contains("must be an object"), "\(details)")
    #expect(details[3].hasPrefix("/geometry/coordinates/0 must be a ring of at least four"), "\(details)")
  }

  @Test(arguments: [1, 5, .max])
  func linesAndSequencesAreTheSameInChunksOfAnyLength(chunk: Int) throws {
    let object = #"{"name":"O","id":"1","geometry":{"type":"Polygon","coordinates":[\#(Self.ring)]}}"#
    let lines = [Self.feature("A"), "", "  ", "no JSON", "{\"name\":[}", object + " x", object].joined(separator: "\n")
    let sequence = "\u{1E}" + Self.feature("A") + "\n\u{1E}{\n\"name\":" + object.dropFirst(8) + "\n"

    let ofLines = try Self.rows(lines, .ndjson, chunk: chunk)
    let ofSequence = try Self.rows(sequence, .geoJSONSequence, chunk: chunk)

    #expect(ofLines.rows.map(\.draft.name) == ["A", "O"] && ofLines.report.rejected == 3)
    #expect(ofSequence.rows.map(\.draft.name) == ["A", "O"] && ofSequence.report.rejected == 0)
  }

  @Test(arguments: [
    "", "7", "[", "{", "[{]", "{\"features\":[}", "{\"features\":[]", "[] x", "[1,]", "{\"a\":}", "[,]",
  ])
  func textThatIsNotJSONIsAnError(text: String) {
    for chunk in [1, .max] {
      #expect(throws: FormatError.self) { _ = try Self.rows(text, .geoJSON, chunk: chunk) }
    }
  }

  @Test func positionsAreReadWithoutTheirText() throws {
    let positions = (0..<50_000).map { "[\(16 + Double($0) / 1e6),\(48 + Double($0 % 7) / 1e6)]" }
    let text = Self.feature("Long", "[[" + (positions + positions.prefix(1)).joined(separator: " ,\n    ") + "]]")
    var splitter = try AreaSplitter(format: .geoJSON)

    let areas = try Array(text.utf8).withUnsafeBufferPointer { try splitter.areas(in: $0) }

    let area = try #require(areas.first)
    #expect(area.positionCount == 50_001)
    #expect(area.json.count < 200)
  }

  @Test func longTextBesideThePositionsAndTooManyPositionsAreRejected() throws {
    let long = Self.feature(String(repeating: "x", count: AreaSplitter.maximumTextBytes))
    let positions = String(repeating: "[1,2],", count: 1_000_001)
    let many = Self.feature("Many", "[[\(positions)[1,2]]]")

    let rows = try Self.rows("[\(long),\(Self.feature("A")),\(many),\(Self.feature("B"))]", .json)

    #expect(rows.rows.map(\.draft.name) == ["A", "B"])
    #expect(rows.report.rejections.map(\.number) == [1, 3])
    #expect(rows.report.rejections[0].detail.contains("longer than"))
    #expect(rows.report.rejections[1].detail.contains("at most 1000000 positions"))
  }
}
