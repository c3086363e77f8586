import Geo
import Points

/// A search for the first matches by id.
struct IDSearch: ~Copyable {
  private let hasRegion: Bool
  private let region: RegionFilter
  private let filter: SlotFilter?
  private var after: PointID?
  private var heap: CandidateHeap

  /// Creates a search that keeps the first `capacity` matches after an id.
  init(region: RegionFilter?, after: PointID?, filter: SlotFilter?, capacity: Int) {
    hasRegion = region != nil
    self.region = region ?? RegionFilter()
    self.after = after
    self.filter = filter
    heap = CandidateHeap(capacity: capacity)
  }

  /// Ends the search and returns its matches in order.
  mutating func removeAllSorted() -> [Candidate] { heap.removeAllSorted() }

  /// Searches a tree, or the same places in the order of their ids, whichever is likely to take less time.
  mutating func search(_ tree: SearchTree, byID slots: UnsafeBufferPointer<UInt32>) {
    guard hasRegion else {
      _ = scan(slots, steps: slots.count, in: tree)
      return
    }
    var estimate = RegionCount(in: region, isEstimate: true)
    tree.walk(&estimate)
    guard estimate.places > 0 else { return }
    // The expected number of places to read in the order of their ids. Each is a random access, which takes several
    // times as long as reading the next place of a leaf.
    let stepCost = 8
    let steps = heap.capacity * slots.count / estimate.places
    let formerAfter = after
    if steps * stepCost < estimate.places {
      // Matches may be unevenly distributed over the ids: after as many steps as the tree would take, the tree is
      // searched.
      guard let last = scan(slots, steps: estimate.places / stepCost, in: tree) else { return }
      after = last
    }
    tree.walk(&self)
    after = formerAfter
  }

  /// Searches places in the order of their ids until the heap is full, and returns `nil`; or the id that it reached in
  /// the given number of steps.
  private mutating func scan(
    _ slots: UnsafeBufferPointer<UInt32>,
    steps: Int,
    in tree: SearchTree
  ) -> PointID? {
    let columns = tree.columns
    let start = after.map { after in slots.firstPosition { after < columns.ids[Int($0)] } } ?? 0
    let end = min(slots.count, start + steps)
    for position in start..<end {
      let slot = Int(slots[position])
      if tree.isDead(slot) { continue }
      if !region.contains(slot, columns) { continue }
      if let filter, !filter.matches(slot, in: tree) { continue }
      // The rest have greater ids.
      guard offer(slot, in: tree) else { return nil }
    }
    return end < slots.count && end > start ? columns.ids[Int(slots[end - 1])] : nil
  }

  @discardableResult
  @inline(__always)
  private mutating func offer(_ slot: Int, in tree: SearchTree) -> Bool {
    heap.offer(
      Candidate(
        distance: 0,
        id: tree.columns.ids[slot],
        part: tree.part,
        slot: UInt32(truncatingIfNeeded: slot)
      )
    )
  }
}

extension IDSearch: TreeVisitor {
  mutating func key(ofNode node: Int, places: Range<Int>, in tree: SearchTree) -> Double? {
    switch region.relation(tree.nodes.geographic[node]) {
    case .outside: return nil
    case .mixed: return 0
    case .inside:
      offer(places, isCovered: true, in: tree)
      return nil
    }
  }

  func wants(_ key: Double) -> Bool { true }

  mutating func visit(places: Range<Int>, in tree: SearchTree) {
    offer(places, isCovered: false, in: tree)
  }

  @inline(__always)
  private mutating func offer(_ places: Range<Int>, isCovered: Bool, in tree: SearchTree) {
    let columns = tree.columns
    for place in places {
      let slot = tree.slot(of: place)
      if !isCovered, !region.contains(slot, columns) { continue }
      if let after, !(after < columns.ids[slot]) { continue }
      if tree.isDead(slot) { continue }
      if let filter {
        if heap.isFull, heap.last.id < columns.ids[slot] { continue }
        guard filter.matches(slot, in: tree) else { continue }
      }
      offer(slot, in: tree)
    }
  }
}
