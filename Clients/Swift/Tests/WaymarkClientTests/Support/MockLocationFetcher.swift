import WaymarkClient

/// Finds the device where a closure says, or, without one, nowhere yet.
final class MockLocationFetcher: LocationFetcher {
  weak var locationFetcherDelegate: (any LocationFetcherDelegate)?
  var desiredAccuracy = 0.0
  var handleRequestLocation: (() throws -> Coordinate)?

  /// How often it was asked.
  private(set) var requestCount = 0

  func requestLocation() {
    requestCount += 1
    guard let handleRequestLocation else { return }
    do {
      locationFetcherDelegate?.locationFetcher(self, didUpdateLocations: [try handleRequestLocation()])
    } catch {
      locationFetcherDelegate?.locationFetcher(self, didFailWithError: error)
    }
  }
}

/// A device that has locations.
enum LocationsOn: LocationServices {
  static func locationServicesEnabled() -> Bool { true }
}

/// A device whose user has switched them off.
enum LocationsOff: LocationServices {
  static func locationServicesEnabled() -> Bool { false }
}
