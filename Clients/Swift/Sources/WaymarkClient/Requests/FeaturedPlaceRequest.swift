public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// The featured place of the moment: `GET /locations/featured`. How long it stays is the answer's
/// ``APIResponse/maxAge``.
public struct FeaturedPlaceRequest: APIRequest {
  /// The place, read as JSON.
  public typealias ResponseDataType = PointOfInterest

  private let baseURL: URL

  /// Creates the kind of call to the service of that address.
  public init(baseURL: URL) {
    self.baseURL = baseURL
  }

  /// The request.
  ///
  /// - Throws: ``RequestError/invalidBaseURL``.
  public func makeRequest(from data: Void) throws -> URLRequest {
    try URLRequest("GET", baseURL, "/locations/featured")
  }
}
