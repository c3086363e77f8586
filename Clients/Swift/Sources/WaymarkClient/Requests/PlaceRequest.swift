public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// One place with all its fields: `GET /locations/{id}`.
public struct PlaceRequest: APIRequest {
  /// The place, read as JSON.
  public typealias ResponseDataType = PointOfInterest

  private let baseURL: URL

  /// Creates the kind of call to the service of that address.
  public init(baseURL: URL) {
    self.baseURL = baseURL
  }

  /// The request for the place of an id.
  ///
  /// - Throws: ``RequestError/invalidBaseURL``.
  public func makeRequest(from id: UUID) throws -> URLRequest {
    try URLRequest("GET", baseURL, id.locationPath, parameters: [PlaceFields.all.parameter])
  }
}

extension UUID {
  /// The path of the place of this id.
  var locationPath: String { "/locations/" + uuidString.lowercased() }
}
