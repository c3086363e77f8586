import CoreMetrics
import Foundation
import IndexedStore
import LocationsAPI
import Logging
import MemoryStore
import PointIndex
import Points
import PostgresClient
import PostgresStore
import SQLiteJournal
import ServerFeatures
import ServiceLifecycle

/// The configured store, filled or connected, and closed at shutdown.
struct RunningStore: Service {
  let store: any PointStore

  /// The observers of the calls of the store.
  let observers: [any StoreObserver]

  /// The changes of the places.
  private(set) var changes: any PointFeed

  /// The named areas.
  let areas: any AreaStore

  /// The upkeep of the change log.
  private(set) var changeUpkeep: [BackgroundService] = []

  /// The collectors of the store's own metrics.
  private(set) var collectors: [any MetricsCollector] = []

  /// Keeps the index: follows the database, and writes files; `nil` where there is nothing to do.
  private(set) var indexUpkeep: (@Sendable () async -> Void)?

  /// The log of searches; `nil` where searches are not kept.
  private(set) var searchLog: PostgresSearchLog?

  /// Copies the file in which the places are kept; `nil` where there is none.
  private(set) var backup: BackupAction?

  /// The records of features.
  let records: any RecordStore

  /// A Boolean value that indicates whether the records outlast the process.
  private(set) var keepsRecords = true

  private var close: @Sendable () async -> Void = {}

  private init(
    _ store: any PointStore, areas: any AreaStore, records: any RecordStore,
    changes: any PointFeed,
    observers: [any StoreObserver]
  ) {
    self.store = store
    self.areas = areas
    self.records = records
    self.changes = changes
    self.observers = observers
  }

  /// Waits until shutdown and closes the store.
  func run() async throws {
    try? await gracefulShutdown()
    await close()
  }

  /// Returns the configured store.
  ///
  /// - Parameters:
  ///   - clock: the source of the times of places in memory.
  ///   - metrics: the backend that calls are timed in.
  /// - Throws: ``ConfigurationError`` for a database address that can't be used, `FileError` or `FormatError` for
  ///   places that can't be parsed, `PointStoreError` for a file of kept places that can't be opened.
  static func build(
    _ configuration: ServeConfiguration, clock: MonotoneClock, metrics: any MetricsFactory, logger: Logger
  ) async throws -> RunningStore {
    switch configuration.store {
    case .memory(let files, keptIn: nil, _):
      return try await buildVolatile(
        files, text: configuration.search.textIndex, maximumEdits: configuration.maximumEdits, clock: clock,
        metrics: metrics, logger: logger)
    case .memory(let files, keptIn: let path?, let indexPath):
      return try await buildJournaled(
        path, files, indexPath: indexPath, changesRetention: configuration.changesRetention,
        text: configuration.search.textIndex, maximumEdits: configuration.maximumEdits, clock: clock,
        metrics: metrics, logger: logger)
    case .postgres(let database):
      return try buildPostgres(
        database, configuration.search, keepsSearches: configuration.analytics == .postgres,
        changesRetention: configuration.changesRetention, metrics: metrics, logger: logger)
    }
  }

  // MARK: Memory

  private static func buildVolatile(
    _ files: [String], text: TextIndexConfiguration, maximumEdits: Int, clock: MonotoneClock,
    metrics: any MetricsFactory, logger: Logger
  ) async throws -> RunningStore {
    let memory = MemoryStore(text: text, maximumEdits: maximumEdits, clock: clock)
    try await memory.load(files: files.isEmpty ? [MemoryStore.sampleName] : files, logger: logger)
    logger.info("places are in memory only")
    var running = RunningStore(
      memory, areas: memory, records: memory, changes: memory.changes,
      observers: [StoreMetrics(metrics)])
    running.keepsRecords = false
    running.collectors = [ValueCollector(MetricCatalogue.memoryStore, factory: metrics) { memory.count }]
    return running
  }

  private static func buildJournaled(
    _ path: String, _ files: [String], indexPath: String?, changesRetention: Duration, text: TextIndexConfiguration,
    maximumEdits: Int, clock: MonotoneClock, metrics: any MetricsFactory, logger: Logger
  ) async throws -> RunningStore {
    let start = ContinuousClock.now
    let journal = try await SQLiteJournal.open(path: path, damagedRows: DamagedRows(logger: logger))
    // While the file is open, no other process uses the files of its index.
    let indexFiles = Self.indexFiles(indexPath, logger: logger)
    let memory = try await MemoryStore(
      journal: journal, files: indexFiles, text: text, maximumEdits: maximumEdits, clock: clock)
    log(memory.indexOrigin, of: memory, in: ContinuousClock.now - start, logger)
    // The file is open, so that no other process makes a copy.
    SQLiteJournal.removeCopy(at: path + backupSuffix)
    if memory.wasNew, !files.isEmpty {
      try await memory.load(files: files, logger: logger)
    } else if !files.isEmpty {
      logger.notice("data files are not loaded, as the store has places", metadata: ["path": "\(path)"])
    }
    logger.info(
      "places are in memory and in a file", metadata: ["places": .stringConvertible(memory.count), "path": "\(path)"])
    let outages = OutageLog(watching: .writes, hiding: (path, "MEMORY_STORE_PATH"), logger: logger)
    var running = RunningStore(
      memory, areas: memory, records: memory, changes: memory.changes,
      observers: [StoreMetrics(metrics), outages])
    running.changeUpkeep = [
      Pruning.changes(keptFor: changesRetention, logger: logger) { try await memory.pruneChanges(before: $0) }.service
    ]
    running.collectors = [ValueCollector(MetricCatalogue.memoryStore, factory: metrics) { memory.count }]
    running.backup = backup(of: journal, path: path)
    if let indexFiles {
      running.indexUpkeep = {
        await memory.keep(in: indexFiles) { reason in
          logger.warning("the index can't be written to its files", metadata: ["reason": "\(reason)"])
        }
      }
    }
    running.close = { await journal.close() }
    return running
  }

  private static func log(
    _ origin: MemoryStore.IndexOrigin, of memory: MemoryStore, in duration: Duration, _ logger: Logger
  ) {
    switch origin {
    case .files(let changes):
      logger.info(
        "the index continues from its files",
        metadata: [
          "places": .stringConvertible(memory.count), "changes": .stringConvertible(changes),
          "seconds": .stringConvertible((duration / .milliseconds(10)).rounded() / 100),
        ])
    case .built(let reason?):
      logger.notice("the files of the index are not used", metadata: ["reason": "\(reason)"])
    case .built(nil): break
    }
  }

  /// The end of the name of the copy that a backup makes beside the file. Nobody else gives it to a file.
  private static let backupSuffix = ".backup.partial"

  /// Returns the function that copies the journal into a file beside it, one copy at a time.
  private static func backup(of journal: SQLiteJournal, path: String) -> BackupAction {
    { () throws(PointStoreError) in
      let copy = path + backupSuffix
      try await journal.backUp(to: copy)
      guard let size = try? FileManager.default.attributesOfItem(atPath: copy)[.size] as? Int else {
        throw .unavailable(reason: "the backup \(copy) is gone")
      }
      return BackupFile(path: copy, byteCount: size) { SQLiteJournal.removeCopy(at: copy) }
    }
  }

  // MARK: PostgreSQL

  private static func buildPostgres(
    _ database: DatabaseConfiguration, _ search: SearchConfiguration, keepsSearches: Bool, changesRetention: Duration,
    metrics: any MetricsFactory, logger: Logger
  ) throws -> RunningStore {
    let migrations = try Self.migrations(of: database)
    let store = try PostgresStore(
      configuration: try PostgresConfiguration(database), migrations: migrations,
      damagedRows: DamagedRows(logger: logger), maximumEdits: database.maximumEdits)
    logger.info("places are in PostgreSQL", metadata: ["pool_size": .stringConvertible(database.poolSize)])
    var running = try withIndex(
      of: store, database, changesRetention: changesRetention, text: search.textIndex, metrics: metrics, logger: logger)
    let searchLog = keepsSearches ? PostgresSearchLog(store, minimumTextCount: search.minimumTextCount) : nil
    let pruning = Pruning.changes(keptFor: changesRetention, logger: logger) { time in
      let compacted = try await store.compactChanges()
      return try await store.pruneChanges(before: time) + compacted
    }
    running.changeUpkeep.append(pruning.service)
    running.collectors += [
      ValueCollector(MetricCatalogue.pool, factory: metrics) { (await store.poolLoad(), database.poolSize) },
      ImportsCollector(store, factory: metrics),
    ]
    running.searchLog = searchLog
    running.close = {
      await searchLog?.shutDown()
      await store.shutDown()
    }
    return running
  }

  private static func migrations(of database: DatabaseConfiguration) throws(ConfigurationError) -> [Migration] {
    do throws(MigrationError) {
      return try database.migrations()
    } catch {
      throw .conflict(Setting.places.migrationsPath, "must be a folder of migrations, but it is not: \(error)")
    }
  }

  /// Returns the store of a database, with an index in front of it where one is configured.
  private static func withIndex(
    of store: PostgresStore, _ database: DatabaseConfiguration, changesRetention: Duration,
    text: TextIndexConfiguration, metrics: any MetricsFactory, logger: Logger
  ) throws(PointStoreError) -> RunningStore {
    let outages = OutageLog(logger: logger)
    let feed = try ChangeFeed(store, changesKeptFor: changesRetention)
    let changes = ChangeHub(feed)
    let anchoring = BackgroundService(every: ChangeFeed.anchorPeriod) {
      // An outage is logged by other calls, and a standby has no positions.
      try? await feed.keepAnchored()
    }
    guard database.index.use != .off else {
      var running = RunningStore(
        store, areas: PostgresAreas(store, readinessLimit: database.index.readinessLimit),
        records: store, changes: changes,
        observers: [StoreMetrics(metrics), outages])
      let poller = ChangePoller(feed, changes)
      running.changeUpkeep = [anchoring, BackgroundService { await poller.run() }]
      return running
    }
    let follower = IndexFollower(
      feed, freshness: database.index.freshness,
      memoryLimit: database.index.memoryLimit(of: .ofProcess), text: text,
      waitLimit: database.waitTime, observers: [outages], files: indexFiles(database.index.path, logger: logger),
      changes: changes, logger: logger)
    let indexed = IndexedStore(store, index: follower, readinessLimit: database.index.readinessLimit)
    let freshness = database.index.freshness
    let areas = PostgresAreas(
      store, maximumAge: freshness.maximumAge, staleLifetime: freshness.staleLifetime,
      readinessLimit: database.index.readinessLimit)
    var running = RunningStore(
      indexed, areas: areas, records: store, changes: changes, observers: [StoreMetrics(metrics)])
    let poller = ChangePoller(feed, changes, beside: follower)
    running.changeUpkeep = [anchoring, BackgroundService { await poller.run() }]
    running.indexUpkeep = { await follower.run() }
    running.collectors = [
      ValueCollector(MetricCatalogue.index, factory: metrics) {
        (follower.status, indexed.indexReads, indexed.databaseReads)
      }
    ]
    return running
  }

  /// Returns the files of the index in a folder; `nil` if there is none, or it can't be used.
  private static func indexFiles(_ folder: String?, logger: Logger) -> IndexFiles? {
    guard let folder else { return nil }
    do throws(IndexFileError) {
      return try IndexFiles(folder: folder)
    } catch {
      logger.warning("INDEX_PATH can't be used: the index is not kept in files", metadata: ["reason": "\(error)"])
      return nil
    }
  }
}
