import Foundation
import GRDB
import GRDBSQLite
import Geo
import Points

/// The row that a statement stands at, whose values may be of any type: the file may have been damaged.
struct StoredRow {
  private let statement: OpaquePointer

  /// Runs a query and hands over its rows.
  ///
  /// - Throws: `DatabaseError`, or what `body` throws.
  static func forEach(
    _ database: Database,
    _ sql: String,
    _ arguments: StatementArguments = [],
    _ body: (StoredRow) throws -> Void
  ) throws {
    let statement = try database.makeStatement(sql: sql)
    statement.setUncheckedArguments(arguments)
    let handle = statement.sqliteStatement
    defer { sqlite3_reset(handle) }
    while true {
      let code = sqlite3_step(handle)
      if code == SQLITE_DONE { return }
      guard code == SQLITE_ROW else {
        throw DatabaseError(
          resultCode: ResultCode(rawValue: code),
          message: database.sqliteConnection.map { String(cString: sqlite3_errmsg($0)) }
        )
      }
      try body(StoredRow(statement: handle))
    }
  }

  /// An integer.
  func integer(_ column: Int32, _ name: String) throws(RowDamage) -> Int64 {
    guard sqlite3_column_type(statement, column) == SQLITE_INTEGER else { throw RowDamage("\(name) is no integer") }
    return sqlite3_column_int64(statement, column)
  }

  /// A time between the years 0 and 9999, which RFC 3339 can tell.
  func time(_ column: Int32, _ name: String) throws(RowDamage) -> Timestamp {
    let microseconds = try integer(column, name)
    guard Self.times.contains(microseconds) else { throw RowDamage("\(name) is beyond the years 0 to 9999") }
    return Timestamp(microsecondsSinceEpoch: microseconds)
  }

  private static let times: Range<Int64> = -62_167_219_200_000_000..<253_402_300_800_000_000

  /// A version.
  func version(_ column: Int32) throws(RowDamage) -> Int64 {
    let version = try integer(column, "version")
    guard version >= 1 else { throw RowDamage("version is \(version), less than 1") }
    return version
  }

  /// The bytes of a text; `nil` for null.
  func bytes(_ column: Int32, _ name: String) throws(RowDamage) -> UnsafeBufferPointer<UInt8>? {
    switch sqlite3_column_type(statement, column) {
    case SQLITE_NULL: return nil
    case SQLITE_TEXT: break
    default: throw RowDamage("\(name) is no text")
    }
    let start = sqlite3_column_blob(statement, column)?.assumingMemoryBound(to: UInt8.self)
    return UnsafeBufferPointer(start: start, count: start == nil ? 0 : Int(sqlite3_column_bytes(statement, column)))
  }

  /// A text or null.
  func optionalText(_ column: Int32, _ name: String) throws(RowDamage) -> String? {
    guard let bytes = try bytes(column, name) else { return nil }
    guard let text = String(validating: bytes, as: UTF8.self) else { throw RowDamage("\(name) is no UTF-8") }
    return text
  }

  /// A text.
  func text(_ column: Int32, _ name: String) throws(RowDamage) -> String {
    guard let text = try optionalText(column, name) else { throw RowDamage("\(name) is missing") }
    return text
  }

  /// An id.
  func id(_ column: Int32) throws(RowDamage) -> PointID {
    guard sqlite3_column_type(statement, column) == SQLITE_BLOB,
      sqlite3_column_bytes(statement, column) == PointID.byteCount,
      let bytes = sqlite3_column_blob(statement, column)
    else { throw RowDamage("id is not of \(PointID.byteCount) bytes") }
    return PointID(
      high: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
      low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    )
  }

  /// A coordinate in two columns.
  func coordinate(_ column: Int32) throws(RowDamage) -> Coordinate {
    for (column, name) in [(column, "latitude"), (column + 1, "longitude")] {
      // A whole number may be stored as an integer.
      guard [SQLITE_FLOAT, SQLITE_INTEGER].contains(sqlite3_column_type(statement, column)) else {
        throw RowDamage("\(name) is no number")
      }
    }
    let (latitude, longitude) = (
      sqlite3_column_double(statement, column), sqlite3_column_double(statement, column + 1)
    )
    do {
      return try Coordinate(latitude: latitude, longitude: longitude)
    } catch {
      throw RowDamage("\(latitude), \(longitude) are no latitude and longitude")
    }
  }

  /// A place with all that a store keeps of it, from the columns ``Loading/placeColumns``.
  func point() throws(RowDamage) -> PointOfInterest {
    guard let json = try bytes(5, "tags"), let tags = Tags(verifying: json) else {
      throw RowDamage("tags are not the JSON object that was written")
    }
    let (name, category) = (try text(1, "name"), try optionalText(2, "category"))
    let (source, sourceID) = (try optionalText(6, "source"), try optionalText(7, "source_id"))
    let coordinate = try coordinate(3)
    let place: Place
    do {
      place = try Place(
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
    let createdAt = try time(9, "created_at")
    return PointOfInterest(
      id: try id(0),
      place: place,
      version: try version(8),
      createdAt: createdAt,
      // A former version of this program let them go back with the clock.
      updatedAt: max(createdAt, try time(10, "updated_at"))
    )
  }
}

/// A row that is not as it was written.
struct RowDamage: Error {
  /// What is wrong with it.
  let reason: String

  init(_ reason: String) {
    self.reason = reason
  }
}

extension PointID {
  /// How many bytes an id has.
  static let byteCount = 16

  /// The id's bytes, which sort as the id does.
  var bytes: Data {
    withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { Data($0) }
  }
}
