import GRDB
import Points
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The tables of a journal.
enum Schema {
  /// SQLite's application id of the journals of this program, "Wymk" in ASCII.
  private static let applicationID: Int32 = 0x5779_6D6B

  /// The version of the schema, SQLite's user version.
  private static let version: Int64 = 2

  /// The versions of files that can be opened. One of version 1 has no edits.
  private static let readableVersions = 1...version

  private static let createTables = """
    CREATE TABLE place (
      id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
      name TEXT NOT NULL, category TEXT, latitude REAL NOT NULL, longitude REAL NOT NULL, tags TEXT NOT NULL,
      source TEXT, source_id TEXT, version INTEGER NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL
    ) STRICT;
    -- The outcomes of requests with idempotency keys, which repeats get again. The keys of writes of areas end with
    -- " areas".
    CREATE TABLE outcome (
      key TEXT NOT NULL PRIMARY KEY,
      request_hash INTEGER NOT NULL,
      time INTEGER NOT NULL,
      -- All of an outcome as JSON.
      document TEXT NOT NULL
    ) STRICT;
    -- To remove those that have expired.
    CREATE INDEX outcome_time ON outcome (time);
    CREATE TABLE source (
      name TEXT NOT NULL PRIMARY KEY,
      licence TEXT,
      attribution TEXT,
      url TEXT
    ) STRICT;
    -- The ids of removed places, which places of the same source and source_id get again.
    CREATE TABLE former_id (
      source TEXT NOT NULL,
      source_id TEXT NOT NULL,
      id BLOB NOT NULL CHECK (length(id) = 16),
      PRIMARY KEY (source, source_id)
    ) STRICT;
    -- The places that have changed since an anchor, or a position of the change log, have greater versions.
    CREATE INDEX place_version ON place (version, id);
    -- The states that index files may stand for: each row was committed with the state whose version it has.
    CREATE TABLE index_anchor (token TEXT NOT NULL PRIMARY KEY, version INTEGER NOT NULL) STRICT;
    -- The places that were removed, and the versions of their last removals. Old ones are deleted.
    CREATE TABLE removed_place (
      id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
      version INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX removed_place_version ON removed_place (version, id);
    -- The runs of the program with this file: their random numbers, and the greatest version at their start. A position of
    -- the change log names one.
    CREATE TABLE change_run (number INTEGER NOT NULL PRIMARY KEY, start INTEGER NOT NULL) STRICT;
    -- One row: the greatest version ever given, including those of removed places, whether there was ever a change, and
    -- the greatest version of a removal that is not in removed_place any more.
    CREATE TABLE version_counter (
      highest INTEGER NOT NULL, has_changes INTEGER NOT NULL, dropped INTEGER NOT NULL
    ) STRICT;
    INSERT INTO version_counter VALUES (0, 0, 0);
    -- A row whose id is damaged can be deleted too.
    CREATE TRIGGER place_removal AFTER DELETE ON place WHEN length(old.id) = 16 BEGIN
      INSERT OR REPLACE INTO removed_place
      SELECT old.id, min(highest, \(PointOfInterest.versionLimit)) + 1 FROM version_counter;
    END;
    -- This program gives versions above the counter. Index files and the change log would not learn of changes by hand
    -- with others.
    CREATE TRIGGER place_foreign_insert AFTER INSERT ON place
      WHEN new.version <= (SELECT highest FROM version_counter) BEGIN
      DELETE FROM index_anchor;
      DELETE FROM change_run;
    END;
    CREATE TRIGGER place_foreign_update AFTER UPDATE ON place
      WHEN new.version <= (SELECT highest FROM version_counter) OR new.id <> old.id BEGIN
      DELETE FROM index_anchor;
      DELETE FROM change_run;
    END;
    CREATE TABLE area (
      id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
      name TEXT NOT NULL, names TEXT NOT NULL, kind TEXT NOT NULL, level INTEGER, importance REAL NOT NULL,
      -- Well-known binary.
      shape BLOB NOT NULL,
      tags TEXT NOT NULL, source TEXT, source_id TEXT,
      version INTEGER NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL
    ) STRICT;
    """

  /// Creates the tables of an empty file, and those that a file of an older version lacks.
  ///
  /// - Throws: `DatabaseError`.
  static func create(in database: DatabaseQueue) throws {
    try database.write { database in
      if try Int64.fetchOne(database, sql: "PRAGMA application_id") == 0 {
        for statements in [createTables, RecordRows.createTable] { try database.execute(sql: statements) }
        try database.execute(sql: "PRAGMA application_id = \(applicationID)")
      } else if try Int64.fetchOne(database, sql: "PRAGMA user_version") == version {
        return
      }
      try database.execute(sql: EditRows.createTable)
      try database.execute(sql: "PRAGMA user_version = \(version)")
    }
  }

  /// Checks that a file is a journal of a version that can be opened.
  ///
  /// - Parameters:
  ///   - maybeEmpty: a Boolean value that indicates whether a file without tables is accepted too.
  ///   - number: runs a query on the file, and returns its only value.
  /// - Throws: ``PointStoreError/schemaMismatch(reason:)`` for any other file, or the error of `number`.
  static func checkKind(of path: String, maybeEmpty: Bool = false, _ number: (String) throws -> Int64?) throws {
    let id = try number("PRAGMA application_id")
    if maybeEmpty, try id == 0 && number("SELECT count(*) FROM sqlite_schema") == 0 { return }
    guard id == Int64(applicationID) else {
      throw PointStoreError.schemaMismatch(reason: "\(path) is a database of another kind")
    }
    guard let found = try number("PRAGMA user_version"), readableVersions.contains(found) else {
      throw PointStoreError.schemaMismatch(reason: "\(path) has a schema version that this program does not know")
    }
  }
}

/// The identities of the files of an open journal, which show when the files at its paths are others.
///
/// An unlinked or replaced file can still be written while it is open, and is lost with the process. While it is open
/// no other file has its inode number, so that the number and the device identify it.
final class JournalFiles: Sendable {
  private struct Identity: Hashable {
    let device: UInt64
    let number: UInt64

    init?(path: String) {
      var status = stat()
      guard stat(path, &status) == 0 else { return nil }
      device = UInt64(truncatingIfNeeded: status.st_dev)
      number = UInt64(status.st_ino)
    }
  }

  private struct State {
    var identities: [String: Identity] = [:]
    var loss: String?
  }

  private let paths: [String]
  private let state = Mutex(State())

  /// Creates an empty file that its owner alone may read and write, unless there is a file. SQLite gives the files beside
  /// it the same mode.
  static func create(at path: String) {
    // Without O_EXCL, closing the file would release the locks of one that this process has open.
    let flags = O_CREAT | O_WRONLY | O_CLOEXEC
    var descriptor = open(path, flags | O_EXCL, 0o600)
    // A symbolic link to no file, which O_EXCL does not follow.
    var status = stat()
    if descriptor < 0, errno == EEXIST, stat(path, &status) != 0, errno == ENOENT {
      descriptor = open(path, flags, 0o600)
    }
    // Of another error SQLite has a message.
    if descriptor >= 0 { close(descriptor) }
  }

  /// Creates the identities of the files that have just been opened: the database and its write-ahead log.
  init(path: String) {
    paths = [path, path + "-wal"]
    _ = loss()
  }

  /// Returns a description of a file that is no longer the one that was opened; `nil` where there is none. Once there
  /// is one it stays, because writes in between are lost. Two calls of `stat`.
  func loss() -> String? {
    state.withLock { state in
      if state.loss != nil { return state.loss }
      for path in paths {
        let identity = Identity(path: path)
        if let former = state.identities[path] {
          if identity == former { continue }
          let event = identity == nil ? "removed" : "replaced"
          state.loss = "\(path) was \(event) while it was in use: nothing is written until the server is started again"
          return state.loss
        }
        state.identities[path] = identity
      }
      return nil
    }
  }
}
