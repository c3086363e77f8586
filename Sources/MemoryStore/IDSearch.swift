import Geo
import Points

/// A search for the first few matches by id.
struct IDSearch: ~Copyable {
  private let box: BoxFilter?
  private var after: PointID?
  private var heap: CandidateHeap

  /// Creates a search that keeps the first `capacity` matches after an id.
  init(box: BoxFilter?, after: PointID?, capacity: Int) {
    self.box = box
    self.after = after
    heap = CandidateHeap(capacity: capacity)
  }

  /// The matches found, in order. The search is over afterwards.
  mutating func removeAllSorted() -> [Candidate] { heap.removeAllSorted() }

  /// Searches a tree and the same places in the order of their ids, in whichever of the two is likely to take less.
  mutating func search(_ source: TreeSource, byID slots: UnsafeBufferPointer<UInt32>) {
    guard let box else {
      _ = scan(slots, steps: slots.count, in: source)
      return
    }
    var estimate = BoxEstimate(box: box)
    source.walk(&estimate)
    guard estimate.places > 0 else { return }
    // Of so many places in the order of their ids one is a match; each is read from a spot of its own, which takes
    // several times as long as the next one in a leaf.
    let stepCost = 8
    let steps = heap.capacity * slots.count / estimate.places
    let formerAfter = after
    if steps * stepCost < estimate.places {
      // Matches may be far from even among the ids: the tree has what is not found in as many steps as it would take.
      guard let last = scan(slots, steps: estimate.places / stepCost, in: source) else { return }
      after = last
    }
    source.walk(&self)
    after = formerAfter
  }

  /// Searches places in the order of their ids, from where it has to begin until it has enough; `nil` when it has, else
  /// the id up to which it came in so many steps.
  private mutating func scan(
    _ slots: UnsafeBufferPointer<UInt32>,
    steps: Int,
    in source: TreeSource
  ) -> PointID? {
    let columns = source.columns
    let start = after.map { after in slots.firstPosition { after < columns.ids[Int($0)] } } ?? 0
    let end = min(slots.count, start + steps)
    for position in start..<end {
      let slot = Int(slots[position])
      if source.isDead(slot) { continue }
      if let box, !box.contains(columns.coordinates[slot]) { continue }
      // The rest have greater ids.
      guard offer(slot, in: source) else { return nil }
    }
    return end < slots.count && end > start ? columns.ids[Int(slots[end - 1])] : nil
  }

  @discardableResult
  @inline(__always)
  private mutating func offer(_ slot: Int, in source: TreeSource) -> Bool {
    heap.offer(
      Candidate(
        distance: 0,
        id: source.columns.ids[slot],
        part: source.part,
        slot: UInt32(truncatingIfNeeded: slot)
      )
    )
  }
}

extension IDSearch: TreeVisitor {
  mutating func key(ofNode node: Int, places: Range<Int>, in source: TreeSource) -> Double? {
    guard let box, box.meets(source.tree.geographic[node]) else { return nil }
    guard box.covers(source.tree.geographic[node]) else { return 0 }
    take(places, isCovered: true, in: source)
    return nil
  }

  func wants(_ key: Double) -> Bool { true }

  mutating func visit(places: Range<Int>, in source: TreeSource) {
    take(places, isCovered: false, in: source)
  }

  @inline(__always)
  private mutating func take(_ places: Range<Int>, isCovered: Bool, in source: TreeSource) {
    let columns = source.columns
    for place in places {
      let slot = source.slot(of: place)
      if !isCovered, let box, !box.contains(columns.coordinates[slot]) { continue }
      if let after, !(after < columns.ids[slot]) { continue }
      if source.isDead(slot) { continue }
      offer(slot, in: source)
    }
  }
}

/// About how many places of a tree are in a box: of the leaves on its edge, half.
private struct BoxEstimate: TreeVisitor {
  let box: BoxFilter
  var places = 0

  mutating func key(ofNode node: Int, places: Range<Int>, in source: TreeSource) -> Double? {
    let bounds = source.tree.geographic[node]
    guard box.meets(bounds) else { return nil }
    guard box.covers(bounds) else { return 0 }
    self.places += places.count
    return nil
  }

  func wants(_ key: Double) -> Bool { true }

  mutating func visit(places: Range<Int>, in source: TreeSource) {
    self.places += (places.count + 1) / 2
  }
}
