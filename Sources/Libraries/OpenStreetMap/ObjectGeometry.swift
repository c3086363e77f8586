import Basics
import Geo

/// The members of a relation that are in the file, with their positions.
struct RelationMembers {
  private struct Label {
    let rank: Int
    let position: OSMPosition
  }

  private var label: Label?
  private var ways: [RingAssembly.Way] = []
  private var nodes: [FixedPosition] = []
  private(set) var isComplete = true
  private var missingWays = 0

  var hasWays: Bool { !ways.isEmpty }

  /// Reads the members. Relations that are members are not followed, so that cycles do no harm.
  mutating func read(
    _ relation: RelationRecord, isArea: Bool, in block: PrimitiveBlock, nodes lookup: NodeLocations.Lookup,
    ways wayLookup: WayGeometries.Lookup, _ work: WorkLimit
  ) throws(OSMError) {
    var (lookup, wayLookup) = (lookup, wayLookup)
    var seen: Set<Int64> = []
    try block.forEachMember(of: relation) { kind, id, roleIndex throws(OSMError) in
      let role = try block.text(roleIndex)
      let rank = AreaTags.labelRoles.firstIndex(of: role)
      switch kind {
      case .relation: isComplete = false
      case .node:
        guard let position = lookup.position(of: id) else {
          isComplete = isComplete && isArea && rank == nil
          return
        }
        nodes.append(position)
        keepLabel(rank, position.degrees)
      case .way:
        // A way that is listed twice would cancel itself out.
        guard seen.insert(id).inserted else { return }
        let (positions, isWayComplete) = wayLookup.way(id)
        isComplete = isComplete && isWayComplete
        if !isWayComplete { missingWays += 1 }
        try work.use(
          positions.count, of: wayLookup.positionCount,
          orThrow: block.malformed("relations refer to the same ways more than \(WorkLimit.maximumUses) times each"))
        guard !positions.isEmpty else { return }
        let way = RingAssembly.Way(positions: Array(positions), isInner: role == "inner")
        if let rank, let point = RelationMembers.position(of: way) { keepLabel(rank, point) }
        ways.append(way)
      }
    }
  }

  private mutating func keepLabel(_ rank: Int?, _ position: OSMPosition) {
    guard let rank, rank < label?.rank ?? .max else { return }
    label = Label(rank: rank, position: position)
  }

  /// Returns the point inside the rings of the ways. If they close to no outer ring, returns that of the label.
  func areaPoint() -> OSMPosition? {
    var shape = AreaShape()
    var hasOuter = false
    for ring in RingAssembly(ways).rings {
      shape.add(ring.positions, isHole: ring.isInner)
      hasOuter = hasOuter || !ring.isInner
    }
    if hasOuter, let point = shape.pointInside() { return OSMPosition(point) }
    return label?.position
  }

  /// Returns the outline of an area.
  func outline() -> OSMOutline {
    let assembly = RingAssembly(ways)
    var outer = assembly.rings.filter { !$0.isInner }.map { OutlinePolygon($0.positions) }
    for ring in assembly.rings where ring.isInner {
      guard let point = ring.positions.first else { continue }
      // The smallest ring around it; a hole outside of all is left out.
      let around = outer.indices.filter { outer[$0].contains(point) }
      if let index = around.min(by: { outer[$0].boxArea < outer[$1].boxArea }) {
        outer[index].holes.append(ring.positions)
      }
    }
    return OSMOutline(
      polygons: outer.map { ([$0.ring] + $0.holes).map { $0.map(\.degrees) } }, missingWays: missingWays,
      openWays: assembly.openCount)
  }

  /// Returns the point of a relation that is no area: that of its label, else that of the member nearest to the mean
  /// of the members, so that it is on one of them.
  func sitePoint() -> OSMPosition? {
    if let label { return label.position }
    let points = nodes.map(\.degrees) + ways.compactMap { RelationMembers.position(of: $0) }
    guard let first = points.first else { return nil }
    // Longitudes relative to the first, so that a site may cross the antimeridian.
    func offset(_ point: OSMPosition) -> (x: Double, y: Double) {
      let x = point.longitude - first.longitude
      return (x > 180 ? x - 360 : x < -180 ? x + 360 : x, point.latitude - first.latitude)
    }
    let offsets = points.map(offset)
    let count = Double(points.count)
    let mean = (x: offsets.reduce(0) { $0 + $1.x } / count, y: offsets.reduce(0) { $0 + $1.y } / count)
    func distance(_ index: Int) -> Double {
      let (x, y) = (offsets[index].x - mean.x, offsets[index].y - mean.y)
      return x * x + y * y
    }
    return points.indices.min { distance($0) < distance($1) }.map { points[$0] }
  }

  private static func position(of way: RingAssembly.Way) -> OSMPosition? {
    OSMPosition(ofWay: way.positions, isArea: way.positions.first == way.positions.last)
  }
}

/// An outer ring with its holes, in the plane of longitude and latitude.
private struct OutlinePolygon {
  let ring: [FixedPosition]
  var holes: [[FixedPosition]] = []
  private let west: Int32
  private let south: Int32
  private let east: Int32
  private let north: Int32

  init(_ ring: [FixedPosition]) {
    self.ring = ring
    west = ring.lazy.map(\.longitude).min() ?? 0
    east = ring.lazy.map(\.longitude).max() ?? 0
    south = ring.lazy.map(\.latitude).min() ?? 0
    north = ring.lazy.map(\.latitude).max() ?? 0
  }

  var boxArea: Double { (Double(east) - Double(west)) * (Double(north) - Double(south)) }

  /// Returns a Boolean value that indicates whether the ring is around a position.
  func contains(_ position: FixedPosition) -> Bool {
    guard (west...east).contains(position.longitude), (south...north).contains(position.latitude) else { return false }
    let point = PlanePoint(position)
    var isInside = false
    for (start, end) in zip(ring, ring.dropFirst())
    where point.isWest(ofSegmentFrom: PlanePoint(start), to: PlanePoint(end)) {
      isInside.toggle()
    }
    return isInside
  }
}

/// Joins the ways of a multipolygon to closed rings. The ways may be in any order and direction.
struct RingAssembly {
  struct Way {
    let positions: [FixedPosition]
    let isInner: Bool
  }

  struct Ring {
    let positions: [FixedPosition]
    let isInner: Bool
  }

  private(set) var rings: [Ring] = []

  /// The number of ways that are part of no ring.
  private(set) var openCount = 0

  /// Joins ways at ends with the same position. Ways that are part of no ring are left out.
  ///
  /// Where more than two ways meet, the rings may be joined in several ways. All have the same segments, and so the
  /// same area.
  init(_ ways: [Way]) {
    var open: [Way] = []
    for way in ways {
      guard way.positions.count > 1 else {
        openCount += 1
        continue
      }
      if way.positions.first == way.positions.last {
        rings.append(Ring(positions: way.positions, isInner: way.isInner))
      } else {
        open.append(way)
      }
    }
    join(open)
  }

  private static func ends(_ way: Way) -> [FixedPosition] {
    [way.positions[0], way.positions[way.positions.count - 1]]
  }

  private mutating func join(_ ways: [Way]) {
    var waysAt: [FixedPosition: [Int]] = [:]
    for (index, way) in ways.enumerated() {
      for end in RingAssembly.ends(way) { waysAt[end, default: []].append(index) }
    }
    var isUsed = [Bool](repeating: false, count: ways.count)
    RingAssembly.removeDeadEnds(ways, &waysAt, &isUsed)
    openCount += isUsed.count { $0 }
    for first in ways.indices where !isUsed[first] {
      isUsed[first] = true
      var count = 1
      var positions = ways[first].positions
      let start = positions[0]
      var end = positions[positions.count - 1]
      while end != start {
        // Used ways are taken off the list, so that each is seen once at each of its ends.
        guard let index = RingAssembly.popUnused(at: end, &waysAt, isUsed) else { break }
        isUsed[index] = true
        count += 1
        let way = ways[index].positions
        if way[0] == end {
          positions.append(contentsOf: way.dropFirst())
        } else {
          positions.append(contentsOf: way.reversed().dropFirst())
        }
        end = positions[positions.count - 1]
      }
      if end == start {
        rings.append(Ring(positions: positions, isInner: ways[first].isInner))
      } else {
        openCount += count
      }
    }
  }

  private static func popUnused(
    at end: FixedPosition, _ waysAt: inout [FixedPosition: [Int]], _ isUsed: [Bool]
  ) -> Int? {
    while let index = waysAt[end]?.popLast() {
      if !isUsed[index] { return index }
    }
    return nil
  }

  /// Marks the ways with an end where no other way is, again and again until there are none.
  private static func removeDeadEnds(
    _ ways: [Way], _ waysAt: inout [FixedPosition: [Int]], _ isUsed: inout [Bool]
  ) {
    var degrees = waysAt.mapValues(\.count)
    var deadEnds = degrees.filter { $0.value == 1 }.map(\.key)
    while let deadEnd = deadEnds.popLast() {
      guard degrees[deadEnd] == 1, let index = waysAt[deadEnd]?.first(where: { !isUsed[$0] }) else { continue }
      isUsed[index] = true
      for end in ends(ways[index]) {
        degrees[end, default: 0] -= 1
        if degrees[end] == 1 { deadEnds.append(end) }
      }
    }
  }
}

extension PlanePoint {
  init(_ position: FixedPosition) {
    self.init(x: Double(position.longitude), y: Double(position.latitude))
  }
}

extension AreaShape {
  /// Adds a closed ring of nodes, the last of which is the first.
  mutating func add(_ positions: [FixedPosition], isHole: Bool) {
    add(positions.map { PlanePoint($0) }, isHole: isHole)
  }
}

extension OSMPosition {
  init(_ point: PlanePoint) {
    let (latitude, longitude) = point.degrees
    self.init(latitude: latitude, longitude: longitude)
  }

  /// Creates the position of a way: inside the area, or in the middle of the line. Returns nil if there are no nodes.
  init?(ofWay positions: [FixedPosition], isArea: Bool) {
    if isArea {
      var shape = AreaShape()
      shape.add(positions, isHole: false)
      if let point = shape.pointInside() {
        self.init(point)
        return
      }
    }
    guard let middle = Plane.middle(ofLine: Plane.path(positions.map { PlanePoint($0) }).points) else { return nil }
    self.init(middle)
  }
}

/// The rules that say what geometry the tags of an object mean.
enum AreaTags {
  /// The keys of closed ways that are lines, unless one of the ``areaKeys`` is there as well.
  private static let lineKeys: Set<ExactText> = ["aerialway", "barrier", "highway", "railway", "route", "waterway"]

  /// The keys of closed ways that are areas.
  private static let areaKeys: Set<ExactText> = [
    "amenity", "building", "building:part", "craft", "healthcare", "historic", "landuse", "leisure", "military",
    "office", "place", "public_transport", "shop", "tourism", "water",
  ]

  /// The tags of closed ways that are lines although others with the key are areas.
  private static let lineValues: [ExactText: Set<ExactText>] = [
    "aeroway": ["jet_bridge", "parking_position", "runway", "taxiway"],
    "leisure": ["slipway", "track"],
    "man_made": ["breakwater", "cutline", "embankment", "groyne", "pipeline"],
    "natural": ["arete", "cliff", "coastline", "earth_bank", "gully", "ridge", "tree_row"],
    "power": ["cable", "line", "minor_line"],
  ]

  /// The values of line keys that are areas.
  private static let areaValues: [ExactText: Set<ExactText>] = [
    "highway": ["rest_area", "services"],
    "railway": ["platform", "roundhouse", "station", "turntable", "yard"],
    "waterway": ["boatyard", "dam", "dock", "riverbank"],
  ]

  /// Returns a Boolean value that indicates whether a closed way with the tags is an area rather than a line.
  static func isArea(_ tags: [OSMTag]) -> Bool {
    var isLine = false
    var isArea = false
    for tag in tags {
      let (key, value) = (ExactText(tag.key), ExactText(tag.value))
      if key == "area" { return value != "no" }
      if lineValues[key]?.contains(value) == true {
        isLine = true
      } else if areaKeys.contains(key) {
        isArea = isArea || value != "no"
      } else if lineKeys.contains(key) {
        if areaValues[key]?.contains(value) == true { isArea = true } else { isLine = true }
      }
    }
    return isArea || !isLine
  }

  /// Returns a Boolean value that indicates whether a relation with the tags is an area.
  static func isAreaRelation(_ tags: [OSMTag]) -> Bool {
    tags.contains { $0.key == "type" && ($0.value == "multipolygon" || $0.value == "boundary") }
  }

  /// The roles of members that stand for a relation, the best first.
  static let labelRoles = ["label", "admin_centre", "entrance"]
}
