#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#endif

/// One polygon or several, with holes, on the WGS 84 ellipsoid. The edges are geodesics, to ``toleranceMetres``.
///
/// The interior of a ring is the smaller of the parts into which it divides the earth, whatever its direction. So an
/// area may be around a pole and across the antimeridian. A place is in a polygon if the way along its meridian to the
/// north pole crosses the rings so many times that it is on the other side of them than a pole outside; two areas with
/// a common edge have no place in common. A place at a pole that is a vertex counts as one beside it on its meridian.
///
/// The edges, in pieces of at most 100 km, are indexed by strips of longitude.
public final class GeodesicArea: Sendable {
  /// An upper bound of the distance between an edge and the geodesic between its ends, metres.
  public static let toleranceMetres = 0.01

  /// The rings of each polygon as they were given, the outer one first.
  public let polygons: [[[Coordinate]]]

  /// A piece of an edge, from its western to its eastern end.
  struct Piece: BitwiseCopyable {
    /// The eastings of the ends, which differ by at most 180 degrees.
    var west: Double
    var east: Double

    /// The bounds of the latitudes.
    var south: Double
    var north: Double

    /// The western end, and the vector to the north of the piece's plane.
    var start: EarthCentred
    var normal: EarthCentred

    var polygon: Int32

    /// Returns a Boolean value that indicates whether a place whose easting is within the piece's is south of it.
    @inline(__always)
    func isNorth(of latitude: Double, _ place: EarthCentred) -> Bool {
      if latitude < south { return true }
      if latitude > north { return false }
      return (place.x - start.x) * normal.x + (place.y - start.y) * normal.y + (place.z - start.z) * normal.z < 0
    }
  }

  /// The pieces, by polygon; one that reaches around the earth's zero easting is there twice.
  private let pieces: [Piece]

  /// For each polygon, a Boolean value that indicates whether the north pole is in it.
  private let isPolar: [Bool]

  /// The number of polygons that the north pole is in.
  private let polarCount: Int

  /// The longitude of which the easting is 0.
  private let origin: Double

  /// The greatest easting of a piece.
  private let width: Double

  // The strips of equal width: the start of each one's pieces in the list of all, which is ordered by polygon in each.
  private let stripsPerDegree: Double
  private let stripStarts: [Int32]
  private let stripPieces: [Int32]

  /// Creates an area.
  ///
  /// - Parameters:
  ///   - polygons: the rings of each polygon, the outer one first. The last position of a ring may be its first or not.
  ///   - maximumMetres: the maximum length of the edges of all rings together; `nil` for 2,000,000 km.
  /// - Throws: ``GeodesicShapeError``.
  public init(polygons: [[[Coordinate]]], maximumMetres: Double? = nil) throws(GeodesicShapeError) {
    self.polygons = polygons
    var rings: [(ring: AreaRing, polygon: Int32)] = []
    let maximumMetres = maximumMetres ?? GeodesicWaypoints.maximumMetres
    var metres = 0.0
    for (number, polygon) in polygons.enumerated() {
      for coordinates in polygon {
        let ring = try AreaRing(coordinates, after: metres, maximumMetres: maximumMetres)
        metres = ring.metres
        rings.append((ring, Int32(number)))
      }
    }
    var isPolar = [Bool](repeating: false, count: polygons.count)
    for (ring, polygon) in rings where ring.containsNorthPole { isPolar[Int(polygon)].toggle() }
    self.isPolar = isPolar
    polarCount = isPolar.count { $0 }
    let origin = AreaRing.origin(of: rings.lazy.map(\.ring))
    self.origin = origin
    var pieces: [Piece] = []
    for (ring, polygon) in rings { ring.appendPieces(ofPolygon: polygon, origin: origin, to: &pieces) }
    self.pieces = pieces
    let width = pieces.reduce(0) { max($0, $1.east) }
    self.width = width
    // So many strips that pieces are in at most four of them on average.
    let total = pieces.reduce(0) { $0 + ($1.east - $1.west) }
    let count = width > 0 ? max(1, min(2 * pieces.count, Int(4 * Double(pieces.count) * width / max(total, 1e-9)))) : 1
    let perDegree = width > 0 ? Double(count) / width : 0
    stripsPerDegree = perDegree
    var starts = [Int32](repeating: 0, count: count + 1)
    func strips(_ piece: Piece) -> ClosedRange<Int> {
      min(Int(piece.west * perDegree), count - 1)...min(Int(piece.east * perDegree), count - 1)
    }
    for piece in pieces {
      for strip in strips(piece) { starts[strip + 1] += 1 }
    }
    for strip in 0..<count { starts[strip + 1] += starts[strip] }
    var next = starts
    var items = [Int32](repeating: 0, count: Int(starts[count]))
    for (index, piece) in pieces.enumerated() {
      for strip in strips(piece) {
        items[Int(next[strip])] = Int32(index)
        next[strip] += 1
      }
    }
    stripStarts = starts
    stripPieces = items
  }

  /// The number of bytes of the index.
  public var byteCount: Int { pieces.count * MemoryLayout<Piece>.stride + 4 * (stripPieces.count + stripStarts.count) }

  /// Returns the degrees east of the origin, 0..<360.
  @inline(__always)
  private func easting(_ longitude: Double) -> Double { AreaRing.easting(longitude, origin: origin) }

  @inline(__always)
  private func strip(_ easting: Double) -> Int { min(Int(easting * stripsPerDegree), stripStarts.count - 2) }

  /// Boxes that no place of the area is outside of.
  var boxes: [AreaOutline.Box] {
    guard !pieces.isEmpty else { return [] }
    func units(_ degrees: Double, _ rule: FloatingPointRoundingRule) -> Int32 {
      Int32((degrees * AreaOutline.unitsPerDegree).rounded(rule))
    }
    let south = pieces.reduce(90) { min($0, $1.south) }
    let north = pieces.reduce(-90) { max($0, $1.north) }
    var box = AreaOutline.Box.earth
    if polarCount == 0 { box.north = units(min(north, 90), .up) }
    if let pole = try? Coordinate(latitude: -90, longitude: 0), !contains(pole) {
      box.south = units(max(south, -90), .down)
    }
    let east = origin + width
    if polarCount > 0 || width >= 359 || box.south == AreaOutline.Box.earth.south { return [box] }
    if east <= 180 {
      (box.west, box.east) = (units(origin, .down), units(east, .up))
      return [box]
    }
    var other = box
    box.west = units(origin, .down)
    other.east = units(east - 360, .up)
    return [box, other]
  }

  // MARK: Places

  /// Returns a Boolean value that indicates whether a place is in the area.
  public func contains(_ coordinate: Coordinate) -> Bool {
    contains(coordinate, at: EarthCentred(coordinate)).isInside
  }

  /// Returns a Boolean value that indicates whether a place is in the area, and the number of edges that were looked
  /// at.
  ///
  /// - Parameter position: `EarthCentred(coordinate)`.
  public func contains(_ coordinate: Coordinate, at position: EarthCentred) -> (isInside: Bool, steps: Int) {
    let easting = easting(coordinate.longitude)
    guard easting <= width else { return (polarCount > 0, 1) }
    let strip = strip(easting)
    // South of a vertex at the pole, on the way to it.
    let latitude = min(coordinate.latitude, 90.0.nextDown)
    let range = Int(stripStarts[strip])..<Int(stripStarts[strip + 1])
    // The polygons in which the pole is and none of whose pieces are in the strip have the place too.
    var polar = polarCount
    var isInside = false
    stripPieces.withUnsafeBufferPointer { items in
      pieces.withUnsafeBufferPointer { pieces in
        var index = range.lowerBound
        while index < range.upperBound, !isInside {
          let polygon = pieces[Int(items[index])].polygon
          var isOdd = false
          while index < range.upperBound {
            let piece = pieces[Int(items[index])]
            guard piece.polygon == polygon else { break }
            if easting >= piece.west, easting < piece.east, piece.isNorth(of: latitude, position) {
              isOdd.toggle()
            }
            index += 1
          }
          if polarCount > 0, isPolar[Int(polygon)] {
            isOdd.toggle()
            polar -= 1
          }
          isInside = isOdd
        }
      }
    }
    return (isInside || polar > 0, range.count + 1)
  }

  /// Returns the number of edges that ``contains(_:at:)`` looks at, at most.
  func steps(at coordinate: Coordinate) -> Int {
    let easting = easting(coordinate.longitude)
    guard easting <= width else { return 1 }
    let strip = strip(easting)
    return Int(stripStarts[strip + 1] - stripStarts[strip]) + 1
  }

  // MARK: Bounds

  /// The relation of some places to the area.
  public enum Relation: Hashable, Sendable {
    /// No place is in the area.
    case outside
    /// All places are in the area.
    case inside
    /// Places may be in the area and not.
    case mixed
  }

  /// The numbers of strips and edges up to which bounds are compared with the edges.
  private static let maximumStrips = 256
  private static let maximumSteps = 512

  private static let slackDegrees = 1e-9

  /// Returns the relation of the places within bounds to the area. ``Relation/mixed`` is always right.
  public func relation(west: Double, south: Double, east: Double, north: Double) -> Relation {
    // A rounding error more on both sides.
    let start = easting(west)
    let (first, last) = (start - Self.slackDegrees, start + (east - west) + Self.slackDegrees)
    // Bounds around the zero easting.
    guard last < 360 else { return .mixed }
    guard first <= width else { return polarCount == 0 ? .outside : .inside }
    let strips = strip(max(first, 0))...strip(min(last, width))
    guard strips.count <= Self.maximumStrips else { return .mixed }
    let range = Int(stripStarts[strips.lowerBound])..<Int(stripStarts[strips.upperBound + 1])
    guard range.count <= Self.maximumSteps else { return .mixed }
    let isMet = stripPieces.withUnsafeBufferPointer { items in
      pieces.withUnsafeBufferPointer { pieces in
        for index in range {
          let piece = pieces[Int(items[index])]
          if piece.west <= last, piece.east >= first, piece.south <= north, piece.north >= south { return true }
        }
        return false
      }
    }
    if isMet { return .mixed }
    guard let corner = try? Coordinate(latitude: south, longitude: west) else { return .mixed }
    return contains(corner) ? .inside : .outside
  }
}

extension GeodesicArea: Hashable {
  public static func == (left: GeodesicArea, right: GeodesicArea) -> Bool {
    left === right || left.polygons == right.polygons
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(polygons) }
}

/// A ring of a ``GeodesicArea`` while that is built.
struct AreaRing {
  /// An edge between neighbouring waypoints, in the direction of the ring.
  private struct Edge {
    var start: Coordinate
    var end: Coordinate
    var startPosition: EarthCentred
    var endPosition: EarthCentred

    /// The degrees from the start to the end, positive to the east, from -180 to 180.
    var degreesEast: Double
  }

  private var edges: [Edge] = []

  /// A Boolean value that indicates whether the interior, the smaller part of the earth, has the north pole in it.
  private(set) var containsNorthPole = false

  /// The length of the edges, and of those of the rings before it.
  let metres: Double

  /// Creates a ring.
  ///
  /// - Parameters:
  ///   - metres: the length of the edges of the rings before it.
  ///   - maximumMetres: the maximum length of all edges.
  /// - Throws: ``GeodesicShapeError``.
  init(_ ring: [Coordinate], after metres: Double, maximumMetres: Double) throws(GeodesicShapeError) {
    var waypoints = try GeodesicWaypoints(ring + ring.prefix(1), after: metres, maximumMetres: maximumMetres)
    self.metres = waypoints.metres
    guard Set(ring.lazy.map { EarthCentred($0) }).count > 2 else { throw .tooFewPositions }
    // Each pole is on the meridian of its neighbour, once on that of the former and once on that of the next.
    waypoints = waypoints.withPolesTwice
    for (start, end) in zip(waypoints.coordinates.indices, waypoints.coordinates.indices.dropFirst()) {
      let (from, to) = (waypoints.coordinates[start], waypoints.coordinates[end])
      var degrees = Self.normal(to.longitude) - Self.normal(from.longitude)
      if degrees > 180 { degrees -= 360 }
      if degrees <= -180 { degrees += 360 }
      edges.append(
        Edge(
          start: from, end: to, startPosition: waypoints.positions[start], endPosition: waypoints.positions[end],
          degreesEast: degrees))
    }
    let turns = (edges.reduce(0) { $0 + $1.degreesEast } / 360).rounded()
    let isAroundPole = turns.truncatingRemainder(dividingBy: 2) != 0
    // Between the ring and the north pole, or within a ring that is not around it.
    let area = abs(edges.reduce(0) { $0 + Self.areaToNorth(of: $1) })
    containsNorthPole = isAroundPole ? area <= 2 * .pi : area > 2 * .pi
  }

  /// Returns the longitude with 180 replaced by -180.
  private static func normal(_ longitude: Double) -> Double { longitude == 180 ? -180 : longitude }

  /// Returns the degrees of a longitude east of an origin, 0..<360.
  @inline(__always)
  static func easting(_ longitude: Double, origin: Double) -> Double {
    let degrees = (longitude == 180 ? -180 : longitude) - origin
    return degrees < 0 ? degrees + 360 : degrees
  }

  /// Returns the area between a great circle and the north pole on the unit sphere, negative to the west.
  ///
  /// The area of a triangle with the nearer pole follows from two sides and the angle between them (I. Todhunter,
  /// "Spherical Trigonometry", 1886, article 103).
  private static func areaToNorth(of edge: Edge) -> Double {
    let angle = abs(edge.degreesEast) * (.pi / 180)
    let isNorthern = edge.start.latitude + edge.end.latitude >= 0
    let sign: Double = isNorthern ? 1 : -1
    let first = tan((90 - sign * edge.start.latitude) * (.pi / 360))
    let second = tan((90 - sign * edge.end.latitude) * (.pi / 360))
    let excess = 2 * atan2(first * second * sin(angle), 1 + first * second * cos(angle))
    let area = isNorthern ? excess : 2 * angle - excess
    return edge.degreesEast < 0 ? -area : area
  }

  // MARK: Pieces

  /// Returns the longitude of the western end of the pieces of rings: the eastern end of the widest gap between them.
  static func origin(of rings: some Collection<AreaRing>) -> Double {
    var spans: [(west: Double, east: Double)] = []
    for ring in rings {
      for edge in ring.edges {
        let west = normal(edge.degreesEast >= 0 ? edge.start.longitude : edge.end.longitude)
        let east = normal(edge.degreesEast >= 0 ? edge.end.longitude : edge.start.longitude)
        spans.append((west, east < west ? east + 360 : east))
      }
    }
    spans.sort { $0.west < $1.west }
    guard let first = spans.first else { return -180 }
    var (widest, origin, reached) = (0.0, -180.0, spans.reduce(-180) { max($0, $1.east) } - 360)
    for span in spans {
      if span.west - reached > widest { (widest, origin) = (span.west - reached, span.west) }
      reached = max(reached, span.east)
    }
    return widest > 0 ? origin : min(first.west, -180)
  }

  /// Appends the ring's pieces.
  func appendPieces(ofPolygon polygon: Int32, origin: Double, to pieces: inout [GeodesicArea.Piece]) {
    for edge in edges {
      var edge = edge
      if edge.degreesEast < 0 {
        swap(&edge.start, &edge.end)
        swap(&edge.startPosition, &edge.endPosition)
        edge.degreesEast = -edge.degreesEast
      }
      let west = Self.easting(edge.start.longitude, origin: origin)
      let east = Self.easting(edge.end.longitude, origin: origin)
      let (south, north) = Self.latitudes(of: edge)
      var piece = GeodesicArea.Piece(
        west: west, east: east, south: south, north: north, start: edge.startPosition, normal: Self.normal(of: edge),
        polygon: polygon)
      if east >= west {
        pieces.append(piece)
        continue
      }
      // Across the zero easting.
      piece.east = 360
      pieces.append(piece)
      guard east > 0 else { continue }
      (piece.west, piece.east) = (0, east)
      pieces.append(piece)
    }
  }

  /// Returns the piece of an edge without waypoints, from its western to its eastern end. The eastings are not set.
  static func piece(from west: Coordinate, to east: Coordinate) -> GeodesicArea.Piece {
    var degrees = normal(east.longitude) - normal(west.longitude)
    if degrees < 0 { degrees += 360 }
    let edge = Edge(
      start: west, end: east, startPosition: EarthCentred(west), endPosition: EarthCentred(east),
      degreesEast: degrees)
    let (south, north) = latitudes(of: edge)
    return GeodesicArea.Piece(
      west: 0, east: 0, south: south, north: north, start: edge.startPosition, normal: normal(of: edge), polygon: 0)
  }

  /// Returns the unit vector to the north of the plane through an edge and the normal of the ellipsoid in the middle.
  private static func normal(of edge: Edge) -> EarthCentred {
    // The same for both directions of an edge along a meridian or from pole to pole.
    let (a, b) = (edge.startPosition, edge.endPosition)
    let up = EarthCentred(x: a.x + b.x, y: a.y + b.y, z: (a.z + b.z) / (1 - WGS84.eccentricitySquared))
    return up.cross(EarthCentred(x: b.x - a.x, y: b.y - a.y, z: b.z - a.z)).normalized
  }

  /// Returns bounds of the latitudes of an edge, which a geodesic exceeds towards a pole.
  private static func latitudes(of edge: Edge) -> (south: Double, north: Double) {
    let (south, north) = (min(edge.start.latitude, edge.end.latitude), max(edge.start.latitude, edge.end.latitude))
    let farthest = max(abs(south), abs(north))
    if south == north, farthest == 90 { return (south, north) }
    // Near a pole an edge may pass it on the other side.
    if farthest > 87 || edge.degreesEast > 20 { return (south < 0 ? -90 : south - 1, north > 0 ? 90 : north + 1) }
    let arc = edge.startPosition.chordSquared(to: edge.endPosition).squareRoot() / WGS84.polarRadius
    let bulge = arc * arc / 8 * tan((farthest + 1.2) * (.pi / 180)) * (180 / .pi)
    let slack = 1.2 * bulge + arc * arc * 1e-3 + 1e-11
    return (south - slack, north + slack)
  }
}

extension GeodesicWaypoints {
  /// The same waypoints with each pole twice, on the meridians of both of its neighbours.
  fileprivate var withPolesTwice: GeodesicWaypoints {
    guard coordinates.contains(where: { abs($0.latitude) == 90 }) else { return self }
    var twice = self
    twice.removeAll()
    for (index, coordinate) in coordinates.enumerated() {
      guard abs(coordinate.latitude) == 90 else {
        twice.append(coordinate, at: positions[index])
        continue
      }
      // The first waypoint is the last one too.
      let before = coordinates[index > 0 ? index - 1 : coordinates.count - 2]
      let after = coordinates[index + 1 < coordinates.count ? index + 1 : 1]
      for neighbour in index > 0 ? [before, after] : [after] {
        guard let pole = try? Coordinate(latitude: coordinate.latitude, longitude: neighbour.longitude) else {
          continue
        }
        twice.append(pole, at: positions[index])
      }
    }
    return twice
  }
}

extension EarthCentred {
  /// Returns the cross product of two vectors.
  func cross(_ other: EarthCentred) -> EarthCentred {
    EarthCentred(
      x: y * other.z - z * other.y, y: z * other.x - x * other.z, z: x * other.y - y * other.x)
  }

  /// Returns the dot product of two vectors.
  @inline(__always)
  func dot(_ other: EarthCentred) -> Double { x * other.x + y * other.y + z * other.z }

  /// The vector of length 1 in the same direction; the zero vector has none and is returned.
  var normalized: EarthCentred {
    let length = dot(self).squareRoot()
    return length > 0 ? EarthCentred(x: x / length, y: y / length, z: z / length) : self
  }

  /// Returns the vector from another position to this one.
  @inline(__always)
  static func - (left: EarthCentred, right: EarthCentred) -> EarthCentred {
    EarthCentred(x: left.x - right.x, y: left.y - right.y, z: left.z - right.z)
  }
}
