/// The places whose regions an app monitors: the nearest ones, and the circle around the user within which they remain
/// the right ones. Core Location monitors at most 20 regions: 19 places and the circle.
///
/// ```swift
/// let monitored = MonitoredPlaces(of: copy.places(near: here, limit: 20), around: here)
/// print(monitored.places.map(\.name), monitored.radiusMetres)
/// ```
///
/// When the user leaves the circle, the app selects again. Until then, no other place is within reach of its region,
/// unless there are more than 19 places so near that the circle has its least radius.
public struct MonitoredPlaces: Hashable, Sendable {
  private static let maximumCount = 19

  /// The least and the greatest radius of the circle in metres: what Core Location can tell, and a day's walk.
  private static let radii = 200.0...50_000

  /// The places, nearest first, at most 19.
  public let places: [PointOfInterest]

  /// The radius of the circle in metres.
  public let radiusMetres: Double

  /// Selects places.
  ///
  /// - Parameters:
  ///   - candidates: the places, in any order, of which at least the 20 nearest are needed. Those without a coordinate
  ///     are left out.
  ///   - center: the coordinate of the user, which is the center of the circle.
  ///   - regionRadiusMetres: the radius of the regions of the places.
  public init(
    of candidates: [PointOfInterest], around center: Coordinate, regionRadiusMetres: Double = 100
  ) {
    let sorted =
      candidates
      .compactMap { place in place.coordinate.map { (place: place, distance: $0.distanceMetres(to: center)) } }
      .sorted { ($0.distance, $0.place.id.uuidString) < ($1.distance, $1.place.id.uuidString) }
    places = sorted.prefix(Self.maximumCount).map(\.place)
    // The user is at least so far from the region of any other place.
    let reach = sorted.dropFirst(Self.maximumCount).first.map { $0.distance - regionRadiusMetres }
    radiusMetres = min(max(reach ?? Self.radii.upperBound, Self.radii.lowerBound), Self.radii.upperBound)
  }
}
