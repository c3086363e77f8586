package import Basics
import JSONText
import TextFiles

/// The kind of a text, recognised by its first bytes.
enum FileContent {
  /// A format of places.
  case format(PointFormat)
  /// Another program's format.
  case foreign(ForeignFile)

  /// The number of bytes that decide, unless the text is shorter.
  static let decidingBytes = 1 << 16

  /// The number of bytes by which every foreign format is recognised.
  static let foreignBytes = 4096

  /// Returns the kind of a text. What is neither JSON nor foreign is taken for CSV.
  static func recognised(in start: UnsafeBufferPointer<UInt8>) -> FileContent {
    if let foreign = ForeignFile(start) { return .foreign(foreign) }
    guard let first = start.firstIndex(where: { !$0.isWhiteSpace }) else { return .format(.csv) }
    switch start[first] {
    case 0x1E: return .format(.geoJSONSequence)
    case UInt8(ascii: "["): return .format(.json)
    case UInt8(ascii: "{"): return .format(jsonFormat(of: start, from: first))
    default: return .format(.csv)
    }
  }

  /// Returns the format of a text that begins with an object: rows on lines if another object follows it, or if it has
  /// no member `features`.
  private static func jsonFormat(of start: UnsafeBufferPointer<UInt8>, from first: Int) -> PointFormat {
    var scanner = BracketScanner()
    var position = first
    guard case .end = scanner.scan(start, position: &position) else { return .json }
    if start[position...].contains(where: { !$0.isWhiteSpace }) { return .ndjson }
    let object = try? JSONReader.value(of: start[first..<position])
    return object?["features"] == nil && object?["elements"] == nil ? .ndjson : .json
  }
}

/// A file of another program, which is converted before an import.
package struct ForeignFile: Hashable, Sendable {
  /// The format, with an article.
  @ComparedByBytes package private(set) var noun: String

  /// The command that converts the file, in which ``placeholder`` stands for its path; `nil` if there is none.
  @ComparedByBytes package private(set) var command: String?

  /// The effect of the command in a word.
  @ComparedByBytes private var verb: String

  /// The package of Debian or PyPI that the command needs; `nil` if it is part of every system.
  @ComparedByBytes package private(set) var requirement: String?

  /// The text that stands for the path of the file.
  static let placeholder = "FILE"

  /// Returns the explanation for a user.
  ///
  /// - Parameter path: the path of the file; `nil` if the text is no file.
  package func explanation(path: String? = nil) -> String {
    let subject = path == nil ? "the text" : "the file"
    guard let command else { return "\(subject) is \(noun)" }
    let file = path.flatMap { $0 == FileChunks.standardInputPath ? nil : Self.quoted($0) } ?? Self.placeholder
    return "\(subject) is \(noun); \(verb) it first\(requirement.map { ", with \($0)" } ?? ""): "
      + command.replacing(Self.placeholder, with: file)
  }

  /// Returns an error's text about a file, from a server that does not know its path, with the path in the command.
  package static func naming(_ path: String, in text: String) -> String {
    guard path != FileChunks.standardInputPath, let start = text.firstRange(of: " it first")?.upperBound else {
      return text
    }
    return String(text[..<start] + text[start...].replacing(Self.placeholder, with: quoted(path)))
  }

  /// Returns a path as an argument of a shell's command.
  private static func quoted(_ path: String) -> String {
    let isPlain = path.utf8.allSatisfy { byte in
      byte >= 0x80 || byte | 0x20 >= 0x61 && byte | 0x20 <= 0x7A || byte >= 0x2B && byte <= 0x3A && byte != 0x2C
        || byte == 0x5F
    }
    return isPlain && !path.hasPrefix("-") ? path : "'\(path.replacing("'", with: #"'\''"#))'"
  }

  private init(_ noun: String, _ command: String? = nil, verb: String = "convert", requirement: String? = nil) {
    self.noun = noun
    self.command = command
    self.verb = verb
    self.requirement = requirement
  }

  /// Creates a file that ogr2ogr converts.
  private init(_ noun: String, ogr arguments: String) {
    self.init(noun, "ogr2ogr \(arguments)", requirement: "ogr2ogr of gdal-bin")
  }

  // MARK: Formats. Tests/Conformance/imports.py runs their commands.

  private static let toFeatures = "-f GeoJSONSeq -t_srs EPSG:4326 places.geojsonseq FILE"

  static let excel = ForeignFile(
    "an Excel workbook (.xlsx)", ogr: "--config OGR_XLSX_HEADERS FORCE -f CSV places.csv FILE")
  static let oldExcel = ForeignFile(
    "an Excel workbook (.xls) or another document of Microsoft Office",
    ogr: "--config OGR_XLS_HEADERS FORCE -f CSV places.csv FILE")
  static let openDocument = ForeignFile(
    "an OpenDocument spreadsheet (.ods)", ogr: "--config OGR_ODS_HEADERS FORCE -f CSV places.csv FILE")
  static let gpx = ForeignFile("a GPX file", ogr: "-f GeoJSONSeq places.geojsonseq FILE waypoints")
  static let kml = ForeignFile("a KML file", ogr: "-f GeoJSONSeq places.geojsonseq FILE")
  static let compressedKML = ForeignFile("a KMZ file", ogr: "-f GeoJSONSeq places.geojsonseq FILE")
  static let gml = ForeignFile("a GML file", ogr: toFeatures)
  static let shapefile = ForeignFile("a Shapefile", ogr: toFeatures)
  static let zippedShapefile = ForeignFile(
    "a ZIP archive with a Shapefile", ogr: "-f GeoJSONSeq -t_srs EPSG:4326 places.geojsonseq /vsizip/FILE")
  static let geoPackage = ForeignFile("a GeoPackage or another file of SQLite", ogr: toFeatures)
  static let flatGeobuf = ForeignFile("a FlatGeobuf file", ogr: toFeatures)
  static let parquet = ForeignFile(
    "a Parquet file",
    """
    python3 -c "import geopandas, sys; \
    geopandas.read_parquet(sys.argv[1]).to_file('places.geojsonseq', driver='GeoJSONSeq')" FILE
    """,
    requirement: "geopandas and pyarrow of PyPI")
  static let zip = ForeignFile("a ZIP archive", "unzip FILE", verb: "unpack", requirement: "unzip")
  static let zstandard = ForeignFile("compressed with Zstandard", "zstd -d FILE", verb: "unpack", requirement: "zstd")
  static let bzip2 = ForeignFile("compressed with bzip2", "bunzip2 FILE", verb: "unpack")
  static let xz = ForeignFile("compressed with xz", "unxz FILE", verb: "unpack")
  static let gzip = ForeignFile("compressed with gzip", "gunzip FILE", verb: "unpack")
  static let openStreetMap = ForeignFile(
    "an OpenStreetMap file, whose name must end in .osm.pbf, .osm or .osc", "mv FILE FILE.osm.pbf", verb: "rename")
  static let openStreetMapXML = ForeignFile(
    "an OpenStreetMap file, whose name must end in .osm.pbf, .osm or .osc", "mv FILE FILE.osm", verb: "rename")

  /// Returns the file of a text in an encoding that is not detected; `nil` for one that is not known.
  static func inEncoding(_ charset: TextCharset?) -> ForeignFile {
    let noun = "in an encoding other than UTF-8, UTF-16 and Windows-1252"
    guard let charset else {
      return ForeignFile("\(noun); name it (--charset, or charset= in Content-Type), one of \(TextCharset.names)")
    }
    let name = charset == TextCharset(named: "EUC-KR") ? "CP949" : charset.name
    return ForeignFile(
      "\(noun), likely \(name): name it (--charset \(name), or charset=\(name) in Content-Type)",
      "iconv -f \(name) -t UTF-8 FILE > places.csv", verb: "or convert")
  }
  static let html = ForeignFile("a web page (HTML), such as the error page of a download")
  static let xml = ForeignFile("XML, of which no place can be read")
  static let overpass = ForeignFile(
    "JSON of the Overpass API; ask it for [out:xml] and import the response in a file whose name ends in .osm, "
      + "or convert it by osmtogeojson and import that with --mapping osm")
  static let pdf = ForeignFile("a PDF document")

  /// Returns a Boolean value that indicates whether a foreign file may begin with the byte.
  static func mayBegin(with first: UInt8) -> Bool {
    first < 0x20 || first == UInt8(ascii: "<") || first == 0x50 || first == 0x20
      || signatures.contains { $0.0.first == first }
  }

  /// Creates the file that begins with the bytes; `nil` if it is none of another program.
  init?(_ start: UnsafeBufferPointer<UInt8>) {
    for (signature, file) in Self.signatures where start.starts(with: signature) {
      self = file
      return
    }
    if start.starts(with: [0x50, 0x4B, 0x03, 0x04]) {
      self = Self.inArchive(start)
    } else if start.count > 13, start[4] == 0x0A, start[5] == 0x09, start[6...].starts(with: "OSMHeader".utf8) {
      self = .openStreetMap
    } else if let file = Self.xml(start) {
      self = file
    } else {
      return nil
    }
  }

  private static let signatures: [([UInt8], ForeignFile)] = [
    (Array("PAR1".utf8), parquet), (Array("SQLite format 3\0".utf8), geoPackage), (Array("fgb".utf8) + [3], flatGeobuf),
    ([0, 0, 0x27, 0x0A], shapefile), ([0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1], oldExcel),
    ([0x28, 0xB5, 0x2F, 0xFD], zstandard), (Array("BZh".utf8), bzip2), ([0xFD, 0x37, 0x7A, 0x58, 0x5A, 0], xz),
    ([0x1F, 0x8B], gzip), (Array("%PDF-".utf8), pdf),
  ]

  /// Returns the format of an archive by the names of its first entries.
  private static func inArchive(_ start: UnsafeBufferPointer<UInt8>) -> ForeignFile {
    let start = start.prefix(FileContent.foreignBytes)
    func contains(_ text: String) -> Bool {
      let bytes = Array(text.utf8)
      return start.indices.contains { start[$0] == bytes[0] && start[$0...].starts(with: bytes) }
    }
    if contains("application/vnd.oasis.opendocument.spreadsheet") { return openDocument }
    if contains("xl/") || contains("[Content_Types].xml") { return excel }
    if contains(".kml") { return compressedKML }
    if contains(".shp") || contains(".dbf") { return zippedShapefile }
    return zip
  }

  /// Returns the format of a text in XML or HTML by its first element; `nil` if it is neither.
  private static func xml(_ start: UnsafeBufferPointer<UInt8>) -> ForeignFile? {
    guard let first = start.firstIndex(where: { !$0.isWhiteSpace }), start[first] == UInt8(ascii: "<") else {
      return nil
    }
    let text = String(decoding: start[first...].prefix(FileContent.foreignBytes), as: UTF8.self)
    let elements = text.matches(of: /<([A-Za-z_][\w.\-]*:)?([A-Za-z_][\w.\-]*)/).lazy.map { $0.2.lowercased() }
    if text.lowercased().hasPrefix("<!doctype html") { return html }
    switch elements.first {
    case "gpx": return gpx
    case "kml": return kml
    case "osm", "osmchange": return openStreetMapXML
    case "html": return html
    case "featurecollection": return gml
    default: return text.contains("opengis.net/gml") ? gml : xml
    }
  }
}
