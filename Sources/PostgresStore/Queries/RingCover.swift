import Geo

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Boxes that together hold every place whose chord from a centre is within bounds: a ring on the earth's surface.
///
/// An index over boxes can't be asked for a ring, but it can be asked for the boxes of the ring's sectors, which cover
/// little else when they are many.
struct RingCover {
  private let center: SIMD3<Double>
  /// East, north and up at the centre, metres each.
  private let east: SIMD3<Double>
  private let north: SIMD3<Double>
  private let up: SIMD3<Double>
  /// How far from the vertical axis the ring is, metres.
  private let offsets: ClosedRange<Double>
  /// How high above the centre's horizontal plane the ring is, metres; below zero.
  private let heights: ClosedRange<Double>

  /// The least and the greatest radius of curvature of the ellipsoid, metres. By Blaschke's rolling theorem the
  /// ellipsoid holds a ball of the one that touches it at the centre, and is held by a ball of the other.
  private static let leastRadius = WGS84.polarRadius * WGS84.polarRadius / WGS84.equatorialRadius
  private static let greatestRadius = WGS84.equatorialRadius * WGS84.equatorialRadius / WGS84.polarRadius

  /// Creates the cover of a ring.
  ///
  /// - Parameter chords: the lengths of the ring's chords from the centre, metres.
  init(around coordinate: Coordinate, chords: ClosedRange<Double>) {
    let position = EarthCentred(coordinate)
    let (latitude, longitude) = (coordinate.latitude * .pi / 180, coordinate.longitude * .pi / 180)
    center = SIMD3(position.x, position.y, position.z)
    east = SIMD3(-sin(longitude), cos(longitude), 0)
    north = SIMD3(-sin(latitude) * cos(longitude), -sin(latitude) * sin(longitude), cos(latitude))
    up = SIMD3(cos(latitude) * cos(longitude), cos(latitude) * sin(longitude), sin(latitude))
    let inner = max(0, chords.lowerBound - SpatialBox.slackMetres)
    let outer = chords.upperBound + SpatialBox.slackMetres
    // Where a chord c meets a ball of radius R that touches the horizontal plane, it is c² / 2R deep.
    heights = -outer * outer / (2 * Self.leastRadius)...(-inner * inner / (2 * Self.greatestRadius))
    func offset(_ chord: Double, _ radius: Double) -> Double {
      let depth = chord * chord / (2 * radius)
      return max(0, chord * chord - depth * depth).squareRoot()
    }
    // The offset grows with the chord up to a quarter of the way around, where it is the radius, and then shrinks.
    let widest = inner < 2.0.squareRoot() * Self.greatestRadius && outer > 2.0.squareRoot() * Self.greatestRadius
    let least = min(offset(inner, Self.leastRadius), offset(outer, Self.leastRadius))
    let greatest =
      widest
      ? Self.greatestRadius : max(offset(inner, Self.greatestRadius), offset(outer, Self.greatestRadius))
    offsets = least...max(least, greatest)
  }

  /// The boxes of the ring's sectors, those left out that have nothing of the region.
  ///
  /// - Parameter count: how many there may be. There are no more than make them as long as they are wide, for where a
  ///   ring is all but a disc its sectors' boxes would lie on top of each other.
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

  /// The box about the part of the ring between two azimuths, in radians.
  private func box(ofSector azimuths: ClosedRange<Double>) -> SpatialBox {
    var box = SpatialBox(center: center, halfEdge: 0)
    for axis in 0..<3 {
      // Along an axis a position is offset × amplitude × cos(azimuth - phase) + height × up.
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
