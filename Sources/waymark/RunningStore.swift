import CoreMetrics
import Foundation
import LocationsAPI
import Logging
import MemoryStore
import PlaceFormats
import Points
import PostgresStore
import SQLiteJournal
import ServiceLifecycle
import Synchronization

/// The store that the configuration names, filled or connected, and let go of at the end.
struct RunningStore: Service {
  /// Where the places are.
  let store: any PointStore

  /// What changes them.
  let editor: PlaceEditor

  /// What forgets the store's old changes, where it keeps any.
  let pruning: ChangePruning?

  /// What looks up the store's own figures.
  let collectors: [any MetricsCollector]

  /// What keeps searches, where the store can.
  let searchLog: PostgresSearchLog?

  /// What copies the file in which the places are kept; `nil` where there is none.
  let backUp: BackUp?

  private let close: @Sendable () async -> Void

  /// Creates the store.
  ///
  /// - Parameters:
  ///   - skipsDamaged: whether damaged rows of a file of kept places are left out, instead of nothing being read.
  ///   - clock: what places in memory take their times from.
  ///   - metrics: where its calls are timed.
  /// - Throws: ``ConfigurationError`` for a database address that can't be used, `FileError` or `FormatError` for places
  ///   that can't be read, `PointStoreError` for a file of kept places that can't be opened.
  init(
    _ kind: ServeConfiguration.Store, skipsDamaged: Bool, clock: MonotoneClock, metrics: any MetricsFactory,
    logger: Logger
  ) async throws {
    switch kind {
    case .memory(let files, keptIn: nil):
      let memory = try await Self.filled(MemoryStore(clock: clock), files: files, logger: logger)
      let measured = MeasuredStore(memory, factory: metrics)
      store = measured
      editor = PlaceEditor(store: measured)
      pruning = nil
      collectors = [PlacesCollector(memory, factory: metrics)]
      searchLog = nil
      backUp = nil
      close = {}
      logger.info("places are in memory alone")
    case .memory(let files, keptIn: let path?):
      let (memory, journal) = try await Self.opened(path, skipsDamaged: skipsDamaged, clock: clock, logger: logger)
      if memory.wasNew {
        _ = try await Self.filled(memory, files: files, logger: logger)
      } else {
        if !files.isEmpty {
          logger.notice("the data files are not loaded: there are places already", metadata: ["path": "\(path)"])
        }
      }
      let measured = MeasuredStore(memory, factory: metrics)
      store = measured
      // What is in memory can always be read, so that only a write tells whether the file is well.
      editor = PlaceEditor(store: OutageLog(measured, watching: .writes, logger: logger))
      pruning = ChangePruning(log: memory, logger: logger)
      collectors = [PlacesCollector(memory, factory: metrics)]
      searchLog = nil
      backUp = Self.backUp(of: journal, path: path)
      close = { await journal.close() }
      logger.info(
        "places are in memory and kept", metadata: ["places": .stringConvertible(memory.count), "path": "\(path)"])
    case .postgres(let database):
      let migrations: [Migration]
      do {
        migrations = try Migration.all(inDirectory: database.migrationsPath)
      } catch {
        throw ConfigurationError(
          variable: "MIGRATIONS_PATH", value: database.migrationsPath,
          expectation: "must be a folder of migrations: \(error)")
      }
      let postgres = try PostgresStore(
        configuration: try PostgresConfiguration(database), migrations: migrations)
      let measured = MeasuredStore(postgres, factory: metrics)
      let watched = OutageLog(measured, logger: logger)
      let searchLog = PostgresSearchLog(postgres)
      self.searchLog = searchLog
      backUp = nil
      collectors = [PoolCollector(postgres, limit: database.poolSize, factory: metrics)]
      pruning = ChangePruning(log: postgres, logger: logger)
      if let url = database.replicaConninfo {
        let replica = try PostgresStore(
          configuration: try PostgresConfiguration(database, replica: url),
          migrations: migrations)
        let both = ReplicatedStore(
          primary: watched,
          replica: OutageLog(MeasuredStore(replica, factory: metrics), called: "the replica", logger: logger))
        store = both
        editor = PlaceEditor(store: both)
        close = {
          await searchLog.shutDown()
          await postgres.shutDown()
          await replica.shutDown()
        }
      } else {
        store = watched
        editor = PlaceEditor(store: watched)
        close = {
          await searchLog.shutDown()
          await postgres.shutDown()
        }
      }
      logger.info(
        "places are in PostgreSQL",
        metadata: [
          "pool_size": .stringConvertible(database.poolSize),
          "replica": .stringConvertible(database.replicaConninfo != nil),
        ])
    }
  }

  /// Waits until the process is told to stop, and lets go of the store.
  func run() async throws {
    try? await gracefulShutdown()
    await close()
  }

  /// Opens the file that keeps the places, and loads them.
  private static func opened(
    _ path: String, skipsDamaged: Bool, clock: MonotoneClock, logger: Logger
  ) async throws(PointStoreError) -> (MemoryStore, SQLiteJournal) {
    guard skipsDamaged else {
      let journal = try await SQLiteJournal.open(path: path)
      return (try await MemoryStore(journal: journal, clock: clock), journal)
    }
    let damage = DamageReport(path: path, logger: logger)
    let journal = try await SQLiteJournal.open(path: path) { damage.note($0) }
    let memory = try await MemoryStore(journal: journal, clock: clock)
    damage.finish()
    return (memory, journal)
  }

  /// Copies the journal into a file beside it, one at a time.
  private static func backUp(of journal: SQLiteJournal, path: String) -> BackUp {
    { () throws(PointStoreError) in
      let copy = path + ".backup"
      try await journal.backUp(to: copy)
      guard let size = try? FileManager.default.attributesOfItem(atPath: copy)[.size] as? Int else {
        throw .unavailable(reason: "the backup \(copy) is gone")
      }
      return BackupFile(path: copy, byteCount: size) { try? FileManager.default.removeItem(atPath: copy) }
    }
  }

  /// Fills an empty store from files, or from the bundled sample.
  private static func filled(_ store: MemoryStore, files: [String], logger: Logger) async throws -> MemoryStore {
    let rejections = Mutex(ImportReport())
    let notes = ImportNotes()
    let onRejection: @Sendable (RejectedRow) -> Void = { row in rejections.withLock { $0.reject(row) } }
    var report: ImportReport
    if files.isEmpty {
      let sample = PlaceReader(
        BundledSample.chunks, parser: PlaceParser(format: .geoJSON), onRejection: onRejection)
      report = try await store.load(sample)
    } else {
      let places = PlaceFiles(
        try files.map { path in try PlaceFiles.File(path: path) }, requiresUsableRow: true, notes: notes,
        onRejection: onRejection)
      report = try await store.load(places)
    }
    report.add(rejections.withLock { $0 })
    report.locateRejections(notes.location)
    for row in report.rejections {
      var metadata: Logger.Metadata = ["row": .stringConvertible(row.number), "reason": "\(row.detail)"]
      if let file = row.location.file { metadata["file"] = "\(file)" }
      if let line = row.location.line { metadata["line"] = .stringConvertible(line) }
      logger.warning("a row was left out", metadata: metadata)
    }
    logger.info(
      "places were loaded",
      metadata: [
        "places": .stringConvertible(report.created), "rejected": .stringConvertible(report.rejected),
        "from": "\(files.isEmpty ? "the bundled sample" : files.joined(separator: ","))",
      ])
    return store
  }
}

/// The damaged rows that are left out of a file of kept places, as the log tells of them: the first ones one by one, then
/// their number.
private final class DamageReport: Sendable {
  /// The number of rows that have a line of their own.
  private static let maximumLines = 100

  private let path: String
  private let logger: Logger
  private let count = Mutex(0)

  init(path: String, logger: Logger) {
    self.path = path
    self.logger = logger
  }

  func note(_ damage: JournalDamage) {
    let number = count.withLock { count in
      count += 1
      return count
    }
    guard number <= Self.maximumLines else { return }
    logger.error("a damaged row was left out", metadata: ["path": "\(path)", "row": "\(damage)"])
  }

  func finish() {
    let count = count.withLock { $0 }
    guard count > 0 else { return }
    logger.error("damaged rows were left out", metadata: ["path": "\(path)", "rows": "\(count)"])
  }
}

extension PostgresConfiguration {
  /// The store's part of the settings.
  init(_ database: DatabaseConfiguration) throws(ConfigurationError) {
    try self.init(database, url: database.conninfo, variable: "DATABASE_URL")
    poolSize = database.shares.requests
    exportConnections = database.shares.exports
    importConnections = database.shares.imports
    bulkConnections = database.shares.bulk
  }

  /// The same for a replica, which has neither imports nor searches to keep.
  init(_ database: DatabaseConfiguration, replica url: String) throws(ConfigurationError) {
    try self.init(database, url: url, variable: "DATABASE_REPLICA_URL")
    poolSize = database.poolSize - database.shares.exports
    exportConnections = database.shares.exports
    importConnections = 0
    bulkConnections = database.shares.exports
  }

  private init(_ database: DatabaseConfiguration, url: String, variable: String) throws(ConfigurationError) {
    do {
      let milliseconds = database.statementTimeout / .milliseconds(1)
      try self.init(url: url, statementTimeoutMilliseconds: Int(milliseconds))
      preparedStatements = database.preparedStatements
      waitTimeoutMilliseconds = Int(database.waitTime / .milliseconds(1))
    } catch {
      throw ConfigurationError(variable: variable, value: nil, expectation: "\(error)")
    }
  }
}
