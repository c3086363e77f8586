public import Foundation

#if canImport(FoundationNetworking)
  package import FoundationNetworking
#endif

/// A request for the clusters of places on a map: `GET /locations/clusters`.
package struct ClustersRequest: ServiceRequest {
  /// The clusters.
  package typealias ResponseDataType = [PointCluster]

  private let baseURL: URL
  private let zoom: Int
  private let text: String?

  /// Creates a request.
  ///
  /// - Parameters:
  ///   - baseURL: the service's URL.
  ///   - zoom: the zoom level of the map, 0 to 22, as in the addresses of tiles.
  ///   - text: the text that the names of the places match, as in ``PointSearch/text``; `nil` for any places.
  package init(baseURL: URL, zoom: Int, matching text: String? = nil) {
    self.baseURL = baseURL
    self.zoom = zoom
    self.text = text
  }

  /// Creates the request. The filter has no center, radius or route; its box is the visible part of the map.
  ///
  /// - Throws: ``RequestError``: `invalidZoom`, `invalidText`, `unsupportedFilter`, `invalidBaseURL`, or the errors of
  ///   the filter.
  package func makeRequest(from filter: PointFilter) throws -> URLRequest {
    guard (0...22).contains(zoom) else { throw RequestError.invalidZoom }
    let conditions = try filter.mapParameters(matching: text)
    return try URLRequest(
      "GET", baseURL, "/locations/clusters", parameters: [QueryParameter("zoom", .integer(zoom))] + conditions,
      accept: "application/geo+json")
  }

  /// Decodes the clusters from a FeatureCollection, without invalid features.
  ///
  /// - Throws: `DecodingError` if the body is no FeatureCollection or all its features are invalid.
  package func parseResponse(data: Data) throws -> [PointCluster] { try parse(data: data).value }

  /// Decodes the clusters from a FeatureCollection, and reports its invalid features.
  ///
  /// - Throws: `DecodingError` if the body is no FeatureCollection or all its features are invalid.
  package func parse(data: Data) throws -> ParsedResponse<[PointCluster]> {
    struct Collection: Decodable {
      let features: LenientList.Rows<PointCluster>
    }
    return try JSONDecoder().decode(Collection.self, from: data).features.parsed()
  }
}

/// A cell of a map with the places in it.
///
/// ```swift
/// let cluster = PointCluster(id: "6/33/17", coordinate: here, count: 3, name: "Museum", category: "museum")
/// print(cluster.placeID == nil ? "\(cluster.count) places" : cluster.name)
/// ```
public struct PointCluster: Hashable, Sendable, Identifiable {
  /// The cell as `level/x/y`, or the id of its only place.
  public var id: String

  /// The centre of mass of the places.
  public var coordinate: Coordinate

  /// The number of places, at least 1.
  public var count: Int

  /// The name of one of the places.
  public var name: String

  /// The most frequent category of the places; `nil` where none has one.
  public var category: String?

  /// The id of the place; `nil` for several places.
  public var placeID: UUID? { count == 1 ? UUID(uuidString: id) : nil }

  /// Creates a cluster.
  public init(id: String, coordinate: Coordinate, count: Int, name: String, category: String? = nil) {
    self.id = id
    self.coordinate = coordinate
    self.count = count
    self.name = name
    self.category = category
  }
}

extension PointCluster: Decodable {
  private enum CodingKeys: CodingKey {
    case id, geometry, properties
  }

  private enum GeometryKeys: CodingKey {
    case coordinates
  }

  private enum PropertyKeys: CodingKey {
    case count, name, category
  }

  /// Decodes a cluster from a feature in GeoJSON.
  ///
  /// - Throws: `DecodingError` where a member is missing or has an unexpected type.
  public init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: CodingKeys.self)
    let geometry = try members.nestedContainer(keyedBy: GeometryKeys.self, forKey: .geometry)
    let properties = try members.nestedContainer(keyedBy: PropertyKeys.self, forKey: .properties)
    let position = try geometry.decode([Double].self, forKey: .coordinates)
    guard position.count >= 2, let coordinate = try? Coordinate(latitude: position[1], longitude: position[0]) else {
      throw DecodingError.dataCorruptedError(
        forKey: .coordinates, in: geometry, debugDescription: "must be a longitude and a latitude")
    }
    self.init(
      id: try members.decode(String.self, forKey: .id), coordinate: coordinate,
      count: try properties.decode(Int.self, forKey: .count),
      name: try properties.decode(String.self, forKey: .name),
      category: try properties.decodeIfPresent(String.self, forKey: .category))
  }
}
