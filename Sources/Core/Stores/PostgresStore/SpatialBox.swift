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

/// A set of boxes that contains every place whose chord from a centre is within bounds: a ring on the earth's surface.
///
/// A spatial index can't search a ring, but it can search the boxes of the ring's sectors, which cover little other
/// area if there are many.
struct RingCover {
  private let center: SIMD3<Double>
  /// The unit vectors east, north and up at the centre.
  private let east: SIMD3<Double>
  private let north: SIMD3<Double>
  private let up: SIMD3<Double>
  /// The range of the ring's distances from the vertical axis, in metres.
  private let offsets: ClosedRange<Double>
  /// The range of the ring's heights above the centre's horizontal plane, in metres; negative.
  private let heights: ClosedRange<Double>

  /// The least and the greatest radius of curvature of the ellipsoid, in metres. By Blaschke's rolling theorem the
  /// ellipsoid contains the ball of the former radius that touches it at the centre, and is contained in that of the
  /// latter.
  private static let leastRadius = WGS84.polarRadius * WGS84.polarRadius / WGS84.equatorialRadius
  private static let greatestRadius = WGS84.equatorialRadius * WGS84.equatorialRadius / WGS84.polarRadius

  /// Creates the cover of a ring.
  ///
  /// - Parameter chords: the range of the ring's chords from the centre, in metres.
  init(around coordinate: Coordinate, chords: ClosedRange<Double>) {
    let position = EarthCentred(coordinate)
    let (latitude, longitude) = (coordinate.latitude * .pi / 180, coordinate.longitude * .pi / 180)
    center = SIMD3(position.x, position.y, position.z)
    east = SIMD3(-sin(longitude), cos(longitude), 0)
    north = SIMD3(-sin(latitude) * cos(longitude), -sin(latitude) * sin(longitude), cos(latitude))
    up = SIMD3(cos(latitude) * cos(longitude), cos(latitude) * sin(longitude), sin(latitude))
    let inner = max(0, chords.lowerBound - SpatialBox.slackMetres)
    let outer = chords.upperBound + SpatialBox.slackMetres
    // Where a chord c meets a ball of radius R that touches the horizontal plane, its depth is c² / 2R.
    heights = -outer * outer / (2 * Self.leastRadius)...(-inner * inner / (2 * Self.greatestRadius))
    func offset(_ chord: Double, _ radius: Double) -> Double {
      let depth = chord * chord / (2 * radius)
      return max(0, chord * chord - depth * depth).squareRoot()
    }
    // The offset grows with the chord up to a quarter of the circumference, where it is the radius, and then shrinks.
    let widest = inner < 2.0.squareRoot() * Self.greatestRadius && outer > 2.0.squareRoot() * Self.greatestRadius
    let least = min(offset(inner, Self.leastRadius), offset(outer, Self.leastRadius))
    let greatest =
      widest
      ? Self.greatestRadius : max(offset(inner, Self.greatestRadius), offset(outer, Self.greatestRadius))
    offsets = least...max(least, greatest)
  }

  /// Returns the boxes of the ring's sectors that intersect the region.
  ///
  /// - Parameter count: the maximum number of boxes. Sectors are not made narrower than they are wide, because the
  ///   boxes of a ring that is nearly a disc would overlap.
  func boxes(atMost count: Int, within region: SpatialBox?) -> [SpatialBox] {
    let widths = offsets.upperBound - offsets.lowerBound + SpatialBox.slackMetres
    let sectors = max(1, min(count, Int(2 * .pi * offsets.lowerBound / widths)))
    let width = 2 * Double.pi / Double(sectors)
    return (0..<sectors).compactMap { sector in
      let box = box(ofSector: Double(sector) * width...Double(sector + 1) * width)
      guard let region else { return box }
      return box.intersection(region)
    }
  }

  /// Returns the bounding box of the part of the ring between two azimuths, in radians.
  private func box(ofSector azimuths: ClosedRange<Double>) -> SpatialBox {
    var box = SpatialBox(center: center, halfEdge: 0)
    for axis in 0..<3 {
      // Along an axis, a position is offset × amplitude × cos(azimuth - phase) + height × up.
      let amplitude = (east[axis] * east[axis] + north[axis] * north[axis]).squareRoot()
      let phase = atan2(east[axis], north[axis])
      let cosine = SpatialBox.range(ofCosineFrom: azimuths.lowerBound - phase, to: azimuths.upperBound - phase)
      let least = cosine.lowerBound * (cosine.lowerBound < 0 ? offsets.upperBound : offsets.lowerBound)
      let greatest = cosine.upperBound * (cosine.upperBound < 0 ? offsets.lowerBound : offsets.upperBound)
      let rise = (heights.lowerBound * up[axis], heights.upperBound * up[axis])
      box.least[axis] += amplitude * least + min(rise.0, rise.1) - SpatialBox.slackMetres
      box.greatest[axis] += amplitude * greatest + max(rise.0, rise.1) + SpatialBox.slackMetres
    }
    return box
  }
}
