import Basics
import PointIndex
import Points
import Synchronization

/// A position in the changes of a memory store: everything up to a version, in one run of the store.
///
/// A restored backup of the store's file continues with other versions than the file did. Each run has a random number, so
/// that a position of versions that the file does not have is not taken for one of its own.
struct MemoryChangePosition: Hashable, Sendable {
  /// The number of the run.
  let run: UInt64

  /// The version up to which changes are included.
  let version: Int64

  /// The last place of the version that is included; `nil` if all are.
  var lastID: PointID?

  /// A text of letters, digits, dots and hyphens that is the same for equal positions, and differs for others.
  var text: String {
    let numbers = [run, UInt64(version)].map { String($0, radix: 36) }.joined(separator: ".")
    guard let lastID else { return numbers }
    return numbers + "-" + [lastID.high, lastID.low].map { String($0, radix: 36) }.joined(separator: ".")
  }

  init(run: UInt64, version: Int64, lastID: PointID? = nil) {
    (self.run, self.version, self.lastID) = (run, version, lastID)
  }

  /// Creates a position from its ``text``; `nil` for any other text.
  init?(text: String) {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false).map { part in
      part.split(separator: ".", omittingEmptySubsequences: false).map { UInt64($0, radix: 36) }
    }
    guard (1...2).contains(parts.count), parts.allSatisfy({ $0.count == 2 }), let run = parts[0][0],
      let version = parts[0][1].flatMap({ Int64(exactly: $0) })
    else { return nil }
    self.init(run: run, version: version)
    if parts.count == 2 {
      guard let high = parts[1][0], let low = parts[1][1] else { return nil }
      lastID = PointID(high: high, low: low)
    }
    // Of several spellings of a number only one is ours.
    guard self.text.hasSameBytes(as: text) else { return nil }
  }
}

/// A run of a memory store.
package struct ChangeRun: Hashable, Sendable {
  /// The random number of the run.
  package let number: UInt64

  /// The greatest version that had been committed when the run began.
  package let start: Int64

  package init(number: UInt64, start: Int64) {
    (self.number, self.start) = (number, start)
  }
}

/// The log of the changes of a memory store: in its journal, or else the last ones in memory.
final class MemoryChangeLog: ChangeLog {
  /// The maximum number of changes that are kept in memory.
  static let capacity = 100_000

  /// A change: the place of the id was put or removed at the version.
  private struct Entry: Sendable {
    let version: Int64
    let id: PointID
    let isRemoval: Bool

    static func < (left: Entry, right: Entry) -> Bool { (left.version, left.id) < (right.version, right.id) }
  }

  private struct State {
    /// The greatest version that is visible.
    var version: Int64
    /// The last changes by version and id; empty with a journal.
    var entries: [Entry] = []
    /// The greatest version of a change that was dropped.
    var dropped: Int64
  }

  /// The runs of the journal, the present one last.
  private let runs: [ChangeRun]
  private let journal: (any PointJournal)?
  private let places: PointIndex
  private let state: Mutex<State>

  /// Creates a log.
  ///
  /// - Parameters:
  ///   - runs: the runs of the journal, the present one last.
  ///   - dropped: the greatest version of a removal that the journal has dropped.
  init(_ places: PointIndex, journal: (any PointJournal)?, runs: [ChangeRun], version: Int64, dropped: Int64) {
    self.places = places
    self.journal = journal
    self.runs = runs
    state = Mutex(State(version: version, dropped: dropped))
  }

  /// Notes a committed batch, which readers see already.
  func note(_ batch: JournalBatch, removals: [PointRemoval]) {
    state.withLock { state in
      state.version = batch.highestVersion
      guard journal == nil else { return }
      let count = batch.putCount + removals.count
      guard count <= Self.capacity else {
        // Every former position misses more changes than are kept.
        (state.entries, state.dropped) = ([], batch.highestVersion)
        return
      }
      let start = state.entries.count
      for index in 0..<batch.puts.count {
        let (id, version) = (batch.puts.id(at: index), batch.puts.version(at: index))
        state.entries.append(Entry(version: version, id: id, isRemoval: false))
      }
      for removal in removals {
        state.entries.append(Entry(version: removal.version, id: removal.id, isRemoval: true))
      }
      if count > 1 { state.entries[start...].sort { $0 < $1 } }
      guard state.entries.count > Self.capacity else { return }
      // In large steps, as the rest is moved.
      let excess = state.entries.count - Self.capacity * 3 / 4
      state.dropped = state.entries[excess - 1].version
      state.entries.removeFirst(excess)
    }
  }

  /// Notes that the journal has dropped removals.
  func noteDropped(_ version: Int64) { state.withLock { $0.dropped = max($0.dropped, version) } }

  /// Returns the number of the run in which a version was given, or at whose start it was the last.
  private func run(of version: Int64) -> UInt64 { (runs.last { $0.start <= version } ?? runs[runs.count - 1]).number }

  /// The position of everything that readers see.
  var position: String {
    let version = state.withLock { $0.version }
    return MemoryChangePosition(run: run(of: version), version: version).text
  }

  func presentPosition() async throws(PointStoreError) -> String { position }

  func includes(_ position: String, in other: String) -> Bool {
    guard let position = MemoryChangePosition(text: position), let other = MemoryChangePosition(text: other),
      (try? check(position)) != nil, (try? check(other)) != nil
    else { return false }
    return position.version < other.version || position.version == other.version && other.lastID == nil
  }

  /// Checks that a position is of this store, and that the changes after it are known.
  private func check(_ position: MemoryChangePosition) throws(ChangeReadError) {
    guard let index = runs.firstIndex(where: { $0.number == position.run }) else {
      throw .expired(reason: "it is of another store")
    }
    let (version, dropped) = state.withLock { ($0.version, $0.dropped) }
    let end = index + 1 < runs.count ? runs[index + 1].start : version
    guard (runs[index].start...max(runs[index].start, end)).contains(position.version) else {
      throw .expired(reason: "the store does not have its state")
    }
    guard position.version > dropped || position.version == dropped && position.lastID == nil else {
      throw .expired(reason: "changes since then were deleted")
    }
  }

  func page(after position: String, limit: Int) async throws(ChangeReadError) -> ChangePage {
    guard let start = MemoryChangePosition(text: position) else {
      throw PositionText.isPosition(position) ? .expired(reason: "it is of another store") : .malformed
    }
    try check(start)
    let upper = state.withLock { $0.version }
    let (changes, last): ([PointChange], (version: Int64, id: PointID)?)
    if let journal {
      do {
        let page = try await journal.changes(
          after: start.version, start.lastID ?? PointID(high: .max, low: .max), upTo: upper, limit: limit)
        (changes, last) = (page.changes, page.hasMore ? page.changes.last.map { ($0.version, $0.id) } : nil)
      } catch {
        throw .store(error)
      }
      // The removals may have been dropped before they were read.
      try check(start)
    } else {
      (changes, last) = try recent(after: start, upTo: upper, limit: limit)
    }
    let version = last?.version ?? upper
    let next = MemoryChangePosition(run: run(of: version), version: version, lastID: last?.id)
    return ChangePage(changes: changes, position: next.text, hasMore: last != nil)
  }

  /// Returns the changes in memory after a position, and the last one if there are more.
  private func recent(
    after start: MemoryChangePosition, upTo upper: Int64, limit: Int
  ) throws(ChangeReadError) -> (changes: [PointChange], last: (version: Int64, id: PointID)?) {
    let entries: ArraySlice<Entry> = state.withLock { state in
      let first = state.entries.partitioningIndex { entry in
        entry.version > start.version || entry.version == start.version && start.lastID.map { $0 < entry.id } ?? false
      }
      return state.entries[first...].prefix(limit + 1)
    }
    try check(start)
    // Taken after the entries, so that it has all that they are of.
    let snapshot = places.snapshot
    var changes: [PointChange] = []
    var textBytes = 0
    var last: Entry?
    for entry in entries where entry.version <= upper {
      if changes.count == limit || textBytes > PointPage.maximumTextBytes {
        return (changes, last.map { ($0.version, $0.id) })
      }
      last = entry
      let point = snapshot.point(id: entry.id)
      // Otherwise there is a later entry.
      if let point, point.version == entry.version {
        textBytes += point.draft.textBytes
        changes.append(.put(point))
      } else if point == nil, entry.isRemoval {
        changes.append(.removal(PointRemoval(id: entry.id, version: entry.version)))
      }
    }
    guard entries.count > limit, let last else { return (changes, nil) }
    return (changes, (last.version, last.id))
  }
}
