import Synchronization

/// The counts of what a mapping left out.
package final class ImportTally: Sendable {
  private struct Counts {
    var skipped: [String: Int] = [:]
    var tags = 0
  }

  private let counts = Mutex(Counts())

  /// Creates a tally of nothing.
  package init() {}

  /// Counts skipped records.
  package func skip(_ reason: String, count: Int = 1) {
    counts.withLock { $0.skipped[reason, default: 0] += count }
  }

  /// Counts a tag that is too long, or one too many.
  func leaveOutTag() {
    counts.withLock { $0.tags += 1 }
  }

  /// The numbers of skipped records by reason, the most frequent first.
  package var skipped: [(reason: String, count: Int)] {
    counts.withLock { $0.skipped }.map { ($0.key, $0.value) }.sorted { ($1.1, $0.0) < ($0.1, $1.0) }
  }

  /// The number of tags that were left out.
  package var omittedTags: Int { counts.withLock { $0.tags } }
}
