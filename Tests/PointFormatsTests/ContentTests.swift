import Foundation
import Gzip
import PointFormats
import Points
import Testing

/// Tests of texts whose format or encoding follows from their content.
@Suite struct ContentTests {
  @Test(arguments: [
    (#"[{"name":"A","lat":1,"long":2}]"#, PointFormat.json),
    (#"{"type":"FeatureCollection","features":[]}"#, .json),
    ("{\n\"type\":\"FeatureCollection\",\"features\":[\n", .json),
    (#"{"name":"A","lat":1,"long":2}"#, .ndjson),
    ("\n{\"name\":\"A\",\"lat\":1,\"long\":2}\n{\"name\"", .ndjson),
    (#"{"type":"Feature","geometry":null,"properties":{}}"# + "\n" + #"{"type":"Feature"}"#, .ndjson),
    ("\u{1E}{\"type\":\"Feature\"}", .geoJSONSequence), ("name;lat;long\nA;1;2\n", .csv),
    ("\u{FEFF}name\tlat\tlong\n", .csv), ("Point,name,lat,long\n", .csv), ("", .csv),
  ])
  func theContentDeterminesTheFormat(text: String, format: PointFormat) throws {
    var parser = PointParser(format: nil)
    var rows: [PointParser.Row] = []
    do {
      for byte in text.utf8 { try parser.consume([byte], into: &rows) }
      try parser.finish(into: &rows)
    } catch {
      // A text that is not complete.
    }

    #expect(parser.format == format)
  }

  private static let foreign: [(bytes: [UInt8], name: String, command: String)] = [
    (zip("[Content_Types].xml"), "Excel workbook", "ogr2ogr --config OGR_XLSX_HEADERS FORCE -f CSV"),
    (zip("mimetypeapplication/vnd.oasis.opendocument.spreadsheet"), "OpenDocument", "OGR_ODS_HEADERS"),
    (zip("doc.kml"), "KMZ", "ogr2ogr"), (zip("a.shp"), "Shapefile", "/vsizip/"),
    ([0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1], ".xls", "OGR_XLS_HEADERS"),
    (Array("<?xml version=\"1.0\"?>\n<!-- x --><gpx version=\"1.1\">".utf8), "GPX", "waypoints"),
    (Array(" <kml xmlns=\"http://www.opengis.net/kml/2.2\">".utf8), "KML", "ogr2ogr -f GeoJSONSeq"),
    (Array("<wfs:FeatureCollection xmlns:gml=\"http://www.opengis.net/gml/3.2\">".utf8), "GML", "-t_srs EPSG:4326"),
    ([0, 0, 0x27, 0x0A, 0, 0, 0, 0], "Shapefile", "-t_srs EPSG:4326"), (Array("PAR1".utf8), "Parquet", "read_parquet"),
    (Array("SQLite format 3\0".utf8), "GeoPackage", "ogr2ogr"), (Array("fgb\u{3}fgb".utf8), "FlatGeobuf", "ogr2ogr"),
    (Array("<!DOCTYPE html><html>".utf8), "web page", ""), (Array("%PDF-1.7".utf8), "PDF", ""),
    (Array("<osm version=\"0.6\">".utf8), "OpenStreetMap", "mv "), (Array("BZh9".utf8), "bzip2", "bunzip2"),
    ([0x28, 0xB5, 0x2F, 0xFD], "Zstandard", "zstd -d"), ([0xFD, 0x37, 0x7A, 0x58, 0x5A, 0], "xz", "unxz"),
    ([0, 0, 0, 13, 0x0A, 0x09] + Array("OSMHeader\u{18}".utf8), "OpenStreetMap", ".osm.pbf"),
  ]

  private static func zip(_ entry: String) -> [UInt8] {
    [0x50, 0x4B, 3, 4] + [UInt8](repeating: 0, count: 26) + entry.utf8
  }

  @Test(arguments: [PointFormat.csv, .json, .geoJSON, .geoJSONSequence, .ndjson, nil], foreign.indices)
  func foreignFilesAreNamedWithTheCommandThatConvertsThem(format: PointFormat?, index: Int) async throws {
    let (bytes, name, command) = Self.foreign[index]
    let file = FileManager.default.temporaryDirectory.appending(path: "wm \(UUID().uuidString)")
    try Data(bytes).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }

    let error = await #expect(throws: FileError.self) {
      for try await _ in PointFiles([.init(path: file.path, format: format)], onRejection: { _ in }) {}
    }

    let reason = try #require(error?.reason)
    #expect(reason.hasPrefix("the file is ") && reason.contains(name), "\(reason)")
    #expect(command.isEmpty || reason.contains(command) && reason.contains(file.path), "\(reason)")
  }

  // MARK: Encodings

  @Test(arguments: [1, 3, .max]) func windows1252IsDetectedAndSaid(chunkSize: Int) async throws {
    let text =
      Array("name,lat,long\n".utf8) + (0..<900).flatMap { Array("plain,1,\($0 / 10).\($0 % 10)5\n".utf8) }
      + Array("Caf".utf8) + [0xE9, 0x20, 0x80, 0x20, 0x93] + Array("Gr".utf8) + [0xF6, 0xDF] + Array("e,1,2\n".utf8)

    let parsed = Parsed(text, .csv, chunkSize: chunkSize)

    #expect(parsed.rows.count == 901 && parsed.rows.last?.draft.name == "Café € “Größe")
    #expect(try await Self.warnings(of: text) == ["the text was read as Windows-1252, as it is not in UTF-8"])
  }

  @Test func aTextInUTF8CausesNoWarning() async throws {
    #expect(try await Self.warnings(of: Array("name,lat,long\nCafé,1,2\n".utf8)) == [])
  }

  @Test(arguments: [1, 3, .max]) func aHeaderInWindows1252IsRead(chunkSize: Int) {
    let text = Array("Name;Breite;L".utf8) + [0xE4] + Array("nge\nGr".utf8) + [0xFC] + Array("n;1;2\n".utf8)

    #expect(Parsed(text, .csv, chunkSize: chunkSize).names == [1: "Grün"])
  }

  @Test(
    arguments: [
      // Korean in CP949, Japanese in Shift_JIS, Russian in Windows-1251.
      [0xBC, 0xAD, 0xBF, 0xEF, 0xBF, 0xAA], [0x83, 0x65, 0x83, 0x58, 0x83, 0x67, 0x83, 0x65],
      [0xCC, 0xEE, 0xF1, 0xEA, 0xE2, 0xE0],
    ] as [[UInt8]])
  func aTextInAnotherEncodingIsAnErrorWithACommand(name: [UInt8]) throws {
    let text = Array("name,lat,long\n".utf8) + name + Array(",1,2\n".utf8)

    let reason = try #require(Parsed(text, .csv).error?.reason)
    #expect(reason.contains("in an encoding other than UTF-8") && reason.contains("iconv -f CP949 -t UTF-8 FILE"))
  }

  @Test(arguments: [false, true]) func textInUTF16WithoutAMarkIsReadAndSaid(isBigEndian: Bool) async throws {
    let text = "name,lat,long\nCaf\u{E9} \u{6771},1,2\n"
    let bytes = text.utf16.flatMap { unit in
      isBigEndian ? [UInt8(unit >> 8), UInt8(unit & 0xFF)] : [UInt8(unit & 0xFF), UInt8(unit >> 8)]
    }

    for chunkSize in [1, 3, Int.max] {
      #expect(Parsed(bytes, .csv, chunkSize: chunkSize).names == [1: "Caf\u{E9} \u{6771}"])
    }
    #expect(try await Self.warnings(of: bytes) == ["the text was read as UTF-16, as it is not in UTF-8"])
  }

  private static func warnings(of text: [UInt8]) async throws -> [String] {
    let notes = ImportNotes()
    for try await _ in PointFileReader(
      [text].async, parser: PointParser(format: .csv), notes: notes, onRejection: { _ in })
    {}
    return notes.warnings
  }
}
