import Geo

/// Boxes that together hold every place whose chord from a centre is within bounds: the ring where a shell of space meets
/// the earth's surface.
///
/// An index over boxes can't be asked for a ring, but it can be asked for many small boxes. A cube about the earth is
/// halved in each direction again and again, and what can't hold a place of the ring is dropped, until there are as many
/// boxes as are wanted.
enum ShellCover {
  /// Covers a shell.
  ///
  /// - Parameters:
  ///   - center: what chords are measured from.
  ///   - chords: the shell's inner and outer radius, metres.
  ///   - region: a box outside of which nothing is wanted.
  ///   - maximumCount: how many boxes there may be.
  /// - Returns: boxes that overlap in their faces only; none where the region holds nothing of the ring.
  static func boxes(
    around center: EarthCentred,
    chords: ClosedRange<Double>,
    within region: SpatialBox,
    maximumCount: Int
  ) -> [SpatialBox] {
    let center = SIMD3(center.x, center.y, center.z)
    let inner = max(0, chords.lowerBound - SpatialBox.slackMetres)
    let outer = chords.upperBound + SpatialBox.slackMetres
    let squares = inner * inner...outer * outer
    var halfEdge = SpatialBox.earth.greatest.x
    var centers = [SIMD3<Double>.zero]
    while halfEdge > max(outer - inner, 1) / 2 {
      halfEdge /= 2
      var children: [SIMD3<Double>] = []
      for parent in centers {
        for octant in octants {
          let child = parent + octant * halfEdge
          let box = SpatialBox(center: child, halfEdge: halfEdge)
          if meetsShell(box, center, squares), meetsSurface(box), box.intersection(region) != nil {
            children.append(child)
          }
        }
      }
      if children.count > maximumCount {
        halfEdge *= 2
        break
      }
      centers = children
    }
    return centers.compactMap {
      SpatialBox(center: $0, halfEdge: halfEdge + SpatialBox.slackMetres).intersection(region)
    }
  }

  private static let octants: [SIMD3<Double>] = (0..<8).map { number in
    SIMD3(number & 1 == 0 ? -1 : 1, number & 2 == 0 ? -1 : 1, number & 4 == 0 ? -1 : 1)
  }

  /// Whether some position in the box may be in the shell.
  private static func meetsShell(
    _ box: SpatialBox,
    _ center: SIMD3<Double>,
    _ squares: ClosedRange<Double>
  ) -> Bool {
    let (below, above) = (box.least - center, center - box.greatest)
    let gap = pointwiseMax(pointwiseMax(below, above), .zero)
    guard (gap * gap).sum() <= squares.upperBound else { return false }
    let reach = pointwiseMax(below * below, above * above)
    return reach.sum() >= squares.lowerBound
  }

  /// Whether the box may hold a part of the ellipsoid's surface.
  private static func meetsSurface(_ box: SpatialBox) -> Bool {
    let scale = SIMD3(1 / WGS84.equatorialRadius, 1 / WGS84.equatorialRadius, 1 / WGS84.polarRadius)
    let (least, greatest) = (box.least * scale, box.greatest * scale)
    let nearest = pointwiseMax(pointwiseMax(least, -greatest), .zero)
    guard (nearest * nearest).sum() <= 1 + rounding else { return false }
    return pointwiseMax(least * least, greatest * greatest).sum() >= 1 - rounding
  }

  /// More than what rounding does to a position on the surface, relative to the earth's size.
  private static let rounding = 1e-8
}
