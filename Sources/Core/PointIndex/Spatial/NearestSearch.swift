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

  /// A place and the square of its chord.
  struct Match: BitwiseCopyable {
    let chordSquared: Double
    let part: UInt32
    let slot: UInt32
  }

  // Always in order. Nodes are visited nearest first, so that few places are inserted only to be dropped again. So few
  // small values are moved faster in one block than one by one in a heap.
  private let start: UnsafeMutablePointer<Match>
  private var count = 0
  private let capacity: Int

  /// Creates a search that keeps the first `capacity` matches.
  init(proximity: ProximityFilter, region: RegionFilter?, filter: SlotFilter?, capacity: Int) {
    self.proximity = proximity
    self.region = region
    self.filter = filter
    outerChordSquared = proximity.outerChordSquared
    self.capacity = capacity
    start = .allocate(capacity: capacity)
  }

  deinit { start.deallocate() }

  /// The matches in order, in any order those with equal chords; valid for the life of the search.
  var matches: UnsafeBufferPointer<Match> { UnsafeBufferPointer(start: start, count: count) }

  /// A lower bound of the squared chords of the matches left out; infinite when none was.
  var chordSquaredOfOthers: Double { count == capacity ? start[count - 1].chordSquared : .infinity }

  private mutating func insert(_ match: Match) {
    if count == capacity {
      guard match.chordSquared < start[count &- 1].chordSquared else { return }
      count &-= 1
    }
    var (low, high) = (0, count)
    while low < high {
      let middle = (low &+ high) &>> 1
      if start[middle].chordSquared <= match.chordSquared { low = middle &+ 1 } else { high = middle }
    }
    (start + (low &+ 1)).update(from: start + low, count: count &- low)
    start[low] = match
    count &+= 1
    if count == capacity { outerChordSquared = min(outerChordSquared, start[count &- 1].chordSquared) }
  }

  // Not inlined, since the filter of a region is large and few queries have one.
  @inline(never)
  private func isInRegion(_ slot: Int, _ columns: SegmentColumns) -> Bool { region?.contains(slot, columns) ?? true }
  @inline(never)
  private func meetsRegion(_ bounds: GeographicBounds) -> Bool { region?.meets(bounds) ?? true }
}

extension ChordSearch: TreeVisitor {
  @inline(__always)
  mutating func key(ofNode node: Int, places: Range<Int>, in tree: SearchTree) -> Double? {
    let bounds = tree.nodes.space[node]
    let least = bounds.leastChordSquared(to: proximity.position)
    guard least <= outerChordSquared, !proximity.isBeforeStart(bounds) else { return nil }
    if region != nil, !meetsRegion(tree.nodes.geographic[node]) { return nil }
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
    let end = columns.positions[slot]
    let chordSquared = proximity.position.chordSquared(to: end)
    guard chordSquared <= outerChordSquared, chordSquared >= proximity.innerChordSquared else { return }
    take(slot, at: end, chordSquared: chordSquared, in: tree)
  }

  private mutating func take(_ slot: Int, at end: EarthCentred, chordSquared: Double, in tree: SearchTree) {
    if tree.isDead(slot) { return }
    if region != nil, !isInRegion(slot, tree.columns) { return }
    if !proximity.surelyMatches(chordSquared: chordSquared) {
      let distance = Geodesic.distanceMetres(
        from: proximity.center,
        at: proximity.position,
        to: tree.columns.coordinates[slot],
        at: end
      )
      guard proximity.matches(distance: distance, id: tree.columns.ids[slot]) else { return }
    }
    if let filter, !filter.matches(slot, in: tree) { return }
    insert(Match(chordSquared: chordSquared, part: tree.part, slot: UInt32(truncatingIfNeeded: slot)))
  }
}

/// A search for the first matches by distance, then id, that measures every place that may be among them.
///
/// Nodes and places are skipped when their chords, or for far ones estimates of the geodesics, prove that they cannot
/// be among the first; the rest is decided by the geodesic itself, so that the result is exact.
struct GeodesicSearch: ~Copyable {
  private let proximity: ProximityFilter
  private let region: RegionFilter?
  private let filter: SlotFilter?

  /// Places at a greater distance or with a greater chord are too far.
  private var outerDistance: Double
  private var outerChordSquared: Double

  private var heap: CandidateHeap

  // The place measured last: the distance of another at the same position is the same.
  private var measured: Coordinate?
  private var measuredPosition = EarthCentred(x: .nan, y: .nan, z: .nan)
  private var measuredDistance = 0.0

  /// Creates a search that keeps the first `capacity` matches.
  ///
  /// - Parameter bound: a distance in metres that none of those matches exceeds.
  init(proximity: ProximityFilter, region: RegionFilter?, filter: SlotFilter?, capacity: Int, bound: Double) {
    self.proximity = proximity
    self.region = region
    self.filter = filter
    outerDistance = min(proximity.radius, bound)
    outerChordSquared = ProximityFilter.chordSquared(reaching: outerDistance)
    heap = CandidateHeap(capacity: capacity)
  }

  /// Ends the search and returns its matches in order.
  mutating func removeAllSorted() -> [Candidate] { heap.removeAllSorted() }
}

extension GeodesicSearch: TreeVisitor {
  @inline(__always)
  mutating func key(ofNode node: Int, places: Range<Int>, in tree: SearchTree) -> Double? {
    let bounds = tree.nodes.space[node]
    let least = bounds.leastChordSquared(to: proximity.position)
    guard least <= outerChordSquared else { return nil }
    if proximity.isBeforeStart(bounds) { return nil }
    if let region, !region.meets(tree.nodes.geographic[node]) { return nil }
    return least < Self.farChordSquared ? least : farKey(bounds, least: least, places: places, in: tree)
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
    let end = columns.positions[slot]
    let chordSquared = proximity.position.chordSquared(to: end)
    guard chordSquared <= outerChordSquared, chordSquared >= proximity.innerChordSquared else { return }
    if chordSquared > Self.farChordSquared, !mayMatch(at: end) { return }
    measure(slot, at: end, in: tree)
  }

  /// Measures a place that its chord does not rule out, and offers it to the heap.
  @inline(never)
  private mutating func measure(_ slot: Int, at end: EarthCentred, in tree: SearchTree) {
    if tree.isDead(slot) { return }
    if let region, !region.contains(slot, tree.columns) { return }
    let distance = distance(to: slot, at: end, in: tree)
    let id = tree.columns.ids[slot]
    guard proximity.matches(distance: distance, id: id) else { return }
    if let filter, !filter.matches(slot, in: tree) { return }
    let candidate = Candidate(distance: distance, id: id, part: tree.part, slot: UInt32(truncatingIfNeeded: slot))
    guard heap.offer(candidate), heap.isFull else { return }
    outerDistance = min(outerDistance, heap.last.distance)
    outerChordSquared = ProximityFilter.chordSquared(reaching: outerDistance)
  }

  private mutating func distance(to slot: Int, at end: EarthCentred, in tree: SearchTree) -> Double {
    if end == measuredPosition, tree.columns.coordinates[slot] == measured { return measuredDistance }
    let coordinate = tree.columns.coordinates[slot]
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
  /// The square of the chord from which on geodesics are estimated, because those of one chord differ much: 500 km.
  private static let farChordSquared = 500_000.0 * 500_000

  /// Returns the key of a node so far away that geodesics to its places may differ from each other more by their
  /// direction than by their chord; `nil` if the distance of one of its places proves that none of them matches.
  ///
  /// By the triangle inequality, distances to two places differ by no more than the distance between them.
  private func farKey(_ bounds: SpaceBounds, least: Double, places: Range<Int>, in tree: SearchTree) -> Double? {
    // Geodesics of one chord differ by up to this many parts of the chord's cube: (1/r² − 1/R²) / 24 with the
    // ellipsoid's least and greatest radius of curvature. A node larger than that gains nothing.
    let spread = 2.08e-17 * least * least.squareRoot()
    guard bounds.diagonalSquared < spread * spread else { return least }
    let slot = tree.slot(of: places.lowerBound + places.count / 2)
    let end = tree.columns.positions[slot]
    let reach = Geodesic.greatestDistanceMetres(chordMetres: bounds.greatestChordSquared(to: end).squareRoot())
    let (distance, error) = Geodesic.estimateMetres(from: proximity.position, to: end)
    if let after = proximity.after, distance + error + reach < after.distanceMetres { return nil }
    let leastDistance = distance - error - reach
    guard leastDistance <= outerDistance else { return nil }
    return leastDistance > 0 ? max(least, ProximityFilter.chordSquared(reaching: leastDistance)) : least
  }

  /// Returns a Boolean value that indicates whether a place may match by its estimated distance.
  private func mayMatch(at end: EarthCentred) -> Bool {
    let (distance, error) = Geodesic.estimateMetres(from: proximity.position, to: end)
    if let after = proximity.after, distance + error < after.distanceMetres { return false }
    return distance - error <= outerDistance
  }
}

/// A place that may be part of a result.
struct Candidate: BitwiseCopyable {
  /// The distance in metres; 0 where the query has no centre.
  var distance: Double

  var id: PointID

  /// The index of the place's part in the snapshot, and its slot there.
  var part: UInt32
  var slot: UInt32

  /// Returns a Boolean value that indicates whether the left candidate precedes the right one in a result.
  @inline(__always)
  static func < (left: Candidate, right: Candidate) -> Bool {
    left.distance < right.distance || (left.distance == right.distance && left.id < right.id)
  }
}

/// The first of all offered candidates, up to a maximum number: a binary heap with the last of them on top.
struct CandidateHeap: ~Copyable {
  /// The maximum number of candidates kept.
  let capacity: Int

  /// The number of candidates kept.
  private(set) var count = 0

  private let candidates: UnsafeMutablePointer<Candidate>

  /// Creates an empty heap.
  ///
  /// - Parameter capacity: at least 1.
  init(capacity: Int) {
    self.capacity = capacity
    candidates = .allocate(capacity: capacity)
  }

  deinit { candidates.deallocate() }

  var isFull: Bool { count == capacity }

  /// The last of the candidates kept; there must be one.
  var last: Candidate { candidates[0] }

  /// Adds a candidate if it is among the first, and returns whether it is.
  @discardableResult
  @inline(__always)
  mutating func offer(_ candidate: Candidate) -> Bool {
    if count < capacity {
      rise(candidate, from: count)
      count += 1
      return true
    }
    guard candidate < candidates[0] else { return false }
    sink(candidate, within: count)
    return true
  }

  /// Removes the candidates and returns them in order. O(n log n).
  mutating func removeAllSorted() -> [Candidate] {
    for end in stride(from: count - 1, to: 0, by: -1) {
      let candidate = candidates[end]
      candidates[end] = candidates[0]
      sink(candidate, within: end)
    }
    defer { count = 0 }
    return Array(UnsafeBufferPointer(start: candidates, count: count))
  }

  private mutating func rise(_ candidate: Candidate, from start: Int) {
    var hole = start
    while hole > 0 {
      let parent = (hole &- 1) &>> 1
      guard candidates[parent] < candidate else { break }
      candidates[hole] = candidates[parent]
      hole = parent
    }
    candidates[hole] = candidate
  }

  /// Replaces the first of the heap by a candidate.
  ///
  /// Most candidates belong near the bottom: the hole goes down there without comparisons with the candidate (I. Wegener,
  /// "Bottom-up-heapsort", Theoretical Computer Science 118, 1993).
  private mutating func sink(_ candidate: Candidate, within end: Int) {
    var hole = 0
    var child = 1
    while child < end {
      if child &+ 1 < end, candidates[child] < candidates[child &+ 1] { child &+= 1 }
      candidates[hole] = candidates[child]
      hole = child
      child = 2 &* hole &+ 1
    }
    rise(candidate, from: hole)
  }
}
