import Foundation
import Geo
import Gzip
import PointFormats
import Points
import Testing
import TextFiles

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
      // Seoul station in Korean, whose encoding has another name in the converter, and Moscow in Russian.
      ([0xBC, 0xAD, 0xBF, 0xEF, 0xBF, 0xAA], "CP949"), ([0xCC, 0xEE, 0xF1, 0xEA, 0xE2, 0xE0], "windows-1251"),
    ] as [([UInt8], String)])
  func aTextInAnotherEncodingIsAnErrorWithACommand(name: [UInt8], charset: String) throws {
    let text = Array("name,lat,long\n".utf8) + name + Array(",1,2\n".utf8)

    let reason = try #require(Parsed(text, .csv).error?.reason)
    #expect(reason.contains("in an encoding other than UTF-8"), "\(reason)")
    #expect(
      reason.contains("iconv -f \(charset) -t UTF-8 FILE") && reason.contains("--charset \(charset)"), "\(reason)")
  }

  @Test(
    arguments: [
      ("windows-1251", [0xCA, 0xE8, 0xBF, 0xE2], "Київ"), ("UTF-16BE", [0x01, 0x41], "Ł"),
      ("Shift_JIS", [0x93, 0x8C, 0x8B, 0x9E, 0x83, 0x5C], "東京ソ"),
    ] as [(String, [UInt8], String)], [1, 3, .max])
  func aDeclaredEncodingIsRead(_ sample: (name: String, bytes: [UInt8], text: String), chunkSize: Int) throws {
    let charset = try #require(TextCharset(named: sample.name))
    func encoded(_ text: String) -> [UInt8] { text.utf8.flatMap { sample.name == "UTF-16BE" ? [0, $0] : [$0] } }
    let text = encoded("name,lat,long\n") + sample.bytes + encoded(",1,2\nB,3,4\n")

    let parsed = Parsed(text, .csv, chunkSize: chunkSize, charset: charset)

    #expect(parsed.names == [1: sample.text, 2: "B"])
  }

  @Test func aByteThatTheDeclaredEncodingLacksRejectsItsRowAlone() throws {
    let charset = try #require(TextCharset(named: "shift_jis"))
    let text = Array("name,lat,long\nA".utf8) + [0x82, 0xFF] + Array(",1,2\nB,3,4\n".utf8)

    let parsed = Parsed(text, .csv, charset: charset)

    #expect(parsed.names == [2: "B"])
  }

  @Test(arguments: [1, 7, .max])
  func linesBeforeTheHeaderAreSkippedWithTheirNumbersKept(chunkSize: Int) {
    let text =
      "Extract of 2026-08-31\n\nAll stations;;;\nid_station;Nome Impianto;Lat.;Lon.\n1;NORD;41.9;12.5\n2;SUD;x;7.6\n"

    let parsed = Parsed(text, .csv, chunkSize: chunkSize)

    #expect(parsed.names == [1: "NORD"])
    #expect(parsed.lines == [2: 6])
  }

  @Test(arguments: [
    ("a\n1,2\n", "it has 'a'"), ("title\nshop,lat,b\nA,1,2\n", "it has 'title'"), ("name\n", "it has 'name'"),
  ])
  func aTextWithoutAHeaderNamesTheColumnsOfItsFirstLine(text: String, words: String) {
    #expect(Parsed(text, .csv).error?.reason.contains(words) == true)
  }

  @Test func separatorsBehindTheLastColumnAreNoColumn() {
    #expect(Parsed("name,lat,long,\nA,1,2,\nB,1,2\n", .csv).names == [1: "A", 2: "B"])
    #expect(Parsed("name,lat,long\nA,1,2,,\nB,1,2,x\n", .csv).names == [1: "A"])
  }

  @Test(arguments: ["48,1", "48.1", "48°06'"])
  func aDecimalCommaInQuotationMarksIsRead(latitude: String) {
    let parsed = Parsed("name,lat,long\nA,\"\(latitude)\",\"16,2\"\n", .csv)

    #expect(parsed.rows.first?.draft.coordinate.latitude == 48.1)
    #expect(parsed.rows.first?.draft.coordinate.longitude == 16.2)
  }

  @Test(arguments: ["48.123.456", "4.812.345", "48 123 456", "48'123'456", "-1.637.381"])
  func thousandsSeparatorsAreRejectedWithAdvice(latitude: String) {
    let details = Parsed("name;lat;long\nA;\(latitude);16.2\n", .csv).details

    #expect(details[1]?.contains("a spreadsheet has put thousands separators into it") == true, "\(details)")
  }

  @Test(arguments: ["@lat\t@lon", "Lat (WGS84)\tLon (WGS84)", "LATITUDE\tLONGITUDE"])
  func coordinatesWithDecorationAreFound(columns: String) {
    #expect(Parsed("name\t\(columns)\nA\t1\t2\n", .csv).names == [1: "A"])
  }

  @Test(arguments: ["화장실명", "nom_station", "Nome Impianto", "stationName", "Naam winkel", "Shop name"])
  func aColumnThatIsNamedAfterItsNamesHasTheName(column: String) {
    let text = "id_operator;operator name;street name;\(column);lat;lon\n1;x;y;A;1;2\n"

    #expect(Parsed(text, .csv).names == [1: "A"])
  }

  @Test(arguments: [PointFormat.json, .geoJSON]) func aResponseOfOverpassIsExplained(format: PointFormat) {
    let text = #"{"version":0.6,"generator":"Overpass API","elements":[{"type":"node","id":1,"lat":1,"lon":2}]}"#

    #expect(Parsed(text, format).error?.reason.contains("JSON of the Overpass API; ask it for [out:xml]") == true)
  }

  @Test(arguments: [
    ("name,lat,long\nA,1,2\n", []), (";;\nname;lat;long\nA;1;2\n", []), ("sep=;\nname;lat;long\nA;1;2\n", []),
    ("\r\nMuseums\r\nname,lat,long\r\nA,1,2\r\n", ["line 2 before the header was left out: 'Museums'"]),
    (
      "\(String(repeating: "x", count: 70))\n\n\"1 May 2026\";;\n;;Vienna\nname;lat;long\nA;1;2\n",
      [
        "lines 1, 3, 4 before the header were left out, the first of them: '\(String(repeating: "x", count: 60))'"
      ]
    ),
  ])
  func linesBeforeTheHeaderAreAWarning(text: String, expected: [String]) async throws {
    #expect(try await Self.warnings(of: Array(text.utf8)) == expected)
    for chunkSize in [1, 3] { #expect(Parsed(Array(text.utf8), .csv, chunkSize: chunkSize).names == [1: "A"]) }
  }

  @Test func namesAsHTMLWritesThemAreAWarning() async throws {
    let text = Array("name,lat,long\nTom &amp; Jerry,1,2\nA & B;,1,2\nCaf&eacute;,1,2\n".utf8)

    let warnings = try await Self.warnings(of: text)

    #expect(warnings.contains { $0.contains("the names of 2 rows have characters as HTML writes them") }, "\(warnings)")
  }

  @Test func aTextThatIsDeclaredToBeInUTF8IsNotTakenForAnother() {
    let text = Array("name,lat,long\nGr".utf8) + [0xFC] + Array("n,1,2\nB,3,4\n".utf8)

    #expect(Parsed(text, .csv, charset: .utf8).names == [2: "B"])
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
