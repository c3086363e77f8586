import Foundation
import Geo

/// An area of polygons in the plane of longitude and latitude.
package struct OSMArea: Hashable, Sendable {
  private struct Polygon: Hashable {
    let box: Box
    /// The edges of all rings.
    let edges: [Edge]
  }

  private struct Edge: Hashable {
    let start: PlanePoint
    let end: PlanePoint
  }

  private struct Box: Hashable {
    var south = Double.infinity
    var west = Double.infinity
    var north = -Double.infinity
    var east = -Double.infinity

    mutating func extend(to position: OSMPosition) {
      south = min(south, position.latitude)
      west = min(west, position.longitude)
      north = max(north, position.latitude)
      east = max(east, position.longitude)
    }

    func contains(_ position: OSMPosition) -> Bool {
      position.latitude >= south && position.latitude <= north && position.longitude >= west
        && position.longitude <= east
    }
  }

  private let polygons: [Polygon]

  /// Creates the area of a GeoJSON text: a Polygon or MultiPolygon, or a Feature, FeatureCollection or
  /// GeometryCollection of such. An area that crosses the antimeridian must be cut there (RFC 7946, section 3.1.9).
  ///
  /// - Throws: ``OSMAreaError``.
  package init(geoJSON: [UInt8]) throws(OSMAreaError) {
    let json: Any
    do {
      json = try JSONSerialization.jsonObject(with: Data(geoJSON))
    } catch {
      throw .invalidJSON((error as NSError).userInfo[NSDebugDescriptionErrorKey] as? String ?? "\(error)")
    }
    var polygons: [Polygon] = []
    try OSMArea.collect(json, into: &polygons)
    guard !polygons.isEmpty else { throw .noPolygon }
    self.polygons = polygons
  }

  /// Returns a Boolean value that indicates whether the position is in one of the polygons and in none of its holes.
  package func contains(_ position: OSMPosition) -> Bool {
    polygons.contains { polygon in
      guard polygon.box.contains(position) else { return false }
      let point = PlanePoint(latitude: position.latitude, longitude: position.longitude)
      var isInside = false
      for edge in polygon.edges where point.isWest(ofSegmentFrom: edge.start, to: edge.end) { isInside.toggle() }
      return isInside
    }
  }

  private static func collect(_ json: Any, into polygons: inout [Polygon]) throws(OSMAreaError) {
    guard let object = json as? [String: Any], let type = object["type"] as? String else { return }
    switch type {
    case "FeatureCollection":
      for feature in object["features"] as? [Any] ?? [] { try collect(feature, into: &polygons) }
    case "GeometryCollection":
      for geometry in object["geometries"] as? [Any] ?? [] { try collect(geometry, into: &polygons) }
    case "Feature":
      if let geometry = object["geometry"] { try collect(geometry, into: &polygons) }
    case "Polygon": polygons.append(try polygon(object["coordinates"] ?? ""))
    case "MultiPolygon":
      guard let parts = object["coordinates"] as? [Any] else { throw .invalidRing("coordinates are missing") }
      for part in parts { polygons.append(try polygon(part)) }
    default: break
    }
  }

  private static func polygon(_ json: Any) throws(OSMAreaError) -> Polygon {
    guard let rings = json as? [[[Any]]], !rings.isEmpty else {
      throw .invalidRing("coordinates must be an array of rings")
    }
    var box = Box()
    var edges: [Edge] = []
    for ring in rings {
      var positions: [OSMPosition] = []
      for pair in ring { positions.append(try position(pair)) }
      guard positions.count >= 4, positions.first == positions.last else {
        throw .invalidRing("a ring must have at least 4 positions, of which the last is the first")
      }
      positions.forEach { box.extend(to: $0) }
      let points = positions.map { PlanePoint(latitude: $0.latitude, longitude: $0.longitude) }
      edges += zip(points, points.dropFirst()).map { Edge(start: $0, end: $1) }
    }
    return Polygon(box: box, edges: edges)
  }

  private static func position(_ pair: [Any]) throws(OSMAreaError) -> OSMPosition {
    guard pair.count >= 2, let longitude = pair[0] as? Double, let latitude = pair[1] as? Double,
      (-180...180).contains(longitude), (-90...90).contains(latitude)
    else {
      throw .invalidRing("a position must be a longitude from -180 to 180 and a latitude from -90 to 90")
    }
    return OSMPosition(latitude: latitude, longitude: longitude)
  }
}

/// The reason why a text is no area.
package enum OSMAreaError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The text is not JSON; the detail is the parser's.
  case invalidJSON(String)
  /// The text contains no polygon.
  case noPolygon
  /// A polygon has a ring of fewer than four positions, one that is not closed, or a position out of range.
  case invalidRing(String)

  /// The message for users; it follows the name of the file.
  package var description: String {
    switch self {
    case .invalidJSON(let detail): "is not valid JSON: \(detail)"
    case .noPolygon: "contains no GeoJSON Polygon or MultiPolygon"
    case .invalidRing(let detail): "contains an invalid polygon: \(detail)"
    }
  }
}
