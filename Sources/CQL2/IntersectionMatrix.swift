import Geo

/// The dimensions of the intersections of the interiors, boundaries and exteriors of two geometries in the plane
/// (DE-9IM; OGC 06-103r4, clause 6.1.15).
struct IntersectionMatrix: Hashable {
  typealias Location = PlanarShape.Location

  /// The dimensions, -1 for an empty intersection.
  private var dimensions: [Int8] = Array(repeating: -1, count: 9)
  private let left: Int
  private let right: Int

  /// Creates the matrix of two geometries. O(n²) for n segments of both.
  ///
  /// The places of points are exact. Segments that cross are cut where they do, by rounded coordinates.
  ///
  /// - Throws: ``FilterError`` where the comparison takes more steps than there are in the budget.
  init(_ left: PlanarShape, _ right: PlanarShape, _ budget: inout ComparisonBudget) throws(FilterError) {
    self.left = left.dimension
    self.right = right.dimension
    note(2, .exterior, .exterior)
    func noteLocations(of point: PlanePoint) throws(FilterError) {
      budget.spend(left.steps(at: point) + right.steps(at: point))
      try budget.check()
      note(0, left.location(of: point), right.location(of: point))
    }
    for point in left.points.union(right.points) { try noteLocations(of: point) }
    var overlay = SegmentOverlay(left, right)
    for node in try overlay.cut(&budget) { note(0, node.left, node.right) }
    for edge in left.edges + right.edges {
      try noteLocations(of: edge.a)
      try noteLocations(of: edge.b)
    }
    try overlay.forEachPiece(&budget) { piece in
      note(1, piece.left.location, piece.right.location)
      for side in 0...1 { note(2, piece.left.locations[side], piece.right.locations[side]) }
    }
  }

  private mutating func note(_ dimension: Int8, _ left: Location, _ right: Location) {
    let index = left.rawValue * 3 + right.rawValue
    dimensions[index] = max(dimensions[index], dimension)
  }

  private func dimension(_ left: Location, _ right: Location) -> Int8 { dimensions[left.rawValue * 3 + right.rawValue] }

  /// Returns a Boolean value that indicates whether the intersection is not empty.
  private func meet(_ left: Location, _ right: Location) -> Bool { dimension(left, right) >= 0 }

  /// Returns a Boolean value that indicates whether the geometries are in a relation.
  func satisfies(_ relation: FilterOperator) -> Bool {
    let interiorsMeet = meet(.interior, .interior)
    let (leftLeavesRight, rightLeavesLeft) = (meet(.interior, .exterior), meet(.exterior, .interior))
    let boundariesMeet =
      meet(.interior, .boundary) || meet(.boundary, .interior) || meet(.boundary, .boundary)
    let isWithin = interiorsMeet && !leftLeavesRight && !meet(.boundary, .exterior)
    let contains = interiorsMeet && !rightLeavesLeft && !meet(.exterior, .boundary)
    switch relation {
    case .spatiallyIntersects: return interiorsMeet || boundariesMeet
    case .spatiallyDisjoint: return !interiorsMeet && !boundariesMeet
    case .spatiallyTouches: return !interiorsMeet && boundariesMeet
    case .spatiallyWithin: return isWithin
    case .spatiallyContains: return contains
    case .spatiallyEquals: return isWithin && contains
    case .spatiallyCrosses:
      if left < right { return interiorsMeet && leftLeavesRight }
      if left > right { return interiorsMeet && rightLeavesLeft }
      return left == 1 && dimension(.interior, .interior) == 0
    case .spatiallyOverlaps:
      guard left == right, leftLeavesRight, rightLeavesLeft else { return false }
      return left == 1 ? dimension(.interior, .interior) == 1 : interiorsMeet
    default: return false
    }
  }
}

extension PlanarShape {
  /// Returns a Boolean value that indicates whether a point is in a relation to the geometry.
  ///
  /// - Parameter isSecond: whether the point is the second operand of the relation.
  func satisfies(_ relation: FilterOperator, point: PlanePoint, isSecond: Bool = false) -> Bool {
    switch relation {
    case .spatiallyIntersects: location(of: point) != .exterior
    case .spatiallyDisjoint: location(of: point) == .exterior
    case .spatiallyTouches: location(of: point) == .boundary
    case .spatiallyEquals: onlyPoint == point
    case .spatiallyWithin: isSecond ? onlyPoint == point : location(of: point) == .interior
    case .spatiallyContains: isSecond ? location(of: point) == .interior : onlyPoint == point
    // One point has no part elsewhere.
    default: false
    }
  }
}

/// The segments of two geometries, cut where they meet.
private struct SegmentOverlay {
  typealias Location = PlanarShape.Location

  /// A piece of a segment between two cuts.
  struct Piece {
    var left: Surroundings
    var right: Surroundings
  }

  /// The parts of a geometry that a piece is in, and that are beside it.
  struct Surroundings {
    var location: Location
    /// The part on each side.
    var locations: [Location]
  }

  /// A point in which two segments cross.
  struct Node {
    var left: Location
    var right: Location
  }

  private struct Segment {
    let edge: PlanarShape.Edge
    /// 0 for the left geometry, 1 for the right one.
    let side: Int
    /// The cuts as shares of the segment's length.
    var cuts: [Double] = []
    /// The shares between which another segment is on this one.
    var covers: [(range: ClosedRange<Double>, segment: Int)] = []
  }

  /// The steps of a ``ComparisonBudget`` for a segment on another, which takes memory too.
  private static let coverSteps = 16

  /// The steps of a segment of an area that a ray meets.
  private static let crossingSteps = 16

  private var segments: [Segment]
  private var cutCount = 0

  init(_ left: PlanarShape, _ right: PlanarShape) {
    segments =
      (left.edges.map { Segment(edge: $0, side: 0) } + right.edges.map { Segment(edge: $0, side: 1) })
      .sorted { min($0.edge.a.x, $0.edge.b.x) < min($1.edge.a.x, $1.edge.b.x) }
  }

  // MARK: Cutting

  private mutating func cut(_ segment: Int, share: Double) {
    segments[segment].cuts.append(share)
    cutCount += 1
  }

  /// Cuts the segments and returns the points in which two of different geometries cross.
  ///
  /// - Throws: ``FilterError`` where that or the pieces take too many steps.
  mutating func cut(_ budget: inout ComparisonBudget) throws(FilterError) -> [Node] {
    var nodes: Set<Int> = []
    cutCount = 0
    for first in segments.indices {
      let east = max(segments[first].edge.a.x, segments[first].edge.b.x)
      for second in (first + 1)..<max(segments.count, first + 1) {
        let other = segments[second].edge
        guard min(other.a.x, other.b.x) <= east else { break }
        if compare(first, second, &budget), segments[first].side != segments[second].side {
          let (left, right) = segments[first].side == 0 ? (first, second) : (second, first)
          nodes.insert(insideLocation(left).rawValue * 3 + insideLocation(right).rawValue)
        }
      }
      try budget.check(for: (segments.count + cutCount) * segments.count)
    }
    return nodes.compactMap { node in
      guard let left = Location(rawValue: node / 3), let right = Location(rawValue: node % 3) else { return nil }
      return Node(left: left, right: right)
    }
  }

  /// Returns the location in its geometry of a point within a segment.
  private func insideLocation(_ segment: Int) -> Location {
    segments[segment].edge.area == nil ? .interior : .boundary
  }

  /// Cuts two segments where they meet. Returns a Boolean value that indicates whether they cross within both.
  private mutating func compare(_ first: Int, _ second: Int, _ budget: inout ComparisonBudget) -> Bool {
    let (e, f) = (segments[first].edge, segments[second].edge)
    budget.spend(1)
    guard min(e.a.y, e.b.y) <= max(f.a.y, f.b.y), min(f.a.y, f.b.y) <= max(e.a.y, e.b.y) else { return false }
    let (fStart, fEnd) = (budget.sign(e.a, e.b, f.a), budget.sign(e.a, e.b, f.b))
    let (eStart, eEnd) = (budget.sign(f.a, f.b, e.a), budget.sign(f.a, f.b, e.b))
    if fStart == 0, fEnd == 0 {
      budget.spend(2 * Self.coverSteps)
      cover(first, by: second)
      cover(second, by: first)
      return false
    }
    if fStart * fEnd < 0, eStart * eEnd < 0 {
      cut(first, share: Self.crossing(of: e, with: f))
      cut(second, share: Self.crossing(of: f, with: e))
      return true
    }
    if fStart == 0 { cut(first, at: f.a) }
    if fEnd == 0 { cut(first, at: f.b) }
    if eStart == 0 { cut(second, at: e.a) }
    if eEnd == 0 { cut(second, at: e.b) }
    return false
  }

  /// Returns the share of a segment at which another crosses it.
  private static func crossing(of e: PlanarShape.Edge, with f: PlanarShape.Edge) -> Double {
    func distance(_ point: PlanePoint) -> Double {
      (f.b.x - f.a.x) * (point.y - f.a.y) - (f.b.y - f.a.y) * (point.x - f.a.x)
    }
    let (start, end) = (distance(e.a), distance(e.b))
    let share = start / (start - end)
    return share.isFinite ? min(max(share, 0), 1) : 0.5
  }

  /// Returns the share of a segment at which a point on it is.
  private static func share(of point: PlanePoint, on edge: PlanarShape.Edge) -> Double {
    let (x, y) = (edge.b.x - edge.a.x, edge.b.y - edge.a.y)
    let share = abs(x) >= abs(y) ? (point.x - edge.a.x) / x : (point.y - edge.a.y) / y
    return share.isFinite ? share : 0.5
  }

  /// Cuts a segment at a point that is on its line, if it is within it.
  private mutating func cut(_ segment: Int, at point: PlanePoint) {
    let edge = segments[segment].edge
    guard point != edge.a, point != edge.b, Orientation.isBetween(point, edge.a, edge.b) else { return }
    cut(segment, share: Self.share(of: point, on: edge))
  }

  /// Cuts a segment at the ends of another on the same line, and notes where that covers it.
  private mutating func cover(_ segment: Int, by other: Int) {
    let edge = segments[segment].edge
    let (a, b) = (Self.share(of: segments[other].edge.a, on: edge), Self.share(of: segments[other].edge.b, on: edge))
    let (start, end) = (max(min(a, b), 0), min(max(a, b), 1))
    guard start < end else { return }
    cut(segment, at: segments[other].edge.a)
    cut(segment, at: segments[other].edge.b)
    segments[segment].covers.append((start...end, other))
  }

  // MARK: Pieces

  /// Calls the closure with each piece of each segment.
  ///
  /// - Throws: ``FilterError`` where that takes too many steps.
  func forEachPiece(_ budget: inout ComparisonBudget, _ body: (Piece) -> Void) throws(FilterError) {
    for (index, segment) in segments.enumerated() {
      var start = 0.0
      for end in segment.cuts.sorted() + [1] where end > start {
        budget.spend(2 * (segments.count + Self.coverSteps * segment.covers.count))
        try budget.check()
        let middle = start + (end - start) / 2
        let left = surroundings(ofPiece: middle, of: index, in: 0, &budget)
        body(Piece(left: left, right: surroundings(ofPiece: middle, of: index, in: 1, &budget)))
        start = end
      }
    }
  }

  /// Returns what is around the piece of a segment that has a share in its middle.
  ///
  /// A ray from the middle, just beside the piece, counts the other segments of each area; those that cover the piece
  /// are between its sides.
  private func surroundings(
    ofPiece share: Double, of index: Int, in side: Int, _ budget: inout ComparisonBudget
  ) -> Surroundings {
    let (a, b) = (segments[index].edge.a, segments[index].edge.b)
    let middle = PlanePoint(x: a.x + (b.x - a.x) * share, y: a.y + (b.y - a.y) * share)
    let isHorizontal = abs(b.y - a.y) < abs(b.x - a.x)
    var covering: Set<Int> = [index]
    for cover in segments[index].covers where cover.range.contains(share) { covering.insert(cover.segment) }
    var isOnLine = false
    var crossings: [Int32: (beside: Int, on: Int)] = [:]
    for (number, segment) in segments.enumerated() where segment.side == side {
      let isCovering = covering.contains(number)
      guard let area = segment.edge.area else {
        isOnLine = isOnLine || isCovering
        continue
      }
      if isCovering {
        crossings[area, default: (0, 0)].on += 1
      } else if Self.ray(from: middle, upwards: isHorizontal, meets: segment.edge, &budget) {
        budget.spend(Self.crossingSteps)
        crossings[area, default: (0, 0)].beside += 1
      }
    }
    var inside = [false, false]
    var isInterior = false
    for count in crossings.values {
      let (ahead, behind) = (count.beside % 2 == 1, (count.beside + count.on) % 2 == 1)
      inside[0] = inside[0] || ahead
      inside[1] = inside[1] || behind
      isInterior = isInterior || (ahead && behind)
    }
    let location: Location =
      if isInterior || (inside[0] && inside[1]) {
        .interior
      } else if isOnLine {
        .interior
      } else if inside[0] || inside[1] {
        .boundary
      } else {
        .exterior
      }
    return Surroundings(location: location, locations: inside.map { $0 ? .interior : .exterior })
  }

  /// Returns a Boolean value that indicates whether a ray, to the east or upwards, meets a segment.
  private static func ray(
    from point: PlanePoint, upwards: Bool, meets edge: PlanarShape.Edge, _ budget: inout ComparisonBudget
  ) -> Bool {
    let (a, b) = (edge.a, edge.b)
    if upwards {
      guard (a.x > point.x) != (b.x > point.x) else { return false }
      return (budget.sign(a, b, point) < 0) == (b.x > a.x)
    }
    guard (a.y > point.y) != (b.y > point.y) else { return false }
    return (budget.sign(a, b, point) > 0) == (b.y > a.y)
  }
}

/// The work that may be spent on comparing the geometries of a filter with each other, which is quadratic in their
/// segments.
struct ComparisonBudget {
  /// The steps that are left, each a few nanoseconds; negative where more were taken than there were.
  private(set) var steps: Int

  /// The steps of an exact sign.
  static let exactSteps = 16

  /// Takes steps.
  mutating func spend(_ count: Int) { steps -= count }

  /// Checks that at least a number of steps is left.
  ///
  /// - Throws: ``FilterError``.
  func check(for further: Int = 0) throws(FilterError) {
    guard steps >= further else {
      throw FilterError(.filter, "expected simpler geometries in the predicates that compare two of them")
    }
  }

  /// Returns the sign of three points, as ``Orientation`` does.
  @inline(__always)
  mutating func sign(_ a: PlanePoint, _ b: PlanePoint, _ c: PlanePoint) -> Int {
    if let sign = Orientation.roundedSign(a, b, c) { return sign }
    spend(Self.exactSteps)
    return Orientation.exactSign(a, b, c)
  }
}
