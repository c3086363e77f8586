public import Basics
public import CQL2
public import Geo
package import SearchWords

/// A query for places: conditions, order and page.
///
/// The order is by geodesic distance from ``proximity``'s centre where there is one, or along the ``route`` where there
/// is one, then by id; that of the ``ids`` where there are some; otherwise by id alone. A query has a proximity, a route
/// or ids, not several of these. Every condition that is given must hold.
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

  /// A route that places are near, and along which they are ordered.
  public struct Route: Hashable, Sendable {
    /// The line.
    public let line: GeodesicRoute

    /// The maximum distance from the line, in metres on the WGS 84 geodesic, inclusive.
    public let radiusMetres: Double

    /// Creates a condition.
    ///
    /// - Parameter radiusMetres: 0 to `GeodesicRoute.maximumRadiusMetres`.
    public init(_ line: GeodesicRoute, radiusMetres: Double) {
      self.line = line
      self.radiusMetres = radiusMetres
    }
  }

  /// A state of the opening hours, in eight bytes, since every query has room for it.
  public struct Opening: Hashable, Sendable {
    /// A whole minute, since hours change at no other times.
    public enum Time: Hashable, Sendable {
      /// An instant, in minutes since 1970-01-01T00:00:00Z.
      case instant(minutes: Int32)
      /// The time of each place's clock, in minutes since 1970-01-01T00:00:00 of its calendar.
      case local(minutes: Int32)
    }

    /// The accepted years of a time.
    public static let years = 2000...2100

    /// The time at which places are open.
    public var time: Time

    /// A Boolean value that indicates whether the present was asked for, at the first page.
    public let isNow: Bool

    /// A Boolean value that indicates whether the page is a later one, so that the time is that of the first page.
    public var isOfFirstPage = false

    /// A Boolean value that indicates whether places match of which it is unknown.
    public let includesUnknown: Bool

    public init(at time: Time, isNow: Bool = false, includesUnknown: Bool = false) {
      self.time = time
      self.isNow = isNow
      self.includesUnknown = includesUnknown
    }
  }

  /// The maximum number of ``ids`` in lists.
  package static let maximumIDs = 100

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

  /// The categories of which a place has none. Places without a category have none of them.
  public var excludedCategories: Set<ExactText> = []

  /// The categories by which a client asked for ``categories``, for reports; empty where they are the same.
  package private(set) var requestedCategories: Set<ExactText> = []

  /// The data set that the places come from; `nil` for any place, with or without one.
  public var source: Source?

  /// The ids that the places have, each once, in the order of the result; empty for any id.
  package var ids: [PointID] = []

  /// The condition on the properties of the places; `nil` for any place. Only an index evaluates it.
  public var filter: PropertyFilter?

  /// The maximum length of the edges of an area or a route in a request, in metres: five times around the earth. Edges
  /// are divided every 100 km, so that long ones take more memory and time than their text.
  package static let maximumShapeMetres = 200_000_000.0

  /// The maximum number of categories in a request.
  package static let maximumCategories = 1_000

  /// The maximum number of values of conditions on properties in a request.
  package static let maximumConditions = 25_000

  /// The area that the places are in; `nil` for any place. Only an index evaluates it.
  public var area: GeodesicArea?

  /// The route that the places are near, and the order along it. Only an index evaluates it.
  public var route: Route?

  /// The condition that places are open; `nil` for any place. Only an index evaluates it.
  public var opening: Opening?

  /// The restriction that the query is joined to; `nil` for none. Only an index evaluates it.
  package private(set) var restriction: PointRestriction?

  /// The longest time that the search may take if it ``needsIndex``.
  public var timeLimit: Duration

  /// The maximum number of places on the page, at least 1. Callers bound it.
  public var limit: Int

  /// The end of the page before; `nil` for the first page.
  public var after: Position?

  /// A Boolean value that indicates whether a search that would have to index the places of its source or the opening
  /// hours first, which is O(n), or that examines the hours or the excluded categories of many places, ends with
  /// ``PointStoreError/stepLimit`` instead.
  public var needsBuiltIndexes = false

  public init(
    proximity: Proximity? = nil,
    box: BoundingBox? = nil,
    categories: Set<ExactText> = [],
    source: Source? = nil,
    filter: PropertyFilter? = nil,
    area: GeodesicArea? = nil,
    route: Route? = nil,
    opening: Opening? = nil,
    timeLimit: Duration = .seconds(3600),
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
    self.opening = opening
    self.timeLimit = timeLimit
    self.limit = limit
    self.after = after
  }

  /// Creates a query for all places of a restriction.
  package init(restriction: PointRestriction) {
    self.init(filter: restriction.filter, timeLimit: restriction.timeLimit)
    self.restriction = restriction
  }

  /// A Boolean value that indicates whether there are places that do not match the query.
  public var hasConditions: Bool {
    proximity?.radiusMetres != nil || box != nil || !categories.isEmpty || !excludedCategories.isEmpty || source != nil
      || !ids.isEmpty || needsIndex
  }

  /// Sets the categories to some of a tree and those below them, without others and those below these. A name that is
  /// not in the tree stands for itself.
  package mutating func setCategories(
    _ names: Set<ExactText>, without excluded: Set<ExactText>, in tree: CategoryTree
  ) {
    if excluded.isEmpty, names.allSatisfy({ tree.number(of: $0) == nil }) {
      (categories, excludedCategories, requestedCategories) = (names, [], [])
      return
    }
    categories = Set(names.flatMap(tree.namesInData))
    excludedCategories = Set(excluded.flatMap(tree.namesInData))
    let rest = categories.subtracting(excludedCategories)
    // Where nothing is left, both conditions together say so: no categories stand for any.
    if !rest.isEmpty { (categories, excludedCategories) = (rest, []) }
    requestedCategories = categories == names ? [] : names
  }

  /// A Boolean value that indicates whether only an index evaluates the query.
  public var needsIndex: Bool { hasLongCondition || opening != nil }

  /// A Boolean value that indicates whether a condition takes long to evaluate.
  public var hasLongCondition: Bool { filter != nil || area != nil || route != nil || restriction != nil }

  /// Returns the query joined to a restriction. No value of another condition finds a place outside of it.
  ///
  /// - Throws: ``PointStoreError/unexpected(reason:)`` if the filters can't be joined.
  package func joined(to restriction: PointRestriction) throws(PointStoreError) -> PointQuery {
    guard self.restriction != restriction else { return self }
    var query = self
    query.filter = try restriction.joined(to: filter)
    query.restriction = restriction
    query.timeLimit = min(timeLimit, restriction.timeLimit)
    return query
  }
}

/// The places that a caller may know of.
package final class PointRestriction: Sendable {
  /// The condition on the properties of the places; `nil` for any place.
  package let filter: PropertyFilter?

  /// The area that the places are in; `nil` for any place.
  package let area: GeodesicArea?

  /// The longest time that a search may take.
  package let timeLimit: Duration

  private let queryables: Queryables

  /// Creates a restriction.
  ///
  /// - Parameter queryables: the types of the tags in all filters.
  package init(filter: PropertyFilter?, area: GeodesicArea?, timeLimit: Duration, queryables: Queryables) {
    self.filter = filter
    self.area = area
    self.timeLimit = timeLimit
    self.queryables = queryables
  }

  fileprivate func joined(to other: PropertyFilter?) throws(PointStoreError) -> PropertyFilter? {
    guard let filter, let other else { return filter ?? other }
    do throws(FilterError) {
      return try PropertyFilter(.operation(.and, [filter.expression, other.expression]), queryables: queryables)
    } catch {
      throw .unexpected(reason: "the filters can't be joined: \(error)")
    }
  }
}

extension PointRestriction: Hashable {
  package static func == (left: PointRestriction, right: PointRestriction) -> Bool {
    left === right || (left.filter == right.filter && left.area == right.area && left.timeLimit == right.timeLimit)
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(filter)
    hasher.combine(area)
  }
}

extension GeodesicArea {
  /// Creates the area of a geometry in degrees of longitude and latitude.
  ///
  /// - Throws: `FilterError` where it is not a polygon or several, or has an edge that is no geodesic.
  public convenience init(_ geometry: FilterGeometry) throws(FilterError) {
    let polygons: [[[FilterGeometry.Position]]]
    switch geometry {
    case .simple(.polygon(let rings)): polygons = [rings]
    case .simple(.multiPolygon(let several)): polygons = several
    default: throw .invalidGeometry("expected a polygon or a multipolygon")
    }
    var coordinates: [[[Coordinate]]] = []
    for rings in polygons {
      var polygon: [[Coordinate]] = []
      for ring in rings { polygon.append(try Coordinate.coordinates(of: ring)) }
      coordinates.append(polygon)
    }
    do {
      try self.init(polygons: coordinates, maximumMetres: PointQuery.maximumShapeMetres)
    } catch {
      throw .invalidGeometry(error.description)
    }
  }
}

extension GeodesicRoute {
  /// Creates the route of a geometry in degrees of longitude and latitude.
  ///
  /// - Throws: `FilterError` where it is not a line, or has an edge that is no geodesic.
  public convenience init(_ geometry: FilterGeometry) throws(FilterError) {
    guard case .simple(.lineString(let line)) = geometry else { throw .invalidGeometry("expected a line string") }
    let coordinates = try Coordinate.coordinates(of: line)
    do {
      try self.init(coordinates, maximumMetres: PointQuery.maximumShapeMetres)
    } catch {
      throw .invalidGeometry(error.description)
    }
  }

  /// Creates the route of a text: an encoded polyline of precision 5, or a line string in GeoJSON or WKT.
  ///
  /// - Throws: `FilterError` where it is none.
  public convenience init(text: String) throws(FilterError) {
    let limits = FilterLimits()
    guard text.utf8.count <= limits.bytes else {
      throw .invalidGeometry("expected at most \(limits.bytes) bytes, got \(text.utf8.count)")
    }
    guard EncodedPolyline.hasOnlyItsCharacters(text) else {
      try self.init(try FilterGeometry(text: text, limits: limits))
      return
    }
    let coordinates: [Coordinate]
    do {
      coordinates = try EncodedPolyline.coordinates(of: text, maximumCount: limits.vertices)
    } catch {
      throw .invalidGeometry(error.description)
    }
    do {
      try self.init(coordinates)
    } catch {
      throw .invalidGeometry(error.description)
    }
  }
}

extension Coordinate {
  fileprivate static func coordinates(of positions: [FilterGeometry.Position]) throws(FilterError) -> [Coordinate] {
    var coordinates: [Coordinate] = []
    coordinates.reserveCapacity(positions.count)
    for position in positions {
      guard let coordinate = try? Coordinate(latitude: position.y, longitude: position.x) else {
        throw .invalidGeometry(
          "expected a longitude from -180 to 180 and a latitude from -90 to 90, got \(position.x) \(position.y)")
      }
      coordinates.append(coordinate)
    }
    return coordinates
  }
}
