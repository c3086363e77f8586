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
