package import Foundation

#if canImport(FoundationNetworking)
  package import FoundationNetworking
#endif

/// A request for one place with all its fields: `GET /locations/{id}`.
package struct PointRequest: ServiceRequest {
  /// The place.
  package typealias ResponseDataType = PointOfInterest

  private let baseURL: URL

  /// Creates a request to the service at a URL.
  package init(baseURL: URL) {
    self.baseURL = baseURL
  }

  /// Creates the request for the place with an id.
  ///
  /// - Throws: ``RequestError/invalidBaseURL``.
  package func makeRequest(from id: UUID) throws -> URLRequest {
    try URLRequest("GET", baseURL, id.locationPath, parameters: [PointFields.all.parameter])
  }
}

/// A request for the details of a place: `GET /locations/{id}?view=details`.
package struct DetailsRequest: ServiceRequest {
  package typealias ResponseDataType = PlaceDetails

  private struct Response: Decodable {
    let details: PlaceDetails
  }

  private let baseURL: URL

  /// Creates a request to the service at a URL.
  package init(baseURL: URL) {
    self.baseURL = baseURL
  }

  /// Creates the request for the place with an id.
  ///
  /// - Throws: ``RequestError/invalidBaseURL``.
  package func makeRequest(from id: UUID) throws -> URLRequest {
    try URLRequest(
      "GET", baseURL, id.locationPath,
      parameters: [QueryParameter("view", .text("details")), QueryParameter("fields", .text("id"))])
  }

  /// Decodes the member of the place.
  ///
  /// - Throws: `DecodingError`.
  package func parseResponse(data: Data) throws -> PlaceDetails {
    try JSONDecoder().decode(Response.self, from: data).details
  }
}

extension UUID {
  /// The path of the place with this id.
  var locationPath: String { "/locations/" + uuidString.lowercased() }
}

/// A request for the current featured place: `GET /locations/featured`. It is current for the response's
/// ``APIResponse/maxAge``.
package struct FeaturedPlaceRequest: ServiceRequest {
  /// The featured place.
  package typealias ResponseDataType = PointOfInterest

  private let baseURL: URL

  /// Creates a request to the service at a URL.
  package init(baseURL: URL) {
    self.baseURL = baseURL
  }

  /// Creates the request.
  ///
  /// - Throws: ``RequestError/invalidBaseURL``.
  package func makeRequest(from data: Void) throws -> URLRequest {
    try URLRequest("GET", baseURL, "/locations/featured")
  }
}
