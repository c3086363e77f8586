public import JSONText

/// What the searches of a stretch of time have in common.
public struct SearchReport: Hashable, Sendable {
  /// How many searches there were, and how many of them found nothing.
  public struct Count: Hashable, Sendable {
    /// How many there were.
    public var searches: Int
    /// How many found nothing.
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
    /// Its searches.
    public let count: Count

    /// Creates the count of a cell.
    public init(cell: Search.Cell, count: Count) {
      self.cell = cell
      self.count = count
    }
  }

  /// The count of one category; a search for several counts in each.
  public struct CategoryCount: Hashable, Sendable {
    /// The category's name, as clients wrote it: there need be no place of it.
    @ComparedByBytes public private(set) var category: String
    /// The searches for it.
    public let count: Count

    /// Creates the count of a category.
    public init(category: String, count: Count) {
      self.category = category
      self.count = count
    }
  }

  /// The count of one hour.
  public struct HourCount: Hashable, Sendable {
    /// When the hour began, in UTC.
    public let start: Timestamp
    /// Its searches.
    public let count: Count

    /// Creates the count of an hour.
    public init(start: Timestamp, count: Count) {
      self.start = start
      self.count = count
    }
  }

  /// All searches.
  public var total = Count()

  /// Within how long half of the searches were answered by the store; `nil` where there were none.
  public var medianDuration: Duration?

  /// Within how long 99 of 100 searches were; `nil` where there were none.
  public var slowDuration: Duration?

  /// The cells with most searches first, ties by the cell.
  public var busiestCells: [CellCount] = []

  /// The cells with most searches that found nothing first, ties by the cell; none without any.
  public var emptiestCells: [CellCount] = []

  /// The categories with most searches first, ties by Unicode scalars.
  public var categories: [CategoryCount] = []

  /// The hours in which there were searches, in their order.
  public var hours: [HourCount] = []

  /// Creates a report of no searches.
  public init() {}
}
