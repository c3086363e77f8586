public import Geo
public import JSONText

/// A recorder of searches, for statistics. No response depends on it.
public protocol Analytics: Sendable {
  /// Records a search. It returns at once: it neither waits nor fails.
  func record(_ search: Search)
}

/// Analytics that buffer searches in memory and process them in the background.
public protocol BackgroundAnalytics: Analytics {
  /// The number of searches that were dropped for lack of room, since the start.
  var dropped: Int { get }

  /// Processes searches until the task is cancelled, and the rest of them then.
  func run() async
}

/// Analytics that record nothing.
public struct NoAnalytics: Analytics {
  /// Creates analytics that record nothing.
  public init() {}

  /// Does nothing.
  public func record(_ search: Search) {}
}

/// One search, with its centre rounded so that it does not reveal anyone's location.
public struct Search: Hashable, Sendable {
  /// A cell of a hundredth of a degree in latitude and longitude, about a kilometre.
  public struct Cell: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// The cell's middle in hundredths of a degree north.
    public let latitudeHundredths: Int32
    /// The cell's middle in hundredths of a degree east.
    public let longitudeHundredths: Int32

    /// Creates the cell that a coordinate is rounded to.
    public init(_ coordinate: Coordinate) {
      latitudeHundredths = Int32((coordinate.latitude * 100).rounded())
      longitudeHundredths = Int32((coordinate.longitude * 100).rounded())
    }

    /// Creates the cell with a middle in hundredths of a degree.
    public init(latitudeHundredths: Int32, longitudeHundredths: Int32) {
      self.latitudeHundredths = latitudeHundredths
      self.longitudeHundredths = longitudeHundredths
    }

    /// Returns a Boolean value that indicates whether the first cell is south of the second, or at its latitude and
    /// west of it.
    public static func < (left: Cell, right: Cell) -> Bool {
      (left.latitudeHundredths, left.longitudeHundredths) < (right.latitudeHundredths, right.longitudeHundredths)
    }

    /// The latitude and longitude in degrees, with a comma between.
    public var description: String { "\(Double(latitudeHundredths) / 100),\(Double(longitudeHundredths) / 100)" }
  }

  /// The cell of the query's centre; `nil` where it has none.
  public let cell: Cell?

  /// The categories of the query; empty for all.
  public let categories: Set<ExactText>

  /// The number of places on the page.
  public let found: Int

  /// The time that the store took.
  public let duration: Duration

  /// Creates the record of a query and its page.
  public init(_ query: PointQuery, found: Int, took duration: Duration) {
    cell = query.proximity.map { Cell($0.center) }
    categories = query.categories
    self.found = found
    self.duration = duration
  }
}
