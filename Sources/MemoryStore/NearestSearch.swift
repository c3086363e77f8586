import Geo
import Points

/// A search for the first few matches by distance, then id.
///
/// Trees are searched one after another with one heap for all. A node is left out when the chord to it, or for a far
/// node the geodesic to a place in it, proves that nothing in it can be among the first; what is left is decided by the
/// geodesic itself, so that the answer is exact.
struct NearestSearch: ~Copyable {
  private let center: Coordinate
  private let position: EarthCentred
  private let radius: Double
  private let box: BoxFilter?
  private let after: PointQuery.Position?

  /// Places with a greater chord are too far.
  private var outerChordSquared: Double

  /// Places with a lesser chord came on a page before.
  private let innerChordSquared: Double

  private var heap: CandidateHeap

  // The far place measured last: another on its spot is as far, and need not be measured.
  private var measured: Coordinate?
  private var measuredDistance = 0.0

  /// Makes a search that keeps the first `capacity` matches.
  init(proximity: PointQuery.Proximity, box: BoxFilter?, after: PointQuery.Position?, capacity: Int) {
    center = proximity.center
    position = EarthCentred(proximity.center)
    radius = proximity.radiusMetres ?? .infinity
    self.box = box
    self.after = after
    outerChordSquared = Self.chordSquared(reaching: radius)
    let innerChord = after.map { Geodesic.leastChordMetres(distanceMetres: $0.distanceMetres) } ?? 0
    innerChordSquared = innerChord * innerChord
    heap = CandidateHeap(capacity: capacity)
  }

  /// The matches found, in order. The search is over afterwards.
  mutating func removeAllSorted() -> [Candidate] { heap.removeAllSorted() }

  /// The square of a chord that nothing within a distance exceeds.
  private static func chordSquared(reaching distance: Double) -> Double {
    // A chord is no longer than its arc; for short ones that bound is as good and needs no sine.
    let chord = distance < 100_000 ? distance + 0.001 : Geodesic.greatestChordMetres(distanceMetres: distance)
    return chord * chord
  }
}

extension NearestSearch: TreeVisitor {
  @inline(__always)
  mutating func key(ofNode node: Int, places: Range<Int>, in source: TreeSource) -> Double? {
    let bounds = source.tree.space[node]
    let least = bounds.leastChordSquared(to: position)
    guard least <= outerChordSquared else { return nil }
    if innerChordSquared > 0, bounds.greatestChordSquared(to: position) < innerChordSquared { return nil }
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
    let chordSquared = position.chordSquared(to: end)
    guard chordSquared <= outerChordSquared, chordSquared >= innerChordSquared else { return }
    measure(slot, at: end, in: source)
  }

  /// Takes a place that the chord does not rule out.
  @inline(never)
  private mutating func measure(_ slot: Int, at end: EarthCentred, in source: TreeSource) {
    if source.isDead(slot) { return }
    if let box, !box.contains(source.columns.coordinates[slot]) { return }
    let distance = distance(to: slot, at: end, in: source)
    guard distance <= radius else { return }
    let candidate = Candidate(
      distance: distance,
      id: source.columns.ids[slot],
      part: source.part,
      slot: UInt32(truncatingIfNeeded: slot)
    )
    if let after {
      guard distance >= after.distanceMetres else { return }
      if distance == after.distanceMetres, !(after.id < candidate.id) { return }
    }
    guard heap.offer(candidate), heap.isFull else { return }
    outerChordSquared = min(outerChordSquared, Self.chordSquared(reaching: heap.last.distance))
  }

  private mutating func distance(to slot: Int, at end: EarthCentred, in source: TreeSource) -> Double {
    let coordinate = source.columns.coordinates[slot]
    if coordinate == measured { return measuredDistance }
    measuredDistance = Geodesic.distanceMetres(from: center, at: position, to: coordinate, at: end)
    measured = coordinate
    return measuredDistance
  }
}

// MARK: Far nodes

extension NearestSearch {
  /// From this chord on, the spread of the geodesics that belong to a chord is worth narrowing down: 500 km.
  private static let farChordSquared = 500_000.0 * 500_000

  /// The key of a node so far away that geodesics to its places may differ from each other more by their direction than
  /// by their chord; `nil` where the geodesic to one of its places proves that none is wanted.
  ///
  /// What is near a place is no nearer and no farther than it by more than the way between them.
  private mutating func farKey(
    _ bounds: SpaceBounds,
    least: Double,
    places: Range<Int>,
    in source: TreeSource
  ) -> Double? {
    // Geodesics of one chord differ by up to this many parts of the chord's cube: (1/r² − 1/R²) / 24 with the
    // ellipsoid's least and greatest radius of curvature. A node larger than that gains nothing.
    let spread = 2.08e-17 * least * least.squareRoot()
    guard bounds.diagonalSquared < spread * spread else { return least }
    let middle = places.lowerBound + places.count / 2
    let slot = source.slot(of: middle)
    let end = EarthCentred(x: source.columns.x[slot], y: source.columns.y[slot], z: source.columns.z[slot])
    let distance = distance(to: slot, at: end, in: source)
    let reach = Geodesic.greatestDistanceMetres(chordMetres: bounds.greatestChordSquared(to: end).squareRoot())
    if let after, distance + reach < after.distanceMetres { return nil }
    guard distance > reach else { return least }
    let key = max(least, Self.chordSquared(reaching: distance - reach))
    return key <= outerChordSquared ? key : nil
  }
}
