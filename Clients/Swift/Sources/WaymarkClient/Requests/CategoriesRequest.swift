package import Foundation

#if canImport(FoundationNetworking)
  package import FoundationNetworking
#endif

/// A request for the categories with their numbers of places, most frequent first, as a list or as a tree:
/// `GET /categories`.
package struct CategoriesRequest: ServiceRequest {
  /// The counts.
  package typealias ResponseDataType = [CategoryCount]

  private let baseURL: URL
  private let box: BoundingBox?
  private let treeLanguages: [String]?

  /// Creates a request.
  ///
  /// - Parameters:
  ///   - baseURL: the service's URL.
  ///   - box: the box that the places are in; `nil` for all places.
  ///   - treeLanguages: the languages of the labels of a tree, the preferred one first; `nil` for a list.
  package init(baseURL: URL, in box: BoundingBox? = nil, treeLanguages: [String]? = nil) {
    self.baseURL = baseURL
    self.box = box
    self.treeLanguages = treeLanguages
  }

  /// Creates the request.
  ///
  /// - Throws: ``RequestError/invalidBaseURL``.
  package func makeRequest(from data: Void) throws -> URLRequest {
    var parameters = [box.map(QueryParameter.init)]
    if let treeLanguages {
      parameters.append(QueryParameter("tree", .flag(true)))
      if !treeLanguages.isEmpty { parameters.append(QueryParameter("lang", .texts(treeLanguages))) }
    }
    return try URLRequest("GET", baseURL, "/categories", parameters: parameters)
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

  /// The name for people, in a preferred language; `nil` for a category that is not in the service's tree.
  public var label: String?

  /// The number of places, in a tree with those of the categories below.
  public var count: Int

  /// The categories below that have places; empty unless in a tree.
  public var children: [CategoryCount]

  /// Creates a count.
  public init(category: String, label: String? = nil, count: Int, children: [CategoryCount] = []) {
    self.category = category
    self.label = label
    self.count = count
    self.children = children
  }

  private enum CodingKeys: String, CodingKey {
    case category, label, count, children
  }

  /// Decodes a count from the service's JSON.
  ///
  /// - Throws: `DecodingError` where a member is missing.
  public init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: CodingKeys.self)
    category = try members.decode(String.self, forKey: .category)
    label = try members.decodeIfPresent(String.self, forKey: .label)
    count = try members.decode(Int.self, forKey: .count)
    children = try members.decodeIfPresent([CategoryCount].self, forKey: .children) ?? []
  }
}
