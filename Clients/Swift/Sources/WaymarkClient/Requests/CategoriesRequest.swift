public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// The categories and how many places have each, most frequent first: `GET /categories`.
public struct CategoriesRequest: APIRequest {
  /// The counts, read as JSON.
  public typealias ResponseDataType = [CategoryCount]

  private let baseURL: URL

  /// Creates the kind of call to the service of that address.
  public init(baseURL: URL) {
    self.baseURL = baseURL
  }

  /// The request.
  ///
  /// - Throws: ``RequestError/invalidBaseURL``.
  public func makeRequest(from data: Void) throws -> URLRequest {
    try URLRequest("GET", baseURL, "/categories")
  }
}
