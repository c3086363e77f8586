/// A format that places are read from and written in.
public enum PlaceFormat: String, Hashable, Sendable, CaseIterable {
  /// One JSON text: an array of places as the service answers them. Read, it may also be GeoJSON.
  case json

  /// GeoJSON (RFC 7946): a FeatureCollection of points.
  case geoJSON = "geojson"

  /// GeoJSON text sequences (RFC 8142): features, each behind a record separator. Read, they may also be one a line.
  case geoJSONSequence = "geojsonseq"

  /// One JSON object a line.
  case ndjson

  /// Comma-separated values (RFC 4180) with a header row.
  case csv

  /// The format of that name, as the parameter `f` and the option `--format` have it, in either case.
  public init?(name: String) {
    self.init(rawValue: name.lowercased())
  }

  /// The format that a file's name ends in: `.json`, `.geojson`, `.geojsons`, `.geojsonl`, `.geojsonseq`, `.ndjson`,
  /// `.jsonl` or `.csv`, in either case.
  public init?(fileName: String) {
    guard let point = fileName.lastIndex(of: "."), !fileName[point...].contains("/") else { return nil }
    switch fileName[point...].dropFirst().lowercased() {
    case "json": self = .json
    case "geojson": self = .geoJSON
    case "geojsons", "geojsonl", "geojsonseq": self = .geoJSONSequence
    case "ndjson", "jsonl": self = .ndjson
    case "csv": self = .csv
    default: return nil
    }
  }

  /// The format that a media type names, in either case; its parameters, such as `charset`, are not looked at.
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

  /// The media type that the format is sent as.
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
