public import Points
import Synchronization

/// An immutable set of places with every index over it.
///
/// The places are in parts, each an immutable ``Segment`` and the tombstones of those of its places that were removed
/// since. A part is more than twice as large as the next, so that there are few; a change builds a new part of the
/// added places and of the parts too small to stay beside it (J. L. Bentley and J. B. Saxe, "Decomposable searching
/// problems I", Journal of Algorithms 1, 1980). A place is thus indexed again O(log n) times in all.
public final class PointSnapshot: Sendable {
  /// Some of the places, and which of them were removed.
  struct Part: Sendable {
    let segment: Segment
    private(set) var tombstones: Tombstones?

    /// The numbers of removed places by the numbers of their categories; empty where none was removed.
    private(set) var deadCounts: ContiguousArray<UInt32> = []

    /// The number of places that were not removed.
    var count: Int { segment.count - (tombstones?.count ?? 0) }

    init(segment: Segment) { self.segment = segment }

    /// Marks places as removed.
    ///
    /// - Parameter slots: the slots of places that were not removed, each once.
    mutating func remove(_ slots: [Int]) {
      tombstones = Tombstones(adding: slots, to: tombstones, size: segment.count)
      if deadCounts.isEmpty { deadCounts = ContiguousArray(repeating: 0, count: segment.categories.names.count) }
      for slot in slots {
        let category = segment.records.category(at: slot)
        if category != PointRecord.none { deadCounts[Int(category)] += 1 }
      }
    }

    func isDead(_ slot: Int) -> Bool { tombstones?.contains(slot) ?? false }

    /// Returns the union of the tombstones with others.
    func tombstones(besides others: Tombstones?) -> Tombstones? {
      guard let tombstones, let others else { return tombstones ?? others }
      return Tombstones(tombstones, or: others)
    }
  }

  /// The position of a place in the snapshot that returned it; it means nothing to other snapshots.
  public struct Location: Hashable, Sendable {
    let part: UInt32
    let slot: UInt32

    init(part: Int, slot: Int) {
      self.part = UInt32(truncatingIfNeeded: part)
      self.slot = UInt32(truncatingIfNeeded: slot)
    }
  }

  /// The parts, the largest first; none is empty.
  let parts: [Part]

  /// The columns that summaries are made of, by part.
  let summaryColumns: [SummaryColumns]

  /// The number of places.
  public let count: Int

  /// The sums over the places of squares of the map.
  let pyramid: Pyramid

  /// The fields that texts are searched in.
  public let textConfiguration: TextIndexConfiguration

  /// The counts of all categories, computed when they are first needed.
  let categoryCountsCache = Mutex<[CategoryCount]?>(nil)

  /// The matches of the last few texts that all matches were needed of.
  let textMatchesCache = Mutex(TextMatchesCache())

  /// Creates a snapshot.
  ///
  /// - Parameter pyramid: the pyramid of the parts' places; `nil` to build it.
  init(parts: [Part], text configuration: TextIndexConfiguration, pyramid: Pyramid? = nil) {
    textConfiguration = configuration
    self.pyramid = pyramid ?? Self.pyramid(of: parts)
    self.parts = parts.sorted { $0.count > $1.count }
    summaryColumns = self.parts.map(\.segment.summaryColumns)
    count = parts.reduce(0) { $0 + $1.count }
  }

  /// Creates a snapshot of the given places. O(n log n).
  ///
  /// - Parameters:
  ///   - points: places of which no two have the same id or the same source reference.
  ///   - text: the fields that texts are searched in.
  public convenience init(
    _ points: ContiguousArray<PointOfInterest> = [], text configuration: TextIndexConfiguration = .init()
  ) {
    self.init(PointBuffer(points), text: configuration)
  }

  /// Creates a snapshot of the places of a buffer, which is freed meanwhile. O(n log n).
  ///
  /// - Parameters:
  ///   - buffer: places of which no two have the same id or the same source reference.
  ///   - text: the fields that texts are searched in.
  public convenience init(_ buffer: consuming PointBuffer, text configuration: TextIndexConfiguration = .init()) {
    if buffer.count == 0 {
      self.init(parts: [], text: configuration)
    } else {
      self.init(parts: [Part(segment: Segment(buffer, text: configuration))], text: configuration)
    }
  }

  // MARK: Look-ups

  /// Returns the place with that id, or `nil`. O(log² n).
  public func point(id: PointID) -> PointOfInterest? {
    location(of: id).map { point(at: $0) }
  }

  /// Returns the location of the place with that id, or `nil`. O(log² n).
  public func location(of id: PointID) -> Location? {
    location { $0.slot(of: id) }
  }

  /// Returns the location of the place with that source reference, or `nil`. O(log n).
  public func location(of source: SourceReference) -> Location? {
    location { $0.slot(of: source) }
  }

  private func location(in slot: (Segment) -> Int?) -> Location? {
    for (index, part) in parts.enumerated() {
      if let slot = slot(part.segment), !part.isDead(slot) { return Location(part: index, slot: slot) }
    }
    return nil
  }

  /// Returns the place at a location of this snapshot.
  public func point(at location: Location) -> PointOfInterest {
    parts[Int(location.part)].segment.point(at: Int(location.slot))
  }

  /// Returns the id of the place at a location of this snapshot.
  public func id(at location: Location) -> PointID {
    parts[Int(location.part)].segment.columns.ids[Int(location.slot)]
  }

  /// Returns the place with the least ``Points/PointID/shuffleKey`` that is not below the pivot, or else with the least
  /// of all; `nil` when there are no places. O(log² n).
  public func point(shuffledAtOrAfter pivot: UInt64) -> PointOfInterest? {
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
}
