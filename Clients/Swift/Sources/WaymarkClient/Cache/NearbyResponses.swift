extension [PointOfInterest] {
  /// Returns the places as seen from another coordinate: with their distances from there, nearest first and then by
  /// id, as the service sorts them. Places beyond the radius are left out. The result is `nil` where a place has no
  /// coordinate, because the request did not ask for it.
  func sorted(around center: Coordinate, radiusMetres: Double?) -> [PointOfInterest]? {
    var places: [(place: PointOfInterest, distance: Double)] = []
    for place in self {
      guard let distance = place.coordinate?.distanceMetres(to: center) else { return nil }
      guard distance <= radiusMetres ?? .infinity else { continue }
      places.append((place.moved(to: distance), distance))
    }
    return places.sorted { ($0.distance, $0.place.sortKey) < ($1.distance, $1.place.sortKey) }.map(\.place)
  }
}

extension PointOfInterest {
  fileprivate var sortKey: String { id.uuidString }

  /// Returns the place with another distance, to the service's precision of 0.1 m, if it has a distance at all.
  fileprivate func moved(to distance: Double) -> PointOfInterest {
    guard distanceMetres != nil else { return self }
    var place = self
    place.distanceMetres = (distance * 10).rounded() / 10
    return place
  }
}

extension PointCheck {
  /// Returns the result of the check for another coordinate; `nil` where this one does not tell it.
  func moved(to center: Coordinate, radiusMetres: Double) -> PointCheck? {
    guard let place, let distance = place.coordinate?.distanceMetres(to: center), distance <= radiusMetres else {
      return nil
    }
    return PointCheck(isPointOfInterest: true, place: place.moved(to: distance))
  }
}
