import Points

/// A row of an import that is to be done: all of it.
struct StagedPlace: StagedEntry {
  /// The id that the row asks for.
  let id: PointID?

  /// What it says.
  let place: Place

  init(_ row: ImportRow, against base: Snapshot) {
    id = row.id
    place = row.place
  }

  init(_ point: PointOfInterest, hasID: Bool) {
    id = hasID ? point.id : nil
    place = point.place
  }

  static func isKnown(_ place: Place, from former: Place) -> Bool { place.isIdentical(to: former) }

  var idHash: Int? { id?.hashValue }

  var originHash: Int? { place.origin?.exactHash }

  func hasSameID(as other: StagedPlace) -> Bool { id == other.id }

  func hasSameOrigin(as other: StagedPlace) -> Bool { place.origin.isIdentical(to: other.place.origin) }
}
