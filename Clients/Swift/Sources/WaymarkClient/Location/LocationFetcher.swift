/// A source of the device's location: `CLLocationManager`, or a mock in tests.
///
/// ```swift
/// final class FixedLocation: LocationFetcher {
///   weak var locationFetcherDelegate: (any LocationFetcherDelegate)?
///   var desiredAccuracy = 0.0
///
///   func requestLocation() {
///     guard let coordinate = try? Coordinate(latitude: 37.3293, longitude: -121.8893) else { return }
///     locationFetcherDelegate?.locationFetcher(self, didUpdateLocations: [coordinate])
///   }
/// }
/// ```
@MainActor
public protocol LocationFetcher: AnyObject {
  /// The delegate, a weak reference.
  var locationFetcherDelegate: (any LocationFetcherDelegate)? { get set }

  /// The desired accuracy in metres.
  var desiredAccuracy: Double { get set }

  /// Requests one location. The delegate receives it, or an error.
  func requestLocation()
}

/// The delegate of a ``LocationFetcher``.
///
/// ```swift
/// final class LastLocation: LocationFetcherDelegate {
///   var coordinate: Coordinate?
///
///   func locationFetcher(_ fetcher: any LocationFetcher, didUpdateLocations locations: [Coordinate]) {
///     coordinate = locations.last
///   }
///   func locationFetcher(_ fetcher: any LocationFetcher, didFailWithError error: any Error) { coordinate = nil }
///   func locationFetcherDidChangeAuthorization(_ fetcher: any LocationFetcher) { fetcher.requestLocation() }
/// }
/// ```
@MainActor
public protocol LocationFetcherDelegate: AnyObject {
  /// Receives locations, the newest last.
  func locationFetcher(_ fetcher: any LocationFetcher, didUpdateLocations locations: [Coordinate])

  /// Receives an error.
  func locationFetcher(_ fetcher: any LocationFetcher, didFailWithError error: any Error)

  /// Receives a change of the app's authorization.
  func locationFetcherDidChangeAuthorization(_ fetcher: any LocationFetcher)
}

/// A type with the state of location services. That is a property of the type and not of an instance, so
/// the type itself is passed as a value.
///
/// ```swift
/// enum NoLocations: LocationServices {
///   static func locationServicesEnabled() -> Bool { false }
/// }
/// ```
public protocol LocationServices: SendableMetatype {
  /// Returns whether location services are enabled. It may block.
  static func locationServicesEnabled() -> Bool
}
