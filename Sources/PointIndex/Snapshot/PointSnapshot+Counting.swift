import Basics
import JSONText
public import Points

extension PointSnapshot {
  /// Returns the number of matching places. The query's order, limit and position are ignored.
  ///
  /// O(e) for e places in tree leaves at the edge of the box, and the tombstones; a condition on the distance or on
  /// properties is evaluated on each place that the others leave.
  ///
  /// - Throws: ``Points/PointStoreError/filterTimeout`` where the count took longer than the time limit of a property
  ///   filter, an area or a route.
  public func count(matching query: PointQuery) throws(PointStoreError) -> Int {
    guard var query = query.narrowedByFilter else { return 0 }
    query.after = nil
    if let source = query.source, let sourceID = source.sourceID {
      return candidate(of: SourceReference(source: source.name.text, sourceID: sourceID.text), query).count
    }
    let limit = SearchLimit(query.timeLimit)
    let filter = query.filter.map { SlotFilter($0, in: self, limit) }
    let proximity = query.proximity.flatMap { $0.radiusMetres == nil ? nil : ProximityFilter($0, after: nil) }
    var count = MatchCount(
      region: RegionFilter(query, limit), route: query.route.map { RouteFilter($0, limit) }, proximity: proximity,
      filter: filter)
    forEachTree(for: query) { tree, _ in tree.walk(&count) }
    if limit.isExpired { throw .filterTimeout }
    return count.places
  }
}
