public import Geo
public import Basics
import SearchWords

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

  /// The cell of the query's centre; `nil` if it has none.
  public let cell: Cell?

  /// The categories of the query, as they were asked for; empty for all.
  public let categories: Set<ExactText>

  /// The normalised text of the query, where it found nothing and such texts are recorded.
  public let text: ExactText?

  /// The number of places on the page.
  public let found: Int

  /// The time that the store took.
  public let duration: Duration

  /// Creates the record of a query and its page.
  public init(_ query: PointQuery, found: Int, took duration: Duration) {
    cell = query.proximity.map { Cell($0.center) }
    categories = query.reportedCategories
    text = nil
    self.found = found
    self.duration = duration
  }

  /// Creates the record of a query for a text and its page.
  ///
  /// - Parameter recordsText: a Boolean value that indicates whether a text that found nothing is recorded. One that is
  ///   still being typed never is, nor that of a further page.
  public init(_ query: TextQuery, found: Int, took duration: Duration, recordsText: Bool) {
    let isRecorded = recordsText && found == 0 && !query.completesLastWord && query.after == nil
    text = isRecorded ? ExactText(NormalizedText(query.text).text.composingHangul()) : nil
    cell = query.center.map { Cell($0) }
    categories = query.filters.reportedCategories
    self.found = found
    self.duration = duration
  }
}

extension PointQuery {
  fileprivate var reportedCategories: Set<ExactText> {
    requestedCategories.isEmpty ? categories : requestedCategories
  }
}
