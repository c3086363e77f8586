/// The fields of places in a response.
///
/// ```swift
/// let query = waymark.query(filter, fields: .only([.id, .latitude, .longitude]))
/// ```
public enum PointFields: Hashable, Sendable {
  /// Id, name, category, coordinate, distance, tags, and along a route the distance along it.
  case standard

  /// The standard fields, and also origin, version and times.
  case all

  /// The given fields, and the name, which a ``PointOfInterest`` always has.
  case only(Set<PointField>)

  /// The query parameter that selects the fields; `nil` for the service's default.
  var parameter: QueryParameter? {
    switch self {
    case .standard: nil
    case .all: QueryParameter("fields", .text("*"))
    case .only(let fields):
      QueryParameter(
        "fields", .texts(PointField.allCases.filter { fields.union([.name]).contains($0) }.map(\.rawValue)))
    }
  }
}

/// A field of a place, with its name in requests.
///
/// ```swift
/// let fields = PointFields.only(Set(PointField.allCases).subtracting([.tags]))
/// ```
public enum PointField: String, CaseIterable, Hashable, Sendable {
  /// ``PointOfInterest/id``.
  case id
  /// ``PointOfInterest/name``.
  case name
  /// ``PointOfInterest/category``.
  case category
  /// The latitude of ``PointOfInterest/coordinate``, which needs both.
  case latitude = "lat"
  /// The longitude of ``PointOfInterest/coordinate``, which needs both.
  case longitude = "long"
  /// ``PointOfInterest/distanceMetres``.
  case distance
  /// ``PointOfInterest/alongMetres``.
  case alongMetres
  /// ``PointOfInterest/tags``.
  case tags
  /// ``PointOfInterest/source``.
  case source
  /// ``PointOfInterest/sourceID``.
  case sourceID = "sourceId"
  /// ``PointOfInterest/version``.
  case version
  /// ``PointOfInterest/createdAt``.
  case createdAt
  /// ``PointOfInterest/updatedAt``.
  case updatedAt
}
