#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#endif

/// Distances along the surface of the WGS 84 ellipsoid.
public enum Geodesic {
  /// Returns the length of the shortest path between two coordinates, in metres.
  ///
  /// It is accurate to 0.1 mm for every pair, the same in both directions, and 0 for equal positions, also on the
  /// meridian of -180 and 180 degrees.
  public static func distanceMetres(from start: Coordinate, to end: Coordinate) -> Double {
    distanceMetres(from: start, at: EarthCentred(start), to: end, at: EarthCentred(end))
  }

  /// Returns the length of the shortest path between two coordinates whose earth-centred positions are known, in
  /// metres: the same number as without them, faster.
  ///
  /// - Parameters:
  ///   - start: the start of the path.
  ///   - startPosition: `EarthCentred(start)`.
  ///   - end: the end of the path; evaluated only where it is hundreds of kilometres away.
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

  /// The maximum chord in metres of a geodesic that is approximated by an arc of a circle. The error of its length,
  /// which grows with the fifth power of the chord, is at most 0.07 mm.
  static let longestShortChord = 300_000.0

  /// Returns the length of the arc over the chord with the ellipsoid's normal curvature beneath the middle of the
  /// chord.
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

extension Geodesic {
  /// An upper bound of the error of a distance by rounding and the short-chord formula, metres.
  private static let slackMetres = 0.001

  /// The least and the greatest radius of curvature of the ellipsoid, over all positions and directions, metres.
  private static let leastRadius =
    WGS84.polarRadius * WGS84.polarRadius / WGS84.equatorialRadius
  private static let greatestRadius =
    WGS84.equatorialRadius * WGS84.equatorialRadius / WGS84.polarRadius

  /// An upper bound of the distance of two places, metres; that of the poles is less than 0.1 mm below.
  public static let greatestDistanceMetres = 20_003_931.459

  /// Returns a lower bound of the distance of two places with this chord between them, metres.
  ///
  /// The ellipsoid is the intersection of balls of its greatest radius of curvature (Blaschke's rolling theorem), and
  /// so holds the body that the arc of that radius sweeps about the chord; no way around that body is shorter than the
  /// arc.
  public static func leastDistanceMetres(chordMetres chord: Double) -> Double {
    let ratio = chord / (2 * greatestRadius)
    return 2 * greatestRadius * asin(min(1, ratio)) - slackMetres
  }

  /// Returns an upper bound of the distance of two places with this chord between them, metres.
  ///
  /// Nowhere does a geodesic bend more than a circle of the least radius of curvature, so that its ends are no nearer
  /// to each other than those of an arc of that circle as long (Schur's comparison theorem), up to half of the circle.
  /// The longest geodesic is 101 km longer than that half, and the chord of so much is left to the poles' distance.
  public static func greatestDistanceMetres(chordMetres chord: Double) -> Double {
    if chord >= 2 * leastRadius - longestBeyondHalfCircle { return greatestDistanceMetres + slackMetres }
    return 2 * leastRadius * asin(chord / (2 * leastRadius)) + slackMetres
  }

  /// Returns an upper bound of the chord of two places at this distance, metres: ``leastDistanceMetres(chordMetres:)``,
  /// inverted.
  public static func greatestChordMetres(distanceMetres distance: Double) -> Double {
    let angle = (distance + slackMetres) / (2 * greatestRadius)
    return angle < .pi / 2 ? 2 * greatestRadius * sin(angle) : 2 * greatestRadius
  }

  /// Returns a lower bound of the chord of two places at this distance, metres:
  /// ``greatestDistanceMetres(chordMetres:)``, inverted.
  public static func leastChordMetres(distanceMetres distance: Double) -> Double {
    let angle = (distance - slackMetres) / (2 * leastRadius)
    if angle <= 0 { return 0 }
    return min(
      angle < .pi / 2 ? 2 * leastRadius * sin(angle) : .infinity,
      2 * leastRadius - longestBeyondHalfCircle
    )
  }

  private static let longestBeyondHalfCircle = 101_000.0

  /// Returns an estimate of the distance and a bound of its error, both in metres, at a small part of the cost of the
  /// exact distance.
  ///
  /// It is the great circle on the auxiliary sphere with the correction of the flattening's first order (W. D. Lambert,
  /// "The distance between two widely separated points on the surface of the earth", Journal of the Washington Academy
  /// of Sciences 32, 1942, after H. Andoyer). The error allows for twice what millions of random pairs have shown: some
  /// tens of metres at most distances, more towards the antipodes, and infinite at them.
  public static func estimateMetres(
    from start: EarthCentred,
    to end: EarthCentred
  ) -> (metres: Double, error: Double) {
    let (x, y) = ((end.x - start.x) / WGS84.equatorialRadius, (end.y - start.y) / WGS84.equatorialRadius)
    let (difference, sum) = ((end.z - start.z) / WGS84.polarRadius, (end.z + start.z) / WGS84.polarRadius)
    // The squares of the sine and cosine of half the arc.
    let sineSquared = (x * x + y * y + difference * difference) / 4
    let cosineSquared = 1 - sineSquared
    guard sineSquared > 0, cosineSquared > 0.002 else { return (greatestDistanceMetres, .infinity) }
    let sine = sineSquared.squareRoot()
    let arc = 2 * asin(sine)
    let sineOfArc = 2 * sine * cosineSquared.squareRoot()
    let flattened =
      (arc - sineOfArc) * sum * sum / cosineSquared + (arc + sineOfArc) * difference * difference / sineSquared
    return (
      WGS84.equatorialRadius * (arc - WGS84.flattening / 8 * flattened),
      20 / cosineSquared
    )
  }
}
