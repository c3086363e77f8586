import Foundation

/// A point of a plane, x to the east and y to the north.
///
/// Geometries of filters have the unit of their coordinates; all else has units of 10⁻⁷ degrees of longitude and latitude.
@frozen
public struct PlanePoint: Hashable, BitwiseCopyable, Sendable {
  public var x: Double
  public var y: Double

  @inlinable
  public init(x: Double, y: Double) {
    self.x = x
    self.y = y
  }

  /// Returns a Boolean value that indicates whether the ray from this point to the east meets a segment, the upper end
  /// of which is no part of it. A point is inside the rings that its ray meets an odd number of times.
  ///
  /// The result is rounded: it may be wrong for a point within a rounding error of the segment.
  @inlinable
  public func isWest(ofSegmentFrom start: PlanePoint, to end: PlanePoint) -> Bool {
    (start.y > y) != (end.y > y) && x < (end.x - start.x) * (y - start.y) / (end.y - start.y) + start.x
  }
}

extension PlanePoint {
  package static var unitsPerDegree: Double { 10_000_000 }

  /// Creates the point of a position in degrees.
  package init(latitude: Double, longitude: Double) {
    self.init(x: longitude * Self.unitsPerDegree, y: latitude * Self.unitsPerDegree)
  }

  /// The point in whole units.
  fileprivate var rounded: PlanePoint { PlanePoint(x: x.rounded(), y: y.rounded()) }

  /// The position in degrees. The longitude is brought back to -180…180.
  package var degrees: (latitude: Double, longitude: Double) {
    var x = x
    if x > Plane.halfTurn { x -= Plane.turn } else if x < -Plane.halfTurn { x += Plane.turn }
    return (min(max(y / Self.unitsPerDegree, -90), 90), min(max(x / Self.unitsPerDegree, -180), 180))
  }
}

/// Paths in the plane.
package enum Plane {
  fileprivate static let halfTurn = 180 * PlanePoint.unitsPerDegree
  fileprivate static let turn = 360 * PlanePoint.unitsPerDegree

  /// Returns the points of a path without a jump. If two that follow one another are more than half a turn apart, the
  /// path crosses the antimeridian, and the points beyond it have longitudes beyond ±180°.
  ///
  /// A closed path that does not close this way, because it goes around a pole, keeps its longitudes.
  package static func path(_ positions: [PlanePoint]) -> (points: [PlanePoint], crosses: Bool) {
    var points: [PlanePoint] = []
    points.reserveCapacity(positions.count)
    var (shift, crosses) = (0.0, false)
    var last: PlanePoint?
    for point in positions {
      if let last, abs(point.x - last.x) > halfTurn {
        shift += point.x < last.x ? turn : -turn
        crosses = true
      }
      last = point
      points.append(PlanePoint(x: point.x + shift, y: point.y))
    }
    guard crosses, positions.count > 1, shift != 0, positions.first == positions.last else { return (points, crosses) }
    return (positions, false)
  }

  /// Returns the point in the middle of a line, by length.
  ///
  /// A segment is straight on a plain map, and nearly a geodesic on the ground. Where the two are more than half a
  /// metre apart, the point is the end of the segment that is nearer.
  package static func middle(ofLine points: [PlanePoint]) -> PlanePoint? {
    guard let first = points.first else { return nil }
    let lengths = zip(points, points.dropFirst()).map { length(from: $0, to: $1) }
    var rest = lengths.reduce(0, +) / 2
    guard rest > 0 else { return first }
    for (index, length) in lengths.enumerated() where length > 0 {
      guard rest <= length || index == lengths.count - 1 else {
        rest -= length
        continue
      }
      let (start, end) = (points[index], points[index + 1])
      let share = min(rest / length, 1)
      guard sagitta(of: length, from: start, to: end) <= 0.5 else { return share <= 0.5 ? start : end }
      return PlanePoint(x: start.x + (end.x - start.x) * share, y: start.y + (end.y - start.y) * share).rounded
    }
    return points.last
  }

  /// Returns the length of a line in metres.
  package static func length(ofLine points: [PlanePoint]) -> Double {
    zip(points, points.dropFirst()).reduce(0) { $0 + length(from: $1.0, to: $1.1) }
  }

  private static let metresPerUnit = 6_371_008.8 * Double.pi / 180 / PlanePoint.unitsPerDegree

  /// Returns the length of a segment in metres, on a sphere that is flat around the segment.
  private static func length(from start: PlanePoint, to end: PlanePoint) -> Double {
    let latitude = (start.y + end.y) / 2 / PlanePoint.unitsPerDegree * .pi / 180
    let (x, y) = ((end.x - start.x) * cos(latitude), end.y - start.y)
    return (x * x + y * y).squareRoot() * metresPerUnit
  }

  /// Returns the greatest distance between the straight line on the map and the geodesic, in metres: that of a
  /// parallel of the same length, L² tan φ / 8R.
  private static func sagitta(of length: Double, from start: PlanePoint, to end: PlanePoint) -> Double {
    let latitude = min(max(abs(start.y), abs(end.y)) / PlanePoint.unitsPerDegree, 89.9) * .pi / 180
    return length * length * tan(latitude) / (8 * 6_371_008.8)
  }
}

/// An area between rings in the plane: a point is inside if a line from it to the outside crosses the rings an odd
/// number of times.
package struct AreaShape {
  private struct Ring {
    var points: [PlanePoint]
    let isHole: Bool
  }

  private var rings: [Ring] = []
  private var crosses = false

  package init() {}

  /// Adds a closed ring, whose last point is the first.
  package mutating func add(_ ring: [PlanePoint], isHole: Bool) {
    let (points, crosses) = Plane.path(ring)
    guard points.count > 3 else { return }
    self.crosses = self.crosses || crosses
    rings.append(Ring(points: points, isHole: isHole))
  }

  /// Returns a point inside: the centroid if it is inside, else the middle of the widest of some horizontal chords.
  /// Returns nil if the area is empty.
  package func pointInside() -> PlanePoint? {
    guard !rings.isEmpty else { return nil }
    guard !crosses else { return aligned().pointInside() }
    // A rounded point must be a unit, about a centimetre, away from the rings.
    if let centroid = centroid() {
      if clearance(of: centroid.rounded) >= 1 { return centroid.rounded }
    }
    guard let chord = widestChord() else { return nil }
    return clearance(of: chord.rounded) >= 1 ? chord.rounded : chord
  }

  /// Returns the shape with all rings on the same side of the antimeridian, as near to the first as possible.
  private func aligned() -> AreaShape {
    var shape = self
    shape.crosses = false
    let middle = AreaShape.middle(rings[0].points)
    for index in shape.rings.indices {
      let turns = ((middle - AreaShape.middle(rings[index].points)) / Plane.turn).rounded()
      guard turns != 0 else { continue }
      for point in shape.rings[index].points.indices { shape.rings[index].points[point].x += turns * Plane.turn }
    }
    return shape
  }

  private static func middle(_ points: [PlanePoint]) -> Double {
    let (low, high) = points.reduce((Double.infinity, -Double.infinity)) { (min($0.0, $1.x), max($0.1, $1.x)) }
    return (low + high) / 2
  }

  private func forEachSegment(_ body: (PlanePoint, PlanePoint) -> Void) {
    for ring in rings {
      for index in 1..<ring.points.count { body(ring.points[index - 1], ring.points[index]) }
    }
  }

  /// Returns the centre of mass, or nil if the area is empty. Holes count as negative.
  private func centroid() -> PlanePoint? {
    let origin = rings[0].points[0]
    var (area, x, y) = (0.0, 0.0, 0.0)
    for ring in rings {
      var (ringArea, ringX, ringY) = (0.0, 0.0, 0.0)
      for index in 1..<ring.points.count {
        let (start, end) = (ring.points[index - 1], ring.points[index])
        let (startX, startY) = (start.x - origin.x, start.y - origin.y)
        let (endX, endY) = (end.x - origin.x, end.y - origin.y)
        let cross = startX * endY - endX * startY
        ringArea += cross
        ringX += (startX + endX) * cross
        ringY += (startY + endY) * cross
      }
      let sign: Double = (ringArea < 0) == ring.isHole ? 1 : -1
      area += sign * ringArea
      x += sign * ringX
      y += sign * ringY
    }
    guard area > 0 else { return nil }
    return PlanePoint(x: origin.x + x / (3 * area), y: origin.y + y / (3 * area))
  }

  /// Returns the distance of a point from the rings, or a negative number if it is outside.
  func clearance(of point: PlanePoint) -> Double {
    var (isInside, nearest) = (false, Double.infinity)
    forEachSegment { start, end in
      if point.isWest(ofSegmentFrom: start, to: end) { isInside.toggle() }
      let (x, y) = (end.x - start.x, end.y - start.y)
      let squared = x * x + y * y
      let share = squared > 0 ? min(max(((point.x - start.x) * x + (point.y - start.y) * y) / squared, 0), 1) : 0
      let (toX, toY) = (start.x + share * x - point.x, start.y + share * y - point.y)
      nearest = min(nearest, toX * toX + toY * toY)
    }
    return isInside ? nearest.squareRoot() : -1
  }

  /// Returns the middle of the widest chord of seven parallels, none of which has a node.
  private func widestChord() -> PlanePoint? {
    var (low, high) = (Double.infinity, -Double.infinity)
    forEachSegment { start, _ in
      low = min(low, start.y)
      high = max(high, start.y)
    }
    guard low < high else { return nil }
    var best: (width: Double, point: PlanePoint)?
    for eighth in [4.0, 3, 5, 2, 6, 1, 7] {
      let target = low + (high - low) * eighth / 8
      // Half-way between the nodes below and above, so that each segment is either crossed or not touched.
      var (below, above) = (low, high)
      forEachSegment { start, _ in
        if start.y <= target { below = max(below, start.y) } else { above = min(above, start.y) }
      }
      let y = (below + above) / 2
      var crossings: [Double] = []
      forEachSegment { start, end in
        guard (start.y > y) != (end.y > y) else { return }
        crossings.append(start.x + (end.x - start.x) * (y - start.y) / (end.y - start.y))
      }
      crossings.sort()
      for index in stride(from: 1, to: crossings.count, by: 2) {
        let width = crossings[index] - crossings[index - 1]
        guard width > best?.width ?? 0 else { continue }
        best = (width, PlanePoint(x: (crossings[index] + crossings[index - 1]) / 2, y: y))
      }
    }
    return best?.point
  }
}
