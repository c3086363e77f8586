import Geo
import Points

/// The number of a tree's places that match a query, whatever its order and position.
struct MatchCount: TreeVisitor {
  private let region: RegionFilter?
  private let route: RouteFilter?
  private let proximity: ProximityFilter?
  private let filter: SlotFilter?

  /// The number of places counted so far.
  private(set) var places = 0

  /// Creates a count of no places yet.
  ///
  /// - Parameter proximity: the condition on the distance; `nil` for any distance.
  init(region: RegionFilter?, route: RouteFilter?, proximity: ProximityFilter?, filter: SlotFilter?) {
    self.region = region
    self.route = route
    self.proximity = proximity
    self.filter = filter
  }

  mutating func key(ofNode node: Int, places: Range<Int>, in tree: SearchTree) -> Double? {
    if let proximity,
      tree.nodes.space[node].leastChordSquared(to: proximity.position) > proximity.outerChordSquared
    {
      return nil
    }
    if let route, !route.meets(tree.nodes.space[node]) { return nil }
    switch region?.relation(tree.nodes.geographic[node]) {
    case .outside: return nil
    case .mixed: return 0
    case .inside, nil: break
    }
    guard route == nil, proximity == nil, filter == nil else { return 0 }
    self.places += tree.liveCount(of: places)
    return nil
  }

  func wants(_ key: Double) -> Bool { true }

  mutating func visit(places: Range<Int>, in tree: SearchTree) {
    for place in places where matches(tree.slot(of: place), in: tree) { self.places += 1 }
  }

  private func matches(_ slot: Int, in tree: SearchTree) -> Bool {
    if tree.isDead(slot) { return false }
    if let region, !region.contains(slot, tree.columns) { return false }
    if let route, route.nearest(to: slot, tree.columns) == nil { return false }
    if let proximity, !proximity.contains(slot, tree.columns) { return false }
    return filter?.matches(slot, in: tree) ?? true
  }
}

extension SearchTree {
  /// Returns the number of places that were not removed, by their positions in the tree.
  fileprivate func liveCount(of places: Range<Int>) -> Int {
    guard let tombstones else { return places.count }
    guard nodes.slots == nil else { return places.count { !isDead(slot(of: $0)) } }
    // Positions are slots, whose bits stand side by side.
    var dead = 0
    var position = places.lowerBound
    while position < places.upperBound {
      let end = min((position | 63) + 1, places.upperBound)
      let mask = end - position == 64 ? UInt64.max : ((1 << UInt64(end - position)) - 1) << UInt64(position & 63)
      dead += (tombstones[position >> 6] & mask).nonzeroBitCount
      position = end
    }
    return places.count - dead
  }
}

/// The number of a tree's places in a region, removed ones included.
struct RegionCount: TreeVisitor {
  private let region: RegionFilter
  private let isEstimate: Bool

  /// The number of places counted so far.
  private(set) var places = 0

  /// Creates a count of no places yet.
  ///
  /// - Parameter isEstimate: whether half of the places of each leaf at the edge of the region are counted, without a
  ///   look at any of them.
  init(in region: RegionFilter, isEstimate: Bool) {
    self.region = region
    self.isEstimate = isEstimate
  }

  mutating func key(ofNode node: Int, places: Range<Int>, in tree: SearchTree) -> Double? {
    switch region.relation(tree.nodes.geographic[node]) {
    case .outside: return nil
    case .mixed: return 0
    case .inside:
      self.places += places.count
      return nil
    }
  }

  func wants(_ key: Double) -> Bool { true }

  mutating func visit(places: Range<Int>, in tree: SearchTree) {
    if isEstimate {
      self.places += (places.count + 1) / 2
    } else {
      for place in places where region.contains(tree.slot(of: place), tree.columns) { self.places += 1 }
    }
  }
}
