/// An area of polygons in the plane of longitude and latitude.
public struct OSMArea: Hashable, Sendable {
  /// Creates the area of a GeoJSON text: a Polygon or MultiPolygon, or a Feature, FeatureCollection or
  /// GeometryCollection of such.
  ///
  /// - Throws: ``OSMAreaError``.
  public init(geoJSON: [UInt8]) throws(OSMAreaError) {
    throw .noPolygon
  }

  /// Returns a Boolean value that indicates whether the position is in one of the polygons and in none of its holes.
  public func contains(_ position: OSMPosition) -> Bool { false }
}

/// The reason why a text is no area.
public enum OSMAreaError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The text is not JSON; the detail is the parser's.
  case invalidJSON(String)
  /// The text contains no polygon.
  case noPolygon
  /// A polygon has a ring of fewer than four positions, one that is not closed, or a position out of range.
  case invalidRing(String)

  /// The message for users; it follows the name of the file.
  public var description: String {
    switch self {
    case .invalidJSON(let detail): "is not valid JSON: \(detail)"
    case .noPolygon: "contains no GeoJSON Polygon or MultiPolygon"
    case .invalidRing(let detail): "contains an invalid polygon: \(detail)"
    }
  }
}
