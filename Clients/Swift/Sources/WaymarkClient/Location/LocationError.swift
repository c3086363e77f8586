/// Why there is no current location.
public enum LocationError: Error, Hashable, Sendable {
  /// The user has switched locations off.
  case servicesDisabled

  /// What was found is no position on Earth.
  case noLocation
}

extension LocationError: CustomStringConvertible {
  /// What a user is told.
  public var description: String {
    switch self {
    case .servicesDisabled: "location services are switched off"
    case .noLocation: "there is no location at the moment"
    }
  }
}
