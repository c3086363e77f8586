import Geo
import Points

/// A search for the first matches by chord, then id: nearly their order by distance, without geodesics except for
/// places at the very edge of the query's range.
struct ChordSearch: ~Copyable {
  private let proximity: ProximityFilter
  private let region: RegionFilter?
  private let filter: SlotFilter?

  /// Places with a greater chord are not among the first.
  private var outerChordSquared: Double

  private var heap: CandidateHeap

  /// Creates a search that keeps the first `capacity` matches.
  init(proximity: ProximityFilter, region: RegionFilter?, filter: SlotFilter?, capacity: Int) {
    self.proximity = proximity
    self.region = region
    self.filter = filter
    outerChordSquared = proximity.outerChordSquared
    heap = CandidateHeap(capacity: capacity)
  }

  /// A lower bound of the squared chords of the matches left out; infinite when none was.
  var chordSquaredOfOthers: Double { heap.isFull ? heap.last.distance : .infinity }

  /// Ends the search and returns its matches in no order, with the squares of their chords for distances.
  mutating func removeAll() -> [Candidate] { heap.removeAll() }
}

extension ChordSearch: TreeVisitor {
  @inline(__always)
  mutating func key(ofNode node: Int, places: Range<Int>, in tree: SearchTree) -> Double? {
    let bounds = tree.nodes.space[node]
    let least = bounds.leastChordSquared(to: proximity.position)
    guard least <= outerChordSquared, !proximity.isBeforeStart(bounds) else { return nil }
    if let region, !region.meets(tree.nodes.geographic[node]) { return nil }
    return least
  }

  @inline(__always)
  func wants(_ key: Double) -> Bool { key <= outerChordSquared }

  @inline(__always)
  mutating func visit(places: Range<Int>, in tree: SearchTree) {
    if let slots = tree.nodes.slots {
      for place in places { consider(Int(slots[place]), in: tree) }
    } else {
      for slot in places { consider(slot, in: tree) }
    }
  }

  @inline(__always)
  private mutating func consider(_ slot: Int, in tree: SearchTree) {
    let columns = tree.columns
    let end = EarthCentred(x: columns.x[slot], y: columns.y[slot], z: columns.z[slot])
    let chordSquared = proximity.position.chordSquared(to: end)
    guard chordSquared <= outerChordSquared, chordSquared >= proximity.innerChordSquared else { return }
    take(slot, at: end, chordSquared: chordSquared, in: tree)
  }

  private mutating func take(_ slot: Int, at end: EarthCentred, chordSquared: Double, in tree: SearchTree) {
    if tree.isDead(slot) { return }
    if let region, !region.contains(slot, tree.columns) { return }
    let id = tree.columns.ids[slot]
    if !proximity.surelyMatches(chordSquared: chordSquared) {
      let distance = Geodesic.distanceMetres(
        from: proximity.center,
        at: proximity.position,
        to: tree.columns.coordinates[slot],
        at: end
      )
      guard proximity.matches(distance: distance, id: id) else { return }
    }
    if let filter, !filter.matches(slot, in: tree) { return }
    heap.offer(
      Candidate(distance: chordSquared, id: id, part: tree.part, slot: UInt32(truncatingIfNeeded: slot))
    )
    if heap.isFull { outerChordSquared = min(outerChordSquared, heap.last.distance) }
  }
}
