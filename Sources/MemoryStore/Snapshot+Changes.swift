import Points

/// What a write does to a snapshot's places.
struct SnapshotChanges: Sendable {
  /// Where places are that go; a place that is replaced goes too.
  var removals: [Snapshot.Location] = []

  /// Places that come, in place of those that go or beside them. Ids and origins are unique among them and the places
  /// that stay.
  var additions: ContiguousArray<PointOfInterest> = []

  /// Whether nothing is done.
  var isEmpty: Bool { removals.isEmpty && additions.isEmpty }
}

extension Snapshot {
  /// Parts up to this size are built again with each addition, sooner than searched one by one.
  private static let smallPart = 256

  /// The snapshot after a change; this one stays as it is.
  ///
  /// In the order of m log m for m additions, log n times that in the mean, and of an eighth of a byte for each place of
  /// a part that loses one.
  func applying(_ changes: SnapshotChanges) -> Snapshot {
    if changes.isEmpty { return self }
    var removed = Array(repeating: [Int](), count: parts.count)
    for location in changes.removals { removed[location.part].append(location.slot) }
    var kept: [Part] = []
    for (part, slots) in zip(parts, removed) {
      var part = part
      if !slots.isEmpty {
        part.tombstones = Tombstones(adding: slots, to: part.tombstones, size: part.segment.count)
      }
      if part.count > 0 { kept.append(part) }
    }
    var points = changes.additions
    // The smallest first: each joins the new part when that would otherwise not be less than half of it.
    kept.sort { $0.count > $1.count }
    while let part = kept.last, isJoining(part, additions: points.count) {
      part.appendPoints(to: &points)
      kept.removeLast()
    }
    if !points.isEmpty { kept.append(Part(segment: Segment(points))) }
    return Snapshot(parts: kept.map { $0.cleared() })
  }

  private func isJoining(_ part: Part, additions: Int) -> Bool {
    additions > 0 && part.count <= max(2 * additions, Self.smallPart)
  }
}

extension Snapshot.Part {
  /// The part without its dead places, where they are more than half.
  fileprivate func cleared() -> Snapshot.Part {
    guard let tombstones, tombstones.count > segment.count / 2 else { return self }
    var points: ContiguousArray<PointOfInterest> = []
    appendPoints(to: &points)
    return Snapshot.Part(segment: Segment(points))
  }

  /// Adds the places that are still there.
  fileprivate func appendPoints(to points: inout ContiguousArray<PointOfInterest>) {
    points.reserveCapacity(points.count + count)
    for slot in 0..<segment.count where !isDead(slot) { points.append(segment.point(at: slot)) }
  }
}
