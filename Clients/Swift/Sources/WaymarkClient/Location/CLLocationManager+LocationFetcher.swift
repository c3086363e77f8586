#if canImport(CoreLocation)
  public import CoreLocation

  extension CLLocationManager: LocationServices {}

  extension CLLocationManager: LocationFetcher {
    /// The manager's delegate, where it is one of a fetcher too.
    public var locationFetcherDelegate: (any LocationFetcherDelegate)? {
      get { delegate as? any LocationFetcherDelegate }
      set { delegate = newValue as? any CLLocationManagerDelegate }
    }
  }

  extension Coordinate {
    /// The coordinate that Core Location's is.
    ///
    /// - Throws: ``RequestError/invalidCoordinate``, as for `kCLLocationCoordinate2DInvalid`.
    public init(_ coordinate: CLLocationCoordinate2D) throws(RequestError) {
      try self.init(checking: coordinate.latitude, coordinate.longitude)
    }
  }

  extension CurrentLocationProvider {
    /// Creates a provider of the device's own location.
    public convenience init(
      checker: any APILoading<Coordinate, PlaceCheck>, notificationCenter: NotificationCenter = .default
    ) {
      self.init(
        locationFetcher: CLLocationManager(), services: CLLocationManager.self, checker: checker,
        notificationCenter: notificationCenter)
    }
  }

  // Core Location calls its delegate on the thread that the manager was made on, which is the main one.
  extension CurrentLocationProvider: CLLocationManagerDelegate {
    /// Answers who waits with the newest location.
    public nonisolated func locationManager(_ manager: CLLocationManager, didUpdateLocations locations: [CLLocation]) {
      let coordinates = locations.compactMap { try? Coordinate($0.coordinate) }
      MainActor.assumeIsolated { locationFetcher(locationFetcher, didUpdateLocations: coordinates) }
    }

    /// Answers who waits with the error.
    public nonisolated func locationManager(_ manager: CLLocationManager, didFailWithError error: any Error) {
      MainActor.assumeIsolated { locationFetcher(locationFetcher, didFailWithError: error) }
    }

    /// Posts ``CurrentLocationProvider/authChangedNotification``.
    public nonisolated func locationManagerDidChangeAuthorization(_ manager: CLLocationManager) {
      MainActor.assumeIsolated { locationFetcherDidChangeAuthorization(locationFetcher) }
    }
  }
#endif
