#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#endif

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
