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
  /// - Parameter polygons: the rings of each polygon, the outer one first. The last position of a ring may be its first
  ///   or not.
  /// - Throws: ``GeodesicShapeError``.
  public init(polygons: [[[Coordinate]]]) throws(GeodesicShapeError) {
    self.polygons = polygons
    var rings: [(ring: AreaRing, polygon: Int32)] = []
    for (number, polygon) in polygons.enumerated() {
      for ring in polygon { rings.append((try AreaRing(ring), Int32(number))) }
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
  /// Returns a Boolean value that indicates whether both areas have the same rings.
  public static func == (left: GeodesicArea, right: GeodesicArea) -> Bool {
    left === right || left.polygons == right.polygons
  }

  /// Adds the rings to a hash.
  public func hash(into hasher: inout Hasher) { hasher.combine(polygons) }
}
