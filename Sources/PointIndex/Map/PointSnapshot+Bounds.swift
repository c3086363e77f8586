public import Geo
public import Basics
import Points

extension PointSnapshot {
  /// The least box of all places that does not cross the antimeridian. O(log n) and the removed places at its edges.
  public var bounds: BoundingBox? { edges(of: PointQuery())?.plainBox }

  /// Returns a box of the places of some categories, or of all places where there are no categories; `nil` where there
  /// are no places. It crosses the antimeridian where that makes it at most half as wide. O(log n) for each category,
  /// and the removed places at its edges.
  public func extent(ofCategories categories: Set<ExactText>) -> BoundingBox? {
    var query = PointQuery()
    query.categories = categories
    return edges(of: query).flatMap { $0.crossingBox ?? $0.plainBox }
  }

  /// Returns the outermost places of a query that has no conditions but categories; `nil` if it has none.
  private func edges(of query: PointQuery) -> OutermostPlaces? {
    func least(_ value: PlaceValue) -> Double? {
      var search = LeastValueSearch(of: value)
      forEachTree(for: query) { tree, _ in tree.walk(&search) }
      return search.least.isFinite ? search.least : nil
    }
    guard let south = least(.north), let north = least(.south) else { return nil }
    var edges = OutermostPlaces(south: south, north: -north)
    if let west = least(.eastInWest), let east = least(.westInWest) { edges.western = west...(-east) }
    if let west = least(.eastInEast), let east = least(.westInEast) { edges.eastern = west...(-east) }
    return edges
  }
}

/// The outermost places in each direction, by hemisphere.
private struct OutermostPlaces {
  let south: Double
  let north: Double

  /// The longitudes of the places west of the prime meridian; `nil` where there are none.
  var western: ClosedRange<Double>?

  /// The longitudes of the other places; `nil` where there are none.
  var eastern: ClosedRange<Double>?

  /// The box that does not cross the antimeridian.
  var plainBox: BoundingBox? {
    guard let first = western ?? eastern, let last = eastern ?? western else { return nil }
    return box(west: first.lowerBound, east: last.upperBound)
  }

  /// The box that crosses the antimeridian; `nil` if it is more than half as wide as the other.
  var crossingBox: BoundingBox? {
    guard let western, let eastern else { return nil }
    let width = 360 - (eastern.lowerBound - western.upperBound)
    guard 2 * width <= eastern.upperBound - western.lowerBound else { return nil }
    return box(west: eastern.lowerBound, east: western.upperBound)
  }

  private func box(west: Double, east: Double) -> BoundingBox? {
    try? BoundingBox(west: west, south: south, east: east, north: north)
  }
}

/// A value of a place that is least at an edge of its neighbours. Values of the western hemisphere are those of
/// negative longitudes; other places have none.
private enum PlaceValue {
  /// The latitude, and its negative.
  case north, south

  /// The longitude of a place in a hemisphere, and its negative.
  case eastInWest, westInWest, eastInEast, westInEast

  /// Returns the value of a place; infinity where it has none.
  func of(_ coordinate: Coordinate) -> Double {
    let longitude = coordinate.longitude
    return switch self {
    case .north: coordinate.latitude
    case .south: -coordinate.latitude
    case .eastInWest: longitude < 0 ? longitude : .infinity
    case .westInWest: longitude < 0 ? -longitude : .infinity
    case .eastInEast: longitude < 0 ? .infinity : longitude
    case .westInEast: longitude < 0 ? .infinity : -longitude
    }
  }

  /// Returns a value that no place within bounds is below; infinity where no place in them has one.
  func lowerBound(in bounds: GeographicBounds) -> Double {
    switch self {
    case .north: bounds.south
    case .south: -bounds.north
    case .eastInWest: bounds.west < 0 ? bounds.west : .infinity
    case .westInWest: bounds.west < 0 ? -min(bounds.east, 0) : .infinity
    case .eastInEast: bounds.east < 0 ? .infinity : max(bounds.west, 0)
    case .westInEast: bounds.east < 0 ? .infinity : -bounds.east
    }
  }
}

/// A search for the least value of the places of trees.
private struct LeastValueSearch: TreeVisitor {
  private let value: PlaceValue

  /// The least value so far; infinity where no place has one.
  private(set) var least = Double.infinity

  init(of value: PlaceValue) {
    self.value = value
  }

  func key(ofNode node: Int, places: Range<Int>, in tree: SearchTree) -> Double? {
    let bound = value.lowerBound(in: tree.nodes.geographic[node])
    return bound < least ? bound : nil
  }

  func wants(_ key: Double) -> Bool { key < least }

  mutating func visit(places: Range<Int>, in tree: SearchTree) {
    for place in places {
      let slot = tree.slot(of: place)
      let found = value.of(tree.columns.coordinates[slot])
      if found < least, !tree.isDead(slot) { least = found }
    }
  }
}
