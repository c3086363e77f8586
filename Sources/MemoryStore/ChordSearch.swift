import Geo
import Points

/// A search for the first few matches by chord, then id, which is nearly their order by distance and costs no geodesics
/// but for places at the very edge of what is asked for.
struct ChordSearch: ~Copyable {
  private let proximity: ProximityFilter
  private let box: BoxFilter?

  /// Places with a greater chord are not among the first.
  private var outerChordSquared: Double

  private var heap: CandidateHeap

  /// Creates a search that keeps the first `capacity` matches.
  init(proximity: ProximityFilter, box: BoxFilter?, capacity: Int) {
    self.proximity = proximity
    self.box = box
    outerChordSquared = proximity.outerChordSquared
    heap = CandidateHeap(capacity: capacity)
  }

  /// A chord's square that no match left out falls below, infinite when none was.
  var chordSquaredOfOthers: Double { heap.isFull ? heap.last.distance : .infinity }

  /// The matches found, in no order, with the squares of their chords for distances. The search is over afterwards.
  mutating func removeAll() -> [Candidate] { heap.removeAll() }
}

extension ChordSearch: TreeVisitor {
  @inline(__always)
  mutating func key(ofNode node: Int, places: Range<Int>, in source: TreeSource) -> Double? {
    let bounds = source.tree.space[node]
    let least = bounds.leastChordSquared(to: proximity.position)
    guard least <= outerChordSquared, !proximity.isBeforeStart(bounds) else { return nil }
    if let box, !box.meets(source.tree.geographic[node]) { return nil }
    return least
  }

  @inline(__always)
  func wants(_ key: Double) -> Bool { key <= outerChordSquared }

  @inline(__always)
  mutating func visit(places: Range<Int>, in source: TreeSource) {
    if let slots = source.tree.slots {
      for place in places { consider(Int(slots[place]), in: source) }
    } else {
      for slot in places { consider(slot, in: source) }
    }
  }

  @inline(__always)
  private mutating func consider(_ slot: Int, in source: TreeSource) {
    let columns = source.columns
    let end = EarthCentred(x: columns.x[slot], y: columns.y[slot], z: columns.z[slot])
    let chordSquared = proximity.position.chordSquared(to: end)
    guard chordSquared <= outerChordSquared, chordSquared >= proximity.innerChordSquared else { return }
    take(slot, at: end, chordSquared: chordSquared, in: source)
  }

  private mutating func take(_ slot: Int, at end: EarthCentred, chordSquared: Double, in source: TreeSource) {
    if source.isDead(slot) { return }
    if let box, !box.contains(source.columns.coordinates[slot]) { return }
    let id = source.columns.ids[slot]
    if !proximity.surelyTakes(chordSquared: chordSquared) {
      let distance = Geodesic.distanceMetres(
        from: proximity.center,
        at: proximity.position,
        to: source.columns.coordinates[slot],
        at: end
      )
      guard proximity.takes(distance: distance, id: id) else { return }
    }
    heap.offer(
      Candidate(distance: chordSquared, id: id, part: source.part, slot: UInt32(truncatingIfNeeded: slot))
    )
    if heap.isFull { outerChordSquared = min(outerChordSquared, heap.last.distance) }
  }
}
