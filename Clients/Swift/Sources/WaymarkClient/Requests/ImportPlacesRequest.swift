public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// Takes places in bulk: `POST /locations/import`. It is sent once: only rows with an id or an origin could be sent again
/// without being there twice.
public struct ImportPlacesRequest: APIRequest {
  /// What was done, read as JSON.
  public typealias ResponseDataType = ImportReport

  private let baseURL: URL

  /// Creates the kind of call to the service of that address.
  public init(baseURL: URL) {
    self.baseURL = baseURL
  }

  /// The request that imports places.
  ///
  /// - Throws: ``RequestError/invalidBaseURL``.
  public func makeRequest(from places: PlaceImport) throws -> URLRequest {
    let parameters = [
      places.mode == .partial ? nil : QueryParameter("mode", places.mode.rawValue),
      places.isDryRun ? QueryParameter("dryRun", "true") : nil,
    ]
    var request = try URLRequest("POST", baseURL, "/locations/import", parameters: parameters)
    request.setBody(places.data, mediaType: places.format.mediaType)
    return request
  }
}
