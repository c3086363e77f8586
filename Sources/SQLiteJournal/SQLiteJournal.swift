import Basics
import Foundation
import GRDB
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
  private let damagePolicy: Loading.DamagePolicy

  private init(database: DatabaseQueue, path: String, damagePolicy: Loading.DamagePolicy) {
    self.database = database
    self.damagePolicy = damagePolicy
    files = JournalFiles(path: path)
  }

  /// Opens a file, or creates it.
  ///
  /// - Parameter onDamage: called with each damaged row, which is then skipped; without it, loading a file with a
  ///   damaged row fails.
  /// - Throws: ``Points/PointStoreError``: `unavailable` where the file can't be opened or is in use by another
  ///   process, `schemaMismatch` where it is not a journal or one of another schema version, `unexpected` where it
  ///   is damaged. The reason names the file.
  package static func open(
    path: String,
    onDamage: (@Sendable (JournalDamage) -> Void)? = nil
  ) async throws(PointStoreError) -> SQLiteJournal {
    let opened: Result<DatabaseQueue, PointStoreError> = await offThreadPool {
      do {
        let database = try DatabaseQueue(path: path, configuration: configuration)
        try Schema.migrate(database, path: path)
        return .success(database)
      } catch let error as PointStoreError {
        return .failure(error)
      } catch let error as DatabaseError {
        return .failure(PointStoreError(error, opening: path))
      } catch {
        return .failure(.unavailable(reason: "\(path) can't be opened: \(error)"))
      }
    }
    return SQLiteJournal(
      database: try opened.get(), path: path, damagePolicy: onDamage.map { .skip($0) } ?? .reject)
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

  private static var configuration: Configuration {
    var configuration = Configuration()
    configuration.label = "waymark.journal"
    configuration.prepareDatabase { database in
      // Locks out other processes, and needs no memory shared between them.
      try database.execute(sql: "PRAGMA locking_mode = EXCLUSIVE")
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
  /// Returns the contents, verified row by row. O(n).
  package func load() async throws(PointStoreError) -> JournalContents {
    try await reportingErrors { [damagePolicy] database in
      do {
        return try await database.read { try Loading.contents($0, onDamage: damagePolicy) }
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

  private func checkFiles() throws(PointStoreError) {
    if let loss = files.loss() { throw .unavailable(reason: "the journal \(loss)") }
  }

  private func reportingErrors<Value: Sendable>(
    _ work: (DatabaseQueue) async throws -> Value
  ) async throws(PointStoreError) -> Value {
    do {
      return try await work(database)
    } catch let error as DamagedJournal {
      throw .unexpected(
        reason: "the journal \(database.path) is damaged: \(error); --skip-damaged starts without such rows")
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
