/// The fields of places in a response.
package enum PointFields: Hashable, Sendable {
  /// Id, name, category, coordinate, distance, tags, and along a route the distance along it.
  case standard

  /// The standard fields, and also origin, version and times.
  case all

  /// The query parameter that selects the fields; `nil` for the service's default.
  var parameter: QueryParameter? {
    switch self {
    case .standard: nil
    case .all: QueryParameter("fields", .text("*"))
    }
  }
}
