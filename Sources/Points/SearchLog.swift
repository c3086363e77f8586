/// A search and when it was made.
public struct TimedSearch: Hashable, Sendable {
  /// When it was made.
  public let time: Timestamp

  /// What was asked and found.
  public let search: Search

  /// Puts the two together.
  public init(time: Timestamp, search: Search) {
    self.time = time
    self.search = search
  }
}

/// Keeps searches for as long as they are of use.
public protocol SearchLog: Sendable {
  /// Keeps the searches, all or none.
  ///
  /// - Throws: ``PointStoreError``; where the connection broke off they may be kept all the same.
  func append(_ searches: [TimedSearch]) async throws(PointStoreError)

  /// Forgets the searches before a time; answers how many there were.
  ///
  /// - Throws: ``PointStoreError``; some may have been forgotten then.
  func pruneSearches(before time: Timestamp) async throws(PointStoreError) -> Int
}

/// Tells what was searched for.
public protocol SearchHistory: Sendable {
  /// What the searches of a stretch of time have in common.
  ///
  /// - Parameters:
  ///   - start: the first moment.
  ///   - end: the first moment after it.
  ///   - limit: how many cells and categories are told at most, of each kind.
  /// - Throws: ``PointStoreError``.
  func searches(from start: Timestamp, until end: Timestamp, limit: Int) async throws(PointStoreError) -> SearchReport
}
