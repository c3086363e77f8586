import GRDB
import Geo
import MemoryStore
import Points

/// Writes what a journal is to keep; each call is part of a transaction.
enum Committing {
  private static let remove = "DELETE FROM place WHERE id = ?"

  private static let put = """
    INSERT INTO place
      (id, name, category, latitude, longitude, tags, source, source_id, version, created_at, updated_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET
      name = excluded.name, category = excluded.category, latitude = excluded.latitude,
      longitude = excluded.longitude, tags = excluded.tags, source = excluded.source, source_id = excluded.source_id,
      version = excluded.version, created_at = excluded.created_at, updated_at = excluded.updated_at
    """

  private static let log = "INSERT INTO change (sequence, id, kind, version, time) VALUES (?, ?, ?, ?, ?)"

  private static let forget = "DELETE FROM answered_key WHERE text = ?"
  private static let forgetImport = "DELETE FROM answered_import WHERE text = ?"

  private static let remember = """
    INSERT OR REPLACE INTO answered_key
      (id, name, category, latitude, longitude, tags, source, source_id, version, created_at, updated_at,
       text, request_hash, time)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    """

  private static let setHighestVersion = "UPDATE version_counter SET highest = ?"
  private static let rememberImport = """
    INSERT OR REPLACE INTO answered_import
      (text, request_hash, time, created, updated, unchanged, rejected, rejections)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)
    """

  private static let prune = "DELETE FROM change WHERE time < ?"

  /// Keeps what some writes did.
  static func commit(_ batch: JournalBatch, to database: Database) throws {
    try run(remove, database, batch.removed) { [$0.bytes] }
    try run(put, database, batch.changed, values(of:))
    try run(log, database, batch.changes) { change in
      [
        change.sequence, change.id.bytes, change.kind.rawValue, change.version, change.time.microsecondsSinceEpoch,
      ]
    }
    try run(setHighestVersion, database, CollectionOfOne(batch.highestVersion)) { [$0] }
    for statement in [forget, forgetImport] { try run(statement, database, batch.forgottenKeys) { [$0] } }
    for answered in batch.answeredKeys { try remember(answered, in: database) }
  }

  private static func remember(_ answered: AnsweredKey, in database: Database) throws {
    let key: StatementArguments = [
      answered.key.text, Int64(bitPattern: answered.key.requestHash), answered.time.microsecondsSinceEpoch,
    ]
    // The key may have been the other kind's before it expired.
    switch answered.answer {
    case .place(let point):
      try run(forgetImport, database, CollectionOfOne(answered.key.text)) { [$0] }
      try run(remember, database, CollectionOfOne(point)) { values(of: $0) + key }
    case .report(let report):
      try run(forget, database, CollectionOfOne(answered.key.text)) { [$0] }
      let rejections = try JournalRejection.text(of: report.rejections)
      try run(rememberImport, database, CollectionOfOne(report)) { report in
        key + [report.created, report.updated, report.unchanged, report.rejected, rejections]
      }
    }
  }

  /// Forgets the changes before a time; answers how many.
  static func pruneChanges(_ database: Database, before time: Timestamp) throws -> Int {
    try database.execute(sql: prune, arguments: [time.microsecondsSinceEpoch])
    return database.changesCount
  }

  private static func values(of point: PointOfInterest) -> StatementArguments {
    let place = point.place
    return [
      point.id.bytes, place.name, place.category, place.coordinate.latitude, place.coordinate.longitude,
      place.tags.json, place.origin?.source, place.origin?.sourceID, point.version,
      point.createdAt.microsecondsSinceEpoch, point.updatedAt.microsecondsSinceEpoch,
    ]
  }

  private static func run<Elements: Collection>(
    _ sql: String,
    _ database: Database,
    _ elements: Elements,
    _ arguments: (Elements.Element) -> StatementArguments
  ) throws {
    guard !elements.isEmpty else { return }
    let statement = try database.cachedStatement(sql: sql)
    for element in elements {
      // Each statement above has as many places as its values.
      statement.setUncheckedArguments(arguments(element))
      try statement.execute()
    }
  }
}
