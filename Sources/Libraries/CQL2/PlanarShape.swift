import Geo

/// A geometry in the plane, prepared for finding the relations of many points to it.
///
/// A line's boundary is its ends (the ends of several lines where an odd number of them meet); an area's interior is
/// what a line from outside enters an odd number of times.
final class PlanarShape: Sendable {
  /// The location of a point in a geometry.
  fileprivate enum Location {
    case interior, boundary, exterior
  }

  /// A segment of a line or of an area's ring.
  fileprivate struct Edge: BitwiseCopyable {
    var a: PlanePoint
    var b: PlanePoint
    /// The number of the area; `nil` for a segment of a line.
    var area: Int32?
  }

  private let points: Set<PlanePoint>

  /// The points at which an odd number of lines end.
  private let lineEnds: Set<PlanePoint>

  /// The point that the geometry is; `nil` if it is any other.
  private let onlyPoint: PlanePoint?

  private let areaEdges: EdgeBands
  private let lineEdges: EdgeBands

  init(_ geometry: FilterGeometry) {
    var builder = Builder()
    switch geometry {
    case .box(let box): builder.add(box)
    case .simple(let part): builder.add(part)
    case .collection(let parts): for part in parts { builder.add(part) }
    }
    points = builder.points
    lineEnds = builder.lineEnds
    onlyPoint = builder.lines.isEmpty && builder.areas.isEmpty && points.count == 1 ? points.first : nil
    lineEdges = EdgeBands(builder.lines.flatMap { Self.edges($0, area: nil) })
    areaEdges = EdgeBands(
      builder.areas.enumerated().flatMap { index, rings in
        rings.flatMap { Self.edges($0, area: Int32(index)) }
      })
  }

  /// Returns the segments of a path that have a length.
  private static func edges(_ path: [PlanePoint], area: Int32?) -> [Edge] {
    zip(path, path.dropFirst()).compactMap { $0 == $1 ? nil : Edge(a: $0, b: $1, area: area) }
  }

  /// Returns a Boolean value that indicates whether a point is in a relation to the geometry (OGC 06-103r4, clause
  /// 6.1.15).
  ///
  /// - Parameter isSecond: whether the point is the second operand of the relation.
  func satisfies(_ relation: FilterOperator, point: PlanePoint, isSecond: Bool) -> Bool {
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

  private func location(of point: PlanePoint) -> Location {
    let inAreas = areaEdges.location(of: point)
    if inAreas == .interior || points.contains(point) { return .interior }
    if lineEdges.contains(point) { return lineEnds.contains(point) ? .boundary : .interior }
    return inAreas
  }

  private struct Builder {
    var points: Set<PlanePoint> = []
    var lines: [[PlanePoint]] = []
    var areas: [[[PlanePoint]]] = []
    var lineEnds: Set<PlanePoint> = []

    mutating func add(_ geometry: FilterGeometry.Simple) {
      switch geometry {
      case .point(let position): points.insert(PlanePoint(position))
      case .multiPoint(let positions): points.formUnion(positions.map { PlanePoint($0) })
      case .lineString(let positions): addLine(positions.map { PlanePoint($0) })
      case .multiLineString(let lines): for line in lines { addLine(line.map { PlanePoint($0) }) }
      case .polygon(let rings): addArea(rings)
      case .multiPolygon(let polygons): for rings in polygons { addArea(rings) }
      }
    }

    private mutating func addArea(_ rings: [[FilterGeometry.Position]]) {
      areas.append(rings.map { ring in ring.map { PlanePoint($0) } })
    }

    private mutating func addLine(_ line: [PlanePoint]) {
      guard let first = line.first, let last = line.last else { return }
      guard line.contains(where: { $0 != first }) else {
        points.insert(first)
        return
      }
      lines.append(line)
      for end in [first, last] where lineEnds.remove(end) == nil { lineEnds.insert(end) }
    }

    /// Adds a box, which is a line or a point if its edges meet. One that crosses the antimeridian is two.
    mutating func add(_ box: FilterGeometry.Box) {
      guard box.west > box.east else { return addRectangle(box.west, box.south, box.east, box.north) }
      addRectangle(box.west, box.south, 180, box.north)
      addRectangle(-180, box.south, box.east, box.north)
    }

    private mutating func addRectangle(_ west: Double, _ south: Double, _ east: Double, _ north: Double) {
      // The part of a box that crosses the antimeridian is empty where its edge is beyond it.
      guard west <= east else { return }
      let corners = [
        PlanePoint(x: west, y: south), PlanePoint(x: east, y: south), PlanePoint(x: east, y: north),
        PlanePoint(x: west, y: north),
        PlanePoint(x: west, y: south),
      ]
      if west < east, south < north {
        areas.append([corners])
      } else {
        addLine([corners[0], corners[2]])
      }
    }
  }
}

/// Segments in horizontal bands, of which a point is in one, so that only the segments near its parallel are compared.
private struct EdgeBands: Sendable {
  /// The segments of each band, one band after the other; those of an area are together.
  private var edges: [PlanarShape.Edge] = []
  private var starts: [Int] = [0]
  private var south = Double.infinity
  private var north = -Double.infinity
  private var bandsPerUnit = 0.0

  /// The maximum of copies of a segment on average.
  private static let copies = 8

  init(_ all: [PlanarShape.Edge]) {
    guard !all.isEmpty else { return }
    for edge in all {
      south = min(south, edge.a.y, edge.b.y)
      north = max(north, edge.a.y, edge.b.y)
    }
    var count = min(max(all.count / 4, 1), 1024)
    while true {
      let scale = Double(count) / (north - south)
      bandsPerUnit = scale.isFinite ? scale : 0
      starts = Array(repeating: 0, count: count + 1)
      for edge in all { for band in bands(of: edge) { starts[band + 1] += 1 } }
      if count == 1 || starts.reduce(0, +) <= Self.copies * all.count { break }
      count /= 2
    }
    for band in 0..<count { starts[band + 1] += starts[band] }
    var next = starts
    edges = Array(repeating: all[0], count: starts[count])
    for edge in all {
      for band in bands(of: edge) {
        edges[next[band]] = edge
        next[band] += 1
      }
    }
  }

  private func band(of y: Double) -> Int {
    let band = (y - south) * bandsPerUnit
    return band.isFinite ? min(max(Int(band), 0), starts.count - 2) : 0
  }

  private func bands(of edge: PlanarShape.Edge) -> ClosedRange<Int> {
    band(of: min(edge.a.y, edge.b.y))...band(of: max(edge.a.y, edge.b.y))
  }

  /// Returns a Boolean value that indicates whether a point is on a segment.
  func contains(_ point: PlanePoint) -> Bool {
    guard point.y >= south, point.y <= north else { return false }
    let band = band(of: point.y)
    for index in starts[band]..<starts[band + 1] where Orientation.isOn(point, edges[index].a, edges[index].b) {
      return true
    }
    return false
  }

  /// Returns the location of a point in the areas whose rings the segments are.
  func location(of point: PlanePoint) -> PlanarShape.Location {
    guard point.y >= south, point.y <= north else { return .exterior }
    let band = band(of: point.y)
    var location = PlanarShape.Location.exterior
    var index = starts[band]
    while index < starts[band + 1] {
      let area = edges[index].area
      var (isInside, isOnRing) = (false, false)
      while index < starts[band + 1], edges[index].area == area {
        let (a, b) = (edges[index].a, edges[index].b)
        index += 1
        guard !isOnRing, point.x <= max(a.x, b.x) else { continue }
        if Orientation.isOn(point, a, b) {
          isOnRing = true
        } else if (a.y > point.y) != (b.y > point.y) {
          let isLeft = point.x < min(a.x, b.x) || (Orientation.sign(a, b, point) > 0) == (b.y > a.y)
          if isLeft { isInside.toggle() }
        }
      }
      if isOnRing { location = .boundary } else if isInside { return .interior }
    }
    return location
  }
}

extension PlanePoint {
  fileprivate init(_ position: FilterGeometry.Position) {
    self.init(x: position.x, y: position.y)
  }
}

/// The exact sides of points and lines (J. R. Shewchuk, "Adaptive precision floating-point arithmetic and fast robust
/// geometric predicates", Discrete & Computational Geometry 18, 1997).
private enum Orientation {
  /// Returns 1 where the third point is left of the line from the first to the second, -1 where it is right, and 0
  /// where it is on the line.
  @inline(__always)
  static func sign(_ a: PlanePoint, _ b: PlanePoint, _ c: PlanePoint) -> Int {
    let left = (a.x - c.x) * (b.y - c.y)
    let right = (a.y - c.y) * (b.x - c.x)
    let determinant = left - right
    // Beyond this bound rounding errors leave the sign as it is: (3 + 16 ε) ε for ε = 2⁻⁵³.
    let bound = 3.3306690738754716e-16 * (abs(left) + abs(right))
    if determinant > bound { return 1 }
    if -determinant > bound { return -1 }
    // Both products are exactly zero at an end, and on a line along an axis.
    return (a.x == c.x || b.y == c.y) && (a.y == c.y || b.x == c.x) ? 0 : exactSign(a, b, c)
  }

  /// Returns the sign of the same determinant, each product of which is the exact sum of two numbers.
  private static func exactSign(_ a: PlanePoint, _ b: PlanePoint, _ c: PlanePoint) -> Int {
    var sum = ExactSum()
    sum.add(a.x, times: b.y)
    sum.add(-a.x, times: c.y)
    sum.add(-c.x, times: b.y)
    sum.add(-a.y, times: b.x)
    sum.add(a.y, times: c.x)
    sum.add(c.y, times: b.x)
    return sum.sign
  }

  /// An exact sum of up to six products. Its components do not overlap, and are in ascending order of magnitude.
  private struct ExactSum {
    private var numbers = InlineArray<12, Double>(repeating: 0)
    private var count = 0

    mutating func add(_ first: Double, times second: Double) {
      let product = first * second
      add((-product).addingProduct(first, second))
      add(product)
    }

    private mutating func add(_ number: Double) {
      var carry = number
      for index in 0..<count {
        let total = carry + numbers[index]
        let virtual = total - carry
        numbers[index] = (carry - (total - virtual)) + (numbers[index] - virtual)
        carry = total
      }
      numbers[count] = carry
      count += 1
    }

    /// The sign of the largest number that is not zero.
    var sign: Int {
      for index in (0..<count).reversed() where numbers[index] != 0 {
        return numbers[index] > 0 ? 1 : numbers[index] < 0 ? -1 : 0
      }
      return 0
    }
  }

  /// Returns a Boolean value that indicates whether a point is on a segment.
  @inline(__always)
  static func isOn(_ point: PlanePoint, _ a: PlanePoint, _ b: PlanePoint) -> Bool {
    point.x >= min(a.x, b.x) && point.x <= max(a.x, b.x) && point.y >= min(a.y, b.y) && point.y <= max(a.y, b.y)
      && sign(a, b, point) == 0
  }
}
