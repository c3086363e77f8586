import Geo
import Points

/// The columns that a place is read from, in the order in which every query names them.
enum PointColumns {
  static let all = "id, lat, long, version, created_at, updated_at, name, category, tags, source, source_id"

  /// How many they are; what a query adds stands behind them.
  static let count: Int32 = 11

  /// The same, each behind the name of the table that it is of.
  static func all(of table: String) -> String {
    "\(table)." + all.replacing(", ", with: ", \(table).")
  }
}

extension QueryResult.Row {
  /// Column 0.
  func pointID() throws(PointStoreError) -> PointID { try id(0) }

  /// Columns 1 and 2.
  func coordinate() throws(PointStoreError) -> Coordinate {
    let (latitude, longitude) = (try double(1), try double(2))
    guard let coordinate = try? Coordinate(latitude: latitude, longitude: longitude) else {
      throw .unexpected(reason: "a place is at \(latitude), \(longitude)")
    }
    return coordinate
  }

  /// A place, from ``PointColumns/all``.
  func point() throws(PointStoreError) -> PointOfInterest {
    var origin: Place.Origin?
    if let source = optionalText(9), let sourceID = optionalText(10) {
      origin = Place.Origin(source: source, sourceID: sourceID)
    }
    return PointOfInterest(
      id: try pointID(),
      place: Place(
        storedName: try text(6),
        category: optionalText(7),
        coordinate: try coordinate(),
        tags: try tags(8),
        origin: origin
      ),
      version: try integer(3),
      createdAt: try timestamp(4),
      updatedAt: try timestamp(5)
    )
  }
}
