public import Foundation

#if canImport(FoundationNetworking)
  package import FoundationNetworking
#endif

/// The orders of the matches of a search.
///
/// ```swift
/// let museums = waymark.search("museum", near: here, order: .distance)
/// ```
public enum SearchOrder: Hashable, Sendable {
  /// The best match first.
  case relevance
  /// The nearest match first. It requires a coordinate.
  case distance
}

/// A search for places by their names.
package struct PointSearch: Hashable, Sendable {
  /// The words of the name, 1 to 200 characters with a letter or a digit.
  package var text: String

  /// The conditions. Near their center, matches rank higher; with a radius, there are only those within it.
  package var filter: PointFilter

  /// The order of the matches.
  package var order: SearchOrder

  /// A Boolean value that indicates whether the last word is being typed, and thus the beginning of a word.
  package var isIncomplete: Bool

  /// The languages of the names, the preferred one first; empty for those of the session's `Accept-Language`, or else
  /// the places' own names.
  package var languages: [String]

  package init(
    _ text: String, filter: PointFilter = PointFilter(), order: SearchOrder = .relevance, isIncomplete: Bool = false,
    languages: [String] = []
  ) {
    self.text = text
    self.filter = filter
    self.order = order
    self.isIncomplete = isIncomplete
    self.languages = languages
  }

  /// Returns the query parameters, in a fixed order.
  ///
  /// - Throws: ``RequestError/invalidText`` and the errors of the filter.
  func parameters() throws(RequestError) -> [QueryParameter] {
    var parameters = [try QueryParameter(searchText: text)]
    parameters += try filter.parameters()
    if !languages.isEmpty { parameters.append(QueryParameter("lang", .texts(languages))) }
    return parameters
  }
}

/// A place that a search found, with its rank.
///
/// Its name may be in another language than its own. To change the place, load it with ``Waymark/place(_:)``.
///
/// ```swift
/// let match = PointMatch(place: place, score: 1.5)
/// ```
public struct PointMatch: Hashable, Sendable, Identifiable, Decodable {
  /// A name that matches.
  ///
  /// ```swift
  /// let name = PointMatch.Name(key: "name:en", text: "Winchester Mystery House", ranges: [0..<10])
  /// print(name.highlights.map { name.text[$0] })
  /// ```
  public struct Name: Hashable, Sendable, Decodable {
    /// `name`, or the key of the tag that has the name, for example `name:ko`.
    public var key: String

    /// The name.
    public var text: String

    /// The parts of the text that match, in Unicode scalars.
    public var ranges: [Range<Int>]

    private enum CodingKeys: String, CodingKey {
      case key, text, ranges
    }

    /// Creates a name.
    public init(key: String, text: String, ranges: [Range<Int>]) {
      self.key = key
      self.text = text
      self.ranges = ranges
    }

    /// Decodes a name from the service's JSON.
    ///
    /// - Throws: `DecodingError` where a member is missing, or a range is not in the text.
    public init(from decoder: any Decoder) throws {
      let members = try decoder.container(keyedBy: CodingKeys.self)
      key = try members.decode(String.self, forKey: .key)
      text = try members.decode(String.self, forKey: .text)
      let length = text.unicodeScalars.count
      ranges = try members.decode([[Int]].self, forKey: .ranges).map { bounds in
        guard bounds.count == 2, 0 <= bounds[0], bounds[0] <= bounds[1], bounds[1] <= length else {
          throw DecodingError.dataCorruptedError(forKey: .ranges, in: members, debugDescription: "not in the text")
        }
        return bounds[0]..<bounds[1]
      }
    }

    /// The parts of ``text`` that match, for highlighting.
    public var highlights: [Range<String.Index>] {
      ranges.map { range in
        let scalars = text.unicodeScalars
        return scalars.index(
          scalars.startIndex, offsetBy: range.lowerBound)..<scalars.index(
            scalars.startIndex, offsetBy: range.upperBound)
      }
    }
  }

  /// The place.
  public var place: PointOfInterest

  /// The rank of the match; greater is better.
  public var score: Double?

  /// The name that matches, which may be another one than the place's.
  public var name: Name?

  /// The place's identifier.
  public var id: UUID { place.id }

  private enum CodingKeys: String, CodingKey {
    case score, match
  }

  /// Creates a match.
  public init(place: PointOfInterest, score: Double? = nil, name: Name? = nil) {
    self.place = place
    self.score = score
    self.name = name
  }

  /// Decodes a match from the service's JSON: the place, with the score and the name as further members.
  ///
  /// - Throws: `DecodingError` where a member has an unexpected type.
  public init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: CodingKeys.self)
    place = try PointOfInterest(from: decoder)
    score = try members.decodeIfPresent(Double.self, forKey: .score)
    name = try members.decodeIfPresent(Name.self, forKey: .match)
  }
}

/// A request for a page of the places that match a text: `GET /locations?q=`, or `POST /locations/search` if its
/// address would be longer than 4,000 bytes.
package struct PointSearchRequest: ListRequest {
  package typealias Row = PointMatch

  private let baseURL: URL
  private let limit: Int?

  /// The version is left out, since what has a name in another language must not be passed to ``Waymark/update(_:)``.
  private static let fields = [
    "id", "name", "category", "lat", "long", "distance", "tags", "source", "sourceId", "score", "match",
  ]

  /// Creates a request.
  ///
  /// - Parameters:
  ///   - baseURL: the service's URL.
  ///   - limit: the maximum number of matches on a page, 1 to 1,000; `nil` for the service's default, 20.
  package init(baseURL: URL, limit: Int? = nil) {
    self.baseURL = baseURL
    self.limit = limit
  }

  /// Creates the request for the first page.
  ///
  /// - Throws: ``RequestError``: `invalidText`, `distanceWithoutCenter`, `invalidLimit`, `invalidBaseURL`, or the
  ///   errors of the filter.
  package func makeRequest(from search: PointSearch) throws -> URLRequest {
    var parameters = try search.parameters()
    if search.isIncomplete { parameters.append(QueryParameter("autocomplete", .flag(true))) }
    if search.order == .distance {
      guard search.filter.center != nil else { throw RequestError.distanceWithoutCenter }
      parameters.append(QueryParameter("sort", .text("distance")))
    }
    if let limit { parameters.append(try QueryParameter(limit: limit)) }
    let opening = search.filter.open == nil ? [] : PointFields.opening
    parameters.append(QueryParameter("fields", .texts(Self.fields + opening)))
    return try URLRequest(searching: baseURL, parameters: parameters)
  }
}
