#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#endif

/// The shortest path between two places on the ellipsoid, found by its azimuth at the first: the method of C. F. F.
/// Karney, "Algorithms for geodesics", Journal of Geodesy 87 (2013), sections 3 to 5, for lengths alone.
///
/// The problem is brought into a form in which the first place is on the southern hemisphere or the equator, no place
/// is farther from the equator than it, and the second is to the east of it. The longitude that a geodesic has reached
/// where it climbs through the second place's latitude then grows with its azimuth at the first place, and one equation
/// in one unknown is left.
struct InverseGeodesic {
  /// The reduced latitude of the place that is farther from the equator, never positive.
  let first: Angle

  /// The reduced latitude of the other place.
  let second: Angle

  /// The longitude of the second place less that of the first, in degrees and radians; at most a half turn.
  let degreesEast: Double
  let radiansEast: Double
  let east: Angle

  init(from start: Coordinate, to end: Coordinate) {
    let (startLatitude, endLatitude) = (Self.flushed(start.latitude), Self.flushed(end.latitude))
    let farther = abs(startLatitude) >= abs(endLatitude)
    let firstLatitude = farther ? startLatitude : endLatitude
    let secondLatitude = farther ? endLatitude : startLatitude
    let first = Self.reducedLatitude(-abs(firstLatitude))
    var second = Self.reducedLatitude(firstLatitude > 0 ? -secondLatitude : secondLatitude)
    // Equal in the more telling of sine and cosine: made equal in both, which the search relies on.
    if first.cosine < -first.sine {
      if second.cosine == first.cosine { second.sine = second.sine < 0 ? first.sine : -first.sine }
    } else if abs(second.sine) == -first.sine {
      second.cosine = first.cosine
    }
    self.first = first
    self.second = second
    let degrees = Self.flushed(abs(Self.uniqueLongitude(start) - Self.uniqueLongitude(end)))
    degreesEast = degrees > 180 ? 360 - degrees : degrees
    radiansEast = degreesEast * (.pi / 180)
    east = Angle(degrees: degreesEast)
  }

  /// Returns the angle, or 0 where it is so small that products of its sine underflow and the search loses its
  /// direction.
  ///
  /// A distance changes by less than the place moves, here by less than 10⁻⁹⁴ m.
  private static func flushed(_ degrees: Double) -> Double {
    abs(degrees) < 1e-100 ? 0 : degrees
  }

  /// Returns the longitude with -180 replaced by 180, so that distances from both are equal bit for bit.
  static func uniqueLongitude(_ coordinate: Coordinate) -> Double {
    coordinate.longitude == -180 ? 180 : coordinate.longitude
  }

  private static func reducedLatitude(_ degrees: Double) -> Angle {
    let latitude = Angle(degrees: degrees)
    var reduced = Angle(towardsSine: (1 - WGS84.flattening) * latitude.sine, cosine: latitude.cosine)
    reduced.cosine = max(Angle.tiny, reduced.cosine)
    return reduced
  }

  /// Returns the length in metres.
  func metres() -> Double {
    metresAlongMeridian() ?? metresAlongEquator() ?? metresAlongSearchedPath()
  }

  // MARK: Geodesics that need no search

  /// Returns the length along a meridian, where that is the shortest path.
  private func metresAlongMeridian() -> Double? { meridianPath()?.metres }

  /// Returns the path along a meridian, where that is the shortest: always where the places share a meridian or the
  /// first is a pole, and where they are on opposite meridians unless they are nearly antipodal.
  func meridianPath() -> GeodesicPath? {
    guard degreesEast == 0 || degreesEast == 180 || first.cosine == Angle.tiny else { return nil }
    let path = GeodesicPath(
      start: Angle(towardsSine: first.sine, cosine: east.cosine * first.cosine),
      end: second,
      startLatitude: first,
      endLatitude: second,
      epsilon: WGS84.thirdFlattening
    )
    return path.arc < 1 || path.reducedLength >= 0 ? path : nil
  }

  /// Returns the length along the equator, where both places are on it and not nearly antipodal.
  private func metresAlongEquator() -> Double? { isAlongEquator ? WGS84.equatorialRadius * radiansEast : nil }

  /// A Boolean value that indicates whether the shortest path is the equator.
  var isAlongEquator: Bool { first.sine == 0 && degreesEast <= 180 * (1 - WGS84.flattening) }

  // MARK: The search

  /// Returns the length of the geodesic that is found by a search.
  private func metresAlongSearchedPath() -> Double { searchedCourse().path.metres }

  /// Returns the geodesic whose azimuth at the first place leads to the second, found by Newton's method within a
  /// bracket that is halved where a step leaves it.
  func searchedCourse() -> Course {
    // An error of so many radians moves the path's end by less than a micrometre.
    let leastError = 1e-13
    var low = Angle(sine: Angle.tiny, cosine: 1)
    var high = Angle(sine: Angle.tiny, cosine: -1)
    var azimuth = firstGuess()
    var course = course(azimuth: azimuth)
    // Bisection alone needs fewer steps.
    for _ in 0..<100 {
      let (error, slope) = longitudeError(of: course)
      if abs(error) < leastError { break }
      if error > 0 { high = azimuth } else { low = azimuth }
      let step = -error / slope
      var next = azimuth.turned(byRadians: step)
      let isWithinBracket = next.sineAhead(of: low) > 0 && high.sineAhead(of: next) > 0
      if !(slope > 0 && abs(step) < .pi && isWithinBracket) {
        next = Angle(towardsSine: (low.sine + high.sine) / 2, cosine: (low.cosine + high.cosine) / 2)
        if next.cosine == azimuth.cosine, next.sine == azimuth.sine { break }
      }
      azimuth = next
      course = self.course(azimuth: azimuth)
    }
    return course
  }

  /// Returns the longitude of a geodesic at the second place's latitude less that of the second place, in radians, and
  /// its derivative with respect to the azimuth at the first place.
  private func longitudeError(of course: Course) -> (error: Double, slope: Double) {
    let path = course.path
    let longitudeOnSphere = Angle(
      sine: max(course.endLongitude.sineAhead(of: course.startLongitude), 0),
      cosine: course.endLongitude.cosineBetween(course.startLongitude)
    )
    let ahead = atan2(longitudeOnSphere.sineAhead(of: east), longitudeOnSphere.cosineBetween(east))
    let lag =
      WGS84.flattening * GeodesicSeries.longitudeMean(path.epsilon) * course.equatorialAzimuth.sine
      * (path.arc + GeodesicSeries.longitudeWaves(path.epsilon).growth(from: path.start, to: path.end))
    let slope =
      course.endAzimuthCosine == 0
      ? -2 * (1 - WGS84.flattening) * path.stretch(at: first) / first.sine
      : path.reducedLength * (1 - WGS84.flattening) / (course.endAzimuthCosine * second.cosine)
    return (ahead - lag, slope)
  }

  /// A geodesic from the first place, seen on the auxiliary sphere.
  struct Course {
    let equatorialAzimuth: Angle
    let endAzimuthCosine: Double
    let startLongitude: Angle
    let endLongitude: Angle
    let path: GeodesicPath
  }

  private func course(azimuth: Angle) -> Course {
    var azimuth = azimuth
    // A geodesic along the equator would never leave it: it is given a tilt that no result shows.
    if first.sine == 0, azimuth.cosine == 0 { azimuth.cosine = -Angle.tiny }
    let across = azimuth.cosine * first.cosine
    let sineAtEquator = azimuth.sine * first.cosine
    let tilt = azimuth.sine * first.sine
    let equatorialAzimuth = Angle(
      sine: sineAtEquator,
      cosine: (azimuth.cosine * azimuth.cosine + tilt * tilt).squareRoot()
    )
    let endAzimuthCosine: Double
    if second.cosine == first.cosine, abs(second.sine) == -first.sine {
      endAzimuthCosine = abs(azimuth.cosine)
    } else {
      // The difference of two squares, in whichever of sines and cosines cancels less.
      let climb =
        first.cosine < -first.sine
        ? (second.cosine - first.cosine) * (first.cosine + second.cosine)
        : (first.sine - second.sine) * (first.sine + second.sine)
      endAzimuthCosine = max(0, across * across + climb).squareRoot() / second.cosine
    }
    let endAcross = endAzimuthCosine * second.cosine
    return Course(
      equatorialAzimuth: equatorialAzimuth,
      endAzimuthCosine: endAzimuthCosine,
      startLongitude: Angle(towardsSine: sineAtEquator * first.sine, cosine: across),
      endLongitude: Angle(towardsSine: sineAtEquator * second.sine, cosine: endAcross),
      path: GeodesicPath(
        start: Angle(towardsSine: first.sine, cosine: across),
        end: Angle(towardsSine: second.sine, cosine: endAcross),
        startLatitude: first,
        endLatitude: second,
        epsilon: GeodesicSeries.epsilon(cosineOfEquatorialAzimuth: equatorialAzimuth.cosine)
      )
    )
  }

  // MARK: The start of the search

  /// Returns the azimuth of the great circle on the auxiliary sphere, or for nearly antipodal places that of the
  /// nearest geodesic to the astroid in which the geodesics from the first place meet again.
  private func firstGuess() -> Angle {
    let sineOfSum = second.sine * first.cosine + second.cosine * first.sine
    let circle = greatCircleAzimuth(east: east, sineOfSum: sineOfSum)
    let cosineOfArc = first.sine * second.sine + first.cosine * second.cosine * east.cosine
    let sineOfArc = (circle.sine * circle.sine + circle.cosine * circle.cosine).squareRoot()
    let lens = 6 * WGS84.thirdFlattening * .pi * first.cosine * first.cosine
    let guess = cosineOfArc >= 0 || sineOfArc >= lens ? circle : antipodalGuess(sineOfSum: sineOfSum)
    guard guess.sine > 0 else { return Angle(sine: 1, cosine: 0) }
    return Angle(towardsSine: guess.sine, cosine: guess.cosine)
  }

  /// Returns the azimuth of a great circle as a vector whose length is the sine of the arc.
  private func greatCircleAzimuth(east: Angle, sineOfSum: Double) -> Angle {
    // Of two forms the one in which the cosine of the longitude does not cancel.
    let turn = east.sine * east.sine / (1 + abs(east.cosine))
    let cosine =
      east.cosine >= 0
      ? second.sine * first.cosine - second.cosine * first.sine + second.cosine * first.sine * turn
      : sineOfSum - second.cosine * first.sine * turn
    return Angle(sine: second.cosine * east.sine, cosine: cosine)
  }

  private func antipodalGuess(sineOfSum: Double) -> Angle {
    let epsilon = GeodesicSeries.epsilon(cosineOfEquatorialAzimuth: -first.sine)
    let longitudeUnit = WGS84.flattening * first.cosine * GeodesicSeries.longitudeMean(epsilon) * .pi
    let x = (radiansEast - .pi) / longitudeUnit
    let y = sineOfSum / (longitudeUnit * first.cosine)
    if y > -1e-14, x > -1 - 1e-5 {
      let sine = min(1, -x)
      return Angle(sine: sine, cosine: -(1 - sine * sine).squareRoot())
    }
    let k = Self.astroid(x: x, y: y)
    let beyond = longitudeUnit * x * k / (1 + k)
    return greatCircleAzimuth(east: Angle(sine: -sin(beyond), cosine: -cos(beyond)), sineOfSum: sineOfSum)
  }

  /// Returns the positive k with (x / (1 + k))² + (y / k)² = 1, by Newton's method.
  ///
  /// The left side falls and is convex, so that from any start below the root the steps only rise towards it.
  private static func astroid(x: Double, y: Double) -> Double {
    var k = max(abs(y), abs(x) - 1)
    guard k > 0 else { return 0 }
    for _ in 0..<50 {
      let (u, v) = (x / (1 + k), y / k)
      let step = (u * u + v * v - 1) / (2 * (u * u / (1 + k) + v * v / k))
      k += step
      if abs(step) <= 1e-7 * k { break }
    }
    return k
  }
}
