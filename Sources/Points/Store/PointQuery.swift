public import Geo
public import Basics

/// A query for places: conditions, order and page.
///
/// The order is by geodesic distance from ``proximity``'s centre where there is one, or along the ``route`` where there
/// is one, then by id; otherwise by id alone. A query has a proximity or a route, not both. Every condition that is
/// given must hold.
public struct PointQuery: Hashable, Sendable {
  /// A centre that sets the order, with a radius outside of which places do not match.
  public struct Proximity: Hashable, Sendable {
    /// The coordinate that distances are measured from.
    public let center: Coordinate

    /// The maximum distance, in metres on the WGS 84 geodesic, inclusive; `nil` for any distance.
    public let radiusMetres: Double?

    /// Creates a condition; the radius is finite and not negative.
    public init(center: Coordinate, radiusMetres: Double? = nil) {
      self.center = center
      self.radiusMetres = radiusMetres
    }
  }

  /// The position of the last place of a page: the next page starts after it.
  public struct Position: Hashable, Sendable {
    /// The last place's distance in metres, exactly as the store gave it, where the query has a proximity, or the
    /// length of the route up to it; otherwise 0.
    public let distanceMetres: Double

    /// The last place's id.
    public let id: PointID

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

    public init(name: String, sourceID: String? = nil) {
      self.name = ExactText(name)
      self.sourceID = sourceID.map { ExactText($0) }
    }
  }

  /// The accepted range of ``limit`` in lists.
  public static let limits = 1...1000

  /// The default of ``limit``.
  public static let defaultLimit = 20

  /// The centre of the order, and its radius; `nil` for the order of the ids.
  public var proximity: Proximity?

  /// The box that the places are in.
  public var box: BoundingBox?

  /// The categories of which a place has one; empty for any place, with or without a category.
  public var categories: Set<ExactText>

  /// The data set that the places come from; `nil` for any place, with or without one.
  public var source: Source?

  /// The condition on the properties of the places; `nil` for any place. Only an index evaluates it.
  public var filter: PropertyFilter?

  /// The area that the places are in; `nil` for any place. Only an index evaluates it.
  public var area: Area?

  /// The route that the places are near, and the order along it. Only an index evaluates it.
  public var route: Route?

  /// The maximum number of places on the page, at least 1. Callers bound it.
  public var limit: Int

  /// The end of the page before; `nil` for the first page.
  public var after: Position?

  /// A Boolean value that indicates whether a search that would have to index the places of its source first, which is
  /// O(n), ends with ``PointStoreError/stepLimit`` instead.
  public var needsBuiltIndexes = false

  public init(
    proximity: Proximity? = nil,
    box: BoundingBox? = nil,
    categories: Set<ExactText> = [],
    source: Source? = nil,
    filter: PropertyFilter? = nil,
    area: Area? = nil,
    route: Route? = nil,
    limit: Int = defaultLimit,
    after: Position? = nil
  ) {
    self.proximity = proximity
    self.box = box
    self.categories = categories
    self.source = source
    self.filter = filter
    self.area = area
    self.route = route
    self.limit = limit
    self.after = after
  }
}

/// A place that a query found.
public struct FoundPoint: Hashable, Sendable {
  /// The place.
  public internal(set) var point: PointOfInterest

  /// The geodesic distance in metres from the query's centre or route; `nil` where the query has neither.
  public let distanceMetres: Double?

  /// The length in metres of the query's route up to its position that is nearest to the place; `nil` where the query
  /// has no route.
  public let alongMetres: Double?

  /// The attribution of the place's data set, where it was requested and there is one.
  @ComparedByBytes public var attribution: String? = nil

  /// The label of the place, where it was requested.
  @ComparedByBytes public var label: String? = nil

  /// The score of the match, where the place was found by a text.
  public var score: Double? = nil

  /// The name that matches the text, where it was requested.
  public var match: TextMatch.Name? = nil

  public init(point: PointOfInterest, distanceMetres: Double?, alongMetres: Double? = nil) {
    self.point = point
    self.distanceMetres = distanceMetres
    self.alongMetres = alongMetres
  }
}

extension FoundPoint {
  /// Creates the place of a match.
  public init(_ match: TextMatch) {
    self.init(point: match.point, distanceMetres: match.distanceMetres)
    score = match.score
    self.match = match.name
  }
}

/// A page of the places that match a query.
public struct PointPage: Hashable, Sendable {
  /// The maximum number of bytes of the names and tags of a page's places together. A page whose places have more ends
  /// early, with at least one place, so that a page of long places is bounded too.
  public static let maximumTextBytes = 4 * 1024 * 1024

  /// The places, in the query's order, at most as many as its limit.
  public let points: [FoundPoint]

  /// A Boolean value that indicates whether at least one more place matches.
  public let hasMore: Bool

  public init(points: [FoundPoint], hasMore: Bool) {
    self.points = points
    self.hasMore = hasMore
  }

  /// The position from which the next page continues; `nil` when there is none.
  public var next: PointQuery.Position? {
    guard hasMore, let last = points.last else { return nil }
    return .init(distanceMetres: last.alongMetres ?? last.distanceMetres ?? 0, id: last.point.id)
  }
}

/// The number of places of a category.
public struct CategoryCount: Hashable, Sendable {
  /// The category.
  @ComparedByBytes public private(set) var category: String

  /// The number of places that have it.
  public let count: Int

  public init(category: String, count: Int) {
    self.category = category
    self.count = count
  }
}

extension PointPage {
  /// Returns the number of the first places that fit into a page by the length of their texts, at least one where there
  /// is one.
  ///
  /// - Parameters:
  ///   - count: the number of places for the page.
  ///   - textBytes: returns the number of bytes of the name and the tags of a place, by its index in the order.
  @inlinable
  public static func fittingCount(of count: Int, textBytes: (Int) -> Int) -> Int {
    var total = 0
    for index in 0..<count {
      total += textBytes(index)
      if total > maximumTextBytes { return max(index, 1) }
    }
    return count
  }
}
