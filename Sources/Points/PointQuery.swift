public import Geo
public import JSONText

/// Which places are asked for, in which order, and how many at a time.
///
/// The order is by geodesic distance from ``proximity``'s centre where there is one, then by id; otherwise by id alone.
/// Every condition that is given must hold.
public struct PointQuery: Hashable, Sendable {
  /// Nearness to a coordinate: it sets the order, and a radius leaves out what is farther.
  public struct Proximity: Hashable, Sendable {
    /// Where distances are measured from.
    public let center: Coordinate

    /// How far a place may be, in metres on the WGS 84 geodesic, inclusive; `nil` for any distance.
    public let radiusMetres: Double?

    /// Creates a condition; the radius is finite and not negative.
    public init(center: Coordinate, radiusMetres: Double? = nil) {
      self.center = center
      self.radiusMetres = radiusMetres
    }
  }

  /// The place at which a page ended: the next page starts just after it.
  public struct Position: Hashable, Sendable {
    /// The last place's distance in metres, exactly as the store gave it, where the query has a proximity; otherwise 0.
    public let distanceMetres: Double

    /// The last place's id.
    public let id: PointID

    /// Creates a position.
    public init(distanceMetres: Double = 0, id: PointID) {
      self.distanceMetres = distanceMetres
      self.id = id
    }
  }

  /// The data set that places come from.
  public struct Source: Hashable, Sendable {
    /// The name of the data set.
    public let name: ExactText

    /// The place's name in the data set; `nil` for all of its places.
    public let sourceID: ExactText?

    /// Creates a condition.
    public init(name: String, sourceID: String? = nil) {
      self.name = ExactText(name)
      self.sourceID = sourceID.map { ExactText($0) }
    }
  }

  /// How many places one page may hold.
  public static let limits = 1...1000

  /// How many places a page holds where nothing is said.
  public static let defaultLimit = 20

  /// Nearness, and with it the order.
  public var proximity: Proximity?

  /// The box that the places are in.
  public var box: BoundingBox?

  /// The categories of which a place has one; empty for any place, with or without a category.
  public var categories: Set<ExactText>

  /// The data set that the places come from; `nil` for any place, with or without one.
  public var source: Source?

  /// How many places are wanted at most, within ``limits``.
  public var limit: Int

  /// Where the page before ended; `nil` for the first page.
  public var after: Position?

  /// Creates a query.
  public init(
    proximity: Proximity? = nil,
    box: BoundingBox? = nil,
    categories: Set<ExactText> = [],
    source: Source? = nil,
    limit: Int = defaultLimit,
    after: Position? = nil
  ) {
    self.proximity = proximity
    self.box = box
    self.categories = categories
    self.source = source
    self.limit = limit
    self.after = after
  }
}

/// A place that a query found.
public struct FoundPoint: Hashable, Sendable {
  /// The place.
  public let point: PointOfInterest

  /// Its geodesic distance in metres from the query's centre; `nil` where the query has no proximity.
  public let distanceMetres: Double?

  /// Creates a found point.
  public init(point: PointOfInterest, distanceMetres: Double?) {
    self.point = point
    self.distanceMetres = distanceMetres
  }
}

/// One page of an answer.
public struct PointPage: Hashable, Sendable {
  /// The number of bytes that the names and tags of a page's places may have together. A page whose places have more ends
  /// early, with one place at least, so that however long places are a page is not.
  public static let maximumTextBytes = 4 * 1024 * 1024

  /// The places, in the query's order, at most as many as its limit.
  public let points: [FoundPoint]

  /// Whether at least one more place follows the last of these.
  public let hasMore: Bool

  /// Creates a page.
  public init(points: [FoundPoint], hasMore: Bool) {
    self.points = points
    self.hasMore = hasMore
  }

  /// Where the next page starts; `nil` when there is none.
  public var next: PointQuery.Position? {
    guard hasMore, let last = points.last else { return nil }
    return .init(distanceMetres: last.distanceMetres ?? 0, id: last.point.id)
  }
}

/// How many places a category has.
public struct CategoryCount: Hashable, Sendable {
  /// The category.
  @ComparedByBytes public private(set) var category: String

  /// How many places have it.
  public let count: Int

  /// Creates a count.
  public init(category: String, count: Int) {
    self.category = category
    self.count = count
  }
}
