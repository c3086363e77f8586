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

  /// The least cosine that a latitude is given, so that a pole still has a meridian and nothing divides by zero.
  static let tiny = 0x1p-511

  init(sine: Double, cosine: Double) {
    self.sine = sine
    self.cosine = cosine
  }

  /// The direction of a vector that is not zero.
  init(towardsSine sine: Double, cosine: Double) {
    let length = (sine * sine + cosine * cosine).squareRoot()
    self.init(sine: sine / length, cosine: cosine / length)
  }

  /// Of degrees from -180 to 180, exact at the multiples of 90, so that -180 and 180 are the same and a pole is on the
  /// axis.
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

  /// The angle that is so many radians ahead.
  func turned(byRadians radians: Double) -> Angle {
    let turn = Angle(sine: sin(radians), cosine: cos(radians))
    return Angle(
      towardsSine: sine * turn.cosine + cosine * turn.sine,
      cosine: cosine * turn.cosine - sine * turn.sine
    )
  }

  /// The sine of how far this angle is ahead of another; never -0.
  func sineAhead(of other: Angle) -> Double {
    sine * other.cosine - cosine * other.sine + 0
  }

  /// The cosine of how far this angle is from another.
  func cosineBetween(_ other: Angle) -> Double {
    cosine * other.cosine + sine * other.sine
  }

  /// How far this angle is ahead of another, as radians from 0 to π; 0 where rounding alone puts it behind.
  func radiansAhead(of other: Angle) -> Double {
    atan2(max(sineAhead(of: other), 0), cosineBetween(other))
  }
}
