import Basics
import JSONText
package import Points
import PostgresClient

/// The log of searches, in the table `searches` of a store's database.
///
/// It has one connection of its own, established on demand, so that neither recording nor reporting takes one from
/// requests. While a report is made, searches wait to be recorded.
package final class PostgresSearchLog: Sendable {
  /// The maximum number of categories that are recorded for one search. A request for more doesn't express an interest.
  static let maximumCategories = 16

  /// The store, whose polling thread the log shares.
  private let store: PostgresStore
  let pool: ConnectionPool

  /// The number of searches from which on a text that found nothing is reported; `nil` where none are.
  let minimumTextCount: Int?

  /// Creates a log beside a store; it connects on the first call.
  ///
  /// - Parameter minimumTextCount: the number of searches from which on a text that found nothing is reported; `nil`
  ///   where none are.
  package init(_ store: PostgresStore, minimumTextCount: Int? = nil) {
    self.minimumTextCount = minimumTextCount
    self.store = store
    // A crash of the server loses only the last moment of searches, which is not worth a wait for the disk.
    pool = ConnectionPool(on: store.thread, store.configuration, connections: 1, waiters: 16, isDurable: false)
  }

  deinit {
    // Callers retain the log, so no call is in progress here.
    store.thread.submit { [pool] in pool.assumeIsolated { $0.shutDown() } }
  }

  /// Closes the connection; current and later calls fail.
  package func shutDown() async { await pool.shutDown() }
}

extension PostgresSearchLog: SearchLog {
  /// Records the searches in one statement.
  package func append(_ searches: [TimedSearch]) async throws(PointStoreError) {
    guard !searches.isEmpty else { return }
    _ = try await pool.query(SearchStatements.append, Self.parameters(for: searches), isRead: false)
  }

  /// Deletes the searches before a time, some thousands in each transaction.
  package func pruneSearches(before time: Timestamp) async throws(PointStoreError) -> Int {
    var pruned = 0
    while true {
      let parameters = Parameters { $0.add(time) }
      let count = try await pool.query(SearchStatements.prune, parameters, isRead: false).affectedRows
      pruned += count
      if count < SearchStatements.prunedAtOnce { return pruned }
    }
  }

  private static func parameters(for searches: [TimedSearch]) -> Parameters {
    var texts: [(number: Int64, text: String)] = []
    var categories: [(number: Int64, name: String)] = []
    for (index, entry) in searches.enumerated() {
      if let text = entry.search.text { texts.append((Int64(index + 1), text.text)) }
      for name in entry.search.categories.sorted().prefix(maximumCategories) {
        categories.append((Int64(index + 1), name.text))
      }
    }
    return Parameters {
      $0.add(searches.map(\.time.microsecondsSinceEpoch))
      $0.add(searches.map { $0.search.cell.map { Int64($0.latitudeHundredths) } ?? SearchStatements.noCell })
      $0.add(searches.map { $0.search.cell.map { Int64($0.longitudeHundredths) } ?? SearchStatements.noCell })
      $0.add(searches.map { Int64($0.search.found) })
      $0.add(searches.map { microseconds(of: $0.search.duration) })
      $0.add(categories.map { $0.number })
      $0.add(categories.map { $0.name })
      $0.add(texts.map { $0.number })
      $0.add(texts.map { $0.text })
    }
  }

  /// Returns a duration as the table stores it, up to 35 minutes.
  private static func microseconds(of duration: Duration) -> Int64 {
    max(0, min(Int64(Int32.max), Int64(min(duration, .seconds(3600)) / .microseconds(1))))
  }
}
