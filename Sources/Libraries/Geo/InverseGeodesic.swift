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
      let error = longitudeError(of: course)
      if abs(error) < leastError { break }
      if error > 0 { high = azimuth } else { low = azimuth }
      let slope = slope(of: course)
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

  /// Returns the longitude of a geodesic at the second place's latitude less that of the second place, in radians.
  private func longitudeError(of course: Course) -> Double {
    let path = course.path
    let longitudeOnSphere = Angle(
      sine: max(course.endLongitude.sineAhead(of: course.startLongitude), 0),
      cosine: course.endLongitude.cosineBetween(course.startLongitude)
    )
    let ahead = atan2(longitudeOnSphere.sineAhead(of: east), longitudeOnSphere.cosineBetween(east))
    let lag =
      WGS84.flattening * GeodesicSeries.longitudeMean(path.epsilon) * course.equatorialAzimuth.sine
      * (path.arc + GeodesicSeries.longitudeWaves(path.epsilon).growth(from: path.start, to: path.end))
    return ahead - lag
  }

  /// Returns the derivative of ``longitudeError(of:)`` with respect to the azimuth at the first place.
  private func slope(of course: Course) -> Double {
    course.endAzimuthCosine == 0
      ? -2 * (1 - WGS84.flattening) * course.path.stretch(at: first) / first.sine
      : course.path.reducedLength * (1 - WGS84.flattening) / (course.endAzimuthCosine * second.cosine)
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

/// The series in which a geodesic's length and longitude are computed, to the sixth order: C. F. F. Karney, "Algorithms
/// for geodesics", Journal of Geodesy 87 (2013), equations 17, 18, 24, 25, 42 and 43.
///
/// `epsilon` is the expansion parameter of equation 16, between 0 for the equator and the third flattening for a
/// meridian.
enum GeodesicSeries {
  /// Returns the expansion parameter of a geodesic that crosses the equator at the azimuth of this cosine.
  static func epsilon(cosineOfEquatorialAzimuth cosine: Double) -> Double {
    let kSquared = cosine * cosine * WGS84.secondEccentricitySquared
    return kSquared / (2 * (1 + (1 + kSquared).squareRoot()) + kSquared)
  }

  /// Returns A₁, the mean of the length per radian of arc, in semi-minor axes.
  static func lengthMean(_ epsilon: Double) -> Double {
    let square = epsilon * epsilon
    return (1 + square * (64 + square * (4 + square)) / 256) / (1 - epsilon)
  }

  /// Returns C₁, the deviation of the length from its mean.
  static func lengthWaves(_ epsilon: Double) -> SineSeries {
    let square = epsilon * epsilon
    return SineSeries(
      inPowersOf: epsilon,
      (-16 + square * (6 - square)) / 32,
      (-128 + square * (64 - 9 * square)) / 2048,
      (-16 + 9 * square) / 768,
      (-5 + 3 * square) / 512,
      -7.0 / 1280,
      -7.0 / 2048
    )
  }

  /// Returns A₂, the mean of the second integral of the reduced length.
  static func reducedLengthMean(_ epsilon: Double) -> Double {
    let square = epsilon * epsilon
    return (1 - square * (192 + square * (28 + 11 * square)) / 256) / (1 + epsilon)
  }

  /// Returns C₂, the deviation of the second integral of the reduced length from its mean.
  static func reducedLengthWaves(_ epsilon: Double) -> SineSeries {
    let square = epsilon * epsilon
    return SineSeries(
      inPowersOf: epsilon,
      (16 + square * (2 + square)) / 32,
      (384 + square * (64 + 35 * square)) / 2048,
      (80 + 15 * square) / 768,
      (35 + 7 * square) / 512,
      63.0 / 1280,
      77.0 / 2048
    )
  }

  /// Returns A₃, the mean by which the longitude on the ellipsoid lags behind that on the auxiliary sphere.
  static func longitudeMean(_ epsilon: Double) -> Double {
    let n = WGS84.thirdFlattening
    return 1
      + epsilon
      * ((n - 1) / 2
        + epsilon
        * ((n * (3 * n - 1) - 2) / 8
          + epsilon
          * (-(n * (n + 3) + 1) / 16
            + epsilon
            * (-(2 * n + 3) / 64
              + epsilon * (-3.0 / 128)))))
  }

  /// Returns C₃, the deviation of the longitude's lag from its mean.
  static func longitudeWaves(_ epsilon: Double) -> SineSeries {
    let n = WGS84.thirdFlattening
    let first =
      (1 - n) / 4
      + epsilon
      * ((1 - n * n) / 8
        + epsilon
        * ((n * (3 - n) + 3) / 64
          + epsilon
          * ((2 * n + 5) / 128
            + epsilon * (3.0 / 128))))
    let second =
      (n * (n - 3) + 2) / 32
      + epsilon
      * ((3 - n * (3 * n + 2)) / 64
        + epsilon
        * ((n + 3) / 128
          + epsilon * (5.0 / 256)))
    let third =
      (n * (5 * n - 9) + 5) / 192
      + epsilon
      * ((9 - 10 * n) / 384
        + epsilon * (7.0 / 512))
    let fourth = (7 - 14 * n) / 512 + epsilon * (7.0 / 512)
    let square = epsilon * epsilon
    return SineSeries(
      epsilon * first,
      square * second,
      square * epsilon * third,
      square * square * fourth,
      square * square * epsilon * (21.0 / 2560),
      0
    )
  }
}

/// The sum of c₁ sin 2σ + c₂ sin 4σ + … + c₆ sin 12σ.
struct SineSeries {
  var coefficients: (Double, Double, Double, Double, Double, Double)

  init(_ c1: Double, _ c2: Double, _ c3: Double, _ c4: Double, _ c5: Double, _ c6: Double) {
    coefficients = (c1, c2, c3, c4, c5, c6)
  }

  /// Creates the series whose coefficients are multiplied by the first to the sixth power of a number.
  init(inPowersOf x: Double, _ c1: Double, _ c2: Double, _ c3: Double, _ c4: Double, _ c5: Double, _ c6: Double) {
    let (x2, x3) = (x * x, x * x * x)
    let (x4, x5) = (x3 * x, x3 * x * x)
    coefficients = (c1 * x, c2 * x2, c3 * x3, c4 * x4, c5 * x5, c6 * (x5 * x))
  }

  /// Returns the difference of the sums at two σ.
  func growth(from start: Angle, to end: Angle) -> Double {
    sum(at: end) - sum(at: start)
  }

  /// Returns the sum, by Clenshaw's recurrence.
  private func sum(at angle: Angle) -> Double {
    let twice = 2 * (angle.cosine - angle.sine) * (angle.cosine + angle.sine)
    let b6 = coefficients.5
    let b5 = coefficients.4 + twice * b6
    let b4 = coefficients.3 + twice * b5 - b6
    let b3 = coefficients.2 + twice * b4 - b5
    let b2 = coefficients.1 + twice * b3 - b4
    let b1 = coefficients.0 + twice * b2 - b3
    return 2 * angle.sine * angle.cosine * b1
  }
}

extension SineSeries {
  /// Returns the series `scale` times this one less `otherScale` times the other.
  func scaled(by scale: Double, less other: SineSeries, scaledBy otherScale: Double) -> SineSeries {
    let (c, d) = (coefficients, other.coefficients)
    return SineSeries(
      scale * c.0 - otherScale * d.0,
      scale * c.1 - otherScale * d.1,
      scale * c.2 - otherScale * d.2,
      scale * c.3 - otherScale * d.3,
      scale * c.4 - otherScale * d.4,
      scale * c.5 - otherScale * d.5
    )
  }
}

/// An angle as a point on the unit circle.
struct Angle {
  var sine: Double
  var cosine: Double

  /// The least cosine of a latitude: a pole still has a meridian, and nothing divides by zero.
  static let tiny = 0x1p-511

  init(sine: Double, cosine: Double) {
    self.sine = sine
    self.cosine = cosine
  }

  /// Creates the direction of a vector that is not zero.
  init(towardsSine sine: Double, cosine: Double) {
    let length = (sine * sine + cosine * cosine).squareRoot()
    self.init(sine: sine / length, cosine: cosine / length)
  }

  /// Creates an angle from degrees, -180 to 180. It is exact at the multiples of 90, so that -180 and 180 are equal and
  /// a pole is on the axis.
  init(degrees: Double) {
    let quarters = (degrees / 90).rounded()
    // Within 45 degrees the subtraction does not round, and the functions need no reduction of their own.
    let radians = (degrees - 90 * quarters) * (.pi / 180)
    let (sine, cosine) = (sin(radians), cos(radians))
    switch quarters {
    case 0: self.init(sine: sine, cosine: cosine)
    case 1: self.init(sine: cosine, cosine: -sine)
    case -1: self.init(sine: -cosine, cosine: sine)
    default: self.init(sine: -sine, cosine: -cosine)
    }
  }

  /// Returns the angle turned by the given radians.
  func turned(byRadians radians: Double) -> Angle {
    let turn = Angle(sine: sin(radians), cosine: cos(radians))
    return Angle(
      towardsSine: sine * turn.cosine + cosine * turn.sine,
      cosine: cosine * turn.cosine - sine * turn.sine
    )
  }

  /// Returns the sine of this angle less another; never -0.
  func sineAhead(of other: Angle) -> Double {
    sine * other.cosine - cosine * other.sine + 0
  }

  /// Returns the cosine of the difference to another angle.
  func cosineBetween(_ other: Angle) -> Double {
    cosine * other.cosine + sine * other.sine
  }

  /// Returns this angle less another, in radians from 0 to π; 0 where rounding makes it negative.
  func radiansAhead(of other: Angle) -> Double {
    atan2(max(sineAhead(of: other), 0), cosineBetween(other))
  }
}
