import Basics
import PointIndex
import Points
import Synchronization

/// An import whose places were planned and indexed before its turn to be committed, so that other writes do not wait
/// for that.
struct PreparedImport: Sendable {
  /// The effects in numbers.
  let report: ImportReport

  /// The changes of the edits of places.
  let edits: EditChanges

  private let planned: PointChanges
  private let plannedAt: Timestamp

  // The removal's source, and the hashes of the ids and source references that the plan depends on, ascending.
  private let source: ExactText?
  private let hashes: ContiguousArray<Int>

  /// Plans an import. O(n log n) for n rows.
  ///
  /// - Parameters:
  ///   - stage: the rows.
  ///   - formerID: returns the id of the removed place that had a source reference; `nil` if there are none.
  /// - Throws: the errors of ``ImportPlan``.
  init(
    _ stage: ImportStage, options: ImportOptions, formerID: (@Sendable (SourceReference) -> PointID?)?,
    onto base: ImportBase
  ) throws {
    let plan = try ImportPlan(
      stage, options: options, into: base.snapshot, edits: base.edits, formerID: formerID, version: base.version,
      at: base.now)
    var hashes = ContiguousArray<Int>()
    for index in 0..<stage.count {
      let row = stage.row(at: index)
      if let id = row.id { hashes.append(id.hashValue) }
      guard let origin = row.draft.origin else { continue }
      hashes.append(origin.hashValue)
      // Another place may have the id, or get it.
      if let former = formerID?(origin) { hashes.append(former.hashValue) }
    }
    for index in 0..<plan.puts.count { hashes.append(plan.puts.id(at: index).hashValue) }
    hashes.sort()
    self.hashes = hashes
    source = options.removal.map { ExactText($0.source) }
    report = plan.report
    edits = plan.editChanges
    plannedAt = base.now
    var changes = PointChanges(puts: plan.puts, removals: plan.removals)
    changes.index(for: base.snapshot)
    planned = changes
  }

  /// Returns a Boolean value that indicates whether no place that the plan depends on is among those that have changed.
  /// It may be `false` by a collision of hashes.
  func isValid(after changes: ObservedChanges) -> Bool {
    changes.state.withLock { state in
      if let source, state.sources.contains(source) { return false }
      return !state.hashes.contains { hash in
        let index = hashes.partitioningIndex { $0 >= hash }
        return index < hashes.endIndex && hashes[index] == hash
      }
    }
  }

  /// Returns the changes with the version and the time of their commit.
  func changes(version: Int64, at now: Timestamp) -> PointChanges {
    var changes = planned
    changes.setStamps(version: version, at: now, plannedAt: plannedAt)
    return changes
  }
}

/// The state of a store that an import is planned onto.
struct ImportBase: Sendable {
  let snapshot: PointSnapshot
  let edits: EditTable
  let now: Timestamp

  /// A version above those of all places. The places get a later one.
  let version: Int64

  /// The places that have changed since, or whose edits have.
  let changes: ObservedChanges
}

/// The places that have changed since an import was planned, or whose edits have, as hashes of their ids, and of the
/// source references that they had or have.
final class ObservedChanges: Sendable {
  fileprivate let state = Mutex((hashes: ContiguousArray<Int>(), sources: Set<ExactText>()))

  /// Notes the changes of a committed batch.
  ///
  /// - Parameters:
  ///   - former: the snapshot before it.
  ///   - formerEdits: the edits that it changes, as they were before it.
  func note(_ batch: JournalBatch, from former: PointSnapshot, _ formerEdits: [PlaceEdits]) {
    // A removed place may have had its source reference only within the batch.
    var (ids, origins) = (batch.removals, Array(batch.formerIDs.keys))
    for point in batch.places {
      ids.append(point.id)
      if let origin = point.draft.origin { origins.append(origin) }
    }
    for edits in formerEdits + batch.edits.values.compactMap(\.self) {
      ids.append(edits.id)
      origins.append(edits.origin)
    }
    for id in ids {
      if let origin = former.point(id: id)?.draft.origin { origins.append(origin) }
    }
    state.withLock { state in
      for id in ids { state.hashes.append(id.hashValue) }
      for origin in origins {
        state.hashes.append(origin.hashValue)
        state.sources.insert(ExactText(origin.source))
      }
    }
  }
}
