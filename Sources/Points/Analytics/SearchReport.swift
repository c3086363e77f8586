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

  /// The median of the time that the store took; `nil` where there were no searches.
  public var medianDuration: Duration?

  /// The 99th percentile of the time that the store took; `nil` where there were no searches.
  public var slowDuration: Duration?

  /// The cells by their number of searches, the greatest first, ties by the cell.
  public var busiestCells: [SubjectCount<Search.Cell>] = []

  /// The cells by their number of searches without a result, the greatest first, ties by the cell; only those with any.
  public var emptiestCells: [SubjectCount<Search.Cell>] = []

  /// The categories of the queries by their number of searches, the greatest first, ties by Unicode scalars. There need
  /// be no place of a category; a search for several counts in each.
  public var categories: [SubjectCount<ExactText>] = []

  /// The normalised texts that found nothing, by their number of searches, the greatest first, ties by Unicode scalars;
  /// `nil` where they are not recorded. There are none that were searched for less often than a minimum.
  public var textsFoundNothing: [SubjectCount<ExactText>]?

  /// The hours in which there were searches, by their starts in UTC.
  public var hours: [SubjectCount<Timestamp>] = []

  /// Creates a report of no searches.
  public init() {}
}
