import Geo
import JSONText
import Points
import Synchronization

/// All places of a store at one moment, never changed once made.
///
/// The places are in parts, each an immutable ``Segment`` and the marks of those of its places that have gone. A part is
/// more than twice as large as the next, so that there are few; a change makes a new part of what is new and of the parts
/// that are too small to stay beside it (J. L. Bentley and J. B. Saxe, "Decomposable searching problems I", Journal of
/// Algorithms 1, 1980). A place is thus built into an index in the order of log n times in all.
final class Snapshot: Sendable {
  /// Some places, and which of them have gone.
  struct Part: Sendable {
    let segment: Segment
    var tombstones: Tombstones?

    /// How many places are still there.
    var count: Int { segment.count - (tombstones?.count ?? 0) }

    func isDead(_ slot: Int) -> Bool { tombstones?.contains(slot) ?? false }

    /// Returns the tombstones together with other marks.
    func tombstones(besides others: Tombstones?) -> Tombstones? {
      guard let tombstones, let others else { return tombstones ?? others }
      return Tombstones(tombstones, or: others)
    }
  }

  /// Where a place is.
  struct Location: Hashable, Sendable {
    let part: Int
    let slot: Int
  }

  /// The parts, the largest first; none is empty.
  let parts: [Part]

  /// What summaries of each part's places are made of.
  let summaryColumns: [SummaryColumns]

  /// How many places there are.
  let count: Int

  private let categoryCountsCache = Mutex<[CategoryCount]?>(nil)

  /// A snapshot of these parts, of which none is empty.
  init(parts: [Part] = []) {
    self.parts = parts.sorted { $0.count > $1.count }
    summaryColumns = self.parts.map(\.segment.summaryColumns)
    count = parts.reduce(0) { $0 + $1.count }
  }

  /// A snapshot of these places; no two have the same id or the same origin.
  ///
  /// In the order of n log n.
  convenience init(_ points: ContiguousArray<PointOfInterest>) {
    self.init(parts: points.isEmpty ? [] : [Part(segment: Segment(points))])
  }

  // MARK: Look-ups

  /// Where the place of that id is, or `nil`. In the order of log² n.
  func location(of id: PointID) -> Location? {
    location { $0.slot(of: id) }
  }

  /// Where the place that came from there is, or `nil`. In the order of log n.
  func location(of origin: Place.Origin) -> Location? {
    location { $0.slot(of: origin) }
  }

  private func location(in slot: (Segment) -> Int?) -> Location? {
    for (index, part) in parts.enumerated() {
      if let slot = slot(part.segment), !part.isDead(slot) { return Location(part: index, slot: slot) }
    }
    return nil
  }

  /// The place that is there.
  func point(at location: Location) -> PointOfInterest {
    parts[location.part].segment.point(at: location.slot)
  }

  /// The id of the place that is there.
  func id(at location: Location) -> PointID {
    parts[location.part].segment.columns.ids[location.slot]
  }

  /// The place with the least shuffle key that is not below the pivot, or else that with the least of all; `nil` when
  /// there are none.
  func point(shuffledAtOrAfter pivot: UInt64) -> PointOfInterest? {
    (firstLocation(shuffledAtOrAfter: pivot) ?? firstLocation(shuffledAtOrAfter: 0)).map { point(at: $0) }
  }

  private func firstLocation(shuffledAtOrAfter pivot: UInt64) -> Location? {
    var best: (key: UInt64, id: PointID, location: Location)?
    for (index, part) in parts.enumerated() {
      let (slots, ids) = (part.segment.slotsByShuffleKey, part.segment.columns.ids)
      let start = slots.firstPosition { ids[Int($0)].shuffleKey >= pivot }
      guard let slot = slots[start...].first(where: { !part.isDead(Int($0)) }) else { continue }
      let id = ids[Int(slot)]
      if let best, (best.key, best.id) < (id.shuffleKey, id) { continue }
      best = (id.shuffleKey, id, Location(part: index, slot: Int(slot)))
    }
    return best?.location
  }

  // MARK: Categories

  /// Every category that a place has, the most frequent first. Counted once and kept.
  func categoryCounts() -> [CategoryCount] {
    categoryCountsCache.withLock { cache in
      if let cache { return cache }
      let counts = countCategories()
      cache = counts
      return counts
    }
  }

  private func countCategories() -> [CategoryCount] {
    var counts: [ExactText: Int] = [:]
    for part in parts {
      let categories = part.segment.categories
      for (number, name) in categories.names.enumerated() {
        counts[ExactText(name), default: 0] += categories.count(of: number)
      }
      guard let tombstones = part.tombstones else { continue }
      for slot in 0..<part.segment.count where tombstones.contains(slot) {
        let category = part.segment.records.category(at: slot)
        if category != PlaceRecord.none { counts[ExactText(categories.names[Int(category)]), default: 0] -= 1 }
      }
    }
    return Self.sorted(counts)
  }

  /// Every category that a place in a box has, the most frequent first. In the order of the number of categories, of the
  /// places at the edge of the box, and of those that have gone.
  func categoryCounts(in box: BoundingBox) -> [CategoryCount] {
    let filter = BoxFilter(box)
    var counts: [ExactText: Int] = [:]
    for part in parts {
      withExtendedLifetime(part) {
        let categories = part.segment.categories
        var numbers = categories.names.indices.map { number in
          var count = BoxCount(box: filter)
          TreeSource(part: 0, columns: part.segment.columns, tombstones: nil, tree: categories.tree(of: number))
            .walk(&count)
          return count.places
        }
        part.tombstones?.forEach { slot in
          let category = part.segment.records.category(at: slot)
          guard category != PlaceRecord.none, filter.contains(part.segment.columns.coordinates[slot]) else { return }
          numbers[Int(category)] -= 1
        }
        for (name, count) in zip(categories.names, numbers) where count > 0 {
          counts[ExactText(name), default: 0] += count
        }
      }
    }
    return Self.sorted(counts)
  }

  private static func sorted(_ counts: [ExactText: Int]) -> [CategoryCount] {
    counts.lazy
      .filter { $0.value > 0 }
      .map { CategoryCount(category: $0.key.text, count: $0.value) }
      .sorted { left, right in
        left.count != right.count
          ? left.count > right.count : left.category.utf8.lexicographicallyPrecedes(right.category.utf8)
      }
  }
}

/// The number of a tree's places in a box, gone or not.
private struct BoxCount: TreeVisitor {
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
    for place in places where box.contains(source.columns.coordinates[source.slot(of: place)]) { self.places += 1 }
  }
}
