import Geo
import Points

/// A bounding box in the form that is compared with bounds of tree nodes.
struct BoxFilter: BitwiseCopyable {
  private let south: Double
  private let north: Double
  // A box that wraps, or has an edge on the antimeridian, has two ranges; any other has the first twice.
  private let west: (Double, Double)
  private let east: (Double, Double)

  init(_ box: BoundingBox) {
    south = box.south
    north = box.north
    let ranges = box.longitudeRanges
    let (first, second) = (ranges[0], ranges[ranges.count - 1])
    west = (first.lowerBound, second.lowerBound)
    east = (first.upperBound, second.upperBound)
  }

  /// Returns a Boolean value that indicates whether the coordinate is in the box.
  @inline(__always)
  func contains(_ coordinate: Coordinate) -> Bool {
    let longitude = coordinate.longitude
    return coordinate.latitude >= south && coordinate.latitude <= north
      && ((longitude >= west.0 && longitude <= east.0) || (longitude >= west.1 && longitude <= east.1))
  }

  /// Returns a Boolean value that indicates whether a place within the bounds can be in the box.
  @inline(__always)
  func meets(_ bounds: GeographicBounds) -> Bool {
    Double(bounds.south) <= north && Double(bounds.north) >= south
      && ((Double(bounds.west) <= east.0 && Double(bounds.east) >= west.0)
        || (Double(bounds.west) <= east.1 && Double(bounds.east) >= west.1))
  }

  /// Returns a Boolean value that indicates whether every place within the bounds is in the box.
  @inline(__always)
  func covers(_ bounds: GeographicBounds) -> Bool {
    Double(bounds.south) >= south && Double(bounds.north) <= north
      && ((Double(bounds.west) >= west.0 && Double(bounds.east) <= east.0)
        || (Double(bounds.west) >= west.1 && Double(bounds.east) <= east.1))
  }
}

/// The box, the area and that of the restriction of a query, for places and for the bounds of tree nodes.
struct RegionFilter {
  private let box: BoxFilter?

  /// `nil` if the query has no area and no restriction to one. An object: the loops over places copy this filter.
  private let areas: AreaFilter?

  /// Creates the filter; `nil` if the query has none of them.
  ///
  /// - Parameter limit: the time limit of the search, after which no place matches; `nil` if it has none.
  init?(_ query: borrowing PointQuery, _ limit: SearchLimit? = nil) {
    let bound = query.restriction?.area
    let area = query.area ?? bound
    guard query.box != nil || area != nil else { return nil }
    box = query.box.map { BoxFilter($0) }
    areas = area.map { AreaFilter($0, query.area == nil ? nil : bound, limit) }
  }

  init(_ box: BoxFilter) {
    self.box = box
    areas = nil
  }

  /// Creates the filter of all places.
  init() { (box, areas) = (nil, nil) }

  /// Returns a Boolean value that indicates whether the place in a slot is in the region.
  @inline(__always)
  func contains(_ slot: Int, _ columns: SegmentColumns) -> Bool {
    if let box, !box.contains(columns.coordinates[slot]) { return false }
    guard let areas else { return true }
    return areas.contains(slot, columns)
  }

  /// Returns the relation of the places within the bounds to the region.
  @inline(__always)
  func relation(_ bounds: GeographicBounds) -> GeodesicArea.Relation {
    guard let box else { return areas?.relation(bounds) ?? .inside }
    guard box.meets(bounds) else { return .outside }
    let isCovered = box.covers(bounds)
    guard let areas else { return isCovered ? .inside : .mixed }
    let relation = areas.relation(bounds)
    return relation == .inside && !isCovered ? .mixed : relation
  }

  /// Returns a Boolean value that indicates whether a place within the bounds can be in the region.
  @inline(__always)
  func meets(_ bounds: GeographicBounds) -> Bool { relation(bounds) != .outside }
}

/// The area and that of the restriction of a query.
private final class AreaFilter: Sendable {
  private let area: GeodesicArea
  /// The area of the restriction if the query has another one too.
  private let otherArea: GeodesicArea?
  private let limit: SearchLimit?

  init(_ area: GeodesicArea, _ otherArea: GeodesicArea?, _ limit: SearchLimit?) {
    self.area = area
    self.otherArea = otherArea
    self.limit = limit
  }

  @inline(never)
  func contains(_ slot: Int, _ columns: SegmentColumns) -> Bool {
    let position = columns.positions[slot]
    let (isInside, steps) = area.contains(columns.coordinates[slot], at: position)
    guard isInside, limit?.spend(steps) != false else { return false }
    guard let otherArea else { return true }
    let (isInBoth, otherSteps) = otherArea.contains(columns.coordinates[slot], at: position)
    return isInBoth && limit?.spend(otherSteps) != false
  }

  @inline(never)
  func relation(_ bounds: GeographicBounds) -> GeodesicArea.Relation {
    guard limit?.spend(SearchLimit.stepsPerEvaluation) != false else { return .outside }
    let relation = relation(of: bounds, to: area)
    guard let otherArea, relation != .outside else { return relation }
    let other = self.relation(of: bounds, to: otherArea)
    return other == .inside ? relation : other
  }

  private func relation(of bounds: GeographicBounds, to area: GeodesicArea) -> GeodesicArea.Relation {
    area.relation(
      west: Double(bounds.west), south: Double(bounds.south), east: Double(bounds.east), north: Double(bounds.north))
  }
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

  /// Returns the nearest part of the route to the place in a slot; `nil` if it is not within the radius, or the time
  /// is over.
  func nearest(to slot: Int, _ columns: SegmentColumns) -> GeodesicRoute.Nearest? {
    guard limit?.spend(Self.steps) != false else { return nil }
    let position = columns.positions[slot]
    return line.nearest(to: columns.coordinates[slot], at: position, within: radius)
  }

  /// Returns a Boolean value that indicates whether a place within the bounds can be within the radius of the route.
  func meets(_ bounds: SpaceBounds) -> Bool { meets(bounds, pieces: 0..<line.pieceCount) }

  /// Returns a Boolean value that indicates whether a place within the bounds can be within the radius of some pieces
  /// of the route.
  func meets(_ bounds: SpaceBounds, pieces: Range<Int>) -> Bool {
    guard limit?.spend(Self.steps) != false else { return false }
    return line.isNear(least: bounds.least, greatest: bounds.greatest, within: radius, pieces: pieces)
  }
}

/// The proximity and the position of a query, with the bounds of chords that follow from them.
struct ProximityFilter: Sendable {
  let center: Coordinate
  let position: EarthCentred

  /// The maximum distance in metres.
  let radius: Double

  /// The end of the page before.
  let after: PointQuery.Position?

  /// Places with a greater chord are too far, and places with a lesser one were on a page before.
  let outerChordSquared: Double
  let innerChordSquared: Double

  // Places with a chord between these match for certain; others have to be measured.
  private let outerSureChordSquared: Double
  private let innerSureChordSquared: Double

  init(_ proximity: PointQuery.Proximity, after: PointQuery.Position?) {
    center = proximity.center
    position = EarthCentred(proximity.center)
    radius = proximity.radiusMetres ?? .infinity
    self.after = after
    outerChordSquared = Self.chordSquared(reaching: radius)
    let sureChord =
      radius < Geodesic.greatestDistanceMetres ? Geodesic.leastChordMetres(distanceMetres: radius) : .infinity
    outerSureChordSquared = sureChord * sureChord
    let innerChord = after.map { Geodesic.leastChordMetres(distanceMetres: $0.distanceMetres) } ?? 0
    innerChordSquared = innerChord * innerChord
    innerSureChordSquared = after.map { Self.chordSquared(reaching: $0.distanceMetres) } ?? -1
  }

  /// Returns an upper bound of the squared chords of places within a distance.
  static func chordSquared(reaching distance: Double) -> Double {
    // A chord is no longer than its arc; for short ones that bound is as good and needs no sine.
    let chord = distance < 100_000 ? distance + 0.001 : Geodesic.greatestChordMetres(distanceMetres: distance)
    return chord * chord
  }

  /// Returns a Boolean value that indicates whether every place within the bounds was on a page before.
  @inline(__always)
  func isBeforeStart(_ bounds: SpaceBounds) -> Bool {
    innerChordSquared > 0 && bounds.greatestChordSquared(to: position) < innerChordSquared
  }

  /// Returns a Boolean value that indicates whether every place with this chord matches, whatever its exact distance.
  @inline(__always)
  func surelyMatches(chordSquared: Double) -> Bool {
    chordSquared > innerSureChordSquared && chordSquared <= outerSureChordSquared
  }

  /// Returns a Boolean value that indicates whether the place in a slot is within the radius.
  func contains(_ slot: Int, _ columns: SegmentColumns) -> Bool {
    let end = columns.positions[slot]
    let chordSquared = position.chordSquared(to: end)
    if chordSquared > outerChordSquared { return false }
    if surelyMatches(chordSquared: chordSquared) { return true }
    return Geodesic.distanceMetres(from: center, at: position, to: columns.coordinates[slot], at: end) <= radius
  }

  /// Returns a Boolean value that indicates whether a place at this distance matches.
  @inline(__always)
  func matches(distance: Double, id: PointID) -> Bool {
    guard distance <= radius else { return false }
    guard let after else { return true }
    return distance != after.distanceMetres ? distance > after.distanceMetres : after.id < id
  }
}
