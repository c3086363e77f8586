import Foundation
import PointFormats
import Points
import Synchronization
import Testing
import TextFiles

@Suite struct RowLineTests {
  @Test(arguments: [1, 3, 64, .max])
  func rejectedNDJSONRowHasItsLine(chunkSize: Int) {
    let text = "\n\r\n{\"name\":\"A\",\"lat\":1,\"long\":2}\r\n\nx\ny\n"

    #expect(Parsed(text, .ndjson, chunkSize: chunkSize).lines == [2: 5, 3: 6])
  }

  @Test(arguments: ["\n", "\r\n", "\r"], [1, 2, 5, .max])
  func linesOfCSVAreCountedThroughQuotedFields(end: String, chunkSize: Int) {
    let text = ["name,lat,long", "\"A\nB\",1,2", "", "C,91,2", "\"open,1,2", "D,1"].joined(separator: end)

    #expect(Parsed(text, .csv, chunkSize: chunkSize).lines == [1: 2, 2: 5, 3: 6, 4: 7])
  }

  @Test(arguments: [1, 7, .max])
  func rejectedFeatureHasItsFirstLine(chunkSize: Int) {
    let text = """
      {
        "type": "FeatureCollection",
        "features": [
          {
            "type": "Feature"
          },
          7
        ]
      }
      """

    #expect(Parsed(text, .geoJSON, chunkSize: chunkSize).lines == [1: 4, 2: 7])
  }

  @Test(arguments: [1, 50, .max])
  func tooLongRowHasItsFirstLine(chunkSize: Int) {
    let long = #"{"type":"Feature","# + String(repeating: "\n", count: 300) + "}"
    let good = #"{"type":"Feature","geometry":{"type":"Point","coordinates":[2,1]},"properties":{"name":"B"}}"#

    let lines = Parsed(
      "x\n\(String(repeating: "y", count: 300))\nz", .ndjson, chunkSize: chunkSize, maximumRecordBytes: 99)
    let features = Parsed(
      "{\"features\":[\n\(long),\n\(good),\n7]}", .geoJSON, chunkSize: chunkSize, maximumRecordBytes: 99)

    #expect(lines.lines == [1: 1, 2: 2, 3: 3])
    #expect(features.lines == [1: 2, 3: 304])
  }

  @Test func rowRejectedByTheStoreHasItsFileAndLine() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "waymark-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let csv = folder.appending(path: "a.csv")
    try Data("name,lat,long\nA,1,2\n\n\"B\n\",1,2\nC,1,2\n".utf8).write(to: csv)
    let geoJSON = folder.appending(path: "b.geojson")
    let feature = #"{"type":"Feature","geometry":{"type":"Point","coordinates":[2,1]},"properties":{"name":"B"}}"#
    try Data("{\"features\":[\n\(feature),\n\(feature)]}".utf8).write(to: geoJSON)
    let notes = ImportNotes()

    let files = try [csv, geoJSON].map { try PointFiles.File(path: $0.path) }
    for try await _ in PointFiles(files, notes: notes, onRejection: { _ in }) {}

    func location(_ row: Int) -> RowLocation { notes.location(of: RejectedRow(number: row, detail: "")) }
    #expect(location(1) == RowLocation(file: csv.path, line: 2))
    #expect(location(3) == RowLocation(file: csv.path, line: 6))
    #expect(location(5) == RowLocation(file: geoJSON.path, line: 3, feature: 2))
    #expect(location(5).description == "\(geoJSON.path), feature 2, line 3")
  }

  @Test(arguments: [
    ("csv", "name,lat,long\n"), ("json", "[]"), ("ndjson", "\n"), ("geojsonseq", ""),
    ("geojson", #"{"type":"FeatureCollection","features":[]}"#),
  ])
  func fileWithoutRowsIsNoError(fileExtension: String, text: String) async throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "waymark-\(UUID().uuidString).\(fileExtension)")
    defer { try? FileManager.default.removeItem(at: file) }
    try Data(text.utf8).write(to: file)

    let places = PointFiles([try PointFiles.File(path: file.path)], requiresUsableRow: true, onRejection: { _ in })

    for try await batch in places { Issue.record("\(batch)") }
  }

  @Test func fileAllOfWhoseRowsAreInvalidIsAnErrorOnRequest() async throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "waymark-\(UUID().uuidString).ndjson")
    defer { try? FileManager.default.removeItem(at: file) }
    func read() async throws {
      let files = [try PointFiles.File(path: file.path)]
      for try await _ in PointFiles(files, requiresUsableRow: true, onRejection: { _ in }) {}
    }

    try Data("\n{}\n7\n".utf8).write(to: file)
    let error = await #expect(throws: FileError.self) { try await read() }
    try Data().write(to: file)
    try await read()
    try Data("{}\n{\"name\":\"A\",\"lat\":1,\"long\":2}".utf8).write(to: file)
    try await read()

    #expect(error?.reason.hasPrefix("all of its 2 rows are invalid; the first in line 2: /name is missing") == true)
  }
}

@Suite struct CoordinateSystemTests {
  private static func collection(_ crs: String) -> String {
    #"{"type":"FeatureCollection","crs":\#(crs),"features":[]}"#
  }

  @Test(arguments: [
    #"{"type":"name","properties":{"name":"urn:ogc:def:crs:OGC:1.3:CRS84"}}"#,
    #"{"type":"name","properties":{"name":"urn:ogc:def:crs:EPSG:6.18:4326"}}"#,
    #"{"type":"name","properties":{"name":"EPSG:4326"}}"#, #"{"type":"EPSG","properties":{"code":4326}}"#, "null",
  ])
  func coordinatesInWGS84AreAccepted(crs: String) {
    #expect(Parsed(Self.collection(crs), .geoJSON).error == nil)
  }

  @Test(arguments: [
    (#"{"type":"name","properties":{"name":"urn:ogc:def:crs:EPSG::3857"}}"#, "'urn:ogc:def:crs:EPSG::3857'"),
    (#"{"type":"EPSG","properties":{"code":25832}}"#, "'EPSG:25832'"),
    (#"{"type":"link","properties":{"href":"http://example.com/x.wkt"}}"#, "'http://example.com/x.wkt'"),
  ])
  func otherReferenceSystemIsRejectedByName(crs: String, name: String) throws {
    let error = try #require(Parsed(Self.collection(crs), .geoJSON, chunkSize: 9).error)
    let sequence = Parsed(#"{"type":"Feature","crs":\#(crs)}"#, .geoJSONSequence)

    #expect(error.reason.contains("reference system \(name), but must be WGS 84"))
    #expect(sequence.details[1]?.contains("/crs its coordinates are in the reference system \(name)") == true)
  }
}
