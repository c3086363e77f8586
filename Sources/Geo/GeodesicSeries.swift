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
