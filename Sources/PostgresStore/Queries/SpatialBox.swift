import Geo

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// An axis-aligned box in earth-centred space, in metres, which a three-dimensional index can search.
struct SpatialBox: Hashable, Sendable {
  var least: SIMD3<Double>
  var greatest: SIMD3<Double>

  /// A generous upper bound of the rounding differences between this program and PostgreSQL, in metres.
  static let slackMetres = 0.01

  init(center: SIMD3<Double>, halfEdge: Double) {
    least = center - halfEdge
    greatest = center + halfEdge
  }

  /// Creates the cube that contains every position within a chord of a centre.
  init(around center: EarthCentred, chordMetres: Double) {
    self.init(center: SIMD3(center.x, center.y, center.z), halfEdge: chordMetres + Self.slackMetres)
  }

  /// Creates the bounding box of the part of the ellipsoid's surface between two parallels and two meridians.
  init(_ box: BoundingBox) {
    let east = box.crossesAntimeridian ? box.east + 360 : box.east
    let meridians = (box.west * .pi / 180, east * .pi / 180)
    let cosine = Self.range(ofCosineFrom: meridians.0, to: meridians.1)
    // sin x = cos (x − π/2)
    let sine = Self.range(ofCosineFrom: meridians.0 - .pi / 2, to: meridians.1 - .pi / 2)
    // A parallel is wider the nearer it is to the equator.
    let nearest = box.south > 0 ? box.south : box.north < 0 ? box.north : 0
    let farthest = max(abs(box.south), abs(box.north))
    let widths = Self.width(ofParallel: farthest)...Self.width(ofParallel: nearest)
    let (x, y) = (Self.product(widths, cosine), Self.product(widths, sine))
    least = SIMD3(x.lowerBound, y.lowerBound, Self.height(ofParallel: box.south)) - Self.slackMetres
    greatest = SIMD3(x.upperBound, y.upperBound, Self.height(ofParallel: box.north)) + Self.slackMetres
  }

  /// Returns the intersection of two boxes; `nil` where they are disjoint.
  func intersection(_ other: SpatialBox) -> SpatialBox? {
    var box = self
    box.least = pointwiseMax(least, other.least)
    box.greatest = pointwiseMin(greatest, other.greatest)
    return any(box.least .> box.greatest) ? nil : box
  }

  private static func width(ofParallel latitude: Double) -> Double {
    let radians = latitude * .pi / 180
    let sine = sin(radians)
    return WGS84.equatorialRadius / (1 - WGS84.eccentricitySquared * sine * sine).squareRoot() * abs(cos(radians))
  }

  private static func height(ofParallel latitude: Double) -> Double {
    let sine = sin(latitude * .pi / 180)
    let normal = WGS84.equatorialRadius / (1 - WGS84.eccentricitySquared * sine * sine).squareRoot()
    return normal * (1 - WGS84.eccentricitySquared) * sine
  }

  /// Returns the range of the cosines of the angles between two, in radians.
  static func range(ofCosineFrom start: Double, to end: Double) -> ClosedRange<Double> {
    func crosses(_ angle: Double) -> Bool {
      let turns = ((start - angle) / (2 * .pi)).rounded(.up)
      return angle + turns * 2 * .pi <= end
    }
    let (first, last) = (cos(start), cos(end))
    return (crosses(.pi) ? -1 : min(first, last))...(crosses(0) ? 1 : max(first, last))
  }

  /// Returns the range of the products of two ranges, the first of which is non-negative.
  private static func product(_ widths: ClosedRange<Double>, _ other: ClosedRange<Double>) -> ClosedRange<Double> {
    let least = other.lowerBound * (other.lowerBound < 0 ? widths.upperBound : widths.lowerBound)
    let greatest = other.upperBound * (other.upperBound < 0 ? widths.lowerBound : widths.upperBound)
    return min(least, greatest)...max(least, greatest)
  }
}
