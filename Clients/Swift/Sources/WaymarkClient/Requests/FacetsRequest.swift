package import Foundation

#if canImport(FoundationNetworking)
  package import FoundationNetworking
#endif

/// A request for the most frequent values of properties: `GET /locations/facets`.
package struct FacetsRequest: ServiceRequest {
  /// The counts.
  package typealias ResponseDataType = PointFacets

  private let baseURL: URL
  private let properties: [PointProperty]
  private let text: String?
  private let limit: Int?

  /// Creates a request.
  ///
  /// - Parameters:
  ///   - baseURL: the service's URL.
  ///   - properties: the properties whose values are counted, 1 to 20 different ones.
  ///   - text: the text that the names of the places match, as in ``PointSearch/text``; `nil` for any places.
  ///   - limit: the maximum number of values of each property, 1 to 1,000; `nil` for the service's default, 20.
  package init(baseURL: URL, by properties: [PointProperty], matching text: String? = nil, limit: Int? = nil) {
    self.baseURL = baseURL
    self.properties = properties
    self.text = text
    self.limit = limit
  }

  /// Creates the request. The filter has no center, radius or route.
  ///
  /// - Throws: ``RequestError``: `invalidTagKeys`, `invalidLimit`, `invalidText`, `unsupportedFilter`,
  ///   `invalidBaseURL`, or the errors of the filter.
  package func makeRequest(from filter: PointFilter) throws -> URLRequest {
    let names = properties.map(\.name)
    guard !names.isEmpty, TagKey.areValid(properties.compactMap(\.key), maximumCount: 20), names.count <= 20,
      Set(properties).count == names.count
    else { throw RequestError.invalidTagKeys }
    var parameters = [QueryParameter("by", .texts(names))]
    if let limit { parameters.append(try QueryParameter(limit: limit)) }
    parameters += try filter.mapParameters(matching: text)
    return try URLRequest("GET", baseURL, "/locations/facets", parameters: parameters)
  }

  /// Decodes the counts, in the order of the request's properties.
  ///
  /// - Throws: `DecodingError` where a property is missing or a member has an unexpected type.
  package func parseResponse(data: Data) throws -> PointFacets {
    struct Body: Decodable {
      let count: Int
      let facets: [String: [PointFacet.Value]]
      let missing: [String: Int]
    }
    let body = try JSONDecoder().decode(Body.self, from: data)
    let facets = try properties.map { property in
      guard let values = body.facets[property.name], let missing = body.missing[property.name] else {
        throw DecodingError.dataCorrupted(
          DecodingError.Context(codingPath: [], debugDescription: "\(property.name) is missing"))
      }
      return PointFacet(property: property, values: values, missingCount: missing)
    }
    return PointFacets(count: body.count, facets: facets)
  }
}

/// A property of places whose values can be counted.
///
/// ```swift
/// let properties: [PointProperty] = [.category, .tag("wheelchair")]
/// ```
public enum PointProperty: Hashable, Sendable {
  /// The category.
  case category

  /// The group of the category in the service's tree of categories.
  case group

  /// The tag with a key, of 1 to 200 characters without commas.
  case tag(String)

  /// The name in requests and responses.
  var name: String {
    switch self {
    case .category: "category"
    case .group: "group"
    case .tag(let key): "tag." + key
    }
  }

  /// The key of a tag.
  var key: String? {
    guard case .tag(let key) = self else { return nil }
    return key
  }
}

/// The counts of values among the places that match a filter.
///
/// ```swift
/// let facets = try await waymark.facets(by: [.category])
/// for value in facets[.category]?.values ?? [] { print(value.value, value.count) }
/// ```
public struct PointFacets: Hashable, Sendable {
  /// The number of places that match.
  public var count: Int

  /// The counts of each property, in the order of the request.
  public var facets: [PointFacet]

  /// Creates counts.
  ///
  /// ```swift
  /// let none = PointFacets(count: 0, facets: [PointFacet(property: .category, values: [], missingCount: 0)])
  /// ```
  public init(count: Int, facets: [PointFacet]) {
    self.count = count
    self.facets = facets
  }

  /// The counts of a property; `nil` where the request did not name it.
  public subscript(property: PointProperty) -> PointFacet? { facets.first { $0.property == property } }
}

/// The most frequent values of a property.
///
/// ```swift
/// let cafes = PointFacet.Value("cafe", count: 12)
/// let facet = PointFacet(property: .category, values: [cafes], missingCount: 3)
/// ```
public struct PointFacet: Hashable, Sendable {
  /// A value and its number of places.
  public struct Value: Hashable, Sendable, Decodable {
    /// The value.
    public var value: String

    /// The number of places with the value.
    public var count: Int

    /// Creates a count.
    public init(_ value: String, count: Int) {
      self.value = value
      self.count = count
    }
  }

  /// The property.
  public var property: PointProperty

  /// The values, most frequent first.
  public var values: [Value]

  /// The number of places that match but have no value.
  public var missingCount: Int

  /// Creates the counts of a property.
  public init(property: PointProperty, values: [Value], missingCount: Int) {
    self.property = property
    self.values = values
    self.missingCount = missingCount
  }
}
