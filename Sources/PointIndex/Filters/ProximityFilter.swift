import Geo
import Points

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
    let end = EarthCentred(x: columns.x[slot], y: columns.y[slot], z: columns.z[slot])
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
