/// A segment of a geodesic, given by its ends on the auxiliary sphere.
struct GeodesicPath {
  /// The ends, as arcs from the equator.
  let start: Angle
  let end: Angle

  /// The reduced latitudes of its ends.
  let startLatitude: Angle
  let endLatitude: Angle

  /// The expansion parameter of the geodesic.
  let epsilon: Double

  /// The length on the auxiliary sphere, radians.
  let arc: Double

  init(start: Angle, end: Angle, startLatitude: Angle, endLatitude: Angle, epsilon: Double) {
    self.start = start
    self.end = end
    self.startLatitude = startLatitude
    self.endLatitude = endLatitude
    self.epsilon = epsilon
    arc = end.radiansAhead(of: start)
  }

  /// The length on the ellipsoid, metres.
  var metres: Double {
    WGS84.polarRadius * GeodesicSeries.lengthMean(epsilon)
      * (arc + GeodesicSeries.lengthWaves(epsilon).growth(from: start, to: end))
  }

  /// The reduced length in semi-minor axes: how far apart at the end, per radian, geodesics are that leave the start
  /// together. It is negative past the point where they meet again.
  var reducedLength: Double {
    let (mean, otherMean) = (GeodesicSeries.lengthMean(epsilon), GeodesicSeries.reducedLengthMean(epsilon))
    let waves = GeodesicSeries.lengthWaves(epsilon)
      .scaled(by: mean, less: GeodesicSeries.reducedLengthWaves(epsilon), scaledBy: otherMean)
    let integral = (mean - otherMean) * arc + waves.growth(from: start, to: end)
    return stretch(at: endLatitude) * start.cosine * end.sine - stretch(at: startLatitude) * start.sine * end.cosine
      - start.cosine * end.cosine * integral
  }

  /// Returns the factor √(1 + e′² sin²β) at a reduced latitude.
  func stretch(at latitude: Angle) -> Double {
    (1 + WGS84.secondEccentricitySquared * latitude.sine * latitude.sine).squareRoot()
  }
}
