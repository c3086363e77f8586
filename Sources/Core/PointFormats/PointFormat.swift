/// A format of places.
public enum PointFormat: String, Hashable, Sendable, CaseIterable {
  /// One JSON text: an array of places. A text that is read may also be GeoJSON.
  case json

  /// GeoJSON (RFC 7946): a FeatureCollection of points.
  case geoJSON = "geojson"

  /// GeoJSON text sequences (RFC 8142): features, each behind a record separator. Those that are read may also be one a
  /// line.
  case geoJSONSequence = "geojsonseq"

  /// One JSON object a line.
  case ndjson

  /// Comma-separated values (RFC 4180) with a header row.
  case csv

  /// The formats of responses, the preferred one first.
  public static let responses: [PointFormat] = [.json, .geoJSON, .geoJSONSequence, .csv]

  /// The formats of exports, the preferred one first.
  public static let exports: [PointFormat] = [.ndjson, .geoJSON, .geoJSONSequence, .csv, .json]

  /// Creates the format of a name, as in the parameter `f` and the option `--format`, in either case.
  public init?(name: String) {
    self.init(rawValue: name.lowercased())
  }

  /// Creates the format of a file name by its extension: `.json`, `.geojson`, `.geojsons`, `.geojsonl`, `.geojsonseq`,
  /// `.ndjson`, `.jsonl`, `.csv`, `.tsv` or `.tab`, in either case.
  public init?(fileName: String) {
    guard let point = fileName.lastIndex(of: "."), !fileName[point...].contains("/") else { return nil }
    switch fileName[point...].dropFirst().lowercased() {
    case "json": self = .json
    case "geojson": self = .geoJSON
    case "geojsons", "geojsonl", "geojsonseq": self = .geoJSONSequence
    case "ndjson", "jsonl": self = .ndjson
    case "csv", "tsv", "tab": self = .csv
    default: return nil
    }
  }

  /// Creates the format of a media type, in either case; its parameters, such as `charset`, are ignored.
  public init?(mediaType: String) {
    let essence = mediaType.prefix { $0 != ";" }.lowercased()
    switch essence.split(whereSeparator: \.isWhitespace).first.map(String.init) {
    case "application/json": self = .json
    case "application/geo+json": self = .geoJSON
    case "application/geo+json-seq": self = .geoJSONSequence
    case "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines": self = .ndjson
    case "text/csv": self = .csv
    default: return nil
    }
  }

  /// The media type, for `Content-Type`.
  public var mediaType: String {
    switch self {
    case .json: "application/json"
    case .geoJSON: "application/geo+json"
    case .geoJSONSequence: "application/geo+json-seq"
    case .ndjson: "application/x-ndjson"
    case .csv: "text/csv; charset=utf-8"
    }
  }
}
