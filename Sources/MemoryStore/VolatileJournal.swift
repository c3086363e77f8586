public import Points
import Synchronization

/// A journal that keeps nothing but the last changes, and those in memory alone.
public final class VolatileJournal: PlaceJournal {
  private let maximumChanges: Int
  private let kept = Mutex<ContiguousArray<PointChange>>([])

  /// Creates an empty journal.
  ///
  /// - Parameter maximumChanges: how many changes it keeps; of more the first are forgotten.
  public init(maximumChanges: Int = 100_000) {
    self.maximumChanges = maximumChanges
  }

  /// Nothing.
  public func load() async throws(PointStoreError) -> JournalContents { JournalContents() }

  /// Keeps the batch's changes.
  public func commit(_ batch: JournalBatch) async throws(PointStoreError) {
    kept.withLock { kept in
      kept.append(contentsOf: batch.changes.suffix(maximumChanges))
      // They are moved only when a quarter too many have come, so that a change costs constant time on average.
      if kept.count > maximumChanges + maximumChanges / 4 { kept.removeFirst(kept.count - maximumChanges) }
    }
  }

  /// The changes behind a sequence number, in their order. In the order of log n plus their number.
  public func changes(after sequence: Int64, limit: Int) async throws(PointStoreError) -> [PointChange] {
    kept.withLock { kept in
      let start = kept.withUnsafeBufferPointer { $0.firstPosition { $0.sequence > sequence } }
      return Array(kept.suffix(maximumChanges).suffix(kept.count - start).prefix(max(limit, 0)))
    }
  }

  /// Forgets the changes before a time; answers how many.
  public func pruneChanges(before time: Timestamp) async throws(PointStoreError) -> Int {
    kept.withLock { kept in
      let count = kept.count
      kept.removeAll { $0.time < time }
      return count - kept.count
    }
  }
}
