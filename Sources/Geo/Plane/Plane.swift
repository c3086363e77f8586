import Foundation

/// A point in the plane of longitude (x) and latitude (y), in units of 10⁻⁷ degrees.
package struct PlanePoint: Hashable, BitwiseCopyable {
  package static var unitsPerDegree: Double { 10_000_000 }

  package var x: Double
  package var y: Double

  package init(x: Double, y: Double) {
    self.x = x
    self.y = y
  }

  /// Creates the point of a position in degrees.
  package init(latitude: Double, longitude: Double) {
    self.init(x: longitude * Self.unitsPerDegree, y: latitude * Self.unitsPerDegree)
  }

  /// The point in whole units.
  var rounded: PlanePoint { PlanePoint(x: x.rounded(), y: y.rounded()) }

  /// The position in degrees. The longitude is brought back to -180…180.
  package var degrees: (latitude: Double, longitude: Double) {
    var x = x
    if x > Plane.halfTurn { x -= Plane.turn } else if x < -Plane.halfTurn { x += Plane.turn }
    return (min(max(y / Self.unitsPerDegree, -90), 90), min(max(x / Self.unitsPerDegree, -180), 180))
  }
}

/// Paths in the plane.
package enum Plane {
  static let halfTurn = 180 * PlanePoint.unitsPerDegree
  static let turn = 360 * PlanePoint.unitsPerDegree

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
