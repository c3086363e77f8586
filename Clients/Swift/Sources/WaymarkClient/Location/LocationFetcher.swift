/// What finds out where the device is: `CLLocationManager`, or what a test puts in its place.
@MainActor
public protocol LocationFetcher: AnyObject {
  /// Who is told; not kept alive by it.
  var locationFetcherDelegate: (any LocationFetcherDelegate)? { get set }

  /// How close to the truth a location should be, in metres.
  var desiredAccuracy: Double { get set }

  /// Asks for one location. The delegate is told of it, or why there is none.
  func requestLocation()
}

/// Who is told what a ``LocationFetcher`` found out.
@MainActor
public protocol LocationFetcherDelegate: AnyObject {
  /// Locations have come, the newest last.
  func locationFetcher(_ fetcher: any LocationFetcher, didUpdateLocations locations: [Coordinate])

  /// No location comes.
  func locationFetcher(_ fetcher: any LocationFetcher, didFailWithError error: any Error)

  /// The user has said whether the app may know.
  func locationFetcherDidChangeAuthorization(_ fetcher: any LocationFetcher)
}

/// What tells whether the device has locations at all. It is a matter of the type, not of an instance, so that the type is
/// what is passed in.
public protocol LocationServices: SendableMetatype {
  /// Whether the user has switched locations on. It may take its time.
  static func locationServicesEnabled() -> Bool
}
