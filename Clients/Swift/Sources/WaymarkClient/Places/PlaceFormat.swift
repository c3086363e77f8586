/// How a file of places is written.
public enum PlaceFormat: String, CaseIterable, Hashable, Sendable {
  /// A JSON object a line.
  case ndjson
  /// A GeoJSON FeatureCollection (RFC 7946).
  case geoJSON = "geojson"
  /// GeoJSON text sequences (RFC 8142).
  case geoJSONSequence = "geojsonseq"
  /// Comma-separated values with a header (RFC 4180).
  case csv

  /// The media type that bodies of the format have.
  public var mediaType: String {
    switch self {
    case .ndjson: "application/x-ndjson"
    case .geoJSON: "application/geo+json"
    case .geoJSONSequence: "application/geo+json-seq"
    case .csv: "text/csv"
    }
  }
}
