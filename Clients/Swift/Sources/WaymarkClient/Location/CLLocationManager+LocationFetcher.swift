#if canImport(CoreLocation)
  public import CoreLocation

  extension CLLocationManager: LocationServices {}

  extension CLLocationManager: LocationFetcher {
    /// The manager's delegate, if it conforms to ``LocationFetcherDelegate``.
    public var locationFetcherDelegate: (any LocationFetcherDelegate)? {
      get { delegate as? any LocationFetcherDelegate }
      set { delegate = newValue as? any CLLocationManagerDelegate }
    }
  }

  extension CurrentLocationProvider {
    /// Creates a provider of the device's location that checks it with a client.
    ///
    /// ```swift
    /// let provider = CurrentLocationProvider(waymark: waymark)
    /// ```
    public convenience init(waymark: Waymark) {
      self.init(locationFetcher: CLLocationManager(), services: CLLocationManager.self, waymark: waymark)
    }
  }

  // Core Location calls its delegate on the thread on which the manager was created, which is the main thread.
  extension CurrentLocationProvider: CLLocationManagerDelegate {
    /// Passes the newest location to the waiting callers.
    public nonisolated func locationManager(_ manager: CLLocationManager, didUpdateLocations locations: [CLLocation]) {
      let coordinates = locations.compactMap { try? Coordinate($0.coordinate) }
      MainActor.assumeIsolated { locationFetcher(locationFetcher, didUpdateLocations: coordinates) }
    }

    /// Passes the error to the waiting callers.
    public nonisolated func locationManager(_ manager: CLLocationManager, didFailWithError error: any Error) {
      MainActor.assumeIsolated { locationFetcher(locationFetcher, didFailWithError: error) }
    }

    /// Posts ``CurrentLocationProvider/authChangedNotification``.
    public nonisolated func locationManagerDidChangeAuthorization(_ manager: CLLocationManager) {
      MainActor.assumeIsolated { locationFetcherDidChangeAuthorization(locationFetcher) }
    }
  }
#endif
