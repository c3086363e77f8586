package import Dispatch
public import Points
import Synchronization

/// The current snapshot of a set of places and its version, shared by any number of readers and one writer.
///
/// A reader takes the snapshot and searches it without locks; it never waits for a writer. The writer builds the next
/// snapshot with ``PointSnapshot/applying(_:)``, or a new one from all places, and puts it in place of the current one.
/// The lock is held while references are copied, never during a search.
public final class PointIndex: Sendable {
  private struct State {
    var snapshot: PointSnapshot
    var version: DataVersion
  }

  private let state: Mutex<State>

  public init(_ snapshot: PointSnapshot, version: DataVersion) {
    state = Mutex(State(snapshot: snapshot, version: version))
  }

  /// The current snapshot.
  public var snapshot: PointSnapshot { state.withLock { $0.snapshot } }

  /// The version of the current snapshot.
  public var version: DataVersion { state.withLock { $0.version } }

  /// The current snapshot together with its version.
  public var current: (snapshot: PointSnapshot, version: DataVersion) {
    state.withLock { ($0.snapshot, $0.version) }
  }

  /// Replaces the current snapshot. Searches that have taken the former one finish on it.
  public func replace(with next: PointSnapshot, version: DataVersion) {
    let nextState = State(snapshot: next, version: version)
    // The last reference to the former snapshot may be this one: it is released after the lock.
    let former = state.withLock { state in
      defer { state = nextState }
      return state
    }
    withExtendedLifetime(former) {}
  }
}

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

    /// Creates a part of a segment of which some places were removed.
    ///
    /// - Parameter words: the bits of the removed places; empty if there are none.
    init(segment: Segment, tombstoneWords words: ContiguousArray<UInt64>) throws(IndexFileError) {
      self.segment = segment
      if words.isEmpty { return }
      guard let tombstones = Tombstones(words, size: segment.count), tombstones.count < segment.count else {
        throw IndexFileError("the removed places are not those of the segment")
      }
      self.tombstones = tombstones
      countDead()
    }

    /// Returns the part with another segment that has the same places in the same slots.
    func replacingSegment(_ other: Segment) -> Part {
      var part = Part(segment: other)
      (part.tombstones, part.deadCounts) = (tombstones, deadCounts)
      return part
    }

    private mutating func countDead() {
      deadCounts = ContiguousArray(repeating: 0, count: segment.categories.names.count)
      tombstones?.forEach { slot in
        let category = segment.records.category(at: slot)
        if category != PointRecord.none { deadCounts[Int(category)] += 1 }
      }
    }

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

  package var partCount: Int { parts.count }

  /// The columns that places are borrowed from, by part.
  let placeColumns: [PlaceColumns]

  /// The number of places.
  public let count: Int

  /// The sums over the places of squares of the map, up to date when they are first needed.
  let deferredPyramid: DeferredPyramid

  /// The sums over the places of squares of the map.
  var pyramid: Pyramid { deferredPyramid.pyramid(of: parts) }

  /// The fields that texts are searched in.
  public let textConfiguration: TextIndexConfiguration

  /// The counts of all categories, computed when they are first needed.
  let categoryCountsCache = Mutex<[CategoryCount]?>(nil)

  /// The matches of the last few texts that all matches were needed of.
  let textMatchesCache = Mutex(TextMatchesCache())

  /// Creates a snapshot.
  ///
  /// - Parameter pyramid: the pyramid of the parts' places; `nil` to build it.
  init(parts: [Part], text configuration: TextIndexConfiguration, pyramid: DeferredPyramid? = nil) {
    textConfiguration = configuration
    deferredPyramid = pyramid ?? DeferredPyramid(Self.pyramid(of: parts))
    self.parts = parts.sorted { $0.count > $1.count }
    placeColumns = self.parts.map(\.segment.placeColumns)
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
      let segment = Segment(buffer, text: configuration)
      self.init(parts: [Part(segment: segment)], text: configuration)
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
  /// of all; `nil` when there are no places. O(n), and O(1) for the last pivot again.
  public func point(shuffledAtOrAfter pivot: UInt64) -> PointOfInterest? {
    // The keys below the pivot are behind all others when the pivot is subtracted from each.
    var best: (key: UInt64, id: PointID, location: Location)?
    for (index, part) in parts.enumerated() {
      let segment = part.segment
      guard
        let slot = segment.slots(shuffledFrom: pivot).first(where: { !part.isDead(Int($0)) })
          ?? segment.slots(shuffledFrom: pivot, maximumCount: 1, where: { !part.isDead($0) }).first
      else { continue }
      let id = segment.columns.ids[Int(slot)]
      let key = id.shuffleKey &- pivot
      if let best, (best.key, best.id) < (key, id) { continue }
      best = (key, id, Location(part: index, slot: Int(slot)))
    }
    return best.map { point(at: $0.location) }
  }
}

extension PointSnapshot {
  /// A Boolean value that indicates whether the opening hours of places from files are being evaluated: until then,
  /// searches by them evaluate what they need.
  package var evaluatesHours: Bool { parts.contains { $0.segment.evaluatesHours } }

  /// The bytes of the columns and indexes of all places, removed ones included, by their names.
  package var memory: [(name: String, bytes: Int)] {
    let segments = parts.map(\.segment.memory)
    guard let first = segments.first else { return [] }
    let columns = first.indices.map { index in (first[index].name, segments.reduce(0) { $0 + $1[index].bytes }) }
    return columns + [("map", pyramid.root?.byteCount ?? 0)]
  }
}

/// A batch of changes to a set of places. Readers see all of it or nothing.
public struct PointChanges: Sendable {
  /// The places to add. A place replaces the one with the same id.
  ///
  /// Ids are unique among these. Source references are unique among these and the places that stay.
  public var puts: PointBuffer

  /// The ids of places to remove. Unknown ids are ignored, and so are those of ``puts``.
  public var removals: [PointID]

  /// The segment of ``puts``; `nil` until it is built, with others if they are few.
  fileprivate var segment: Segment?

  public init(puts: PointBuffer, removals: [PointID] = []) {
    self.puts = puts
    self.removals = removals
  }

  public init(puts: ContiguousArray<PointOfInterest> = [], removals: [PointID] = []) {
    self.init(puts: PointBuffer(puts), removals: removals)
  }

  /// A Boolean value that indicates whether the batch changes nothing.
  public var isEmpty: Bool { puts.count == 0 && removals.isEmpty }

  /// Builds the indexes of many places to add, which are not to be changed afterwards, so that
  /// ``PointSnapshot/applying(_:joiningUpTo:)`` does not. O(n log n).
  ///
  /// - Parameter snapshot: the snapshot, or an earlier one.
  package mutating func index(for snapshot: PointSnapshot) {
    guard puts.count > PointSnapshot.largestPartOfChange else { return }
    let segment = Segment(puts, text: snapshot.textConfiguration)
    segment.buildTagIndexes(like: snapshot.parts.map(\.segment))
    self.segment = segment
  }

  /// Sets the version and the times of the places to add, which were planned before. Those whose creation has the time
  /// of the plan are created now.
  package mutating func setStamps(version: Int64, at now: Timestamp, plannedAt: Timestamp) {
    puts.setStamps(version: version, at: now, plannedAt: plannedAt)
    segment = segment.map { segment in
      Segment(segment) { $0.made(at: now, version: version, plannedAt: plannedAt) }
    }
  }
}

extension PointSnapshot {
  /// The size up to which parts are built again with each addition, so that there are fewer to search.
  private static let smallPart = (places: 64, textBytes: 1 << 20)

  /// Returns the snapshot after a batch of changes.
  ///
  /// For m changes O(m log m), O(log n) times that on average, and an eighth of a byte for each place of a part that
  /// loses one.
  ///
  /// - Parameter largestJoined: the number of places of a part above which it is not built again, however many places
  ///   are added and whatever it has lost. A ``PartMerger`` merges such parts instead.
  public func applying(_ changes: consuming PointChanges, joiningUpTo largestJoined: Int = .max) -> PointSnapshot {
    if changes.isEmpty { return self }
    let segment = changes.segment
    // The first places, of a file for example, are not needed beside their segment.
    if parts.isEmpty {
      if let segment { return PointSnapshot(parts: [Part(segment: segment)], text: textConfiguration) }
      let points = changes.puts
      changes.puts = PointBuffer()
      return PointSnapshot(points, text: textConfiguration)
    }
    var ids = changes.removals
    ids.append(contentsOf: changes.puts.ids)
    ids.sort()
    var kept: [Part] = []
    kept.reserveCapacity(parts.count + 1)
    var pyramidChanges = deferredPyramid.changes(before: ids.count, of: parts)
    for var part in parts {
      let slots = part.slots(of: ids)
      if !slots.isEmpty {
        pyramidChanges.remove(slots, of: part)
        part.remove(slots)
      }
      if part.count > 0 { kept.append(part) }
    }
    pyramidChanges.add(changes.puts)
    var points = changes.puts
    changes.puts = PointBuffer()
    func isLarge(_ part: Part) -> Bool { part.segment.count > largestJoined }
    func rank(_ part: Part) -> Int { isLarge(part) ? .max : part.count }
    kept.sort { rank($0) > rank($1) }
    // The smallest first: each joins the new part when that would otherwise not be less than half of it.
    var (end, count, textBytes) = (kept.count, points.count, points.textBytes)
    while segment == nil, end > 0, !isLarge(kept[end - 1]), isJoining(kept[end - 1], additions: count) {
      end -= 1
      count += kept[end].count
      textBytes += kept[end].segment.records.textBytes
    }
    if end < kept.count {
      points.reserveCapacity(count, textBytes: textBytes)
      for part in kept[end...].reversed() { points.append(contentsOf: part.segment, isDead: part.isDead) }
      kept.removeLast(kept.count - end)
    }
    if let segment {
      kept.append(Part(segment: segment))
    } else if points.count > 0 {
      kept.append(Part(segment: Segment(points, text: textConfiguration)))
    }
    let former = parts.map(\.segment)
    let next = kept.map { isLarge($0) ? $0 : $0.compacted(text: textConfiguration) }
    for part in next { part.segment.buildTagIndexes(like: former) }
    return PointSnapshot(
      parts: next, text: textConfiguration, pyramid: DeferredPyramid(pyramidChanges, of: next))
  }

  /// The estimated number of bytes of a place in memory, besides its texts: 200, and 80 of the index of its words.
  package static let bytesPerPoint = 280

  /// The estimated number of bytes of a place in files that searches read all the time: the columns that are not cold.
  package static let residentBytesPerPoint = 160

  /// The estimated bytes of the parts in memory of the process: not of those in files.
  package var bytesInMemory: Int {
    parts.reduce(0) { $0 + ($1.segment.fileName == nil ? $1.estimatedBytes : 0) }
  }

  /// The estimated bytes of all parts, as if they were in memory of the process.
  package var estimatedBytes: Int { parts.reduce(0) { $0 + $1.estimatedBytes } }

  /// The number of places of a part above which it is merged beside the changes: other callers wait for a change. A
  /// part of this size is built in some 20 ms.
  package static let largestPartOfChange = 8192

  /// A part that replaces several parts of a snapshot, or one with many removed places.
  struct Merge: Sendable {
    /// The parts that are replaced, as they were merged.
    fileprivate let former: [Part]
    /// The part of their places.
    fileprivate let part: Part
  }

  /// Merges the parts that ``applying(_:joiningUpTo:)`` has left beside each other although none is more than twice as
  /// large as the next, or a part that has lost more than half of its places. O(n log n) for n places of these parts.
  ///
  /// The snapshot may be changed meanwhile: ``adopting(_:)`` puts the result into a later one.
  ///
  /// - Parameters:
  ///   - largestJoined: the number of places of a part above which it is merged here.
  ///   - maximumBytes: the estimated size of the result above which larger parts are left out.
  /// - Returns: `nil` where no parts have to be merged.
  func mergingLargeParts(above largestJoined: Int, upTo maximumBytes: Int = .max) -> Merge? {
    guard let former = mergedParts(above: largestJoined, upTo: maximumBytes) else { return nil }
    var points = PointBuffer()
    points.reserveCapacity(
      former.reduce(0) { $0 + $1.count }, textBytes: former.reduce(0) { $0 + $1.segment.records.textBytes })
    for part in former { points.append(contentsOf: part.segment, isDead: part.isDead) }
    let segment = Segment(points, text: textConfiguration)
    segment.buildTagIndexes(like: parts.map(\.segment))
    return Merge(former: former, part: Part(segment: segment))
  }

  /// Returns a Boolean value that indicates whether ``mergingLargeParts(above:)`` has parts to merge.
  func hasLargePartsToMerge(above largestJoined: Int, upTo maximumBytes: Int = .max) -> Bool {
    mergedParts(above: largestJoined, upTo: maximumBytes) != nil
  }

  private func mergedParts(above largestJoined: Int, upTo maximumBytes: Int) -> [Part]? {
    // After each change: usually there is one large part, and nothing to allocate.
    let isSingle = parts.count { $0.segment.count > largestJoined } < 2
    if isSingle, !parts.contains(where: { $0.segment.count > largestJoined && $0.isMostlyDead }) { return nil }
    let large = parts.filter { $0.segment.count > largestJoined }.sorted { $0.count < $1.count }
    var (end, count, bytes) = (0, 0, 0)
    while end < large.count {
      bytes += large[end].estimatedBytes
      guard end == 0 || large[end].count <= 2 * count && bytes <= maximumBytes else { break }
      count += large[end].count
      end += 1
    }
    if end > 1 { return Array(large[..<end]) }
    return large.first { $0.isMostlyDead }.map { [$0] }
  }

  /// Returns this snapshot with merged parts in place of those that an earlier one had; `nil` where one of these is no
  /// longer there. O(n / 64) for the places of the parts, and O(log n) for each that was removed since.
  func adopting(_ merge: Merge) -> PointSnapshot? {
    var next = parts
    var removed: [PointID] = []
    for former in merge.former {
      guard let index = next.firstIndex(where: { $0.segment === former.segment }) else { return nil }
      next.remove(at: index).tombstones?.forEach { slot in
        if !former.isDead(slot) { removed.append(former.segment.columns.ids[slot]) }
      }
    }
    removed.sort()
    var part = merge.part
    let slots = part.slots(of: removed)
    if !slots.isEmpty { part.remove(slots) }
    if part.count > 0 { next.append(part) }
    return PointSnapshot(parts: next, text: textConfiguration, pyramid: deferredPyramid)
  }

  private func isJoining(_ part: Part, additions: Int) -> Bool {
    guard additions > 0 else { return false }
    let isSmall =
      part.count <= Self.smallPart.places && part.segment.records.textBytes <= Self.smallPart.textBytes
    return isSmall || part.count <= 2 * additions
  }
}

/// The merges of the large parts of successive snapshots, one at a time and beside their changes.
package final class PartMerger: Sendable {
  private struct State {
    var isMerging = false
    var merge: PointSnapshot.Merge?
  }

  private let state = Mutex(State())

  /// The queue of the merges.
  package let queue = DispatchQueue(label: "waymark.merges", qos: .utility)

  package init() {}

  /// Starts to merge the large parts of a snapshot, unless it has none to merge or the last merge was not adopted yet.
  ///
  /// - Parameters:
  ///   - maximumBytes: the estimated size of the result above which larger parts are left out.
  ///   - onEnd: is called once there is a result.
  package func merge(
    _ snapshot: PointSnapshot, upTo maximumBytes: Int = .max, onEnd: @escaping @Sendable () -> Void = {}
  ) {
    let limit = PointSnapshot.largestPartOfChange
    guard snapshot.hasLargePartsToMerge(above: limit, upTo: maximumBytes) else { return }
    let isFree = state.withLock { state in
      if state.isMerging || state.merge != nil { return false }
      state.isMerging = true
      return true
    }
    guard isFree else { return }
    queue.async { [self] in
      let merge = snapshot.mergingLargeParts(above: limit, upTo: maximumBytes)
      state.withLock { $0 = State(merge: merge) }
      onEnd()
    }
  }

  /// Returns a later snapshot with the merged parts, once for each merge; `nil` if there is nothing to adopt.
  package func adopted(by snapshot: PointSnapshot) -> PointSnapshot? {
    state.withLock { $0.merge.take() }.flatMap { snapshot.adopting($0) }
  }
}

extension PointSnapshot.Part {
  /// The estimated bytes of the places in memory of the process.
  fileprivate var estimatedBytes: Int {
    let share = Double(count) / Double(segment.count)
    return count * PointSnapshot.bytesPerPoint + Int(Double(segment.records.textBytes) * share)
  }

  /// Returns the slots of the places with these ids that were not removed, each once.
  ///
  /// - Parameter ids: ids in ascending order: each search continues where the one before ended.
  fileprivate func slots(of ids: [PointID]) -> [Int] {
    let (slotsByID, columns) = (segment.slotsByID, segment.columns)
    var found: [Int] = []
    var position = 0
    for id in ids {
      position = slotsByID.firstPosition(from: position) { !(columns.ids[Int($0)] < id) }
      guard position < slotsByID.count else { break }
      let slot = Int(slotsByID[position])
      guard columns.ids[slot] == id else { continue }
      // An id that comes twice is found once.
      position += 1
      if !isDead(slot) { found.append(slot) }
    }
    return found
  }

  /// A Boolean value that indicates whether more than half of the places are dead.
  fileprivate var isMostlyDead: Bool { (tombstones?.count ?? 0) > segment.count / 2 }

  /// Returns the part without its dead places, where they are more than half.
  fileprivate func compacted(text configuration: TextIndexConfiguration) -> PointSnapshot.Part {
    guard isMostlyDead else { return self }
    var points = PointBuffer()
    points.reserveCapacity(count, textBytes: segment.records.textBytes)
    points.append(contentsOf: segment, isDead: isDead)
    return PointSnapshot.Part(segment: Segment(points, text: configuration))
  }
}
