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
    func noteLocations(of point: FlatPoint) throws(FilterError) {
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
  func satisfies(_ relation: FilterOperator, point: FlatPoint, isSecond: Bool = false) -> Bool {
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
