import Geo

/// A position in units of 10⁻⁷ degrees, the resolution of OpenStreetMap.
struct FixedPosition: Hashable, Sendable, BitwiseCopyable {
  /// The value of a node whose position is not known. It is in no range.
  static let unknown = FixedPosition(latitude: .max, longitude: .max)

  let latitude: Int32
  let longitude: Int32

  var isKnown: Bool { latitude != .max }

  var degrees: OSMPosition {
    OSMPosition(
      latitude: Double(latitude) / PlanePoint.unitsPerDegree,
      longitude: Double(longitude) / PlanePoint.unitsPerDegree)
  }
}
