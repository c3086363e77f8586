import Geo
import Points

/// The columns that a place is read from, as every query lists them.
enum PointColumns: CustomStringConvertible {
  /// Those that a summary is made of: what answers carry unless they are asked for more.
  case summary
  /// Those of a whole place, those of a summary first.
  case all

  /// The list, as SQL.
  var description: String {
    switch self {
    case .summary: "id, lat, long, name, category, tags"
    case .all: "id, lat, long, name, category, tags, version, created_at, updated_at, source, source_id"
    }
  }

  /// The list, with the length of tags in their stead where they are long.
  func list(including ids: [PointID] = [], _ values: inout BoundValues) -> String {
    list(including: ids.isEmpty ? nil : values.bind(ids))
  }

  /// The list, with the length of tags in their stead where they are long.
  var boundedList: String { list(including: nil) }

  private func list(including ids: String?) -> String {
    description.replacing("tags", with: "\(LongTags.expression(including: ids)) AS tags")
  }

  /// The beginning of the names of statements that return ``list(including:_:)``.
  func prefix(including ids: [PointID] = []) -> String {
    let length = ids.isEmpty ? "bounded_" : "whole_"
    return switch self {
    case .summary: "brief_" + length
    case .all: length
    }
  }

  /// How many ``all`` are; what a query adds stands behind them.
  static let count: Int32 = 11

  /// ``all``, each behind the name of the table that it is of.
  static func all(of table: String) -> String {
    "\(table)." + all.description.replacing(", ", with: ", \(table).")
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
        storedName: try text(3),
        category: optionalText(4),
        coordinate: try coordinate(),
        tags: try tags(5),
        origin: origin
      ),
      version: try integer(6),
      createdAt: try timestamp(7),
      updatedAt: try timestamp(8)
    )
  }

  /// The lengths of columns 3 and 5: the name and the tags.
  var texts: PageStep.Texts {
    let tags = bytes(5)
    let length = tags.flatMap(LongTags.length)
    return PageStep.Texts(bytes: (bytes(3)?.count ?? 0) + (length ?? tags?.count ?? 0), lacksTags: length != nil)
  }

  /// Hands over a summary, from ``PointColumns/summary``.
  func withSummary(
    id: PointID,
    at coordinate: Coordinate,
    distanceMetres: Double?,
    _ body: (PointSummary) -> Void
  ) {
    // Neither the name nor the tags are ever null.
    let none = UnsafeBufferPointer<UInt8>(start: nil, count: 0)
    let (name, category) = (bytes(3) ?? none, bytes(4))
    Tags.withJSON(stored: bytes(5) ?? none) { tags in
      body(
        PointSummary(
          id: id,
          coordinate: coordinate,
          distanceMetres: distanceMetres,
          name: name,
          category: category,
          tags: tags
        )
      )
    }
  }
}
