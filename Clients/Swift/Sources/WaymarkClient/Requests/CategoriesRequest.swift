package import Foundation

#if canImport(FoundationNetworking)
  package import FoundationNetworking
#endif

/// A request for the categories with their numbers of places, most frequent first: `GET /categories`.
package struct CategoriesRequest: ServiceRequest {
  /// The counts.
  package typealias ResponseDataType = [CategoryCount]

  private let baseURL: URL
  private let box: BoundingBox?

  /// Creates a request.
  ///
  /// - Parameters:
  ///   - baseURL: the service's URL.
  ///   - box: the box that the places are in; `nil` for all places.
  package init(baseURL: URL, in box: BoundingBox? = nil) {
    self.baseURL = baseURL
    self.box = box
  }

  /// Creates the request.
  ///
  /// - Throws: ``RequestError/invalidBaseURL``.
  package func makeRequest(from data: Void) throws -> URLRequest {
    try URLRequest("GET", baseURL, "/categories", parameters: [box.map(QueryParameter.init)])
  }
}

/// A category and its number of places.
///
/// ```swift
/// let cafes = CategoryCount(category: "cafe", count: 12)
/// ```
public struct CategoryCount: Hashable, Sendable, Decodable {
  /// The category, for example `cafe`.
  public var category: String

  /// The number of places.
  public var count: Int

  /// Creates a count.
  public init(category: String, count: Int) {
    self.category = category
    self.count = count
  }
}
