public import Basics

/// The statistics of the searches of a period.
public struct SearchReport: Hashable, Sendable {
  /// The number of searches, and of those among them without a result.
  public struct Count: Hashable, Sendable {
    /// The number of searches.
    public var searches: Int
    /// The number of searches without a result.
    public var foundNothing: Int

    public init(searches: Int = 0, foundNothing: Int = 0) {
      self.searches = searches
      self.foundNothing = foundNothing
    }
  }

  /// The count of the searches for one subject.
  public struct SubjectCount<Subject: Hashable & Sendable>: Hashable, Sendable {
    /// The subject.
    public let subject: Subject
    /// The count of its searches.
    public let count: Count

    /// Creates the count of a subject.
    public init(_ subject: Subject, count: Count) {
      self.subject = subject
      self.count = count
    }
  }

  /// All searches.
  public var total = Count()

  /// The median of the time that the store took; `nil` if there were no searches.
  public var medianDuration: Duration?

  /// The 99th percentile of the time that the store took; `nil` if there were no searches.
  public var slowDuration: Duration?

  /// The cells by their number of searches, the greatest first, ties by the cell.
  public var busiestCells: [SubjectCount<Search.Cell>] = []

  /// The cells by their number of searches without a result, the greatest first, ties by the cell; only those with any.
  public var emptiestCells: [SubjectCount<Search.Cell>] = []

  /// The categories of the queries by their number of searches, the greatest first, ties by Unicode scalars. There need
  /// be no place of a category; a search for several counts in each.
  public var categories: [SubjectCount<ExactText>] = []

  /// The normalised texts that found nothing, by their number of searches, the greatest first, ties by Unicode scalars;
  /// `nil` if they are not recorded. There are none that were searched for less often than a minimum.
  public var textsFoundNothing: [SubjectCount<ExactText>]?

  /// The hours in which there were searches, by their starts in UTC.
  public var hours: [SubjectCount<Timestamp>] = []

  /// Creates a report of no searches.
  public init() {}
}

/// The statistics of the searches of a short period, in bounded memory.
public struct SearchSummary: Hashable, Sendable {
  /// The maximum number of cells that are counted; searches in further ones count in the totals alone.
  static let maximumCells = 10_000

  /// The number of searches.
  public private(set) var searches = 0

  /// The number of searches without a result.
  public private(set) var empty = 0

  /// The number of further searches that were dropped.
  public private(set) var dropped = 0

  /// The maximum number of texts that are counted.
  static let maximumTexts = 10_000

  private var searchesByText: [ExactText: Int] = [:]
  private var searchesByCell: [Search.Cell: Int] = [:]
  private var searchesByDurationBit = [Int](repeating: 0, count: 64)

  /// Creates a summary of no searches.
  public init() {}

  /// Counts searches, and those that were dropped before they could be counted.
  public mutating func add(_ more: some Sequence<Search>, dropped: Int = 0) {
    self.dropped += dropped
    for search in more {
      searches += 1
      if search.found == 0 { empty += 1 }
      searchesByDurationBit[Self.bit(of: search.duration)] += 1
      if let text = search.text, searchesByText[text] != nil || searchesByText.count < Self.maximumTexts {
        searchesByText[text, default: 0] += 1
      }
      if let cell = search.cell, searchesByCell[cell] != nil || searchesByCell.count < Self.maximumCells {
        searchesByCell[cell, default: 0] += 1
      }
    }
  }

  /// The cell with the most searches, ties by the cell; `nil` when no query had a centre.
  public var busiestCell: (cell: Search.Cell, searches: Int)? {
    let busiest = searchesByCell.max { ($0.value, $1.key) < ($1.value, $0.key) }
    return busiest.map { ($0.key, $0.value) }
  }

  /// Returns the texts that found nothing, the most frequent first, ties by the text.
  ///
  /// - Parameters:
  ///   - minimum: the number of searches from which on a text is returned.
  ///   - limit: the maximum number of texts.
  public func textsFoundNothing(atLeast minimum: Int, limit: Int) -> [(text: String, searches: Int)] {
    searchesByText.filter { $0.value >= minimum }
      .sorted { ($1.value, $0.key) < ($0.value, $1.key) }
      .prefix(limit).map { ($0.key.text, $0.value) }
  }

  /// Returns an upper bound, a power of two of microseconds, of the durations of a share of the searches.
  ///
  /// - Parameter share: from 0 to 1.
  public func duration(ofShare share: Double) -> Duration {
    let wanted = Int((Double(searches) * share).rounded(.up))
    var counted = 0
    for (bit, count) in searchesByDurationBit.enumerated() {
      counted += count
      if counted >= wanted { return .microseconds(Int64(1) << Int64(bit)) }
    }
    return .zero
  }

  /// Returns the number of bits of a duration in whole microseconds, at most 62.
  private static func bit(of duration: Duration) -> Int {
    let (seconds, attoseconds) = duration.components
    let microseconds = max(0, min(seconds, 1 << 40)) * 1_000_000 + attoseconds / 1_000_000_000_000
    return min(62, Int64.bitWidth - max(0, microseconds).leadingZeroBitCount)
  }
}

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
