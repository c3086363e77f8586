/// The number of a tree's places in a box, removed ones included.
struct BoxCount: TreeVisitor {
  private let box: BoxFilter
  private let isEstimate: Bool

  /// The number of places counted so far.
  private(set) var places = 0

  /// Creates a count of no places yet.
  ///
  /// - Parameter isEstimate: whether half of the places of each leaf at the edge of the box are counted, without a look
  ///   at any of them.
  init(in box: BoxFilter, isEstimate: Bool) {
    self.box = box
    self.isEstimate = isEstimate
  }

  mutating func key(ofNode node: Int, places: Range<Int>, in tree: SearchTree) -> Double? {
    let bounds = tree.nodes.geographic[node]
    guard box.meets(bounds) else { return nil }
    guard box.covers(bounds) else { return 0 }
    self.places += places.count
    return nil
  }

  func wants(_ key: Double) -> Bool { true }

  mutating func visit(places: Range<Int>, in tree: SearchTree) {
    if isEstimate {
      self.places += (places.count + 1) / 2
    } else {
      for place in places where box.contains(tree.columns.coordinates[tree.slot(of: place)]) { self.places += 1 }
    }
  }
}
