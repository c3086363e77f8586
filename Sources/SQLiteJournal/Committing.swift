import GRDB
import Geo
import MemoryStore
import Points

/// The writes of a journal; each call is part of a transaction.
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

  private static let deleteCreation = "DELETE FROM answered_key WHERE text = ?"
  private static let deleteImport = "DELETE FROM answered_import WHERE text = ?"

  private static let insertCreation = """
    INSERT OR REPLACE INTO answered_key
      (id, name, category, latitude, longitude, tags, source, source_id, version, created_at, updated_at,
       text, request_hash, time)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    """

  private static let updateCounter = "UPDATE version_counter SET highest = ?, has_changes = has_changes OR ?"
  private static let insertImport = """
    INSERT OR REPLACE INTO answered_import
      (text, request_hash, time, created, updated, unchanged, rejected, rejections, deleted)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    """

  private static let putSource = "INSERT OR REPLACE INTO source (name, licence, attribution, url) VALUES (?, ?, ?, ?)"

  private static let removeSource = "DELETE FROM source WHERE name = ?"
  private static let putFormerID = "INSERT OR REPLACE INTO former_id (source, source_id, id) VALUES (?, ?, ?)"

  static func commit(_ batch: JournalBatch, to database: Database) throws {
    try run(remove, database, batch.removals) { [$0.bytes] }
    try run(put, database, batch.puts, values(of:))
    try run(putSource, database, batch.sources) { [$0.name, $0.licence, $0.attribution, $0.url] }
    try run(removeSource, database, batch.removedSources) { [$0] }
    try run(putFormerID, database, batch.formerIDs) { [$0.key.source, $0.key.sourceID, $0.value.bytes] }
    try run(updateCounter, database, CollectionOfOne(batch)) { [$0.highestVersion, $0.hasChanges] }
    for statement in [deleteCreation, deleteImport] { try run(statement, database, batch.evictedKeys) { [$0] } }
    for record in batch.records { try commit(record, to: database) }
  }

  private static func commit(_ record: IdempotencyRecord, to database: Database) throws {
    let key: StatementArguments = [
      record.key.text, Int64(bitPattern: record.key.requestHash), record.time.microsecondsSinceEpoch,
    ]
    // An expired record of the key may be of the other kind.
    switch record.outcome {
    case .created(let point):
      try run(deleteImport, database, CollectionOfOne(record.key.text)) { [$0] }
      try run(insertCreation, database, CollectionOfOne(point)) { values(of: $0) + key }
    case .imported(let report):
      try run(deleteCreation, database, CollectionOfOne(record.key.text)) { [$0] }
      let rejections = try JournalRejection.text(of: report.rejections)
      try run(insertImport, database, CollectionOfOne(report)) { report in
        key + [report.created, report.updated, report.unchanged, report.rejected, rejections, report.deleted]
      }
    }
  }

  private static func values(of point: PointOfInterest) -> StatementArguments {
    let place = point.draft
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
      // Each statement above has as many parameters as its arguments.
      statement.setUncheckedArguments(arguments(element))
      try statement.execute()
    }
  }
}
