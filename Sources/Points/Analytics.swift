public import Geo
public import JSONText

/// What is told of the searches that were made, to learn from them; nothing in an answer depends on it.
public protocol Analytics: Sendable {
  /// Takes note of a search. It returns at once: it neither waits nor fails.
  func record(_ search: Search)
}

/// Takes note of nothing.
public struct NoAnalytics: Analytics {
  /// Creates analytics that note nothing.
  public init() {}

  /// Does nothing.
  public func record(_ search: Search) {}
}

/// One search, told coarsely enough that it gives away no one's whereabouts.
public struct Search: Hashable, Sendable {
  /// A cell of a hundredth of a degree in latitude and longitude, about a kilometre.
  public struct Cell: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// The cell's middle in hundredths of a degree north.
    public let latitudeHundredths: Int32
    /// The cell's middle in hundredths of a degree east.
    public let longitudeHundredths: Int32

    /// The cell that a coordinate is rounded to.
    public init(_ coordinate: Coordinate) {
      latitudeHundredths = Int32((coordinate.latitude * 100).rounded())
      longitudeHundredths = Int32((coordinate.longitude * 100).rounded())
    }

    /// The cell whose middle is there, in hundredths of a degree.
    public init(latitudeHundredths: Int32, longitudeHundredths: Int32) {
      self.latitudeHundredths = latitudeHundredths
      self.longitudeHundredths = longitudeHundredths
    }

    /// Whether the cell is south of the other, or as far north and west of it.
    public static func < (left: Cell, right: Cell) -> Bool {
      (left.latitudeHundredths, left.longitudeHundredths) < (right.latitudeHundredths, right.longitudeHundredths)
    }

    /// Latitude and longitude in degrees, a comma between.
    public var description: String { "\(Double(latitudeHundredths) / 100),\(Double(longitudeHundredths) / 100)" }
  }

  /// Where it was made; `nil` where the query named no centre.
  public let cell: Cell?

  /// The categories that were asked for; empty for all.
  public let categories: Set<ExactText>

  /// How many places the page held.
  public let found: Int

  /// How long the store took.
  public let duration: Duration

  /// Tells of a query and its answer.
  public init(_ query: PointQuery, found: Int, took duration: Duration) {
    cell = query.proximity.map { Cell($0.center) }
    categories = query.categories
    self.found = found
    self.duration = duration
  }
}
