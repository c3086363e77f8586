import Foundation
package import Geo

/// The times of the sun at a position, by the algorithm of NOAA's solar calculator (after J. Meeus, "Astronomical
/// Algorithms").
package enum SunTimes {
  /// The elevation of the sun's centre in degrees: at sunrise its upper edge is on the horizon, with the refraction of the
  /// air; dawn and dusk are those of civil twilight.
  private static func elevation(_ event: SunEvent) -> Double {
    event == .sunrise || event == .sunset ? -0.833 : -6
  }

  /// An event of a day.
  package enum Result: Hashable, Sendable {
    /// The instant, in seconds since 1970-01-01T00:00:00Z.
    case at(Int64)
    /// The sun stays above or below the elevation of the event.
    case above, below
  }

  /// Returns the event of the solar day whose noon is nearest to a noon by the clock.
  ///
  /// - Parameter noon: The instant of noon by the clock of the place.
  package static func result(_ event: SunEvent, noon: Int64, at position: Coordinate) -> Result {
    let isMorning = event == .dawn || event == .sunrise
    let height = elevation(event) * .pi / 180
    let latitude = position.latitude * .pi / 180
    // Noon by the sun at this longitude that is nearest to noon by the clock.
    var solarNoon = Double(noon)
    let (_, equation) = sun(at: solarNoon)
    let secondOfDay = 43_200 - position.longitude * 240 - equation * 60
    let distance = (secondOfDay - solarNoon).remainder(dividingBy: 86_400)
    solarNoon += distance
    var instant = solarNoon
    for _ in 0..<3 {
      let (declination, equation) = sun(at: instant)
      let cosine = (sin(height) - sin(latitude) * sin(declination)) / (cos(latitude) * cos(declination))
      guard cosine.isFinite, abs(cosine) <= 1 else { return cosine < 0 ? .above : .below }
      let hours = acos(cosine) * 180 / .pi * 240
      let (_, noonEquation) = sun(at: solarNoon)
      instant = solarNoon + (noonEquation - equation) * 60 + (isMorning ? -hours : hours)
    }
    return .at(Int64(instant.rounded()))
  }

  /// Returns the sun's declination in radians and the equation of time in minutes.
  private static func sun(at instant: Double) -> (declination: Double, equation: Double) {
    let radians = Double.pi / 180
    let century = (instant / 86_400 + 2_440_587.5 - 2_451_545) / 36_525
    let meanLongitude = (280.46646 + century * (36_000.76983 + century * 0.0003032)).truncatingRemainder(
      dividingBy: 360)
    let anomaly = (357.52911 + century * (35_999.05029 - 0.0001537 * century)) * radians
    let eccentricity = 0.016708634 - century * (0.000042037 + 0.0000001267 * century)
    let centre =
      sin(anomaly) * (1.914602 - century * (0.004817 + 0.000014 * century))
      + sin(2 * anomaly) * (0.019993 - 0.000101 * century) + sin(3 * anomaly) * 0.000289
    let node = (125.04 - 1_934.136 * century) * radians
    let longitude = (meanLongitude + centre - 0.00569 - 0.00478 * sin(node)) * radians
    let seconds = 21.448 - century * (46.815 + century * (0.00059 - century * 0.001813))
    let obliquity = (23 + (26 + seconds / 60) / 60 + 0.00256 * cos(node)) * radians
    let declination = asin(sin(obliquity) * sin(longitude))
    let y = tan(obliquity / 2) * tan(obliquity / 2)
    let mean = meanLongitude * radians
    let equation =
      y * sin(2 * mean) - 2 * eccentricity * sin(anomaly) + 4 * eccentricity * y * sin(anomaly) * cos(2 * mean)
      - 0.5 * y * y * sin(4 * mean) - 1.25 * eccentricity * eccentricity * sin(2 * anomaly)
    return (declination, equation * 4 / radians)
  }
}
