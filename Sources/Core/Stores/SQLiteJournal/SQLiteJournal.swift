import Basics
import Foundation
import GRDB
import GRDBSQLite
import Geo
package import MemoryStore
package import Points

/// A journal in an SQLite file. A batch is durable when its commit returns: it survives a killed process and a loss of
/// power.
///
/// An open file is locked against other processes. SQLite's write-ahead log beside it is part of it. All work runs on a
/// queue of its own and blocks no thread of Swift's concurrency pool.
package final class SQLiteJournal: Sendable {
  let database: DatabaseQueue
  private let files: JournalFiles
  package let damagedRows: DamagedRows?

  private init(database: DatabaseQueue, path: String, damagedRows: DamagedRows?) {
    self.database = database
    self.damagedRows = damagedRows
    files = JournalFiles(path: path)
  }

  /// Opens a file, or creates it for its owner alone. A file of another program is not changed.
  ///
  /// - Parameter damagedRows: the log of records of features that can't be decoded, of which none prevents the others.
  /// - Throws: ``Points/PointStoreError``: `unavailable` where the file can't be opened or is in use by another
  ///   process, `schemaMismatch` where it is not a journal or one of another schema version, `unexpected` where it
  ///   is damaged. The reason names the file.
  package static func open(
    path: String, damagedRows: DamagedRows? = nil
  ) async throws(PointStoreError) -> SQLiteJournal {
    let opened: Result<DatabaseQueue, PointStoreError> = await offThreadPool {
      do {
        JournalFiles.create(at: path)
        let database = try DatabaseQueue(path: path, configuration: configuration(path: path))
        try Schema.create(in: database)
        return .success(database)
      } catch let error as PointStoreError {
        return .failure(error)
      } catch let error as DatabaseError {
        return .failure(PointStoreError(error, opening: path))
      } catch {
        return .failure(.unavailable(reason: "\(path) can't be opened: \(error)"))
      }
    }
    return SQLiteJournal(database: try opened.get(), path: path, damagedRows: damagedRows)
  }

  /// Checks that a file is a journal or an empty database. Neither it nor a file beside it is changed, and other
  /// processes may have it open.
  ///
  /// The write-ahead log is not read: without it a new journal is an empty database.
  ///
  /// - Throws: ``Points/PointStoreError``, as ``open(path:damagedRows:)`` does.
  package static func checkKind(path: String) throws(PointStoreError) {
    var connection: OpaquePointer?
    // An immutable file is read without locks, and without files beside it.
    let uri = URL(filePath: path).absoluteString + "?immutable=1"
    let code = sqlite3_open_v2(uri, &connection, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nil)
    defer { sqlite3_close(connection) }
    func check(_ isFine: Bool) throws {
      guard !isFine else { return }
      throw DatabaseError(
        resultCode: ResultCode(rawValue: sqlite3_errcode(connection)),
        message: String(cString: sqlite3_errmsg(connection)))
    }
    do {
      try check(code == SQLITE_OK)
      try Schema.checkKind(of: path, maybeEmpty: true) { query in
        var statement: OpaquePointer?
        defer { sqlite3_finalize(statement) }
        try check(sqlite3_prepare_v2(connection, query, -1, &statement, nil) == SQLITE_OK)
        try check(sqlite3_step(statement) == SQLITE_ROW)
        return sqlite3_column_int64(statement, 0)
      }
    } catch let error as PointStoreError {
      throw error
    } catch let error as DatabaseError {
      throw PointStoreError(error, opening: path)
    } catch {
      throw .unavailable(reason: "\(path) can't be opened: \(error)")
    }
  }

  /// Writes the write-ahead log into the file and closes both; later calls fail.
  ///
  /// Nothing is lost when a journal is not closed.
  package func close() async {
    // SQLite would remove the write-ahead log by its path, which may be another file's by now.
    guard files.loss() == nil else { return }
    await offThreadPool { [database] in
      // The process ends: an error has no consequence.
      try? database.close()
    }
  }

  private static func configuration(path: String) -> Configuration {
    var configuration = Configuration()
    configuration.label = "waymark.journal"
    configuration.prepareDatabase { database in
      // Locks out other processes, and needs no memory shared between them.
      try database.execute(sql: "PRAGMA locking_mode = EXCLUSIVE")
      // The first statement that changes the file is the next one.
      try Schema.checkKind(of: path, maybeEmpty: true) { try Int64.fetchOne(database, sql: $0) }
      try database.execute(sql: "PRAGMA journal_mode = WAL")
      // A commit returns when its data is on the disk.
      try database.execute(sql: "PRAGMA synchronous = FULL")
      try database.execute(sql: "PRAGMA fullfsync = ON")
      // The log of a large import is truncated.
      try database.execute(sql: "PRAGMA journal_size_limit = 67108864")
      // In KiB. The places are in memory already, and are not read from the file again.
      try database.execute(sql: "PRAGMA cache_size = -2048")
    }
    return configuration
  }
}

extension SQLiteJournal: PointJournal {
  /// Returns the contents, verified row by row. O(n) for n rows that are read.
  package func load(after anchor: JournalAnchor?) async throws(PointStoreError) -> JournalContents {
    try await reportingErrors { [damagedRows] database in
      do {
        // A full disk does not prevent a start.
        try? await database.write { try EditRows.removeStale($0) }
        let contents = try await database.read { database in
          var contents = try Loading.contents(database, after: anchor)
          contents.featureRecords = try RecordRows.load(database, damagedRows)
          return contents
        }
        // No removals are logged for index files that are not used.
        if contents.isComplete { try? await database.write { try Committing.removeAnchors($0) } }
        return contents
      } catch let error as DatabaseError where error.isDamage {
        throw PointStoreError.unexpected(reason: "the journal \(database.path) is damaged: \(error.explanation)")
      }
    }
  }

  /// Commits the batch in one transaction. On return it is on the disk, in the files at the journal's paths.
  package func commit(_ batch: JournalBatch) async throws(PointStoreError) {
    try checkFiles()
    try await reportingErrors { database in
      try await database.write { try Committing.commit(batch, to: $0) }
    }
    try checkFiles()
  }

  /// Adds a run, and removes those of which no position is valid any more.
  package func beginRun(_ number: UInt64) async throws(PointStoreError) -> (runs: [ChangeRun], dropped: Int64) {
    try await reportingErrors { database in try await database.write { try ChangeStatements.beginRun(number, $0) }
    }
  }

  package func changes(
    after version: Int64, _ id: PointID, upTo last: Int64, limit: Int
  ) async throws(PointStoreError) -> (changes: [PointChange], hasMore: Bool) {
    try await reportingErrors { database in
      try await database.read { database in
        do {
          return try ChangeStatements.changes(after: version, id, upTo: last, limit: limit, database)
        } catch let damage as RowDamage {
          throw PointStoreError.unexpected(reason: "the journal is damaged: \(damage.reason)")
        }
      }
    }
  }

  package func dropRemovals(before version: Int64) async throws(PointStoreError) -> (count: Int, dropped: Int64) {
    try await reportingErrors { database in
      try await database.write { try ChangeStatements.dropRemovals(before: version, $0) }
    }
  }

  func checkFiles() throws(PointStoreError) {
    if let loss = files.loss() { throw .unavailable(reason: "the journal \(loss)") }
  }

  func reportingErrors<Value: Sendable>(
    _ work: (DatabaseQueue) async throws -> Value
  ) async throws(PointStoreError) -> Value {
    do {
      return try await work(database)
    } catch let error as DamagedJournal {
      throw .unexpected(reason: "the journal \(database.path) is damaged: \(error)")
    } catch let error as DatabaseError {
      throw .unavailable(reason: "the journal \(database.path): \(error.explanation)")
    } catch let error as PointStoreError {
      throw error
    } catch is CancellationError {
      throw .unavailable(reason: "the call was cancelled")
    } catch {
      throw .unexpected(reason: "the journal \(database.path): \(error)")
    }
  }
}

extension DatabaseError {
  /// SQLite's message, without the statement.
  var explanation: String { message ?? "\(resultCode)" }

  /// A Boolean value that indicates whether the structure of the file is broken.
  var isDamage: Bool { resultCode == .SQLITE_CORRUPT || resultCode == .SQLITE_NOTADB }
}

extension PointStoreError {
  /// Creates the error of a file that could not be opened.
  fileprivate init(_ error: DatabaseError, opening path: String) {
    switch error.resultCode {
    case .SQLITE_BUSY: self = .unavailable(reason: "\(path) is in use by another process")
    case .SQLITE_NOTADB: self = .schemaMismatch(reason: "\(path) is a file of another kind")
    case .SQLITE_CORRUPT: self = .unexpected(reason: "\(path) is damaged: \(error.explanation)")
    default: self = .unavailable(reason: "\(path) can't be opened: \(error.explanation)")
    }
  }
}

/// The writes of a journal; each call is part of a transaction.
enum Committing {
  private static let remove = "DELETE FROM place WHERE id = ?"

  private static let put = """
    INSERT INTO place (\(Loading.placeColumns))
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET
      name = excluded.name, category = excluded.category, latitude = excluded.latitude,
      longitude = excluded.longitude, tags = excluded.tags, source = excluded.source, source_id = excluded.source_id,
      version = excluded.version, created_at = excluded.created_at, updated_at = excluded.updated_at
    """

  private static let updateCounter = "UPDATE version_counter SET highest = ?, has_changes = has_changes OR ?"

  private static let expireOutcomes = "DELETE FROM outcome WHERE time <= ?"
  private static let putOutcome =
    "INSERT OR REPLACE INTO outcome (key, request_hash, time, document) VALUES (?, ?, ?, ?)"

  private static let putSource = "INSERT OR REPLACE INTO source (name, licence, attribution, url) VALUES (?, ?, ?, ?)"

  private static let removeSource = "DELETE FROM source WHERE name = ?"
  private static let putFormerID = "INSERT OR REPLACE INTO former_id (source, source_id, id) VALUES (?, ?, ?)"

  private static let putArea = """
    INSERT OR REPLACE INTO area
      (id, name, names, kind, level, importance, shape, tags, source, source_id, version, created_at, updated_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    """

  private static let removeArea = "DELETE FROM area WHERE id = ?"

  private static let hasAnchors = "SELECT EXISTS (SELECT 1 FROM index_anchor)"
  private static let removeAnchors = "DELETE FROM index_anchor"
  private static let removeOtherAnchors = "DELETE FROM index_anchor WHERE token IS NOT ?"
  private static let putAnchor = "INSERT INTO index_anchor (token, version) VALUES (?, ?)"

  /// Removes all anchors, if there are any.
  static func removeAnchors(_ database: Database) throws {
    if try Bool.fetchOne(database, sql: hasAnchors) == true { try database.execute(sql: removeAnchors) }
  }

  static func commit(_ batch: JournalBatch, to database: Database) throws {
    try run(remove, database, batch.removals) { [$0.bytes] }
    try run(put, database, batch.places, values(of:))
    try run(putSource, database, batch.sources) { [$0.name, $0.licence, $0.attribution, $0.url] }
    try run(removeSource, database, batch.removedSources) { [$0] }
    try run(putFormerID, database, batch.formerIDs) { [$0.key.source, $0.key.sourceID, $0.value.bytes] }
    try EditRows.commit(batch.edits, to: database)
    try run(updateCounter, database, CollectionOfOne(batch)) { [$0.highestVersion, $0.hasChanges] }
    if let time = batch.records.last?.time {
      try run(expireOutcomes, database, CollectionOfOne(IdempotencyKey.expiry(at: time))) {
        [$0.microsecondsSinceEpoch]
      }
    }
    try run(putOutcome, database, batch.records) {
      [
        $0.key.text, Int64(bitPattern: $0.key.requestHash), $0.time.microsecondsSinceEpoch, $0.outcome.json,
      ]
    }
    try run(removeArea, database, batch.removedAreas) { [$0.bytes] }
    try run(putArea, database, batch.areas, values(of:))
    try RecordRows.commit(batch.featureRecords, to: database)
    if let anchor = batch.anchor { try commit(anchor, version: batch.highestVersion, to: database) }
  }

  /// Commits an anchor, and removes what neither it nor the former one needs.
  private static func commit(_ anchor: JournalBatch.NewAnchor, version: Int64, to database: Database) throws {
    try run(removeOtherAnchors, database, CollectionOfOne(anchor)) { [$0.former?.token] }
    try run(putAnchor, database, CollectionOfOne(anchor)) { [$0.token, version] }
  }

  private static func values(of point: PointOfInterest) -> StatementArguments {
    let place = point.draft
    return [
      point.id.bytes, place.name, place.category, place.coordinate.latitude, place.coordinate.longitude,
      place.tags.json, place.origin?.source, place.origin?.sourceID, point.version,
      point.createdAt.microsecondsSinceEpoch, point.updatedAt.microsecondsSinceEpoch,
    ]
  }

  private static func values(of area: Area) -> StatementArguments {
    let draft = area.draft
    return [
      area.id.bytes, draft.name, draft.names.json, draft.kind.rawValue, draft.level, draft.importance,
      Data(draft.outline.wkb), draft.tags.json, draft.origin?.source, draft.origin?.sourceID, area.version,
      area.createdAt.microsecondsSinceEpoch, area.updatedAt.microsecondsSinceEpoch,
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

/// A reader of a journal's contents, which verifies every row: the file may have been damaged.
struct Loading {
  static let placeColumns =
    "id, name, category, latitude, longitude, tags, source, source_id, version, created_at, updated_at"

  /// The places in the order of insertion, which is that of the file.
  private static let places = "SELECT \(placeColumns), rowid FROM place ORDER BY rowid"

  private static let changedPlaces = "SELECT \(placeColumns), rowid FROM place WHERE version > ? ORDER BY version"

  private static let removedPlaces = "SELECT id FROM removed_place WHERE version > ?"

  /// The query for whether the file has had the state of an anchor and its counter was not set back since, nor removals
  /// dropped.
  private static let hasAnchor = """
    SELECT EXISTS (
      SELECT 1 FROM index_anchor JOIN version_counter ON version BETWEEN dropped AND highest
      WHERE token = ? AND version = ?)
    """

  private static let outcomes = "SELECT key, request_hash, time, document, rowid FROM outcome ORDER BY time, rowid"

  private static let areas = """
    SELECT id, name, names, kind, level, importance, shape, tags, source, source_id, version, created_at, updated_at,
      rowid
    FROM area
    """

  private static let sources = "SELECT name, licence, attribution, url, rowid FROM source ORDER BY name"

  private static let formerIDs = "SELECT id, source, source_id, rowid FROM former_id"

  private static let highestVersion = "SELECT highest FROM version_counter"

  private static let isNew = "SELECT NOT has_changes FROM version_counter"

  private static let runStarts = "SELECT start, number FROM change_run"

  private var contents = JournalContents()
  private var ids: Set<PointID> = []
  private var damageCount = 0
  private var firstDamage: String?

  /// Returns the contents: of the places those that have changed since an anchor, or all if the anchor is unknown.
  ///
  /// - Throws: `DatabaseError`, or ``DamagedJournal``.
  static func contents(_ database: Database, after anchor: JournalAnchor?) throws -> JournalContents {
    var loading = Loading()
    try loading.read(database, after: anchor)
    return loading.contents
  }

  private mutating func read(_ database: Database, after anchor: JournalAnchor?) throws {
    if let anchor,
      try Bool.fetchOne(database, sql: Self.hasAnchor, arguments: [anchor.token, anchor.version]) == true
    {
      contents.isComplete = false
      try readPlaces(database, Self.changedPlaces, [anchor.version])
      try StoredRow.forEach(database, Self.removedPlaces, [anchor.version]) { row in
        do throws(RowDamage) {
          contents.removals.append(try row.id(0))
        } catch {
          note(error, in: "removed_place", row: nil)
        }
      }
    } else {
      let count = try Int.fetchOne(database, sql: "SELECT count(*) FROM place") ?? 0
      contents.points.reserveCapacity(count)
      ids.reserveCapacity(count)
      try readPlaces(database, Self.places)
    }
    try StoredRow.forEach(database, Self.outcomes) { row in
      do throws(RowDamage) {
        let key = IdempotencyKey(
          text: try row.text(0, "key"), requestHash: UInt64(bitPattern: try row.integer(1, "request_hash")))
        guard let outcome = IdempotencyRecord.Outcome(json: try row.text(3, "document")) else {
          throw RowDamage("document is not that of an outcome")
        }
        contents.records.append(IdempotencyRecord(key: key, time: try row.time(2, "time"), outcome: outcome))
      } catch {
        note(error, in: "outcome", row: try? row.integer(4, "rowid"))
      }
    }
    try StoredRow.forEach(database, Self.sources) { row in
      do throws(RowDamage) {
        contents.sources.append(
          DataSource(
            name: try row.text(0, "name"), licence: try row.optionalText(1, "licence"),
            attribution: try row.optionalText(2, "attribution"), url: try row.optionalText(3, "url")))
      } catch {
        note(error, in: "source", row: try? row.integer(4, "rowid"))
      }
    }
    try StoredRow.forEach(database, Self.formerIDs) { row in
      do throws(RowDamage) {
        let reference = SourceReference(source: try row.text(1, "source"), sourceID: try row.text(2, "source_id"))
        contents.formerIDs[reference] = try row.id(0)
      } catch {
        note(error, in: "former_id", row: try? row.integer(3, "rowid"))
      }
    }
    try EditRows.load(database) {
      contents.edits.append($0)
    } onDamage: {
      note($0, in: "edit", row: $1)
    }
    try StoredRow.forEach(database, Self.areas) { row in
      do throws(RowDamage) {
        contents.areas.append(try row.area())
      } catch {
        note(error, in: "area", row: try? row.integer(13, "rowid"))
      }
    }
    try StoredRow.forEach(database, Self.runStarts) { row in
      do throws(RowDamage) {
        _ = try row.integer(0, "start")
      } catch {
        note(error, in: "change_run", row: try? row.integer(1, "number"))
      }
    }
    contents.isNew = try Bool.fetchOne(database, sql: Self.isNew) ?? false
    var highest: Int64?
    try StoredRow.forEach(database, Self.highestVersion) { highest = try? $0.integer(0, "highest") }
    if !(0..<PointOfInterest.versionLimit ~= (highest ?? -1)) {
      note(RowDamage("highest is not in the range 0 to 2^53 - 1"), in: "version_counter", row: 1)
    }
    contents.highestVersion = max(highest ?? 0, highestOfPlaces)
    if let firstDamage { throw DamagedJournal(first: firstDamage, count: damageCount) }
  }

  private mutating func readPlaces(
    _ database: Database, _ sql: String, _ arguments: StatementArguments = []
  ) throws {
    try StoredRow.forEach(database, sql, arguments) { row in
      do throws(RowDamage) {
        let point = try row.point()
        guard ids.insert(point.id).inserted else { throw RowDamage("another row has its id, \(point.id)") }
        contents.points.append(point)
      } catch {
        note(error, in: "place", row: try? row.integer(11, "rowid"))
      }
    }
  }

  /// The greatest version of a place that a store can have given. A greater one is kept but not counted on from.
  private var highestOfPlaces: Int64 {
    contents.points.lazy.map(\.version).filter { $0 <= PointOfInterest.maximumCountedVersion }.max() ?? 0
  }

  private mutating func note(_ damage: RowDamage, in table: String, row: Int64?) {
    damageCount += 1
    if firstDamage == nil { firstDamage = "row \(row.map(String.init) ?? "?") of table \(table): \(damage.reason)" }
  }
}

/// The reads of the change log.
enum ChangeStatements {
  /// A deletion by hand may have a version above the counter.
  private static let passRemovals = """
    UPDATE version_counter
    SET highest = max(highest, coalesce(
      (SELECT max(version) FROM removed_place WHERE version < \(PointOfInterest.versionLimit)), 0))
    """

  private static let addRun = "INSERT INTO change_run (number, start) SELECT ?, highest FROM version_counter"

  /// The statement that removes the runs at whose end removals were dropped that followed.
  private static let removeOldRuns = """
    DELETE FROM change_run
    WHERE start < (SELECT max(start) FROM change_run WHERE start <= (SELECT dropped FROM version_counter))
    """

  private static let runs = "SELECT number, start FROM change_run ORDER BY start, number"

  private static let dropped = "SELECT dropped FROM version_counter"

  private static let changed = """
    SELECT \(Loading.placeColumns) FROM place
    WHERE (version, id) > (?, ?) AND version <= ? ORDER BY version, id LIMIT ?
    """

  private static let removed = """
    SELECT id, version FROM removed_place
    WHERE (version, id) > (?, ?) AND version <= ?
      AND NOT EXISTS (SELECT 1 FROM place WHERE place.id = removed_place.id)
    ORDER BY version, id LIMIT ?
    """

  private static let noteDropped = """
    UPDATE version_counter
    SET dropped = max(dropped, coalesce((SELECT max(version) FROM removed_place WHERE version < ?), 0))
    """

  private static let dropRemovals = "DELETE FROM removed_place WHERE version < ?"

  static func beginRun(_ number: UInt64, _ database: Database) throws -> (runs: [ChangeRun], dropped: Int64) {
    try database.execute(sql: passRemovals)
    try database.execute(sql: addRun, arguments: [Int64(bitPattern: number)])
    try database.execute(sql: removeOldRuns)
    var runs: [ChangeRun] = []
    try StoredRow.forEach(database, Self.runs) { row in
      runs.append(
        ChangeRun(number: UInt64(bitPattern: try row.integer(0, "number")), start: try row.integer(1, "start")))
    }
    return (runs, try Int64.fetchOne(database, sql: dropped) ?? 0)
  }

  static func changes(
    after version: Int64, _ id: PointID, upTo last: Int64, limit: Int, _ database: Database
  ) throws -> (changes: [PointChange], hasMore: Bool) {
    let arguments: StatementArguments = [version, id.bytes, last, limit + 1]
    var removals: [PointRemoval] = []
    try StoredRow.forEach(database, removed, arguments) { row in
      removals.append(PointRemoval(id: try row.id(0), version: try row.version(1)))
    }
    var (changes, textBytes, nextRemoval): ([PointChange], Int, Int) = ([], 0, 0)
    var isFull: Bool { changes.count >= limit || textBytes >= PointPage.maximumTextBytes }
    var hasMore = false
    try StoredRow.forEach(database, changed, arguments) { row in
      if isFull || hasMore {
        hasMore = true
        return
      }
      let point = try row.point()
      while nextRemoval < removals.count, !isFull,
        (removals[nextRemoval].version, removals[nextRemoval].id) < (point.version, point.id)
      {
        changes.append(.removal(removals[nextRemoval]))
        nextRemoval += 1
      }
      if isFull {
        hasMore = true
      } else {
        changes.append(.put(point))
        textBytes += point.draft.textBytes
      }
    }
    while nextRemoval < removals.count, !isFull {
      changes.append(.removal(removals[nextRemoval]))
      nextRemoval += 1
    }
    return (changes, hasMore || nextRemoval < removals.count)
  }

  static func dropRemovals(before version: Int64, _ database: Database) throws -> (count: Int, dropped: Int64) {
    try database.execute(sql: noteDropped, arguments: [version])
    try database.execute(sql: dropRemovals, arguments: [version])
    let count = database.changesCount
    return (count, try Int64.fetchOne(database, sql: dropped) ?? 0)
  }
}

/// The error of a journal with damaged rows.
struct DamagedJournal: Error, CustomStringConvertible {
  /// The first damaged row and its damage, such as `row 7 of table place: name is missing`.
  let first: String

  /// The number of damaged rows.
  let count: Int

  var description: String { count == 1 ? first : "\(first); \(count - 1) more rows are damaged" }
}
