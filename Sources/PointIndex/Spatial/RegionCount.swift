import Geo
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
