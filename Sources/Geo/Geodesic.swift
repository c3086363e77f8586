#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#endif

/// Distances along the surface of the WGS 84 ellipsoid.
public enum Geodesic {
  /// The length of the shortest path between two coordinates, in metres.
  ///
  /// It is right to 0.1 mm for every pair, the same in both directions, and 0 for one spot, also by two names of its
  /// longitude.
  public static func distanceMetres(from start: Coordinate, to end: Coordinate) -> Double {
    distanceMetres(from: start, at: EarthCentred(start), to: end, at: EarthCentred(end))
  }

  /// The length of the shortest path between two coordinates whose earth-centred positions are known, in metres: the
  /// same number as without them, sooner.
  ///
  /// - Parameters:
  ///   - start: where the path starts.
  ///   - startPosition: `EarthCentred(start)`.
  ///   - end: where the path ends; it is asked for only where that is hundreds of kilometres away.
  ///   - endPosition: `EarthCentred(end)`.
  public static func distanceMetres(
    from start: Coordinate,
    at startPosition: EarthCentred,
    to end: @autoclosure () -> Coordinate,
    at endPosition: EarthCentred
  ) -> Double {
    let chordSquared = startPosition.chordSquared(to: endPosition)
    if chordSquared == 0 { return 0 }
    if chordSquared < longestShortChord * longestShortChord {
      return distanceOverShortChord(from: startPosition, to: endPosition, chordSquared: chordSquared)
    }
    return InverseGeodesic(from: start, to: end()).metres()
  }

  /// Up to this many metres a geodesic is taken for an arc of a circle; its length is then right to 0.07 mm, an error
  /// that grows with the fifth power of the chord.
  static let longestShortChord = 300_000.0

  /// The length of the arc that has the chord's length and the ellipsoid's normal curvature beneath the chord's middle.
  ///
  /// The curvature is that of the similar ellipsoid through the middle, scaled to the ellipsoid itself.
  private static func distanceOverShortChord(
    from start: EarthCentred,
    to end: EarthCentred,
    chordSquared: Double
  ) -> Double {
    let axesRatioSquared = 1 / (1 - WGS84.eccentricitySquared)
    let (dx, dy, dz) = (end.x - start.x, end.y - start.y, end.z - start.z)
    let (mx, my, mz) = (end.x + start.x, end.y + start.y, (end.z + start.z) * axesRatioSquared)
    let bend = dx * dx + dy * dy + axesRatioSquared * dz * dz
    let equatorial = mx * mx + my * my
    let level = equatorial + mz * mz / axesRatioSquared
    let gradient = equatorial + mz * mz
    // The square of half the angle that the chord subtends.
    let angle =
      bend * bend * level
      / (4 * WGS84.equatorialRadius * WGS84.equatorialRadius * chordSquared * gradient)
    // The arc's sine, inverted.
    return chordSquared.squareRoot() * (1 + angle * (1.0 / 6 + angle * (3.0 / 40 + angle * (5.0 / 112))))
  }
}

// MARK: Bounds

extension Geodesic {
  /// More than what rounding and the short-chord formula add to or take from a distance, metres.
  private static let slackMetres = 0.001

  /// The least and the greatest radius of curvature that the ellipsoid has anywhere in any direction, metres.
  private static let leastRadius =
    WGS84.polarRadius * WGS84.polarRadius / WGS84.equatorialRadius
  private static let greatestRadius =
    WGS84.equatorialRadius * WGS84.equatorialRadius / WGS84.polarRadius

  /// No two places are farther apart than this many metres; the poles are less than 0.1 mm nearer.
  public static let greatestDistanceMetres = 20_003_931.459

  /// A distance that two places with this chord between them are never nearer than, metres.
  ///
  /// The ellipsoid is the intersection of balls of its greatest radius of curvature (Blaschke's rolling theorem), and so
  /// holds the body that the arc of that radius sweeps about the chord; no way around that body is shorter than the arc.
  public static func leastDistanceMetres(chordMetres chord: Double) -> Double {
    let ratio = chord / (2 * greatestRadius)
    return 2 * greatestRadius * asin(min(1, ratio)) - slackMetres
  }

  /// A distance that two places with this chord between them are never farther than, metres.
  ///
  /// Nowhere does a geodesic bend more than a circle of the least radius of curvature, so that its ends are no nearer to
  /// each other than those of an arc of that circle as long (Schur's comparison theorem), up to half of the circle. The
  /// longest geodesic is 101 km longer than that half, and the chord of so much is left to the poles' distance.
  public static func greatestDistanceMetres(chordMetres chord: Double) -> Double {
    if chord >= 2 * leastRadius - longestBeyondHalfCircle { return greatestDistanceMetres + slackMetres }
    return 2 * leastRadius * asin(chord / (2 * leastRadius)) + slackMetres
  }

  /// A chord that two places at this distance never exceed, metres: ``leastDistanceMetres(chordMetres:)``, inverted.
  public static func greatestChordMetres(distanceMetres distance: Double) -> Double {
    let angle = (distance + slackMetres) / (2 * greatestRadius)
    return angle < .pi / 2 ? 2 * greatestRadius * sin(angle) : 2 * greatestRadius
  }

  /// A chord that two places at this distance never fall short of, metres: ``greatestDistanceMetres(chordMetres:)``,
  /// inverted.
  public static func leastChordMetres(distanceMetres distance: Double) -> Double {
    let angle = (distance - slackMetres) / (2 * leastRadius)
    if angle <= 0 { return 0 }
    return min(
      angle < .pi / 2 ? 2 * leastRadius * sin(angle) : .infinity,
      2 * leastRadius - longestBeyondHalfCircle
    )
  }

  private static let longestBeyondHalfCircle = 101_000.0
}
