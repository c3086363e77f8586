package import Foundation

#if canImport(FoundationNetworking)
  package import FoundationNetworking
#endif

/// A request for all places that match a filter, as a file: `GET /locations/export`.
package struct ExportPointsRequest: ServiceRequest {
  private let baseURL: URL
  private let format: PointFormat

  /// Creates a request.
  ///
  /// - Parameters:
  ///   - baseURL: the service's URL.
  ///   - format: the format of the file.
  package init(baseURL: URL, format: PointFormat = .ndjson) {
    self.baseURL = baseURL
    self.format = format
  }

  /// Creates the request.
  ///
  /// - Throws: ``RequestError``: `unsupportedFilter` for open places, the errors of the filter, or `invalidBaseURL`.
  package func makeRequest(from filter: PointFilter) throws -> URLRequest {
    guard filter.open == nil else { throw RequestError.unsupportedFilter }
    let parameters = try filter.parameters() + [QueryParameter("f", .text(format.rawValue))]
    return try URLRequest("GET", baseURL, "/locations/export", parameters: parameters, accept: format.mediaType)
  }

  /// Returns the file unchanged.
  package func parseResponse(data: Data) throws -> Data { data }
}

/// The format of a file of places.
///
/// ```swift
/// let mediaTypes = PointFormat.allCases.map(\.mediaType)
/// ```
public enum PointFormat: String, CaseIterable, Hashable, Sendable {
  /// One JSON object on each line.
  case ndjson
  /// A GeoJSON FeatureCollection (RFC 7946).
  case geoJSON = "geojson"
  /// GeoJSON text sequences (RFC 8142).
  case geoJSONSequence = "geojsonseq"
  /// Comma-separated values with a header (RFC 4180).
  case csv

  /// The media type of the format.
  public var mediaType: String {
    switch self {
    case .ndjson: "application/x-ndjson"
    case .geoJSON: "application/geo+json"
    case .geoJSONSequence: "application/geo+json-seq"
    case .csv: "text/csv"
    }
  }
}
