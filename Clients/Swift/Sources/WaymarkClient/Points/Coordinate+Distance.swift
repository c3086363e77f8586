import Foundation

extension Coordinate {
  /// Returns the length of the shortest path to another coordinate along the WGS 84 ellipsoid in metres.
  ///
  /// It is accurate to a millimetre, except for nearly antipodal coordinates, where the error may reach 0.6 %: T.
  /// Vincenty, "Direct and inverse solutions of geodesics on the ellipsoid with application of nested equations",
  /// Survey Review 23 (1975).
  ///
  /// ```swift
  /// let station = try Coordinate(latitude: 37.3299, longitude: -121.9025)
  /// let metres = here.distanceMetres(to: station)
  /// ```
  public func distanceMetres(to other: Coordinate) -> Double {
    let (equatorialRadius, flattening) = (6_378_137.0, 1 / 298.257223563)
    let polarRadius = equatorialRadius * (1 - flattening)
    let start = Reduced(latitude: latitude, flattening: flattening)
    let end = Reduced(latitude: other.latitude, flattening: flattening)
    let east = (other.longitude - longitude).remainder(dividingBy: 360) * .pi / 180
    var lambda = east
    for _ in 0..<100 {
      let arc = Arc(from: start, to: end, longitudeDifference: lambda)
      guard arc.sine != 0 else { return arc.cosine > 0 ? 0 : .pi * polarRadius }
      let c = flattening / 16 * arc.cosSquaredAlpha * (4 + flattening * (4 - 3 * arc.cosSquaredAlpha))
      let previous = lambda
      lambda =
        east + (1 - c) * flattening * arc.sineAlpha
        * (arc.angle + c * arc.sine * (arc.middle + c * arc.cosine * (2 * arc.middle * arc.middle - 1)))
      guard abs(lambda) <= .pi else { break }
      if abs(lambda - previous) < 1e-12 {
        return arc.length(equatorialRadius: equatorialRadius, polarRadius: polarRadius)
      }
    }
    // The series does not converge for nearly antipodal coordinates: the arc of a sphere with the mean radius.
    return Arc(from: Reduced(latitude: latitude), to: Reduced(latitude: other.latitude), longitudeDifference: east)
      .angle * (2 * equatorialRadius + polarRadius) / 3
  }

  /// A reduced latitude, as sine and cosine.
  private struct Reduced {
    let sine: Double
    let cosine: Double

    init(latitude: Double, flattening: Double = 0) {
      let tangent = (1 - flattening) * tan(latitude * .pi / 180)
      cosine = 1 / (1 + tangent * tangent).squareRoot()
      sine = tangent * cosine
    }
  }

  /// The arc between two points of the auxiliary sphere.
  private struct Arc {
    let sine: Double
    let cosine: Double
    let angle: Double

    /// The sine of the azimuth at the equator, and the square of its cosine.
    let sineAlpha: Double
    let cosSquaredAlpha: Double

    /// The cosine of twice the angle from the equator to the middle of the arc.
    let middle: Double

    init(from start: Reduced, to end: Reduced, longitudeDifference lambda: Double) {
      let across = end.cosine * sin(lambda)
      let along = start.cosine * end.sine - start.sine * end.cosine * cos(lambda)
      sine = (across * across + along * along).squareRoot()
      cosine = start.sine * end.sine + start.cosine * end.cosine * cos(lambda)
      angle = atan2(sine, cosine)
      sineAlpha = sine == 0 ? 0 : start.cosine * end.cosine * sin(lambda) / sine
      cosSquaredAlpha = 1 - sineAlpha * sineAlpha
      // Along the equator there is no such middle, and its factor is zero.
      middle = cosSquaredAlpha < 1e-15 ? 0 : cosine - 2 * start.sine * end.sine / cosSquaredAlpha
    }

    func length(equatorialRadius: Double, polarRadius: Double) -> Double {
      let u = cosSquaredAlpha * (equatorialRadius * equatorialRadius / (polarRadius * polarRadius) - 1)
      let a = 1 + u / 16384 * (4096 + u * (-768 + u * (320 - 175 * u)))
      let b = u / 1024 * (256 + u * (-128 + u * (74 - 47 * u)))
      let square = 2 * middle * middle - 1
      let correction =
        b * sine
        * (middle + b / 4
          * (cosine * square - b / 6 * middle * (4 * sine * sine - 3) * (4 * middle * middle - 3)))
      return polarRadius * a * (angle - correction)
    }
  }
}
