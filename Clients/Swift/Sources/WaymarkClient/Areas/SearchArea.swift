/// An area to search in: polygons with holes, which may overlap.
///
/// Edges are geodesics of the WGS 84 ellipsoid, and the interior of a ring is the smaller of its two sides. So an area
/// may contain a pole or cross the antimeridian, with nothing special in its coordinates. For an area between two
/// parallels, use a ``BoundingBox``. The service rejects areas of more than 10,000 positions.
///
/// ```swift
/// let triangle = try SearchArea([
///   Coordinate(latitude: 48.19, longitude: 16.35), Coordinate(latitude: 48.19, longitude: 16.39),
///   Coordinate(latitude: 48.22, longitude: 16.37),
/// ])
/// let places = try await waymark.places(in: triangle).firstPage()
/// ```
public struct SearchArea: Hashable, Sendable {
  /// A polygon with holes.
  ///
  /// ```swift
  /// let corners = [(37.2, -122.5), (37.2, -121.5), (37.9, -122.0)]
  /// let ring = try corners.map { try Coordinate(latitude: $0.0, longitude: $0.1) }
  /// let polygon = try SearchArea.Polygon(ring, holes: [])
  /// let area = try SearchArea(polygons: [polygon])
  /// ```
  public struct Polygon: Hashable, Sendable {
    /// The positions of the outer ring, in either direction. The first one is not repeated.
    public let boundary: [Coordinate]

    /// The rings of the holes.
    public let holes: [[Coordinate]]

    /// Creates a polygon. The last position of a ring may repeat the first one.
    ///
    /// - Throws: ``RequestError/invalidGeometry(_:)`` if a ring has fewer than three different positions.
    public init(_ boundary: [Coordinate], holes: [[Coordinate]] = []) throws(RequestError) {
      self.boundary = try Self.ring(boundary)
      var rings: [[Coordinate]] = []
      for hole in holes { rings.append(try Self.ring(hole)) }
      self.holes = rings
    }

    /// All rings, the outer one first.
    var rings: [[Coordinate]] { [boundary] + holes }

    /// Returns the ring without the repetition of its first position.
    private static func ring(_ positions: [Coordinate]) throws(RequestError) -> [Coordinate] {
      let isClosed = positions.count > 1 && positions.first == positions.last
      let ring = isClosed ? Array(positions.dropLast()) : positions
      guard Set(ring).count >= 3 else { throw .tooFewPositions }
      return ring
    }
  }

  /// The polygons, at least one.
  public let polygons: [Polygon]

  /// Creates an area of one polygon.
  ///
  /// - Parameters:
  ///   - boundary: the positions of the outer ring, in either direction.
  ///   - holes: the rings of the holes.
  /// - Throws: ``RequestError/invalidGeometry(_:)`` if a ring has fewer than three different positions.
  public init(_ boundary: [Coordinate], holes: [[Coordinate]] = []) throws(RequestError) {
    polygons = [try Polygon(boundary, holes: holes)]
  }

  /// Creates an area of several polygons.
  ///
  /// ```swift
  /// let everything = try SearchArea(polygons: area.polygons + [SearchArea.Polygon(route.line)])
  /// ```
  ///
  /// - Throws: ``RequestError/invalidGeometry(_:)`` if there is no polygon.
  public init(polygons: [Polygon]) throws(RequestError) {
    guard !polygons.isEmpty else { throw .tooFewPositions }
    self.polygons = polygons
  }

  /// Creates an area from text in WKT, `POLYGON` or `MULTIPOLYGON`. Heights are ignored.
  ///
  /// ```swift
  /// let area = try SearchArea(wkt: "POLYGON((16.35 48.19, 16.39 48.19, 16.37 48.22, 16.35 48.19))")
  /// ```
  ///
  /// - Throws: ``RequestError/invalidGeometry(_:)`` or ``RequestError/invalidCoordinate``.
  public init(wkt text: String) throws(RequestError) {
    var parser = WKTParser(text)
    try self.init(positions: try parser.polygons())
  }

  /// Creates an area from text in GeoJSON (RFC 7946): a polygon, a multipolygon, or a feature or feature collection of
  /// these. Heights are ignored.
  ///
  /// ```swift
  /// let area = try SearchArea(geoJSON: String(decoding: file, as: UTF8.self))
  /// ```
  ///
  /// - Throws: ``RequestError/invalidGeometry(_:)`` or ``RequestError/invalidCoordinate``.
  public init(geoJSON text: String) throws(RequestError) {
    try self.init(positions: try GeoJSONArea.polygons(of: text))
  }

  /// Creates an area from the rings of polygons in a text, the outer one first, whose last position repeats the first.
  private init(positions: [[[Coordinate]]]) throws(RequestError) {
    var polygons: [Polygon] = []
    for rings in positions {
      for ring in rings where ring.count < 4 || ring.first != ring.last {
        throw .invalidGeometry("the last position of a ring must repeat the first one, after at least three others")
      }
      guard let boundary = rings.first else { throw .invalidGeometry("a polygon must have a ring") }
      polygons.append(try Polygon(boundary, holes: Array(rings.dropFirst())))
    }
    guard !polygons.isEmpty else { throw .invalidGeometry("there must be a polygon") }
    try self.init(polygons: polygons)
  }

  /// The area in WKT.
  var wkt: String {
    let bodies = polygons.map { polygon in
      "(" + polygon.rings.map { "(" + WKT.positions($0 + $0.prefix(1)) + ")" }.joined(separator: ",") + ")"
    }
    return bodies.count == 1 ? "POLYGON" + bodies[0] : "MULTIPOLYGON(" + bodies.joined(separator: ",") + ")"
  }
}
