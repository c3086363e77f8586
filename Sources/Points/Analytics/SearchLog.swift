/// A search with its time.
public struct TimedSearch: Hashable, Sendable {
  /// The time of the search.
  public let time: Timestamp

  /// The query and its result.
  public let search: Search

  public init(time: Timestamp, search: Search) {
    self.time = time
    self.search = search
  }
}

/// A durable log of searches.
public protocol SearchLog: Sendable {
  /// Appends searches, all or none.
  ///
  /// - Throws: ``PointStoreError``; where the connection broke they may have been appended.
  func append(_ searches: [TimedSearch]) async throws(PointStoreError)

  /// Deletes the searches before a time and returns their number.
  ///
  /// - Throws: ``PointStoreError``; some may have been deleted then.
  func pruneSearches(before time: Timestamp) async throws(PointStoreError) -> Int
}

/// The statistics of a log of searches.
public protocol SearchHistory: Sendable {
  /// Returns the statistics of the searches of a period.
  ///
  /// - Parameters:
  ///   - start: the first moment.
  ///   - end: the first moment after it.
  ///   - limit: the maximum number of cells and of categories.
  /// - Throws: ``PointStoreError``.
  func searches(from start: Timestamp, until end: Timestamp, limit: Int) async throws(PointStoreError) -> SearchReport
}
