import GRDB
import Points

/// The tables of a journal.
enum Schema {
  /// SQLite's application id of the journals of this program, "Wymk" in ASCII.
  private static let applicationID: Int32 = 0x5779_6D6B

  private static let placeColumns = """
    name TEXT NOT NULL, category TEXT, latitude REAL NOT NULL, longitude REAL NOT NULL, tags TEXT NOT NULL,
    source TEXT, source_id TEXT, version INTEGER NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL
    """

  private static let createTables = """
    CREATE TABLE place (
      id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
      \(placeColumns)
    ) STRICT;
    -- AUTOINCREMENT: numbers are never given again, even when the last changes have been pruned.
    CREATE TABLE change (
      sequence INTEGER PRIMARY KEY AUTOINCREMENT,
      id BLOB NOT NULL,
      kind TEXT NOT NULL,
      version INTEGER NOT NULL,
      time INTEGER NOT NULL
    ) STRICT;
    -- The outcomes of creations with idempotency keys.
    CREATE TABLE answered_key (
      text TEXT NOT NULL PRIMARY KEY,
      request_hash INTEGER NOT NULL,
      time INTEGER NOT NULL,
      id BLOB NOT NULL,
      \(placeColumns)
    ) STRICT;
    """

  /// The greatest version ever given, including those of removed places. It starts above all of the places and changes,
  /// and not below the time of the last change, as versions follow the clock in microseconds.
  private static let createVersionCounter = """
    CREATE TABLE version_counter (highest INTEGER NOT NULL) STRICT;
    INSERT INTO version_counter (highest)
    SELECT max(
      coalesce((SELECT max(version) FROM place WHERE version <= \(PointOfInterest.maximumCountedVersion)), 0),
      coalesce((SELECT max(version) FROM change WHERE version <= \(PointOfInterest.maximumCountedVersion)), 0),
      coalesce((SELECT max(time) FROM change WHERE time <= \(PointOfInterest.maximumCountedVersion)), 0)
    );
    """

  private static let createAnsweredImports = """
    -- The outcomes of imports with idempotency keys. A key is here or in answered_key.
    CREATE TABLE answered_import (
      text TEXT NOT NULL PRIMARY KEY,
      request_hash INTEGER NOT NULL,
      time INTEGER NOT NULL,
      created INTEGER NOT NULL,
      updated INTEGER NOT NULL,
      unchanged INTEGER NOT NULL,
      rejected INTEGER NOT NULL,
      -- The first rows that were rejected: [{"number":7,"detail":"…"}].
      rejections TEXT NOT NULL
    ) STRICT;
    """

  /// The change log had no reader. Whether it ever had an entry, even one pruned since, is kept beside the greatest
  /// version, which every commit has written since the counter exists.
  private static let dropChangeLog = """
    ALTER TABLE version_counter ADD COLUMN has_changes INTEGER NOT NULL DEFAULT 0;
    UPDATE version_counter SET has_changes =
      EXISTS (SELECT 1 FROM change) OR EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'change' AND seq > 0);
    DROP TABLE change;
    """

  private static let createSources = """
    CREATE TABLE source (
      name TEXT NOT NULL PRIMARY KEY,
      licence TEXT,
      attribution TEXT,
      url TEXT
    ) STRICT;
    -- Null where the import deleted none on purpose.
    ALTER TABLE answered_import ADD COLUMN deleted INTEGER;
    """

  /// The migrations of all versions of the program. A published one never changes.
  static var migrator: DatabaseMigrator {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("1 places, changes and answered keys") { database in
      try database.execute(sql: "PRAGMA application_id = \(applicationID)")
      try database.execute(sql: createTables)
    }
    migrator.registerMigration("2 versions that never repeat") { database in
      try database.execute(sql: createVersionCounter)
    }
    migrator.registerMigration("3 answered imports") { database in
      try database.execute(sql: createAnsweredImports)
    }
    migrator.registerMigration("4 no change log") { database in
      try database.execute(sql: dropChangeLog)
    }
    migrator.registerMigration("5 sources") { database in
      try database.execute(sql: createSources)
    }
    return migrator
  }

  /// Creates the missing tables.
  ///
  /// - Throws: ``PointStoreError/schemaMismatch(reason:)`` for a file that is not a journal or that of a newer version,
  ///   or `DatabaseError`.
  static func migrate(_ database: DatabaseQueue, path: String) throws {
    try checkKind(database, path: path, maybeEmpty: true)
    try migrator.migrate(database)
  }

  /// Checks that a file is a journal of this version or an older one.
  ///
  /// - Parameter maybeEmpty: whether a file without tables is accepted too.
  /// - Throws: ``PointStoreError/schemaMismatch(reason:)`` for any other file, or `DatabaseError`.
  static func checkKind(_ database: DatabaseQueue, path: String, maybeEmpty: Bool = false) throws {
    try database.read { database in
      let id = try Int32.fetchOne(database, sql: "PRAGMA application_id")
      let tables = try Int.fetchOne(database, sql: "SELECT count(*) FROM sqlite_schema") ?? 0
      guard id == applicationID || (maybeEmpty && tables == 0) else {
        throw PointStoreError.schemaMismatch(reason: "\(path) is a database of another kind")
      }
      guard try !migrator.hasBeenSuperseded(database) else {
        throw PointStoreError.schemaMismatch(reason: "\(path) was written by a newer version of this program")
      }
    }
  }
}
