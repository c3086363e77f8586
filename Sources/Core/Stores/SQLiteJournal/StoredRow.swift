import Foundation
import GRDB
import GRDBSQLite
import Geo
import Points

/// The current row of a statement. Its values may be of any type: the file may have been damaged.
///
/// GRDB steps through the rows. Their columns are read through SQLite's interface, because GRDB's strings hide damage:
/// they end at a NUL, and invalid UTF-8 is repaired. Comparing them with the bytes nearly doubles the time of loading.
struct StoredRow {
  private let statement: OpaquePointer

  /// Runs a query and calls the closure with each row.
  ///
  /// - Throws: `DatabaseError`, or the error of `body`.
  static func forEach(
    _ database: Database, _ sql: String, _ arguments: StatementArguments = [], _ body: (StoredRow) throws -> Void
  ) throws {
    let statement = try database.makeStatement(sql: sql)
    let row = StoredRow(statement: statement.sqliteStatement)
    try Row.fetchCursor(statement, arguments: arguments).forEach { _ in try body(row) }
  }

  func integer(_ column: Int32, _ name: String) throws(RowDamage) -> Int64 {
    guard sqlite3_column_type(statement, column) == SQLITE_INTEGER else { throw RowDamage("\(name) is not an integer") }
    return sqlite3_column_int64(statement, column)
  }

  /// Returns an integer; `nil` for null.
  func optionalInteger(_ column: Int32, _ name: String) throws(RowDamage) -> Int64? {
    sqlite3_column_type(statement, column) == SQLITE_NULL ? nil : try integer(column, name)
  }

  /// Returns a time from the year 0 to 9999, the range of RFC 3339.
  func time(_ column: Int32, _ name: String) throws(RowDamage) -> Timestamp {
    let microseconds = try integer(column, name)
    guard Timestamp.storedMicroseconds.contains(microseconds) else {
      throw RowDamage("\(name) is beyond the years 0 to 9999")
    }
    return Timestamp(microsecondsSinceEpoch: microseconds)
  }

  func version(_ column: Int32) throws(RowDamage) -> Int64 {
    let version = try integer(column, "version")
    guard version >= 1 else { throw RowDamage("version is \(version), less than 1") }
    return version
  }

  /// Returns the bytes of a text; `nil` for null.
  func bytes(_ column: Int32, _ name: String) throws(RowDamage) -> UnsafeBufferPointer<UInt8>? {
    switch sqlite3_column_type(statement, column) {
    case SQLITE_NULL: return nil
    case SQLITE_TEXT: break
    default: throw RowDamage("\(name) is not a text")
    }
    let start = sqlite3_column_blob(statement, column)?.assumingMemoryBound(to: UInt8.self)
    return UnsafeBufferPointer(start: start, count: start == nil ? 0 : Int(sqlite3_column_bytes(statement, column)))
  }

  /// Returns a text; `nil` for null.
  func optionalText(_ column: Int32, _ name: String) throws(RowDamage) -> String? {
    guard let bytes = try bytes(column, name) else { return nil }
    guard let text = String(validating: bytes, as: UTF8.self) else { throw RowDamage("\(name) is not valid UTF-8") }
    return text
  }

  func text(_ column: Int32, _ name: String) throws(RowDamage) -> String {
    guard let text = try optionalText(column, name) else { throw RowDamage("\(name) is missing") }
    return text
  }

  func id(_ column: Int32) throws(RowDamage) -> PointID {
    guard sqlite3_column_type(statement, column) == SQLITE_BLOB,
      sqlite3_column_bytes(statement, column) == PointID.byteCount,
      let bytes = sqlite3_column_blob(statement, column)
    else { throw RowDamage("id is not \(PointID.byteCount) bytes long") }
    return PointID(
      high: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
      low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    )
  }

  /// Returns a coordinate from two adjacent columns.
  func coordinate(_ column: Int32) throws(RowDamage) -> Coordinate {
    for (column, name) in [(column, "latitude"), (column + 1, "longitude")] {
      // A whole number may be stored as an integer.
      guard [SQLITE_FLOAT, SQLITE_INTEGER].contains(sqlite3_column_type(statement, column)) else {
        throw RowDamage("\(name) is not a number")
      }
    }
    let (latitude, longitude) = (
      sqlite3_column_double(statement, column), sqlite3_column_double(statement, column + 1)
    )
    do {
      return try Coordinate(latitude: latitude, longitude: longitude)
    } catch {
      throw RowDamage("\(latitude), \(longitude) are not a latitude and a longitude")
    }
  }

  /// Returns a place, from the columns ``Loading/placeColumns``.
  func point() throws(RowDamage) -> PointOfInterest {
    guard let json = try bytes(5, "tags"), let tags = Tags(verifying: json) else {
      throw RowDamage("tags are not the JSON object that was written")
    }
    let (name, category) = (try text(1, "name"), try optionalText(2, "category"))
    let (source, sourceID) = (try optionalText(6, "source"), try optionalText(7, "source_id"))
    let coordinate = try coordinate(3)
    let place: PointDraft
    do {
      place = try PointDraft(
        verifyingName: name,
        category: category,
        coordinate: coordinate,
        tags: tags,
        source: source,
        sourceID: sourceID
      )
    } catch {
      throw RowDamage(error.description)
    }
    let (createdAt, updatedAt) = (try time(9, "created_at"), try time(10, "updated_at"))
    guard createdAt <= updatedAt else { throw RowDamage("updated_at is before created_at") }
    return PointOfInterest(
      id: try id(0),
      draft: place,
      version: try version(8),
      createdAt: createdAt,
      updatedAt: updatedAt
    )
  }
}

extension StoredRow {
  private func tags(_ column: Int32, _ name: String) throws(RowDamage) -> Tags {
    guard let json = try bytes(column, name), let tags = Tags(verifying: json) else {
      throw RowDamage("\(name) are not the JSON object that was written")
    }
    return tags
  }

  private func outline(_ column: Int32) throws(RowDamage) -> AreaOutline {
    let bytes = UnsafeRawBufferPointer(
      start: sqlite3_column_blob(statement, column), count: Int(sqlite3_column_bytes(statement, column)))
    guard sqlite3_column_type(statement, column) == SQLITE_BLOB, let outline = AreaOutline(wkb: bytes) else {
      throw RowDamage("shape is not polygons in well-known binary")
    }
    return outline
  }

  /// Returns an area, from the columns of its table.
  func area() throws(RowDamage) -> Area {
    let kindName = try text(3, "kind")
    guard let kind = AreaKind(rawValue: kindName) else { throw RowDamage("kind is '\(kindName)'") }
    guard [SQLITE_FLOAT, SQLITE_INTEGER].contains(sqlite3_column_type(statement, 5)) else {
      throw RowDamage("importance is not a number")
    }
    let (name, names, tags) = (try text(1, "name"), try tags(2, "names"), try tags(7, "tags"))
    let (source, sourceID) = (try optionalText(8, "source"), try optionalText(9, "source_id"))
    let (level, outline) = (try optionalInteger(4, "level"), try outline(6))
    let draft: AreaDraft
    do {
      draft = try AreaDraft(
        name: name, names: names, kind: kind, level: level.map { Int($0) },
        importance: sqlite3_column_double(statement, 5), outline: outline, tags: tags, source: source,
        sourceID: sourceID)
    } catch {
      throw RowDamage(error.description)
    }
    return Area(
      id: try id(0), draft: draft, version: try version(10), createdAt: try time(11, "created_at"),
      updatedAt: try time(12, "updated_at"))
  }
}

/// The damage of a row.
struct RowDamage: Error {
  let reason: String

  init(_ reason: String) {
    self.reason = reason
  }
}

extension PointID {
  /// The number of bytes of an id.
  static let byteCount = 16

  /// The bytes of the id, in the order in which ids are compared.
  var bytes: Data {
    withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { Data($0) }
  }
}
