import Foundation
import GRDB
import Geo
import MemoryStore
import Points

/// Reads what a journal keeps.
enum Loading {
  private static let placeColumns =
    "id, name, category, latitude, longitude, tags, source, source_id, version, created_at, updated_at"

  /// The places in the order in which they came, which is that of the file.
  private static let places = "SELECT \(placeColumns) FROM place ORDER BY rowid"

  private static let keys = """
    SELECT \(placeColumns), text, request_hash, time FROM answered_key ORDER BY time, rowid
    """

  private static let lastSequence = "SELECT seq FROM sqlite_sequence WHERE name = 'change'"

  private static let changes = """
    SELECT sequence, id, kind, version, time FROM change WHERE sequence > ? ORDER BY sequence LIMIT ?
    """

  /// All that is kept.
  @Sendable
  static func contents(_ database: Database) throws -> JournalContents {
    var contents = JournalContents()
    contents.points.reserveCapacity(try Int.fetchOne(database, sql: "SELECT count(*) FROM place") ?? 0)
    let rows = try Row.fetchCursor(database, sql: places)
    while let row = try rows.next() { contents.points.append(try point(row)) }
    let keyRows = try Row.fetchCursor(database, sql: keys)
    while let row = try keyRows.next() { contents.keys.append(try answeredKey(row)) }
    contents.lastSequence = try Int64.fetchOne(database, sql: lastSequence) ?? 0
    return contents
  }

  /// The changes behind a sequence number.
  static func changes(_ database: Database, after sequence: Int64, limit: Int) throws -> [PointChange] {
    let rows = try Row.fetchCursor(database, sql: changes, arguments: [sequence, max(limit, 0)])
    var changes: [PointChange] = []
    while let row = try rows.next() {
      guard let kind = PointChange.Kind(rawValue: row[2]) else { throw JournalDamage(what: "a change's kind") }
      changes.append(
        PointChange(
          sequence: row[0],
          id: try id(row, at: 1),
          kind: kind,
          version: row[3],
          time: Timestamp(microsecondsSinceEpoch: row[4])
        )
      )
    }
    return changes
  }

  private static func answeredKey(_ row: Row) throws -> AnsweredKey {
    AnsweredKey(
      key: IdempotencyKey(text: row[11], requestHash: UInt64(bitPattern: row[12])),
      time: Timestamp(microsecondsSinceEpoch: row[13]),
      answer: try point(row)
    )
  }

  private static func point(_ row: Row) throws -> PointOfInterest {
    let coordinate: Coordinate
    do {
      coordinate = try Coordinate(latitude: row[3], longitude: row[4])
    } catch {
      throw JournalDamage(what: "a place's coordinate")
    }
    let source: String? = row[6]
    let sourceID: String? = row[7]
    return PointOfInterest(
      id: try id(row, at: 0),
      place: Place(
        storedName: row[1],
        category: row[2],
        coordinate: coordinate,
        tags: Tags(storedJSON: row[5]),
        origin: source.flatMap { source in sourceID.map { Place.Origin(source: source, sourceID: $0) } }
      ),
      version: row[8],
      createdAt: Timestamp(microsecondsSinceEpoch: row[9]),
      updatedAt: Timestamp(microsecondsSinceEpoch: row[10])
    )
  }

  private static func id(_ row: Row, at index: Int) throws -> PointID {
    try row.withUnsafeData(atIndex: index) { data in
      guard let data, data.count == PointID.byteCount else { throw JournalDamage(what: "an id") }
      return data.withUnsafeBytes { bytes in
        PointID(
          high: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
          low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        )
      }
    }
  }
}

/// Something in a journal is not as it was written.
struct JournalDamage: Error, CustomStringConvertible {
  let what: String

  var description: String { "\(what) can't be read" }
}

extension PointID {
  /// How many bytes an id has.
  static let byteCount = 16

  /// The id's bytes, which sort as the id does.
  var bytes: Data {
    withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { Data($0) }
  }
}
