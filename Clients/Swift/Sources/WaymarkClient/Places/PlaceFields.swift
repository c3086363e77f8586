/// Which fields of a place an answer is to carry.
public enum PlaceFields: Hashable, Sendable {
  /// Id, name, category, position, distance and tags.
  case standard

  /// Everything: with these also origin, version and times.
  case all

  /// These, and the name, which a ``PointOfInterest`` always has.
  case only(Set<PlaceField>)

  /// The parameter that asks for them; `nil` for what the service answers by itself.
  var parameter: QueryParameter? {
    switch self {
    case .standard: nil
    case .all: QueryParameter("fields", "*")
    case .only(let fields):
      QueryParameter("fields", PlaceField.allCases.filter { fields.union([.name]).contains($0) }.map(\.rawValue))
    }
  }
}

/// A field of a place, by the name that it has in requests.
public enum PlaceField: String, CaseIterable, Hashable, Sendable {
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
