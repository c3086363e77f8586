/// Why a place is not opened.
public enum PlaceOpenerError: Error, Hashable, Sendable {
  /// The scheme is not a letter followed by letters, digits, `+`, `-` and `.`.
  case invalidScheme(String)

  /// Nothing on the device opens the place.
  case nothingOpens
}

extension PlaceOpenerError: CustomStringConvertible {
  /// What a user is told.
  public var description: String {
    switch self {
    case .invalidScheme(let scheme): "'\(scheme)' is no URL scheme"
    case .nothingOpens: "nothing on this device opens the place"
    }
  }
}
