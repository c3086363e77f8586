public import CQL2
public import Geo

extension PointQuery {
  /// An area that places are in.
  public struct Area: Hashable, Sendable {
    /// The polygons.
    public let shape: GeodesicArea

    /// The longest time that a search in the area may take.
    public let timeLimit: Duration

    public init(_ shape: GeodesicArea, timeLimit: Duration = .seconds(1)) {
      self.shape = shape
      self.timeLimit = timeLimit
    }
  }

  /// A route that places are near, and along which they are ordered.
  public struct Route: Hashable, Sendable {
    /// The line.
    public let line: GeodesicRoute

    /// The maximum distance from the line, in metres on the WGS 84 geodesic, inclusive.
    public let radiusMetres: Double

    /// The longest time that a search along the route may take.
    public let timeLimit: Duration

    /// Creates a condition.
    ///
    /// - Parameter radiusMetres: 0 to `GeodesicRoute.maximumRadiusMetres`.
    public init(_ line: GeodesicRoute, radiusMetres: Double, timeLimit: Duration = .seconds(1)) {
      self.line = line
      self.radiusMetres = radiusMetres
      self.timeLimit = timeLimit
    }
  }

  /// A Boolean value that indicates whether only an index evaluates the query.
  public var needsIndex: Bool { filter != nil || area != nil || route != nil }

  /// The time limit of the search; `nil` where it has none.
  public var timeLimit: Duration? {
    [filter?.timeLimit, area?.timeLimit, route?.timeLimit].compactMap(\.self).min()
  }
}

extension GeodesicArea {
  /// Creates the area of a geometry in degrees of longitude and latitude.
  ///
  /// - Throws: `FilterError` where it is not a polygon or several, or has an edge that is no geodesic.
  public convenience init(_ geometry: FilterGeometry) throws(FilterError) {
    let polygons: [[[FilterGeometry.Position]]]
    switch geometry {
    case .simple(.polygon(let rings)): polygons = [rings]
    case .simple(.multiPolygon(let several)): polygons = several
    default: throw .invalidGeometry("expected a polygon or a multipolygon")
    }
    var coordinates: [[[Coordinate]]] = []
    for rings in polygons {
      var polygon: [[Coordinate]] = []
      for ring in rings { polygon.append(try Coordinate.coordinates(of: ring)) }
      coordinates.append(polygon)
    }
    do {
      try self.init(polygons: coordinates)
    } catch {
      throw .invalidGeometry(error.description)
    }
  }
}

extension GeodesicRoute {
  /// Creates the route of a geometry in degrees of longitude and latitude.
  ///
  /// - Throws: `FilterError` where it is not a line, or has an edge that is no geodesic.
  public convenience init(_ geometry: FilterGeometry) throws(FilterError) {
    guard case .simple(.lineString(let line)) = geometry else { throw .invalidGeometry("expected a line string") }
    let coordinates = try Coordinate.coordinates(of: line)
    do {
      try self.init(coordinates)
    } catch {
      throw .invalidGeometry(error.description)
    }
  }

  /// Creates the route of a text: an encoded polyline of precision 5, or a line string in GeoJSON or WKT.
  ///
  /// - Throws: `FilterError` where it is none.
  public convenience init(text: String) throws(FilterError) {
    let limits = FilterLimits()
    guard text.utf8.count <= limits.bytes else {
      throw .invalidGeometry("expected at most \(limits.bytes) bytes, got \(text.utf8.count)")
    }
    guard EncodedPolyline.hasOnlyItsCharacters(text) else {
      try self.init(try FilterGeometry(text: text, limits: limits))
      return
    }
    let coordinates: [Coordinate]
    do {
      coordinates = try EncodedPolyline.coordinates(of: text, maximumCount: limits.vertices)
    } catch {
      throw .invalidGeometry(error.description)
    }
    do {
      try self.init(coordinates)
    } catch {
      throw .invalidGeometry(error.description)
    }
  }
}

extension Coordinate {
  fileprivate static func coordinates(of positions: [FilterGeometry.Position]) throws(FilterError) -> [Coordinate] {
    var coordinates: [Coordinate] = []
    coordinates.reserveCapacity(positions.count)
    for position in positions {
      guard let coordinate = try? Coordinate(latitude: position.y, longitude: position.x) else {
        throw .invalidGeometry(
          "expected a longitude from -180 to 180 and a latitude from -90 to 90, got \(position.x) \(position.y)")
      }
      coordinates.append(coordinate)
    }
    return coordinates
  }
}
