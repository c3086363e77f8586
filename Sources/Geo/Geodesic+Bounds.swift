#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#endif

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
