public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// All places that a filter leaves, as a file: `GET /locations/export`. The answer is held in memory as a whole;
/// ``APIRequestLoader/pages(requestData:)`` of a ``PlacesRequest`` is there for more than that has room for.
public struct ExportPlacesRequest: APIRequest {
  private let baseURL: URL
  private let format: PlaceFormat

  /// Creates the kind of call.
  ///
  /// - Parameters:
  ///   - baseURL: the service's address.
  ///   - format: how the file is written.
  public init(baseURL: URL, format: PlaceFormat = .ndjson) {
    self.baseURL = baseURL
    self.format = format
  }

  /// The request for the file.
  ///
  /// - Throws: ``RequestError``: `radiusWithoutCenter`, `invalidRadius` or `invalidBaseURL`.
  public func makeRequest(from filter: PlaceFilter) throws -> URLRequest {
    let parameters = try filter.parameters() + [QueryParameter("f", format.rawValue)]
    return try URLRequest("GET", baseURL, "/locations/export", parameters: parameters, accept: format.mediaType)
  }

  /// The file as it is.
  public func parseResponse(data: Data) throws -> Data { data }
}
