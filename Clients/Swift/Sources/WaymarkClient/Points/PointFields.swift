/// The fields of places in a response.
package enum PointFields: Hashable, Sendable {
  /// Id, name, category, coordinate, distance, tags, and along a route the distance along it.
  case standard

  /// The standard fields, and also origin, version and times.
  case all

  /// All fields, and the state of the opening hours.
  case allWithOpening

  /// The names of the fields of ``OpeningStatus``.
  static let opening = ["openState", "openUntil", "opensAt", "timeZone"]

  /// The query parameter that selects the fields; `nil` for the service's default.
  var parameter: QueryParameter? {
    switch self {
    case .standard: nil
    case .all: QueryParameter("fields", .text("*"))
    case .allWithOpening: QueryParameter("fields", .texts(["*"] + Self.opening))
    }
  }
}
