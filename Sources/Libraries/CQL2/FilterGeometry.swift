/// A geometry of a filter. Its coordinates are numbers of the filter's coordinate reference system; their range is not
/// checked.
public enum FilterGeometry: Hashable, Sendable {
  /// A position.
  public struct Position: Hashable, Sendable {
    /// The easting or longitude.
    public let x: Double

    /// The northing or latitude.
    public let y: Double

    /// The height, which no predicate looks at.
    public let z: Double?

    /// Creates a position of finite numbers.
    public init(x: Double, y: Double, z: Double? = nil) {
      self.x = x
      self.y = y
      self.z = z
    }
  }

  /// A box between two meridians and two parallels. If its west is greater than its east, it crosses the antimeridian.
  public struct Box: Hashable, Sendable {
    /// The western edge.
    public let west: Double

    /// The southern edge, not greater than the northern one.
    public let south: Double

    /// The eastern edge.
    public let east: Double

    /// The northern edge.
    public let north: Double

    /// The heights of the bottom and the top, which no predicate looks at.
    public let heights: [Double]

    /// Creates a box of finite numbers.
    ///
    /// - Parameter heights: none, or the heights of the bottom and the top.
    public init(west: Double, south: Double, east: Double, north: Double, heights: [Double] = []) {
      self.west = west
      self.south = south
      self.east = east
      self.north = north
      self.heights = heights
    }

    /// Creates a box from four numbers, or six with heights; `nil` for any others.
    init?(_ numbers: [Double]) {
      switch numbers.count {
      case 4: self.init(west: numbers[0], south: numbers[1], east: numbers[2], north: numbers[3])
      case 6:
        self.init(
          west: numbers[0], south: numbers[1], east: numbers[3], north: numbers[4], heights: [numbers[2], numbers[5]])
      default: return nil
      }
      guard south <= north else { return nil }
    }

    /// The four numbers, or six with the heights, in the order in which they are written.
    var numbers: [Double] {
      heights.count == 2 ? [west, south, heights[0], east, north, heights[1]] : [west, south, east, north]
    }
  }

  /// A geometry that is not a collection.
  public enum Simple: Hashable, Sendable {
    case point(Position)
    case lineString([Position])
    case polygon([[Position]])
    case multiPoint([Position])
    case multiLineString([[Position]])
    case multiPolygon([[[Position]]])
  }

  case simple(Simple)
  case collection([Simple])
  case box(Box)

  /// The parts of the geometry that are not collections; none of a box.
  var parts: [Simple] {
    switch self {
    case .simple(let part): [part]
    case .collection(let parts): parts
    case .box: []
    }
  }

  /// The minimum number of positions of a line.
  static let leastLine = 2

  /// The minimum number of positions of a ring, of which the last is the first.
  static let leastRing = 4

  /// Returns what is expected instead of the positions of a ring; `nil` if they are right.
  static func expectation(insteadOfRing ring: [Position]) -> String? {
    guard ring.count >= leastRing else { return "expected at least \(leastRing) positions in a ring" }
    return ring.first == ring.last ? nil : "expected a ring to end at its first position"
  }
}

extension FilterGeometry.Simple {
  /// The name in GeoJSON.
  var type: String {
    switch self {
    case .point: "Point"
    case .lineString: "LineString"
    case .polygon: "Polygon"
    case .multiPoint: "MultiPoint"
    case .multiLineString: "MultiLineString"
    case .multiPolygon: "MultiPolygon"
    }
  }

  var hasHeights: Bool { firstPosition?.z != nil }

  private var firstPosition: FilterGeometry.Position? {
    switch self {
    case .point(let position): position
    case .lineString(let positions), .multiPoint(let positions): positions.first
    case .polygon(let rings), .multiLineString(let rings): rings.first?.first
    case .multiPolygon(let polygons): polygons.first?.first?.first
    }
  }
}

extension FilterGeometry {
  /// The least and greatest coordinates. A box that crosses the antimeridian has its own west and east.
  public var bounds: (west: Double, south: Double, east: Double, north: Double) {
    if case .box(let box) = self { return (box.west, box.south, box.east, box.north) }
    var bounds = (west: Double.infinity, south: Double.infinity, east: -Double.infinity, north: -Double.infinity)
    for part in parts {
      part.forEachPosition { position in
        bounds.west = min(bounds.west, position.x)
        bounds.south = min(bounds.south, position.y)
        bounds.east = max(bounds.east, position.x)
        bounds.north = max(bounds.north, position.y)
      }
    }
    return bounds
  }
}

extension FilterGeometry.Simple {
  fileprivate func forEachPosition(_ body: (FilterGeometry.Position) -> Void) {
    switch self {
    case .point(let position): body(position)
    case .lineString(let positions), .multiPoint(let positions): positions.forEach(body)
    case .polygon(let rings), .multiLineString(let rings): rings.joined().forEach(body)
    case .multiPolygon(let polygons): polygons.joined().joined().forEach(body)
    }
  }
}
