package import Foundation

#if canImport(FoundationNetworking)
  package import FoundationNetworking
#endif

/// A suggestion for a text that is being typed.
///
/// ```swift
/// for suggestion in try await waymark.suggestions(for: "mus") {
///   switch suggestion {
///   case .category(let category): print(category.label ?? category.category, category.count)
///   case .place(let point): print(point.label, point.place.distanceMetres ?? 0)
///   }
/// }
/// ```
public enum SearchSuggestion: Hashable, Sendable, Identifiable, Decodable {
  /// A category, with its number of places.
  case category(CategoryCount)

  /// A place with its name and address. Of the place itself, only the id, the name, the category and, with a coordinate
  /// in the request, the distance are known.
  case place(LabeledPoint)

  /// The identifier: the id of the place, or the category.
  public var id: String {
    switch self {
    case .category(let count): "category/" + count.category
    case .place(let point): point.id.uuidString
    }
  }

  /// The text of the suggestion: the name of the place, or the label of the category or the category itself.
  public var title: String {
    switch self {
    case .category(let count): count.label ?? count.category
    case .place(let point): point.place.name
    }
  }

  /// The address of the place, to be shown below ``title``; empty for a category, and where none is known.
  public var subtitle: String {
    guard case .place(let point) = self else { return "" }
    return point.address
  }

  private enum CodingKeys: String, CodingKey {
    case type, label
  }

  /// Decodes a suggestion from the service's JSON.
  ///
  /// - Throws: `DecodingError` where a member is missing, or the type is unknown.
  public init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: CodingKeys.self)
    switch try members.decode(String.self, forKey: .type) {
    case "category": self = .category(try CategoryCount(from: decoder))
    case "place":
      let place = try PointOfInterest(from: decoder)
      let label = try members.decodeIfPresent(String.self, forKey: .label)
      self = .place(LabeledPoint(place: place, label: label ?? place.name))
    case let type:
      throw DecodingError.dataCorruptedError(forKey: .type, in: members, debugDescription: "unknown type: \(type)")
    }
  }
}

/// A request for suggestions: `GET /locations/suggest`.
package struct SuggestionsRequest: ListRequest {
  package typealias Row = SearchSuggestion

  private let baseURL: URL
  private let limit: Int?

  /// Creates a request.
  ///
  /// - Parameters:
  ///   - baseURL: the service's URL.
  ///   - limit: the maximum number of suggestions, 1 to 50; `nil` for the service's default, 10.
  package init(baseURL: URL, limit: Int? = nil) {
    self.baseURL = baseURL
    self.limit = limit
  }

  /// Creates the request for a text, whose last word is the beginning of a word.
  ///
  /// - Throws: ``RequestError``: `invalidText`, `invalidLimit`, `invalidBaseURL`, `unsupportedFilter` for tags or a
  /// condition, or the errors of the filter.
  package func makeRequest(from search: PointSearch) throws -> URLRequest {
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
}
