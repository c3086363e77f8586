import Basics
import Foundation
import GRDB
import GRDBSQLite
package import Points

extension SQLiteJournal {
  /// Copies a consistent state of the file while writes continue between steps of a megabyte each.
  ///
  /// The copy contains the writes made meanwhile. It is a single file, and is verified. Memory is bounded whatever the
  /// size of the file.
  ///
  /// - Parameter path: the path of the copy, which its owner alone may read; a file there is replaced.
  /// - Throws: ``Points/PointStoreError`` `unavailable` where it can't be written; the file at the path is removed
  ///   then.
  package func backUp(to path: String) async throws(PointStoreError) {
    let failure: (any Error)?
    do {
      let copy = try OnlineBackup(to: path)
      do {
        while try await database.writeWithoutTransaction({ try copy.step(from: $0) }) {}
      } catch {
        // On the queue of the source's connection, also in a cancelled task.
        await offThreadPool { [database] in database.inDatabase { _ in copy.end() } }
        throw error
      }
      try copy.close()
      failure = await offThreadPool { Self.failure { try Self.check(path) } }
    } catch let error as DatabaseError {
      failure = PointStoreError.unavailable(reason: "the backup can't be written: \(error.explanation)")
    } catch {
      failure = error
    }
    guard let failure else { return }
    Self.removeCopy(at: path)
    if let error = failure as? PointStoreError { throw error }
    throw .unavailable(
      reason: "the backup \(path): \((failure as? DatabaseError)?.explanation ?? "\(failure)")")
  }

  /// Removes a copy, and the files beside it that SQLite has left if the process was killed while it made the copy.
  package static func removeCopy(at path: String) {
    for suffix in ["", "-journal", "-wal", "-shm"] { unlink(path + suffix) }
  }

  /// Checks that a file is an undamaged journal that this program can open.
  ///
  /// - Throws: ``Points/PointStoreError`` `schemaMismatch` with the reason.
  package static func verify(path: String) async throws(PointStoreError) {
    let failure = await offThreadPool { self.failure { try check(path) } }
    guard let failure else { return }
    if let error = failure as? PointStoreError { throw error }
    throw .schemaMismatch(reason: "\(path) is damaged: \((failure as? DatabaseError)?.explanation ?? "\(failure)")")
  }

  private static func failure(_ body: () throws -> Void) -> (any Error)? {
    do {
      try body()
      return nil
    } catch {
      return error
    }
  }

  private static func check(_ path: String) throws {
    var configuration = Configuration()
    configuration.readonly = true
    let database = try DatabaseQueue(path: path, configuration: configuration)
    try database.read { database in
      try Schema.checkKind(of: path) { try Int64.fetchOne(database, sql: $0) }
    }
    let problems = try database.read { try String.fetchAll($0, sql: "PRAGMA integrity_check(3)") }
    guard problems == ["ok"] else {
      throw PointStoreError.schemaMismatch(reason: "\(path) is damaged: \(problems.joined(separator: "; "))")
    }
    try database.close()
  }
}

/// A copy through SQLite's backup interface. GRDB's `backup(to:)` would hold up writes until everything is copied.
private final class OnlineBackup: @unchecked Sendable {
  // Sendable: one task uses it, and awaits each step on the queue of the source's connection before the next call.

  /// The pages of a step: a megabyte of 4 KiB each.
  private static let pagesPerStep: Int32 = 256

  private let destination: DatabaseQueue
  private var backup: OpaquePointer?

  init(to path: String) throws {
    SQLiteJournal.removeCopy(at: path)
    JournalFiles.create(at: path)
    var configuration = Configuration()
    // After a crash the incomplete copy is not used: it need not be durable.
    configuration.prepareDatabase { try $0.execute(sql: "PRAGMA synchronous = OFF") }
    destination = try DatabaseQueue(path: path, configuration: configuration)
  }

  /// Copies some pages, and returns whether there are more. The last step, and ``end()``, finish reading the source.
  func step(from source: Database) throws -> Bool {
    if backup == nil {
      try destination.inDatabase { destination in
        backup = sqlite3_backup_init(destination.sqliteConnection, "main", source.sqliteConnection, "main")
        if backup == nil {
          throw DatabaseError(resultCode: destination.lastErrorCode, message: destination.lastErrorMessage)
        }
      }
    }
    switch sqlite3_backup_step(backup, Self.pagesPerStep) {
    case SQLITE_OK: return true
    case SQLITE_DONE:
      end()
      return false
    case let code:
      let error = DatabaseError(resultCode: ResultCode(rawValue: code))
      throw PointStoreError.unavailable(reason: "the backup failed: \(error.explanation)")
    }
  }

  func end() {
    sqlite3_backup_finish(backup)
    backup = nil
  }

  /// Turns the copy into a single file without a write-ahead log, and closes it.
  func close() throws {
    try destination.writeWithoutTransaction { try $0.execute(sql: "PRAGMA journal_mode = DELETE") }
    try destination.close()
  }
}
