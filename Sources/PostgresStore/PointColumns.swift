import Geo
import Points
import PostgresClient

/// The columns that queries read for each place.
enum PointColumns {
  /// The column list as SQL.
  static let all = "id, lat, long, name, category, tags, version, created_at, updated_at, source, source_id"

  /// Returns the column list, with the length of long tags in place of the tags.
  ///
  /// - Parameter ids: the places whose long tags are included.
  static func list(including ids: [PointID], _ values: inout BoundValues) -> String {
    let placeholder = ids.isEmpty ? nil : values.bind(ids)
    return all.replacing("tags", with: "\(LongTags.expression(including: placeholder)) AS tags")
  }

  /// Returns the prefix of the names of statements that return ``list(including:_:)``.
  static func prefix(including ids: [PointID]) -> String { ids.isEmpty ? "bounded_" : "whole_" }

  /// The number of columns of ``all``; a query's additional columns come after them.
  static let count: Int32 = 11

  /// Returns the columns of ``all`` qualified by a table's name.
  static func all(of table: String) -> String {
    "\(table)." + all.replacing(", ", with: ", \(table).")
  }
}

extension QueryResult.Row {
  /// Returns the id from column 0.
  func pointID() throws(PointStoreError) -> PointID { try id(0) }

  /// Returns the coordinate from columns 1 and 2.
  func coordinate() throws(PointStoreError) -> Coordinate {
    let (latitude, longitude) = (try double(1), try double(2))
    guard let coordinate = try? Coordinate(latitude: latitude, longitude: longitude) else {
      throw .unexpected(reason: "a place has the invalid coordinate \(latitude), \(longitude)")
    }
    return coordinate
  }

  /// Returns a place from the columns of ``PointColumns/all``.
  func point() throws(PointStoreError) -> PointOfInterest {
    var origin: SourceReference?
    if let source = optionalText(9), let sourceID = optionalText(10) {
      origin = SourceReference(source: source, sourceID: sourceID)
    }
    return PointOfInterest(
      id: try pointID(),
      draft: PointDraft(
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

  /// The sizes of columns 3 and 5, the name and the tags.
  var texts: PageStep.Texts {
    let tags = bytes(5)
    let length = tags.flatMap(LongTags.length)
    return PageStep.Texts(bytes: (bytes(3)?.count ?? 0) + (length ?? tags?.count ?? 0), lacksTags: length != nil)
  }
}
