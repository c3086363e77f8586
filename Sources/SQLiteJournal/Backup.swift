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
  /// - Parameter path: the path of the copy; a file there is replaced.
  /// - Throws: ``Points/PointStoreError`` `unavailable` where it can't be written; the file at the path is removed
  ///   then.
  package func backUp(to path: String) async throws(PointStoreError) {
    let failure: (any Error)?
    do {
      let copy = try OnlineBackup(to: path)
      do {
        while try await database.writeWithoutTransaction({ try copy.step(from: $0) }) {}
      } catch {
        // The backup is finished on the queue of the source's connection.
        try? await database.writeWithoutTransaction { _ in copy.end() }
        throw error
      }
      try await database.writeWithoutTransaction { _ in copy.end() }
      try copy.close()
      failure = await Self.onDispatchQueue { Self.failure { try Self.check(path) } }
    } catch {
      failure = error
    }
    guard let failure else { return }
    unlink(path)
    if let error = failure as? PointStoreError { throw error }
    throw .unavailable(
      reason: "the backup \(path): \((failure as? DatabaseError)?.explanation ?? "\(failure)")")
  }

  /// Checks that a file is an undamaged journal that this program can open.
  ///
  /// - Throws: ``Points/PointStoreError`` `schemaMismatch` with the reason.
  package static func verify(path: String) async throws(PointStoreError) {
    let failure = await onDispatchQueue { self.failure { try check(path) } }
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
    try Schema.checkKind(database, path: path)
    let problems = try database.read { try String.fetchAll($0, sql: "PRAGMA integrity_check(3)") }
    guard problems == ["ok"] else {
      throw PointStoreError.schemaMismatch(reason: "\(path) is damaged: \(problems.joined(separator: "; "))")
    }
    try database.close()
  }
}

/// A copy through SQLite's backup interface.
private final class OnlineBackup: @unchecked Sendable {
  // Sendable: one task uses it, and awaits each step on the queue of the source's connection before the next call.

  /// The pages of a step: a megabyte of 4 KiB each.
  private static let pagesPerStep: Int32 = 256

  private var destination: OpaquePointer?
  private var backup: OpaquePointer?

  init(to path: String) throws {
    unlink(path)
    guard sqlite3_open_v2(path, &destination, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nil) == SQLITE_OK else {
      throw error()
    }
    // After a crash the incomplete copy is not used: it need not be durable.
    try execute("PRAGMA synchronous = OFF")
  }

  deinit {
    end()
    sqlite3_close_v2(destination)
  }

  /// Copies some pages, and returns whether there are more.
  func step(from source: Database) throws -> Bool {
    if backup == nil {
      backup = sqlite3_backup_init(destination, "main", source.sqliteConnection, "main")
      guard backup != nil else { throw error() }
    }
    switch sqlite3_backup_step(backup, Self.pagesPerStep) {
    case SQLITE_OK: return true
    case SQLITE_DONE: return false
    case let code:
      throw PointStoreError.unavailable(reason: "the backup failed: \(String(cString: sqlite3_errstr(code)))")
    }
  }

  /// Finishes reading the source.
  func end() {
    sqlite3_backup_finish(backup)
    backup = nil
  }

  /// Turns the copy into a single file without a write-ahead log, and closes it.
  func close() throws {
    try execute("PRAGMA journal_mode = DELETE")
    guard sqlite3_close(destination) == SQLITE_OK else { throw error() }
    destination = nil
  }

  private func execute(_ sql: String) throws {
    guard sqlite3_exec(destination, sql, nil, nil, nil) == SQLITE_OK else { throw error() }
  }

  private func error() -> PointStoreError {
    .unavailable(reason: "the backup can't be written: \(String(cString: sqlite3_errmsg(destination)))")
  }
}
