import Geo
import Points

/// The box and the area of a query, for places and for the bounds of tree nodes.
struct RegionFilter {
  private let box: BoxFilter?
  private let area: GeodesicArea?
  private let limit: SearchLimit?

  /// Creates the filter; `nil` where the query has neither.
  ///
  /// - Parameter limit: the time limit of the search, after which no place matches; `nil` where it has none.
  init?(_ query: PointQuery, _ limit: SearchLimit? = nil) {
    guard query.box != nil || query.area != nil else { return nil }
    box = query.box.map { BoxFilter($0) }
    area = query.area?.shape
    self.limit = limit
  }

  /// Creates the filter of a box.
  init(_ box: BoxFilter) {
    self.box = box
    area = nil
    limit = nil
  }

  /// Returns a Boolean value that indicates whether the place in a slot is in the region.
  @inline(__always)
  func contains(_ slot: Int, _ columns: SegmentColumns) -> Bool {
    if let box, !box.contains(columns.coordinates[slot]) { return false }
    return area == nil || isInArea(slot, columns)
  }

  @inline(never)
  private func isInArea(_ slot: Int, _ columns: SegmentColumns) -> Bool {
    guard let area else { return true }
    let position = EarthCentred(x: columns.x[slot], y: columns.y[slot], z: columns.z[slot])
    let (isInside, steps) = area.contains(columns.coordinates[slot], at: position)
    return isInside && limit?.spend(steps) != false
  }

  /// Returns the relation of the places within the bounds to the region.
  @inline(__always)
  func relation(_ bounds: GeographicBounds) -> GeodesicArea.Relation {
    guard let box else { return areaRelation(bounds) }
    guard box.meets(bounds) else { return .outside }
    let isCovered = box.covers(bounds)
    if area == nil { return isCovered ? .inside : .mixed }
    let relation = areaRelation(bounds)
    return relation == .inside && !isCovered ? .mixed : relation
  }

  @inline(never)
  private func areaRelation(_ bounds: GeographicBounds) -> GeodesicArea.Relation {
    guard let area else { return .inside }
    guard limit?.spend(SearchLimit.stepsPerEvaluation) != false else { return .outside }
    return area.relation(west: bounds.west, south: bounds.south, east: bounds.east, north: bounds.north)
  }

  /// Returns a Boolean value that indicates whether a place within the bounds can be in the region.
  @inline(__always)
  func meets(_ bounds: GeographicBounds) -> Bool { relation(bounds) != .outside }
}

/// The route of a query.
struct RouteFilter {
  let line: GeodesicRoute
  let radius: Double
  let limit: SearchLimit?

  init(_ route: PointQuery.Route, _ limit: SearchLimit? = nil) {
    line = route.line
    radius = route.radiusMetres
    self.limit = limit
  }

  /// The number of steps of a measurement.
  private static let steps = 32

  /// Returns the nearest part of the route to the place in a slot; `nil` where it is not within the radius, or the time
  /// is over.
  func nearest(to slot: Int, _ columns: SegmentColumns) -> GeodesicRoute.Nearest? {
    guard limit?.spend(Self.steps) != false else { return nil }
    let position = EarthCentred(x: columns.x[slot], y: columns.y[slot], z: columns.z[slot])
    return line.nearest(to: columns.coordinates[slot], at: position, within: radius)
  }

  /// Returns a Boolean value that indicates whether a place within the bounds can be within the radius of the route.
  func meets(_ bounds: SpaceBounds) -> Bool { meets(bounds, pieces: 0..<line.pieceCount) }

  /// Returns a Boolean value that indicates whether a place within the bounds can be within the radius of some pieces
  /// of the route.
  func meets(_ bounds: SpaceBounds, pieces: Range<Int>) -> Bool {
    guard limit?.spend(Self.steps) != false else { return false }
    return line.isNear(
      least: EarthCentred(x: bounds.minX, y: bounds.minY, z: bounds.minZ),
      greatest: EarthCentred(x: bounds.maxX, y: bounds.maxY, z: bounds.maxZ), within: radius, pieces: pieces)
  }
}
