public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// A request for one place with all its fields: `GET /locations/{id}`.
///
/// ```swift
/// let place = try await waymark.loader(PointRequest(baseURL: baseURL)).loadAPIRequest(requestData: id)
/// ```
public struct PointRequest: APIRequest {
  /// The place.
  public typealias ResponseDataType = PointOfInterest

  private let baseURL: URL

  /// Creates a request to the service at a URL.
  public init(baseURL: URL) {
    self.baseURL = baseURL
  }

  /// Creates the request for the place with an id.
  ///
  /// - Throws: ``RequestError/invalidBaseURL``.
  public func makeRequest(from id: UUID) throws -> URLRequest {
    try URLRequest("GET", baseURL, id.locationPath, parameters: [PointFields.all.parameter])
  }
}

extension UUID {
  /// The path of the place with this id.
  var locationPath: String { "/locations/" + uuidString.lowercased() }
}

/// A request for the current featured place: `GET /locations/featured`. It is current for the response's
/// ``APIResponse/maxAge``.
///
/// ```swift
/// let place = try await waymark.loader(FeaturedPlaceRequest(baseURL: baseURL)).loadAPIRequest()
/// ```
public struct FeaturedPlaceRequest: APIRequest {
  /// The featured place.
  public typealias ResponseDataType = PointOfInterest

  private let baseURL: URL

  /// Creates a request to the service at a URL.
  public init(baseURL: URL) {
    self.baseURL = baseURL
  }

  /// Creates the request.
  ///
  /// - Throws: ``RequestError/invalidBaseURL``.
  public func makeRequest(from data: Void) throws -> URLRequest {
    try URLRequest("GET", baseURL, "/locations/featured")
  }
}
