import Geo
import Points

/// A search for the first matches along a route, then by id.
///
/// The pieces of the route are searched in their order, some at a time. A place counts where its nearest piece is among
/// them, so that it is found once and nothing beyond the end of the page is searched.
struct RouteSearch: ~Copyable {
  private let route: RouteFilter
  private let region: RegionFilter?
  private let filter: SlotFilter?
  private let after: PointQuery.Position?
  private var heap: CandidateHeap

  /// The pieces that are searched.
  private var pieces: Range<Int>

  /// Creates a search that keeps the first `capacity` matches.
  init(route: RouteFilter, after: PointQuery.Position?, region: RegionFilter?, filter: SlotFilter?, capacity: Int) {
    self.route = route
    self.after = after
    self.region = region
    self.filter = filter
    heap = CandidateHeap(capacity: capacity)
    let first = after.map { route.line.firstPiece(endingAtOrAfter: $0.distanceMetres) } ?? 0
    pieces = first..<first
  }

  /// Ends the search and returns its matches in order, with the lengths along the route for distances.
  mutating func removeAllSorted() -> [Candidate] { heap.removeAllSorted() }

  /// Moves on to the next pieces, as many as all before and at least as long as the radius; returns `false` where there
  /// are none or their places are not among the first.
  mutating func advance() -> Bool {
    let line = route.line
    let start = pieces.upperBound
    guard start < line.pieceCount else { return false }
    if heap.isFull, heap.last.distance < line.metres(toPiece: start) { return false }
    let length = line.metres(toPiece: start) + max(route.radius, 1)
    let end = max(line.firstPiece(endingAtOrAfter: length) + 1, start + 2 * pieces.count)
    pieces = start..<min(end, line.pieceCount)
    return true
  }
}

extension RouteSearch: TreeVisitor {
  mutating func key(ofNode node: Int, places: Range<Int>, in tree: SearchTree) -> Double? {
    guard route.meets(tree.nodes.space[node], pieces: pieces) else { return nil }
    if let region, !region.meets(tree.nodes.geographic[node]) { return nil }
    return 0
  }

  func wants(_ key: Double) -> Bool { true }

  mutating func visit(places: Range<Int>, in tree: SearchTree) {
    let columns = tree.columns
    for place in places {
      let slot = tree.slot(of: place)
      if tree.isDead(slot) { continue }
      guard let nearest = route.nearest(to: slot, columns), pieces.contains(nearest.piece) else { continue }
      let candidate = Candidate(
        distance: nearest.alongMetres, id: columns.ids[slot], part: tree.part, slot: UInt32(truncatingIfNeeded: slot))
      if let after, (candidate.distance, candidate.id) <= (after.distanceMetres, after.id) { continue }
      if heap.isFull, !(candidate < heap.last) { continue }
      if let region, !region.contains(slot, columns) { continue }
      if let filter, !filter.matches(slot, in: tree) { continue }
      heap.offer(candidate)
    }
  }
}
