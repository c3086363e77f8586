public import JSONText

/// The statistics of the searches of a period.
public struct SearchReport: Hashable, Sendable {
  /// The number of searches, and of those among them without a result.
  public struct Count: Hashable, Sendable {
    /// The number of searches.
    public var searches: Int
    /// The number of searches without a result.
    public var foundNothing: Int

    /// Creates a count.
    public init(searches: Int = 0, foundNothing: Int = 0) {
      self.searches = searches
      self.foundNothing = foundNothing
    }
  }

  /// The count of one cell.
  public struct CellCount: Hashable, Sendable {
    /// The cell.
    public let cell: Search.Cell
    /// The count of its searches.
    public let count: Count

    /// Creates the count of a cell.
    public init(cell: Search.Cell, count: Count) {
      self.cell = cell
      self.count = count
    }
  }

  /// The count of one category; a search for several counts in each.
  public struct CategoryCount: Hashable, Sendable {
    /// The name of the category in the queries: there need be no place of it.
    @ComparedByBytes public private(set) var category: String
    /// The count of the searches for it.
    public let count: Count

    /// Creates the count of a category.
    public init(category: String, count: Count) {
      self.category = category
      self.count = count
    }
  }

  /// The count of one hour.
  public struct HourCount: Hashable, Sendable {
    /// The start of the hour, in UTC.
    public let start: Timestamp
    /// The count of its searches.
    public let count: Count

    /// Creates the count of an hour.
    public init(start: Timestamp, count: Count) {
      self.start = start
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
  public var busiestCells: [CellCount] = []

  /// The cells by their number of searches without a result, the greatest first, ties by the cell; only those with any.
  public var emptiestCells: [CellCount] = []

  /// The categories by their number of searches, the greatest first, ties by Unicode scalars.
  public var categories: [CategoryCount] = []

  /// The hours in which there were searches, in their order.
  public var hours: [HourCount] = []

  /// Creates a report of no searches.
  public init() {}
}
