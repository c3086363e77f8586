import Basics
import GRDB
import MemoryStore
import Points

/// The table of the records of features.
enum RecordRows {
  static let createTable = """
    -- The records of features. A feature has collections of its own.
    CREATE TABLE record (
      collection TEXT NOT NULL,
      id TEXT NOT NULL,
      revision INTEGER NOT NULL,
      -- What the record is found by: a JSON object of strings.
      fields TEXT NOT NULL,
      -- Microseconds since 1970; NULL for never.
      expires_at INTEGER,
      kept_until INTEGER,
      -- JSON, which the feature alone reads.
      document TEXT NOT NULL,
      PRIMARY KEY (collection, id)
    ) STRICT;
    """

  private static let all = "SELECT collection, id, revision, fields, expires_at, kept_until, document FROM record"

  private static let put = """
    INSERT OR REPLACE INTO record (collection, id, revision, fields, expires_at, kept_until, document)
    VALUES (?, ?, ?, ?, ?, ?, ?)
    """

  private static let remove = "DELETE FROM record WHERE collection = ? AND id = ?"

  /// Commits records, or removes those that are `nil`.
  static func commit(_ records: [RecordKey: Points.Record?], to database: Database) throws {
    for (key, record) in records {
      if let record {
        try database.cachedStatement(sql: put).execute(arguments: [
          key.collection.name.text, key.id.text, record.revision, Points.Record.text(of: record.fields),
          record.expiresAt?.microsecondsSinceEpoch, record.keptUntil?.microsecondsSinceEpoch, record.document,
        ])
      } else {
        try database.cachedStatement(sql: remove).execute(arguments: [key.collection.name.text, key.id.text])
      }
    }
  }

  /// Returns all records. Of a damaged row that has an id, what can't be read is left out, so that it can be removed.
  static func load(_ database: Database, _ damagedRows: DamagedRows?) throws -> [Points.Record] {
    var records: [Points.Record] = []
    try StoredRow.forEach(database, all) { row in
      do throws(RowDamage) {
        let (record, damage) = try row.record()
        records.append(record)
        if let damage { damagedRows?.note(record: record.id, in: record.collection, reason: damage.reason) }
      } catch {
        damagedRows?.note(nil, in: "record", reason: error.reason)
      }
    }
    return records
  }
}

extension StoredRow {
  /// Returns a record, from the columns of its table, and the first damage of what is left out of it.
  fileprivate func record() throws(RowDamage) -> (Points.Record, RowDamage?) {
    var record = Points.Record(
      RecordCollection(try text(0, "collection")), id: ExactText(try text(1, "id")), document: "")
    var damage: RowDamage?
    func read(_ column: () throws(RowDamage) -> Void) {
      do throws(RowDamage) {
        try column()
      } catch {
        damage = damage ?? error
      }
    }
    read { () throws(RowDamage) in record.revision = try integer(2, "revision") }
    read { () throws(RowDamage) in
      guard let fields = Points.Record.fields(of: try text(3, "fields")) else {
        throw RowDamage("fields are not an object of strings")
      }
      record.fields = fields
    }
    read { () throws(RowDamage) in record.expiresAt = try optionalTime(4, "expires_at") }
    read { () throws(RowDamage) in record.keptUntil = try optionalTime(5, "kept_until") }
    read { () throws(RowDamage) in record.document = try text(6, "document") }
    return (record, damage)
  }

  private func optionalTime(_ column: Int32, _ name: String) throws(RowDamage) -> Timestamp? {
    try optionalInteger(column, name) == nil ? nil : try time(column, name)
  }
}
