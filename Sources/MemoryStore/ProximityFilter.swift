import Geo
import Points

/// What a query says of distances, and what that means for chords.
struct ProximityFilter: Sendable {
  let center: Coordinate
  let position: EarthCentred

  /// The greatest distance wanted.
  let radius: Double

  /// Where the page before ended.
  let after: PointQuery.Position?

  /// Places with a greater chord are too far, and places with a lesser one came on a page before.
  let outerChordSquared: Double
  let innerChordSquared: Double

  /// Places whose chords are between these are wanted for certain; others have to be measured.
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

  /// The square of a chord that nothing within a distance exceeds.
  static func chordSquared(reaching distance: Double) -> Double {
    // A chord is no longer than its arc; for short ones that bound is as good and needs no sine.
    let chord = distance < 100_000 ? distance + 0.001 : Geodesic.greatestChordMetres(distanceMetres: distance)
    return chord * chord
  }

  /// Whether every place within the bounds came on a page before.
  @inline(__always)
  func isBeforeStart(_ bounds: SpaceBounds) -> Bool {
    innerChordSquared > 0 && bounds.greatestChordSquared(to: position) < innerChordSquared
  }

  /// Whether a place with this chord is wanted whatever its distance is to the millimetre.
  @inline(__always)
  func surelyTakes(chordSquared: Double) -> Bool {
    chordSquared > innerSureChordSquared && chordSquared <= outerSureChordSquared
  }

  /// Whether a place at this distance is wanted.
  @inline(__always)
  func takes(distance: Double, id: PointID) -> Bool {
    guard distance <= radius else { return false }
    guard let after else { return true }
    return distance != after.distanceMetres ? distance > after.distanceMetres : after.id < id
  }
}
