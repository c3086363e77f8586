import Geo
import Basics
import Points

/// The conditions of a query, without its order and position, for one place at a time.
struct PointFilter {
  private let region: RegionFilter?
  private let route: RouteFilter?
  private let proximity: ProximityFilter?
  private let categories: Set<ExactText>
  private let source: PointQuery.Source?
  private let filter: PropertyFilter?

  /// Creates the conditions.
  ///
  /// - Parameter limit: the time limit of the search; `nil` where it has none.
  init(_ query: PointQuery, _ limit: SearchLimit? = nil) {
    region = RegionFilter(query, limit)
    route = query.route.map { RouteFilter($0, limit) }
    proximity = query.proximity.flatMap { $0.radiusMetres == nil ? nil : ProximityFilter($0, after: nil) }
    categories = query.categories
    source = query.source
    filter = query.filter
  }

  /// Returns a Boolean value that indicates whether the place in a slot matches.
  func matches(_ slot: Int, of segment: Segment) -> Bool {
    let columns = segment.columns
    if let region, !region.contains(slot, columns) { return false }
    if !categories.isEmpty {
      let category = segment.records.category(at: slot)
      guard category != PointRecord.none,
        categories.contains(ExactText(segment.categories.names[Int(category)]))
      else { return false }
    }
    if let source, !segment.records.isPoint(at: slot, of: source) { return false }
    if let route, route.nearest(to: slot, columns) == nil { return false }
    if let proximity, !proximity.contains(slot, columns) { return false }
    return filter?.matches(slot, of: segment) ?? true
  }
}
