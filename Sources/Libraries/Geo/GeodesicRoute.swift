#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#endif

/// A line of geodesics on the WGS 84 ellipsoid, with the distances of places from it and along it.
///
/// The geodesics are in pieces of at most 100 km, with a tree of bounds over them in their order.
public final class GeodesicRoute: Sendable {
  /// The greatest distance from a route that is measured, metres.
  public static let maximumRadiusMetres = 1_000_000.0

  /// The positions as they were given.
  public let coordinates: [Coordinate]

  /// A piece of the line between neighbouring waypoints.
  fileprivate struct Piece: BitwiseCopyable {
    var start: EarthCentred
    /// The vector to the end, and its length, metres.
    var span: EarthCentred
    var chord: Double
    /// The normal of the ellipsoid in the middle.
    var up: EarthCentred
    /// The height of the arc over the chord, metres.
    var height: Double
  }

  /// Bounds of some pieces in the earth-centred frame.
  fileprivate struct Bounds: BitwiseCopyable {
    var least: EarthCentred
    var greatest: EarthCentred
  }

  private let pieces: [Piece]
  private let waypoints: [Coordinate]

  /// The length up to each waypoint, metres.
  private let lengths: [Double]

  /// The bounds of the nodes, level by level, pieces first, and the first node of each level.
  private let bounds: [Bounds]
  private let levels: [Int]

  private static let fanOut = 4

  /// Creates a route.
  ///
  /// - Parameter maximumMetres: the maximum length of all edges; `nil` for 2,000,000 km.
  /// - Throws: ``GeodesicShapeError``.
  public init(_ coordinates: [Coordinate], maximumMetres: Double? = nil) throws(GeodesicShapeError) {
    self.coordinates = coordinates
    let line = try GeodesicWaypoints(coordinates, maximumMetres: maximumMetres ?? GeodesicWaypoints.maximumMetres)
    guard line.positions.count > 1 else { throw .tooFewPositions }
    waypoints = line.coordinates
    var pieces: [Piece] = []
    var bounds: [Bounds] = []
    var lengths = [0.0]
    for index in 1..<line.positions.count {
      let (start, end) = (line.positions[index - 1], line.positions[index])
      let piece = Self.piece(from: start, to: end)
      pieces.append(piece)
      bounds.append(Self.bounds(of: piece, to: end))
      lengths.append(
        lengths[index - 1]
          + Geodesic.distanceMetres(from: waypoints[index - 1], at: start, to: waypoints[index], at: end))
    }
    var levels = [0, bounds.count]
    while levels[levels.count - 1] - levels[levels.count - 2] > 1 {
      let (first, end) = (levels[levels.count - 2], levels[levels.count - 1])
      for child in stride(from: first, to: end, by: Self.fanOut) {
        bounds.append(Self.union(of: bounds[child..<min(child + Self.fanOut, end)]))
      }
      levels.append(bounds.count)
    }
    self.pieces = pieces
    self.bounds = bounds
    self.levels = levels
    self.lengths = lengths
  }

  /// The length, metres.
  public var metres: Double { lengths[lengths.count - 1] }

  /// The number of pieces.
  public var pieceCount: Int { pieces.count }

  /// The number of bytes of the pieces and their bounds.
  public var byteCount: Int {
    pieces.count * (MemoryLayout<Piece>.stride + 24) + bounds.count * MemoryLayout<Bounds>.stride
  }

  /// Returns the length up to the start of a piece, or up to the end where there are no more, metres.
  public func metres(toPiece piece: Int) -> Double { lengths[piece] }

  /// Returns the first piece that ends at a length or after it; the number of pieces where none does.
  public func firstPiece(endingAtOrAfter metres: Double) -> Int {
    var (low, high) = (0, pieces.count)
    while low < high {
      let middle = (low + high) / 2
      if lengths[middle + 1] >= metres { high = middle } else { low = middle + 1 }
    }
    return low
  }

  private static func piece(from start: EarthCentred, to end: EarthCentred) -> Piece {
    let span = end - start
    let chord = span.dot(span).squareRoot()
    let up = EarthCentred(
      x: start.x + end.x, y: start.y + end.y, z: (start.z + end.z) / (1 - WGS84.eccentricitySquared)
    ).normalized
    return Piece(
      start: start, span: span, chord: chord, up: up, height: 1.01 * chord * chord / (8 * 6_335_439) + 0.001)
  }

  private static func bounds(of piece: Piece, to end: EarthCentred) -> Bounds {
    let (a, h) = (piece.start, piece.height)
    return Bounds(
      least: EarthCentred(x: min(a.x, end.x) - h, y: min(a.y, end.y) - h, z: min(a.z, end.z) - h),
      greatest: EarthCentred(x: max(a.x, end.x) + h, y: max(a.y, end.y) + h, z: max(a.z, end.z) + h))
  }

  private static func union(of bounds: ArraySlice<Bounds>) -> Bounds {
    bounds.dropFirst().reduce(bounds[bounds.startIndex]) { union, next in
      Bounds(
        least: EarthCentred(
          x: min(union.least.x, next.least.x), y: min(union.least.y, next.least.y),
          z: min(union.least.z, next.least.z)),
        greatest: EarthCentred(
          x: max(union.greatest.x, next.greatest.x), y: max(union.greatest.y, next.greatest.y),
          z: max(union.greatest.z, next.greatest.z)))
    }
  }

  // MARK: Places

  /// The part of a route that is nearest to a place.
  public struct Nearest: Hashable, Sendable {
    /// The geodesic distance from the place to the route, metres.
    public var distanceMetres: Double

    /// The length of the route up to its nearest position, metres. Of several the first counts, also where it is
    /// farther by up to 1 mm.
    public var alongMetres: Double

    /// The piece that the nearest position is on.
    public var piece: Int

    fileprivate var least: Double
  }

  /// Returns the nearest part of the route within a radius; `nil` if there is none.
  ///
  /// - Parameters:
  ///   - position: `EarthCentred(coordinate)`.
  ///   - radius: metres, at most ``maximumRadiusMetres``.
  public func nearest(
    to coordinate: Coordinate, at position: EarthCentred, within radius: Double
  ) -> Nearest? {
    var nearest: Nearest?
    var reach = radius + Self.toleranceMetres
    search(level: levels.count - 2, node: 0, within: 0..<pieces.count) { bounds in
      bounds.leastChordSquared(to: position) <= reach * reach
    } visit: { index in
      let piece = pieces[index]
      guard piece.leastChord(to: position) <= reach else { return }
      let (distance, along) = measure(coordinate, position, piece, index)
      guard distance <= radius else { return }
      reach = min(reach, distance + Self.toleranceMetres)
      guard let former = nearest, distance >= former.least - Self.toleranceMetres else {
        nearest = Nearest(distanceMetres: distance, alongMetres: along, piece: index, least: distance)
        return
      }
      nearest?.distanceMetres = min(former.distanceMetres, distance)
    }
    return nearest
  }

  /// The difference of distances up to which the earlier position on the route is the nearest.
  private static let toleranceMetres = 0.001

  /// Returns the distance to a piece and the length up to its nearest position, metres.
  private func measure(
    _ coordinate: Coordinate, _ position: EarthCentred, _ piece: Piece, _ index: Int
  ) -> (distance: Double, along: Double) {
    let share = piece.nearestShare(to: position)
    if share <= 0 || share >= 1 {
      let end = share <= 0 ? index : index + 1
      let waypoint = waypoints[end]
      let distance = Geodesic.distanceMetres(
        from: waypoint, at: EarthCentred(waypoint), to: coordinate, at: position)
      return (distance, lengths[end])
    }
    let foot = piece.position(at: share)
    let distance = Geodesic.distanceMetres(from: coordinate, at: position, to: foot.coordinate, at: foot)
    let along = Geodesic.distanceMetres(
      from: waypoints[index], at: piece.start, to: foot.coordinate, at: foot)
    return (distance, min(lengths[index] + along, lengths[index + 1]))
  }

  // MARK: Bounds

  /// Returns a Boolean value that indicates whether a place within bounds in the earth-centred frame may be within a
  /// distance of some pieces. A true value may be wrong.
  public func isNear(
    least: EarthCentred, greatest: EarthCentred, within radius: Double, pieces range: Range<Int>
  ) -> Bool {
    let center = EarthCentred(
      x: (least.x + greatest.x) / 2, y: (least.y + greatest.y) / 2, z: (least.z + greatest.z) / 2)
    let reach = radius + (greatest - least).dot(greatest - least).squareRoot() / 2 + Self.toleranceMetres
    let other = Bounds(least: least, greatest: greatest)
    var isNear = false
    search(level: levels.count - 2, node: 0, within: range) { bounds in
      !isNear
        && bounds.leastChordSquared(to: other) <= (radius + Self.toleranceMetres) * (radius + Self.toleranceMetres)
    } visit: { index in
      if pieces[index].leastChord(to: center) <= reach { isNear = true }
    }
    return isNear
  }

  /// Visits the pieces of a range in order, without those beneath nodes that are not wanted.
  private func search(
    level: Int, node: Int, within range: Range<Int>, wants: (Bounds) -> Bool, visit: (Int) -> Void
  ) {
    // The pieces beneath the node.
    var span = 1
    for _ in 0..<level { span *= Self.fanOut }
    guard node * span < range.upperBound, (node + 1) * span > range.lowerBound else { return }
    guard wants(bounds[levels[level] + node]) else { return }
    guard level > 0 else { return visit(node) }
    let count = levels[level] - levels[level - 1]
    for child in node * Self.fanOut..<min((node + 1) * Self.fanOut, count) {
      search(level: level - 1, node: child, within: range, wants: wants, visit: visit)
    }
  }
}

extension GeodesicRoute: Hashable {
  public static func == (left: GeodesicRoute, right: GeodesicRoute) -> Bool {
    left === right || left.coordinates == right.coordinates
  }

  /// Adds the positions to a hash.
  public func hash(into hasher: inout Hasher) { hasher.combine(coordinates) }
}

extension GeodesicRoute.Bounds {
  /// Returns the square of the distance to a position.
  fileprivate func leastChordSquared(to position: EarthCentred) -> Double {
    leastChordSquared(to: GeodesicRoute.Bounds(least: position, greatest: position))
  }

  /// Returns the square of the distance to other bounds.
  fileprivate func leastChordSquared(to other: GeodesicRoute.Bounds) -> Double {
    let dx = max(max(least.x - other.greatest.x, other.least.x - greatest.x), 0)
    let dy = max(max(least.y - other.greatest.y, other.least.y - greatest.y), 0)
    let dz = max(max(least.z - other.greatest.z, other.least.z - greatest.z), 0)
    return dx * dx + dy * dy + dz * dz
  }
}

extension GeodesicRoute.Piece {
  /// Returns a lower bound of the chord from a place to the piece, metres.
  fileprivate func leastChord(to position: EarthCentred) -> Double {
    let offset = position - start
    let share = min(max(offset.dot(span) / (chord * chord), 0), 1)
    let (x, y, z) = (offset.x - share * span.x, offset.y - share * span.y, offset.z - share * span.z)
    return (x * x + y * y + z * z).squareRoot() - height
  }

  /// The ratio of the squares of the axes.
  private static var ratio: Double { 1 / (1 - WGS84.eccentricitySquared) }

  /// Returns the product of two vectors in which the ellipsoid is a sphere.
  private static func product(_ left: EarthCentred, _ right: EarthCentred) -> Double {
    left.x * right.x + left.y * right.y + left.z * right.z * ratio
  }

  /// Returns the position on the ellipsoid over a share of the chord in the piece's plane, and its derivatives.
  private func arc(at share: Double) -> (position: EarthCentred, tangent: EarthCentred, bend: Double) {
    let foot = EarthCentred(x: start.x + share * span.x, y: start.y + share * span.y, z: start.z + share * span.z)
    // The position is foot + h · up, where p h² + 2 q h + r = 0. The ends are on the ellipsoid: r has no cancellation.
    let (p, q) = (Self.product(up, up), Self.product(foot, up))
    let square = Self.product(span, span)
    let r = -share * (1 - share) * square
    let root = (q * q - p * r).squareRoot()
    let h = -r / (q + root)
    let rate = ((1 - 2 * share) * square / 2 - Self.product(span, up) * h) / root
    return (
      EarthCentred(x: foot.x + h * up.x, y: foot.y + h * up.y, z: foot.z + h * up.z),
      EarthCentred(x: span.x + rate * up.x, y: span.y + rate * up.y, z: span.z + rate * up.z), -square / root
    )
  }

  /// Returns the position on the ellipsoid over a share of the chord, in the piece's plane.
  fileprivate func position(at share: Double) -> EarthCentred { arc(at: share).position }

  /// Returns the share of the chord under the position that is nearest to a place; at most 0 or at least 1 where an end
  /// is.
  ///
  /// The tangent is perpendicular to the vector to the place there (Newton's method). Chords have their minimum where
  /// geodesics have theirs: at a distance of 100 km the positions differ by less than 1 cm.
  fileprivate func nearestShare(to place: EarthCentred) -> Double {
    var share = min(max((place - start).dot(span) / (chord * chord), 0), 1)
    for _ in 0..<6 {
      let (position, tangent, bend) = arc(at: share)
      let offset = place - position
      let rate = tangent.dot(tangent) - offset.dot(up) * bend
      guard rate > 0 else { break }
      let step = offset.dot(tangent) / rate
      // Beyond an end the end is the nearest.
      let next = min(max(share + step, 0), 1)
      if abs(next - share) * chord < 1e-5 { return next }
      share = next
    }
    return share
  }
}

extension EarthCentred {
  /// The coordinate of a position on the ellipsoid.
  var coordinate: Coordinate {
    let latitude = atan2(z, (1 - WGS84.eccentricitySquared) * (x * x + y * y).squareRoot()) * (180 / .pi)
    let longitude = atan2(y, x) * (180 / .pi)
    // In their ranges whatever the position.
    guard
      let coordinate = try? Coordinate(
        latitude: min(max(latitude, -90), 90), longitude: min(max(longitude, -180), 180))
    else { preconditionFailure("a position is not finite") }
    return coordinate
  }
}
