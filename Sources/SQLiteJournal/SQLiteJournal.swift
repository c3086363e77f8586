import Dispatch
import Foundation
import GRDB
public import MemoryStore
public import Points

/// A journal in an SQLite file, durable when a commit returns: a process that is killed, or a machine that loses its
/// power, loses nothing that was committed.
///
/// The file is this journal's alone for as long as it is open; beside it is SQLite's write-ahead log, which belongs to it.
/// All work happens on a queue of its own and blocks no thread of Swift's tasks.
public final class SQLiteJournal: Sendable {
  let database: DatabaseQueue
  private let files: JournalFiles
  private let damagePolicy: Loading.DamagePolicy

  private init(database: DatabaseQueue, path: String, damagePolicy: Loading.DamagePolicy) {
    self.database = database
    self.damagePolicy = damagePolicy
    files = JournalFiles(path: path)
  }

  /// Opens a file, or makes it.
  ///
  /// - Parameter onDamage: takes each damaged row, which is then left out; without it nothing is loaded from a file that
  ///   has one.
  /// - Throws: ``Points/PointStoreError``: `unavailable` where the file can't be opened or another process has it,
  ///   `schemaMismatch` where it is not such a journal or a newer version's, `unexpected` where it is damaged. The reason
  ///   names the file.
  public static func open(
    path: String,
    onDamage: (@Sendable (JournalDamage) -> Void)? = nil
  ) async throws(PointStoreError) -> SQLiteJournal {
    let opened: Result<DatabaseQueue, PointStoreError> = await onThreadOfItsOwn {
      do {
        let database = try DatabaseQueue(path: path, configuration: configuration)
        try Schema.bringUpToDate(database, path: path)
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
      database: try opened.get(), path: path, damagePolicy: onDamage.map { .skip($0) } ?? .refuse)
  }

  /// Writes what is in the log into the file and lets go of both; calls fail afterwards.
  ///
  /// Nothing is lost where a journal is not closed.
  public func close() async {
    // SQLite would remove the write-ahead log by its path, which may be another file's by now.
    guard files.loss() == nil else { return }
    await Self.onThreadOfItsOwn { [database] in
      // It is closed, or about to be: there is nobody left to tell.
      try? database.close()
    }
  }

  private static var configuration: Configuration {
    var configuration = Configuration()
    configuration.label = "waymark.journal"
    configuration.prepareDatabase { database in
      // Nobody else may have the file; this also does without memory that processes share.
      try database.execute(sql: "PRAGMA locking_mode = EXCLUSIVE")
      try database.execute(sql: "PRAGMA journal_mode = WAL")
      // A commit returns when it is on the disk, and not only on its way there.
      try database.execute(sql: "PRAGMA synchronous = FULL")
      try database.execute(sql: "PRAGMA fullfsync = ON")
      // A large import does not leave its log's size behind.
      try database.execute(sql: "PRAGMA journal_size_limit = 67108864")
      // In KiB. What is read is in memory already; a larger cache fills up with the log of changes, and stays.
      try database.execute(sql: "PRAGMA cache_size = -2048")
    }
    return configuration
  }

  /// Runs what may block, off the threads that Swift's tasks share.
  static func onThreadOfItsOwn<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
      DispatchQueue(label: "waymark.journal.opening").async { continuation.resume(returning: body()) }
    }
  }
}

extension SQLiteJournal: PlaceJournal {
  /// All that is kept, verified row by row; linear in its size.
  public func load() async throws(PointStoreError) -> JournalContents {
    try await reportingErrors { [damagePolicy] database in
      do {
        return try await database.read { try Loading.contents($0, onDamage: damagePolicy) }
      } catch let error as DatabaseError where error.isDamage {
        throw PointStoreError.unexpected(reason: "the journal \(database.path) is damaged: \(error.explanation)")
      }
    }
  }

  /// Keeps what some writes did in one transaction, and returns once it is on the disk, in the files that stand at the
  /// journal's paths.
  public func commit(_ batch: JournalBatch) async throws(PointStoreError) {
    try checkFiles()
    try await reportingErrors { database in
      try await database.write { try Committing.commit(batch, to: $0) }
    }
    try checkFiles()
  }

  /// The changes behind a sequence number, in their order.
  public func changes(after sequence: Int64, limit: Int) async throws(PointStoreError) -> [PointChange] {
    try await reportingErrors { database in
      try await database.read { try Loading.changes($0, after: sequence, limit: limit) }
    }
  }

  /// Forgets the changes before a time; answers how many.
  public func pruneChanges(before time: Timestamp) async throws(PointStoreError) -> Int {
    try await reportingErrors { database in
      try await database.write { try Committing.pruneChanges($0, before: time) }
    }
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
  /// What SQLite says is wrong, without the statement.
  var explanation: String { message ?? "\(resultCode)" }

  /// Whether the file's own structure is broken.
  var isDamage: Bool { resultCode == .SQLITE_CORRUPT || resultCode == .SQLITE_NOTADB }
}

extension PointStoreError {
  /// Why a file could not be opened.
  fileprivate init(_ error: DatabaseError, opening path: String) {
    switch error.resultCode {
    case .SQLITE_BUSY: self = .unavailable(reason: "\(path) is in use by another process")
    case .SQLITE_NOTADB: self = .schemaMismatch(reason: "\(path) is a file of another kind")
    case .SQLITE_CORRUPT: self = .unexpected(reason: "\(path) is damaged: \(error.explanation)")
    default: self = .unavailable(reason: "\(path) can't be opened: \(error.explanation)")
    }
  }
}
