import Geo
import Points

/// A search for the first few matches by distance, then id, that measures whatever may be among them.
///
/// Nodes and places are left out when their chords, or for far ones estimates of the geodesics, prove that they cannot be
/// among the first; what is left is decided by the geodesic itself, so that the answer is exact.
struct GeodesicSearch: ~Copyable {
  private let proximity: ProximityFilter
  private let box: BoxFilter?

  /// Places at a greater distance or with a greater chord are too far.
  private var outerDistance: Double
  private var outerChordSquared: Double

  private var heap: CandidateHeap

  // The place measured last: another on its spot is as far, and need not be measured.
  private var measured: Coordinate?
  private var measuredPosition = EarthCentred(x: .nan, y: .nan, z: .nan)
  private var measuredDistance = 0.0

  /// Creates a search that keeps the first `capacity` matches.
  ///
  /// - Parameter bound: a distance that none of those exceeds.
  init(proximity: ProximityFilter, box: BoxFilter?, capacity: Int, bound: Double) {
    self.proximity = proximity
    self.box = box
    outerDistance = min(proximity.radius, bound)
    outerChordSquared = ProximityFilter.chordSquared(reaching: outerDistance)
    heap = CandidateHeap(capacity: capacity)
  }

  /// The matches found, in order. The search is over afterwards.
  mutating func removeAllSorted() -> [Candidate] { heap.removeAllSorted() }
}

extension GeodesicSearch: TreeVisitor {
  @inline(__always)
  mutating func key(ofNode node: Int, places: Range<Int>, in source: TreeSource) -> Double? {
    let bounds = source.tree.space[node]
    let least = bounds.leastChordSquared(to: proximity.position)
    guard least <= outerChordSquared else { return nil }
    if proximity.isBeforeStart(bounds) { return nil }
    if let box, !box.meets(source.tree.geographic[node]) { return nil }
    return least < Self.farChordSquared ? least : farKey(bounds, least: least, places: places, in: source)
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
    if chordSquared > Self.farChordSquared, !mayBeWanted(at: end) { return }
    measure(slot, at: end, in: source)
  }

  /// Takes a place that the chord does not rule out.
  @inline(never)
  private mutating func measure(_ slot: Int, at end: EarthCentred, in source: TreeSource) {
    if source.isDead(slot) { return }
    if let box, !box.contains(source.columns.coordinates[slot]) { return }
    let distance = distance(to: slot, at: end, in: source)
    let id = source.columns.ids[slot]
    guard proximity.takes(distance: distance, id: id) else { return }
    let candidate = Candidate(distance: distance, id: id, part: source.part, slot: UInt32(truncatingIfNeeded: slot))
    guard heap.offer(candidate), heap.isFull else { return }
    outerDistance = min(outerDistance, heap.last.distance)
    outerChordSquared = ProximityFilter.chordSquared(reaching: outerDistance)
  }

  private mutating func distance(to slot: Int, at end: EarthCentred, in source: TreeSource) -> Double {
    if end == measuredPosition, source.columns.coordinates[slot] == measured { return measuredDistance }
    let coordinate = source.columns.coordinates[slot]
    measuredDistance = Geodesic.distanceMetres(
      from: proximity.center,
      at: proximity.position,
      to: coordinate,
      at: end
    )
    measuredPosition = end
    measured = coordinate
    return measuredDistance
  }
}

// MARK: Far nodes and places

extension GeodesicSearch {
  /// From this chord on, the spread of the geodesics that belong to a chord is worth narrowing down: 500 km.
  private static let farChordSquared = 500_000.0 * 500_000

  /// The key of a node so far away that geodesics to its places may differ from each other more by their direction than
  /// by their chord; `nil` where the distance of one of its places proves that none is wanted.
  ///
  /// What is near a place is no nearer and no farther than it by more than the way between them.
  private func farKey(_ bounds: SpaceBounds, least: Double, places: Range<Int>, in source: TreeSource) -> Double? {
    // Geodesics of one chord differ by up to this many parts of the chord's cube: (1/r² − 1/R²) / 24 with the
    // ellipsoid's least and greatest radius of curvature. A node larger than that gains nothing.
    let spread = 2.08e-17 * least * least.squareRoot()
    guard bounds.diagonalSquared < spread * spread else { return least }
    let slot = source.slot(of: places.lowerBound + places.count / 2)
    let end = EarthCentred(x: source.columns.x[slot], y: source.columns.y[slot], z: source.columns.z[slot])
    let reach = Geodesic.greatestDistanceMetres(chordMetres: bounds.greatestChordSquared(to: end).squareRoot())
    let (distance, error) = Geodesic.estimateMetres(from: proximity.position, to: end)
    if let after = proximity.after, distance + error + reach < after.distanceMetres { return nil }
    let leastDistance = distance - error - reach
    guard leastDistance <= outerDistance else { return nil }
    return leastDistance > 0 ? max(least, ProximityFilter.chordSquared(reaching: leastDistance)) : least
  }

  /// Whether the estimate leaves it open that a place is wanted.
  private func mayBeWanted(at end: EarthCentred) -> Bool {
    let (distance, error) = Geodesic.estimateMetres(from: proximity.position, to: end)
    if let after = proximity.after, distance + error < after.distanceMetres { return false }
    return distance - error <= outerDistance
  }
}
