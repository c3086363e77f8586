public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// A suggestion for a text that is being typed.
///
/// ```swift
/// for suggestion in try await waymark.suggestions(for: "mus") {
///   switch suggestion {
///   case .category(let category): print(category.category, category.count)
///   case .place(let place): print(place.name)
///   }
/// }
/// ```
public enum SearchSuggestion: Hashable, Sendable, Identifiable, Decodable {
  /// A category, with its number of places.
  case category(CategoryCount)

  /// A place, of which only the id, the name, the category and the distance are known.
  case place(PointOfInterest)

  /// The identifier: the id of the place, or the category.
  public var id: String {
    switch self {
    case .category(let count): "category/" + count.category
    case .place(let place): place.id.uuidString
    }
  }

  /// The text of the suggestion: the name of the place, or the category.
  public var title: String {
    switch self {
    case .category(let count): count.category
    case .place(let place): place.name
    }
  }

  private enum CodingKeys: String, CodingKey {
    case type
  }

  /// Decodes a suggestion from the service's JSON.
  ///
  /// - Throws: `DecodingError` where a member is missing, or the type is unknown.
  public init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: CodingKeys.self)
    switch try members.decode(String.self, forKey: .type) {
    case "category": self = .category(try CategoryCount(from: decoder))
    case "place": self = .place(try PointOfInterest(from: decoder))
    case let type:
      throw DecodingError.dataCorruptedError(forKey: .type, in: members, debugDescription: "unknown type: \(type)")
    }
  }
}

/// A request for suggestions: `GET /locations/suggest`.
///
/// ```swift
/// let loader = waymark.loader(SuggestionsRequest(baseURL: baseURL, limit: 5))
/// let titles = try await loader.loadAPIRequest(requestData: PointSearch("mus")).map(\.title)
/// ```
public struct SuggestionsRequest: APIRequest {
  /// The suggestions, categories first.
  public typealias ResponseDataType = [SearchSuggestion]

  private let baseURL: URL
  private let limit: Int?

  /// Creates a request.
  ///
  /// - Parameters:
  ///   - baseURL: the service's URL.
  ///   - limit: the maximum number of suggestions, 1 to 50; `nil` for the service's default, 10.
  public init(baseURL: URL, limit: Int? = nil) {
    self.baseURL = baseURL
    self.limit = limit
  }

  /// Creates the request for a text, whose last word is the beginning of a word.
  ///
  /// - Throws: ``RequestError``: `invalidText`, `invalidLimit`, `invalidBaseURL`, `unsupportedFilter` for tags or a
  /// condition, or the errors of the filter.
  public func makeRequest(from search: PointSearch) throws -> URLRequest {
    guard search.filter.condition == nil, search.filter.tags.allSatisfy(\.value.isEmpty) else {
      throw RequestError.unsupportedFilter
    }
    var parameters = try search.parameters()
    if let limit {
      guard limit <= 50 else { throw RequestError.invalidLimit }
      parameters.append(try QueryParameter(limit: limit))
    }
    return try URLRequest("GET", baseURL, "/locations/suggest", parameters: parameters)
  }

  /// Decodes the suggestions, without those of an unknown type.
  ///
  /// - Throws: `DecodingError` if the body is no array or all its rows are invalid.
  public func parseResponse(data: Data) throws -> [SearchSuggestion] { try parse(data: data).value }

  /// Decodes the suggestions, and reports those of an unknown type.
  ///
  /// - Throws: `DecodingError` if the body is no array or all its rows are invalid.
  public func parse(data: Data) throws -> ParsedResponse<[SearchSuggestion]> { try LenientList.parse(data) }
}
