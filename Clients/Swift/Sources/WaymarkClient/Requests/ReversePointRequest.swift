public import Foundation

#if canImport(FoundationNetworking)
  package import FoundationNetworking
#endif

/// A place with its name and address in one line.
///
/// ```swift
/// let point = LabeledPoint(place: place, label: "Café Zentral, Herrengasse 14, 1010 Wien")
/// ```
public struct LabeledPoint: Hashable, Sendable, Identifiable, Decodable {
  /// The place.
  public var place: PointOfInterest

  /// The name and the address, in the order that is usual in the country of the place.
  public var label: String

  /// The place's identifier.
  public var id: UUID { place.id }

  private enum CodingKeys: String, CodingKey {
    case label
  }

  /// Creates a place with its label.
  public init(place: PointOfInterest, label: String) {
    self.place = place
    self.label = label
  }

  /// The label without the name.
  var address: String {
    guard label.hasPrefix(place.name) else { return label }
    return String(label.dropFirst(place.name.count).drop { $0 == "," || $0 == " " })
  }

  /// Decodes a place from the service's JSON, with the label as a further member.
  ///
  /// - Throws: `DecodingError` where a member is missing or has an unexpected type.
  public init(from decoder: any Decoder) throws {
    place = try PointOfInterest(from: decoder)
    label = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .label)
  }
}

/// A request for the nearest place to a coordinate, with its address: `GET /locations/reverse`.
package struct ReversePointRequest: ServiceRequest {
  /// The place with its label.
  package typealias ResponseDataType = LabeledPoint

  private let baseURL: URL
  private let radiusMetres: Double?
  private let languages: [String]

  /// Creates a request.
  ///
  /// - Parameters:
  ///   - baseURL: the service's URL.
  ///   - radiusMetres: the maximum distance of the place in metres; `nil` for any.
  ///   - languages: the languages of the name, the preferred one first; empty for those of the session's
  ///   `Accept-Language`, or else the place's own name.
  package init(baseURL: URL, radiusMetres: Double? = nil, languages: [String] = []) {
    self.baseURL = baseURL
    self.radiusMetres = radiusMetres
    self.languages = languages
  }

  /// Creates the request for a coordinate.
  ///
  /// - Throws: ``RequestError/invalidRadius`` and ``RequestError/invalidBaseURL``.
  package func makeRequest(from coordinate: Coordinate) throws -> URLRequest {
    var parameters = try PointFilter(center: coordinate, radiusMetres: radiusMetres).parameters()
    if !languages.isEmpty { parameters.append(QueryParameter("lang", .texts(languages))) }
    return try URLRequest("GET", baseURL, "/locations/reverse", parameters: parameters)
  }
}
