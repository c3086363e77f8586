/// An area between rings in the plane: a point is inside if a line from it to the outside crosses the rings an odd
/// number of times.
package struct AreaShape {
  private struct Ring {
    var points: [PlanePoint]
    let isHole: Bool
  }

  private var rings: [Ring] = []
  private var crosses = false

  /// Creates an area without rings.
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
      if (start.y > point.y) != (end.y > point.y),
        point.x < (end.x - start.x) * (point.y - start.y) / (end.y - start.y) + start.x
      {
        isInside.toggle()
      }
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
