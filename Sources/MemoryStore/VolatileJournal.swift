import PointIndex
public import Points
import Synchronization

/// A journal in memory, which keeps the last changes and nothing else.
public final class VolatileJournal: PointJournal {
  private let maximumChanges: Int
  private let kept = Mutex<ContiguousArray<PointChange>>([])

  /// Creates an empty journal.
  ///
  /// - Parameter maximumChanges: the maximum number of changes; beyond it the oldest are deleted.
  public init(maximumChanges: Int = 100_000) {
    self.maximumChanges = maximumChanges
  }

  /// Returns empty contents.
  public func load() async throws(PointStoreError) -> JournalContents { JournalContents() }

  /// Keeps the changes of the batch.
  public func commit(_ batch: JournalBatch) async throws(PointStoreError) {
    kept.withLock { kept in
      kept.append(contentsOf: batch.changes.suffix(maximumChanges))
      // The array is shifted only when it is a quarter too long, so that a change costs constant time on average.
      if kept.count > maximumChanges + maximumChanges / 4 { kept.removeFirst(kept.count - maximumChanges) }
    }
  }

  /// Returns the changes after a sequence number, in their order. O(log n) and their number.
  public func changes(after sequence: Int64, limit: Int) async throws(PointStoreError) -> [PointChange] {
    kept.withLock { kept in
      let start = kept.withUnsafeBufferPointer { $0.firstPosition { $0.sequence > sequence } }
      return Array(kept.suffix(maximumChanges).suffix(kept.count - start).prefix(max(limit, 0)))
    }
  }

  /// Deletes the changes before a time, and returns their number.
  public func pruneChanges(before time: Timestamp) async throws(PointStoreError) -> Int {
    kept.withLock { kept in
      let count = kept.count
      kept.removeAll { $0.time < time }
      return count - kept.count
    }
  }
}
