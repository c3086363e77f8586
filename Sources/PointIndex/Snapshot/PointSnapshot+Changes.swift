public import Points

/// A batch of changes to a set of places. Readers see all of it or nothing.
public struct PointChanges: Sendable {
  /// The places to add. A place replaces the one with the same id.
  ///
  /// Ids are unique among these. Source references are unique among these and the places that stay.
  public var puts: PointBuffer

  /// The ids of places to remove. Unknown ids are ignored, and so are those of ``puts``.
  public var removals: [PointID]

  public init(puts: PointBuffer, removals: [PointID] = []) {
    self.puts = puts
    self.removals = removals
  }

  /// Creates a batch of the given places and removals.
  public init(puts: ContiguousArray<PointOfInterest> = [], removals: [PointID] = []) {
    self.init(puts: PointBuffer(puts), removals: removals)
  }

  /// A Boolean value that indicates whether the batch changes nothing.
  public var isEmpty: Bool { puts.count == 0 && removals.isEmpty }
}

extension PointSnapshot {
  /// The size up to which parts are built again with each addition, so that there are fewer to search.
  private static let smallPart = (places: 256, textBytes: 1 << 20)

  /// Returns the snapshot after a batch of changes.
  ///
  /// For m changes O(m log m), O(log n) times that on average, and an eighth of a byte for each place of a part that
  /// loses one.
  public func applying(_ changes: consuming PointChanges) -> PointSnapshot {
    if changes.isEmpty { return self }
    var ids = changes.removals
    ids.append(contentsOf: changes.puts.ids)
    ids.sort()
    var kept: [Part] = []
    var pyramidChanges = PyramidChanges(additions: changes.puts)
    for (index, var part) in parts.enumerated() {
      let slots = part.slots(of: ids)
      if !slots.isEmpty {
        pyramidChanges.remove(slots, of: part, at: index)
        part.remove(slots)
      }
      if part.count > 0 { kept.append(part) }
    }
    var points = changes.puts
    changes.puts = PointBuffer()
    // The smallest first: each joins the new part when that would otherwise not be less than half of it.
    kept.sort { $0.count > $1.count }
    var (end, count, textBytes) = (kept.count, points.count, points.textBytes)
    while end > 0, isJoining(kept[end - 1], additions: count) {
      end -= 1
      count += kept[end].count
      textBytes += kept[end].segment.records.texts.count
    }
    if end < kept.count {
      points.reserveCapacity(count, textBytes: textBytes)
      for part in kept[end...].reversed() { points.append(contentsOf: part.segment, isDead: part.isDead) }
      kept.removeLast(kept.count - end)
    }
    if points.count > 0 { kept.append(Part(segment: Segment(points, text: textConfiguration))) }
    let former = parts.map(\.segment)
    let next = kept.map { $0.compacted(text: textConfiguration) }
    for part in next { part.segment.buildTagIndexes(like: former) }
    return PointSnapshot(
      parts: next, text: textConfiguration, pyramid: pyramid(after: pyramidChanges, parts: next))
  }

  private func isJoining(_ part: Part, additions: Int) -> Bool {
    guard additions > 0 else { return false }
    let isSmall =
      part.count <= Self.smallPart.places && part.segment.records.texts.count <= Self.smallPart.textBytes
    return isSmall || part.count <= 2 * additions
  }
}

extension PointSnapshot.Part {
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

  /// Returns the part without its dead places, where they are more than half.
  fileprivate func compacted(text configuration: TextIndexConfiguration) -> PointSnapshot.Part {
    guard let tombstones, tombstones.count > segment.count / 2 else { return self }
    var points = PointBuffer()
    points.reserveCapacity(count, textBytes: segment.records.texts.count)
    points.append(contentsOf: segment, isDead: isDead)
    return PointSnapshot.Part(segment: Segment(points, text: configuration))
  }
}
