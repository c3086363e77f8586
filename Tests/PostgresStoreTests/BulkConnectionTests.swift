import Foundation
import Points
import PostgresClient
import PostgresStore
import PostgresTestSupport
import Synchronization
import SyntheticData
import TestSupport
import Testing

/// Tests of the connections that exports and imports use.
@Suite struct BulkConnectionTests {
  @Test(.timeLimit(.minutes(5))) func exportsBeyondTheLimitWaitAndAreThenOverloaded() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await Self.store(database) { $0.waitTimeoutMilliseconds = 10_000 }
    let gate = Gate()
    let exports = (0..<2).map { _ in
      Task { try await store.exportPoints(matching: PointQuery()) { _ in await gate.pass() } }
    }
    while await store.poolLoad().exports.connections < 2 { try await Task.sleep(for: .milliseconds(10)) }

    let error = await #expect(throws: PointStoreError.self) {
      try await store.exportPoints(matching: PointQuery()) { _ in }
    }
    let point = try await store.point(id: .sample(1))
    gate.open()
    for export in exports { try await export.value }
    try await store.exportPoints(matching: PointQuery()) { _ in }

    #expect(error == .overloaded)
    #expect(point == nil)
  }

  @Test(.timeLimit(.minutes(5))) func fullQueueRejectsImmediately() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await Self.store(database) {
      $0.exportConnections = 1
      $0.maximumBulkWaiters = 1
      $0.waitTimeoutMilliseconds = 300_000
    }
    let gate = Gate()
    let exports = (0..<2).map { _ in
      Task { try await store.exportPoints(matching: PointQuery()) { _ in await gate.pass() } }
    }
    while await store.poolLoad().exports.waiting < 1 { try await Task.sleep(for: .milliseconds(10)) }

    await #expect(throws: PointStoreError.overloaded) { try await store.exportPoints(matching: PointQuery()) { _ in } }

    gate.open()
    for export in exports { try await export.value }
  }

  @Test(.timeLimit(.minutes(5))) func aWaitingExportThatIsCancelledLeavesTheQueue() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await Self.store(database) {
      $0.exportConnections = 1
      $0.waitTimeoutMilliseconds = 300_000
    }
    let gate = Gate()
    let first = Task { try await store.exportPoints(matching: PointQuery()) { _ in await gate.pass() } }
    while await store.poolLoad().exports.connections < 1 { try await Task.sleep(for: .milliseconds(10)) }
    let second = Task { try await store.exportPoints(matching: PointQuery()) { _ in } }
    while await store.poolLoad().exports.waiting < 1 { try await Task.sleep(for: .milliseconds(10)) }

    second.cancel()

    await #expect(throws: CancellationError.self) { try await second.value }
    #expect(await store.poolLoad().exports.waiting == 0)
    gate.open()
    try await first.value
  }

  @Test(.timeLimit(.minutes(5))) func backendsNeverExceedTheLimits() async throws {
    let server = try await TemporaryServer.start()
    let database = try await server.makeDatabase()
    let store = try await Self.store(database) {
      $0.poolSize = 1
      $0.waitTimeoutMilliseconds = 300_000
    }
    var places = try SyntheticPoints(seed: 7)
    try await store.importRows(try places.rows(count: 3_000))
    let rows = try places.rows(count: 200)
    let maximum = Mutex(0)
    let isOver = Mutex(false)
    let watcher = Task {
      while !isOver.withLock({ $0 }) {
        let count = try await Int(Self.backends(database)) ?? 0
        maximum.withLock { $0 = max($0, count) }
      }
    }

    // Exports and imports that complete, that throw, and that are cancelled during a statement.
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<60 {
        group.addTask {
          let work = Task {
            if number % 2 == 0 {
              try await store.exportPoints(matching: PointQuery()) { _ in if number % 3 == 0 { throw ConsumerError() } }
            } else {
              try await store.importRows(rows)
            }
          }
          if number % 5 == 0 {
            try? await Task.sleep(for: .milliseconds(number * 5))
            work.cancel()
          }
          _ = await work.result
        }
      }
    }
    try await Self.allIsClosed(store)
    isOver.withLock { $0 = true }
    try await watcher.value

    #expect((2...5).contains(maximum.withLock { $0 }))
    #expect(try await Int(Self.backends(database)) ?? 9 <= 1)
  }

  @Test(.timeLimit(.minutes(5))) func importAcquiresAConnectionWhenItsFirstRowsArrive() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await Self.store(database) {
      $0.importConnections = 1
      $0.waitTimeoutMilliseconds = 300_000
    }
    let uploads = (0..<20).map { _ in AsyncStream.makeStream(of: [ImportRow].self) }
    let idle = uploads.map { upload in Task { try await store.importRows(upload.stream, mode: .partial, dryRun: false) }
    }

    let report = try await store.importRows([.sample("there", 1, 1)])
    let imports = await store.poolLoad().imports
    let held = imports.connections + imports.waiting
    let backends = try await Self.backends(database)
    for upload in uploads { upload.continuation.finish() }
    for upload in idle { _ = try await upload.value }

    #expect(report.created == 1)
    #expect(held <= 1)
    // The connection of the completed import may still be open.
    #expect(try #require(Int(backends)) <= 1)
  }

  @Test(.timeLimit(.minutes(5))) func importThatStallsAmongItsFirstRowsHoldsNoConnection() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await Self.store(database) {
      $0.importConnections = 1
      $0.waitTimeoutMilliseconds = 10_000
    }
    let (upload, continuation) = AsyncStream.makeStream(of: [ImportRow].self)
    let requested = Counter()
    let rows = AsyncStream<[ImportRow]> {
      requested.add()
      var batches = upload.makeAsyncIterator()
      return await batches.next()
    }
    continuation.yield(try [.sample("stalled", 1, 1)])
    let stalled = Task { try await store.importRows(rows, mode: .partial, dryRun: false) }
    while requested.value < 2 { try await Task.sleep(for: .milliseconds(10)) }

    let report = try await store.importRows([.sample("there", 1, 1)])
    continuation.finish()

    #expect(report.created == 1)
    #expect(try await stalled.value.created == 1)
  }

  @Test(.timeLimit(.minutes(5))) func longImportThatStallsGivesWayToOthers() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await Self.store(database) {
      $0.importConnections = 1
      $0.waitTimeoutMilliseconds = 300_000
      $0.uploadToleranceMilliseconds = 0
    }
    let (upload, continuation) = AsyncStream.makeStream(of: [ImportRow].self)
    continuation.yield(try (1...30_000).map { try .sample("stalled", 1, 1, number: $0) })
    let stalled = Task { try await store.importRows(upload, mode: .partial, dryRun: false) }
    while await store.poolLoad().imports.connections < 1 { try await Task.sleep(for: .milliseconds(10)) }

    let report = try await store.importRows([.sample("there", 1, 1)])

    #expect(report.created == 1)
    await #expect(throws: PointStoreError.uploadTooSlow) { try await stalled.value }
    #expect(try await store.allPoints().count == 2)
    continuation.finish()
  }

  private static func options(for client: String) -> ImportOptions {
    var options = ImportOptions()
    options.client = client
    return options
  }

  @Test(.timeLimit(.minutes(5))) func oneOfTheLongImportsThatStallGivesWayToAnother() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await Self.store(database) {
      $0.waitTimeoutMilliseconds = 300_000
      $0.uploadToleranceMilliseconds = 0
    }
    let uploads = ["a", "b"].map { (client: $0, rows: AsyncStream.makeStream(of: [ImportRow].self)) }
    for upload in uploads {
      upload.rows.continuation.yield(try (1...30_000).map { try .sample("stalled", 1, 1, number: $0) })
    }
    let stalled = uploads.map { upload in
      Task { try await store.importRows(upload.rows.stream, options: Self.options(for: upload.client)) }
    }
    while await store.poolLoad().imports.connections < 2 { try await Task.sleep(for: .milliseconds(10)) }

    let report = try await store.importRows(
      [.sample("there", 1, 1)].inOneBatch, options: Self.options(for: "c"))
    // Each is asked once in a second.
    try await Task.sleep(for: .seconds(3))
    for upload in uploads { upload.rows.continuation.finish() }
    var created: [Int] = []
    var errors: [PointStoreError] = []
    for task in stalled {
      do {
        created.append(try await task.value.created)
      } catch let error as PointStoreError {
        errors.append(error)
      }
    }

    #expect(report.created == 1)
    #expect(created == [30_000])
    #expect(errors == [.uploadTooSlow])
  }

  @Test(.timeLimit(.minutes(5))) func shortTransactionOfAClientIsServedDuringItsImport() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await Self.store(database) {
      // The import's client has no other.
      $0.waitTimeoutMilliseconds = 10_000
      $0.uploadToleranceMilliseconds = 600_000
    }
    let (upload, continuation) = AsyncStream.makeStream(of: [ImportRow].self)
    continuation.yield(try (1...30_000).map { try .sample("nightly", 1, 1, number: $0) })
    let draft = try PointDraft.sample("twice")
    // The second operation depends on the first.
    var batch = PointBatch([.put(draft, id: .sample(1), if: .none), .delete(id: .sample(1), if: .none)])
    batch.client = "client"

    let importing = Task { try await store.importRows(upload, options: Self.options(for: "client")) }
    while await store.poolLoad().imports.connections < 1 { try await Task.sleep(for: .milliseconds(10)) }
    let results = try await store.apply(batch)
    continuation.finish()

    #expect(try await importing.value.created == 30_000)
    #expect(results.count == 2)
    #expect(results.allSatisfy { !$0.isFailure })
  }

  @Test(.timeLimit(.minutes(5))) func longImportThatStallsGoesOnWhileNoOtherWaits() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await Self.store(database) { $0.uploadToleranceMilliseconds = 0 }
    let (upload, continuation) = AsyncStream.makeStream(of: [ImportRow].self)
    continuation.yield(try (1...30_000).map { try .sample("stalled", 1, 1, number: $0) })
    let stalled = Task { try await store.importRows(upload, mode: .partial, dryRun: false) }
    while await store.poolLoad().imports.connections < 1 { try await Task.sleep(for: .milliseconds(10)) }

    let report = try await store.importRows([.sample("there", 1, 1)])
    try await Task.sleep(for: .seconds(3))
    continuation.finish()

    #expect(report.created == 1)
    #expect(try await stalled.value.created == 30_000)
  }

  @Test(.timeLimit(.minutes(5))) func collectedRowsOfAnImportAreReservedUntilTheyAreSent() async throws {
    struct Full: Error {}
    let store = try await TemporaryDatabase.make().migratedStore()
    let batches: [[ImportRow]] = try (0..<3).map { try [.sample("\($0)", 1, 1), .sample("\($0) too", 1, 1)] }
    let rows = AsyncStream<[ImportRow]> { continuation in
      for batch in batches { continuation.yield(batch) }
      continuation.finish()
    }
    let reserved = Mutex<[Int]>([])
    var options = ImportOptions()
    options.reserve = { bytes in
      reserved.withLock { $0.append(bytes) }
      if bytes > 1_000 { throw Full() }
    }

    let report = try await store.importRows(rows, options: options)

    let bytes = reserved.withLock { $0 }
    #expect(report.created == 6)
    #expect(bytes.max() ?? 0 > 1_000 && bytes.count { $0 > 1_000 } == 1)
    #expect(bytes.last == 0)
  }

  @Test(.timeLimit(.minutes(5))) func clientLeavesAConnectionForOthers() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await Self.store(database) { $0.waitTimeoutMilliseconds = 300_000 }
    let gate = Gate()
    let exports = (0..<3).map { _ in
      Task { try await store.exportPoints(matching: PointQuery(), for: "many") { _ in await gate.pass() } }
    }
    while await store.poolLoad().exports.waiting < 2 { try await Task.sleep(for: .milliseconds(10)) }

    try await store.exportPoints(matching: PointQuery(), for: "other") { _ in }
    let waiting = await store.poolLoad().exports.waiting
    gate.open()
    for export in exports { try await export.value }

    #expect(waiting == 2)
  }

  @Test(.timeLimit(.minutes(5))) func anImportThatIsCommittingIsNotCancelledWithItsCaller() async throws {
    let server = try await TemporaryServer.start()
    let database = try await server.makeDatabase()
    let store = try await Self.store(database) { $0.poolSize = 1 }
    // No standby ever confirms.
    try await Self.wait(forStandby: "nobody", on: server)
    let rows = try [ImportRow.sample("committed", 1, 1)]
    let importing = Task { try await store.importRows(rows) }
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query = 'COMMIT'"
    while try await database.run(waiting) != "1" { try await Task.sleep(for: .milliseconds(10)) }

    importing.cancel()
    try await Task.sleep(for: .seconds(2))

    // PostgreSQL would have kept the commit without a standby, and listed it.
    #expect(try await database.run(waiting) == "1")
    #expect(try await database.run("SELECT count(*) FROM points") == "1")
    try await Self.wait(forStandby: "", on: server)
    #expect(try await importing.value.created == 1)
  }

  @Test(.timeLimit(.minutes(5))) func retriedWriteIsAcknowledgedOnceItIsAsDurableAsTheFirst() async throws {
    let server = try await TemporaryServer.start()
    let database = try await server.makeDatabase()
    let store = try await Self.store(database) { $0.statementTimeoutMilliseconds = 300_000 }
    let rows = try [ImportRow.sample("committed", 1, 1)]
    let key = ImportKey(text: "k") { 1 }
    let first = try await store.importRows(rows.inOneBatch, mode: .partial, dryRun: false, once: key)
    try await Self.wait(forStandby: "nobody", on: server)
    let isAnswered = Mutex(false)

    let repeated = Task {
      let report = try await store.importRows(rows.inOneBatch, mode: .partial, dryRun: false, once: key)
      isAnswered.withLock { $0 = true }
      return report
    }
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
    while try await database.run(waiting) != "1" { try await Task.sleep(for: .milliseconds(10)) }

    #expect(!isAnswered.withLock { $0 })
    try await Self.wait(forStandby: "", on: server)
    #expect(try await repeated.value == first)
  }

  private struct ConsumerError: Error {}

  /// Returns a store with one place and without open connections.
  private static func store(
    _ database: TemporaryDatabase, _ change: (inout PostgresConfiguration) -> Void
  ) async throws -> PostgresStore {
    var configuration = try PostgresConfiguration.withLongTimeouts(url: database.url)
    change(&configuration)
    let migrations = try Migration.all(inDirectory: migrationsDirectory)
    _ = try await Migrator(configuration: configuration, migrations: migrations).migrate()
    let store = try PostgresStore(configuration: configuration, migrations: migrations)
    try await store.importRows([.sample("seed", 1, 1, id: .sample(9))])
    try await allIsClosed(store)
    return store
  }

  private static func allIsClosed(_ store: PostgresStore) async throws {
    while true {
      let load = await store.poolLoad()
      if load.exports.connections + load.imports.connections == 0 { return }
      try await Task.sleep(for: .milliseconds(10))
    }
  }

  private static func backends(_ database: TemporaryDatabase) async throws -> String {
    try await database.run(
      "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'waymark' AND datname = current_database()")
  }

  private static func wait(forStandby name: String, on server: TemporaryServer) async throws {
    // A `COMMIT` by psql would wait too, so no transaction is used.
    try await server.psql(database: "postgres", "ALTER SYSTEM SET synchronous_standby_names = '\(name)'")
    try await server.psql(database: "postgres", "SELECT pg_reload_conf()")
    let shown = "SHOW synchronous_standby_names"
    while try await server.psql(database: "postgres", shown) != name { try await Task.sleep(for: .milliseconds(10)) }
  }
}
