/// A geometry in the plane, prepared for finding the locations of many points.
///
/// A line's boundary is its ends (the ends of several lines where an odd number of them meet); an area's interior is
/// what a line from outside enters an odd number of times.
final class PlanarShape: Sendable {
  /// The location of a point in a geometry, in the order of the rows of an intersection matrix.
  enum Location: Int {
    case interior, boundary, exterior
  }

  /// A segment of a line or of an area's ring.
  struct Edge: BitwiseCopyable {
    var a: FlatPoint
    var b: FlatPoint
    /// The number of the area; `nil` for a segment of a line.
    var area: Int32?
  }

  let points: Set<FlatPoint>

  /// The segments that have a length: those of lines first, then those of each area.
  let edges: [Edge]

  /// The points at which an odd number of lines end.
  let lineEnds: Set<FlatPoint>

  let areaCount: Int

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
    areaCount = builder.areas.count
    var edges = builder.lines.flatMap { Self.edges($0, area: nil) }
    lineEdges = EdgeBands(edges[...])
    for (index, rings) in builder.areas.enumerated() {
      for ring in rings { edges += Self.edges(ring, area: Int32(index)) }
    }
    areaEdges = EdgeBands(edges.drop { $0.area == nil })
    self.edges = edges
  }

  private static func edges(_ path: [FlatPoint], area: Int32?) -> [Edge] {
    zip(path, path.dropFirst()).compactMap { $0 == $1 ? nil : Edge(a: $0, b: $1, area: area) }
  }

  /// The dimension of the geometry.
  var dimension: Int {
    if areaCount > 0 { return 2 }
    return edges.isEmpty ? 0 : 1
  }

  /// The point that the geometry is; `nil` where it is any other.
  var onlyPoint: FlatPoint? { dimension == 0 && points.count == 1 ? points.first : nil }

  /// Returns the number of steps of a ``ComparisonBudget`` that ``location(of:)`` takes at most.
  func steps(at point: FlatPoint) -> Int {
    1 + ComparisonBudget.exactSteps * (areaEdges.count(at: point) + lineEdges.count(at: point))
  }

  /// Returns the location of a point.
  func location(of point: FlatPoint) -> Location {
    let inAreas = areaEdges.location(of: point)
    if inAreas == .interior || points.contains(point) { return .interior }
    if lineEdges.contains(point) { return lineEnds.contains(point) ? .boundary : .interior }
    return inAreas
  }

  private struct Builder {
    var points: Set<FlatPoint> = []
    var lines: [[FlatPoint]] = []
    var areas: [[[FlatPoint]]] = []
    var lineEnds: Set<FlatPoint> = []

    mutating func add(_ geometry: FilterGeometry.Simple) {
      switch geometry {
      case .point(let position): points.insert(FlatPoint(position))
      case .multiPoint(let positions): points.formUnion(positions.map { FlatPoint($0) })
      case .lineString(let positions): addLine(positions.map { FlatPoint($0) })
      case .multiLineString(let lines): for line in lines { addLine(line.map { FlatPoint($0) }) }
      case .polygon(let rings): addArea(rings)
      case .multiPolygon(let polygons): for rings in polygons { addArea(rings) }
      }
    }

    private mutating func addArea(_ rings: [[FilterGeometry.Position]]) {
      areas.append(rings.map { ring in ring.map { FlatPoint($0) } })
    }

    private mutating func addLine(_ line: [FlatPoint]) {
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
        FlatPoint(west, south), FlatPoint(east, south), FlatPoint(east, north), FlatPoint(west, north),
        FlatPoint(west, south),
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

  init(_ all: ArraySlice<PlanarShape.Edge>) {
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
    edges = Array(repeating: all[all.startIndex], count: starts[count])
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

  /// Returns the number of segments in the band of a point.
  func count(at point: FlatPoint) -> Int {
    guard point.y >= south, point.y <= north else { return 0 }
    let band = band(of: point.y)
    return starts[band + 1] - starts[band]
  }

  /// Returns a Boolean value that indicates whether a point is on a segment.
  func contains(_ point: FlatPoint) -> Bool {
    guard point.y >= south, point.y <= north else { return false }
    let band = band(of: point.y)
    for index in starts[band]..<starts[band + 1] where Orientation.isOn(point, edges[index].a, edges[index].b) {
      return true
    }
    return false
  }

  /// Returns the location of a point in the areas whose rings the segments are.
  func location(of point: FlatPoint) -> PlanarShape.Location {
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
