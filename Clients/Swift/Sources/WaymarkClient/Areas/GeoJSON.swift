import Foundation

/// Areas in GeoJSON (RFC 7946).
enum GeoJSONArea {
  /// A geometry, feature or collection.
  private struct Object: Decodable {
    let polygons: [[[Coordinate]]]

    private enum CodingKeys: CodingKey {
      case type, coordinates, geometry, features
    }

    init(from decoder: any Decoder) throws {
      let members = try decoder.container(keyedBy: CodingKeys.self)
      switch try members.decode(String.self, forKey: .type) {
      case "Polygon": polygons = [try Self.rings(try members.decode([[[Double]]].self, forKey: .coordinates))]
      case "MultiPolygon":
        polygons = try members.decode([[[[Double]]]].self, forKey: .coordinates).map(Self.rings)
      case "Feature": polygons = try members.decode(Object.self, forKey: .geometry).polygons
      case "FeatureCollection": polygons = try members.decode([Object].self, forKey: .features).flatMap(\.polygons)
      case let type: throw RequestError.invalidGeometry("the GeoJSON must have polygons only, got '\(type.prefix(50))'")
      }
    }

    private static func rings(_ rings: [[[Double]]]) throws -> [[Coordinate]] {
      try rings.map { try $0.map { try Coordinate(position: $0) } }
    }
  }

  /// Returns the rings of the polygons in a text.
  ///
  /// - Throws: ``RequestError/invalidGeometry(_:)`` or ``RequestError/invalidCoordinate``.
  static func polygons(of text: String) throws(RequestError) -> [[[Coordinate]]] {
    do {
      return try JSONDecoder().decode(Object.self, from: Data(text.utf8)).polygons
    } catch let error as RequestError {
      throw error
    } catch {
      throw .invalidGeometry("the text is not a polygon or multipolygon in GeoJSON")
    }
  }
}

extension Coordinate {
  /// Creates a coordinate from a position: longitude, latitude and perhaps a height.
  fileprivate init(position: [Double]) throws(RequestError) {
    guard position.count >= 2 else { throw .invalidGeometry("a position must have a longitude and a latitude") }
    try self.init(latitude: position[1], longitude: position[0])
  }

  /// The position in GeoJSON.
  var position: [Double] { [longitude, latitude] }
}

/// A geometry in GeoJSON.
struct GeoJSONGeometry<Coordinates: Encodable>: Encodable {
  let type: String
  let coordinates: Coordinates
}

extension SearchArea {
  /// The area in GeoJSON.
  var geoJSON: some Encodable {
    GeoJSONGeometry(
      type: "MultiPolygon",
      coordinates: polygons.map { $0.rings.map { ($0 + $0.prefix(1)).map(\.position) } })
  }
}

extension SearchRoute {
  /// The line in GeoJSON.
  var geoJSON: some Encodable { GeoJSONGeometry(type: "LineString", coordinates: line.map(\.position)) }
}
