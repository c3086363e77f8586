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
    let isClosed = way.positions.count > 3 && way.positions.first == way.positions.last
    return OSMPosition(ofWay: way.positions, isArea: isClosed)
  }
}
