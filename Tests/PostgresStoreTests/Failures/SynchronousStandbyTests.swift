import Points
import PostgresClient
import PostgresTestSupport
import TestSupport
import Testing

@testable import PostgresStore

/// Tests of writes to a primary whose commits wait for a standby.
@Suite(.timeLimit(.minutes(5))) struct SynchronousStandbyTests {
  /// A primary with the schema, its synchronous standby, and a store on the primary.
  private struct Cluster {
    let primary: TemporaryServer
    let standby: TemporaryServer
    let database: TemporaryDatabase
    let store: PostgresStore

    init(_ change: (inout PostgresConfiguration) -> Void = { _ in }) async throws {
      primary = try await TemporaryServer.start()
      database = try await primary.makeDatabase()
      await (try database.migratedStore()).shutDown()
      standby = try await primary.startStandby()
      try await primary.requireStandby()
      var configuration = try PostgresConfiguration.withLongTimeouts(url: database.url, poolSize: 8)
      configuration.silenceToleranceMilliseconds = 500
      change(&configuration)
      store = try PostgresStore(configuration: configuration, migrations: [])
    }

    static let waiting = "FROM pg_stat_activity WHERE wait_event = 'SyncRep'"

    /// Waits until the given number of commits wait for the standby.
    func waitForCommits(_ count: Int) async throws {
      while try await database.run("SELECT count(*) \(Self.waiting)") != String(count) {}
    }

    func names(at server: TemporaryServer) async throws -> String {
      try await server.psql(database: database.name, "SELECT string_agg(name, ' ' ORDER BY name) FROM points")
    }
  }

  @Test func cancelledWriteContinuesToAwaitTheStandby() async throws {
    let cluster = try await Cluster()
    let (store, key) = (cluster.store, IdempotencyKey(text: "client/1", requestHash: 1))
    let place = try PointDraft.sample("one")
    try await cluster.standby.signal("STOP")

    let first = Task { try await store.create(place, once: key) }
    try await cluster.waitForCommits(1)
    first.cancel()
    let left = await first.result
    let repeated = await #expect(throws: PointWriteError.self) { try await store.create(place, once: key) }
    let seen = try await store.names(PointQuery())
    try await cluster.standby.signal("CONT")
    try await cluster.waitForCommits(0)
    let created = try await store.create(place, once: key)

    #expect {
      try left.get()
    } throws: { error in
      if case .store(.outcomeUnknown)? = error as? PointWriteError { true } else { false }
    }
    #expect(repeated == .keyInFlight)
    #expect(seen == [])
    #expect(created.draft == place)
  }

  @Test func responseThatConfirmsAnEarlierWriteWaitsForTheStandby() async throws {
    let cluster = try await Cluster()
    let (store, key) = (cluster.store, IdempotencyKey(text: "client/1", requestHash: 1))
    let place = try PointDraft.sample("one")
    let gone = try await store.create(try .sample("gone"), once: nil).id
    try await cluster.standby.signal("STOP")

    // Both waits are cancelled on the server: the primary alone keeps the commits.
    let create = Task { try await store.create(place, once: key) }
    let delete = Task { try await store.delete(id: gone, if: .none) }
    try await cluster.waitForCommits(2)
    try await cluster.database.run("SELECT pg_cancel_backend(pid) \(Cluster.waiting)")
    let errors = (await create.result, await delete.result)
    let id = try #require(try await store.allPoints().first).id
    let progress = Counter()
    let again = Task {
      defer { progress.add() }
      return try await store.create(place, once: key)
    }
    let kept = Task {
      defer { progress.add() }
      return try await store.put(place, id: id, if: .none).point
    }
    let absent = Task {
      defer { progress.add() }
      try await store.delete(id: gone, if: .none)
    }
    try await cluster.waitForCommits(3)
    let finishedBefore = progress.value
    try await cluster.standby.signal("CONT")
    let (repeated, unchanged) = (try await again.value, try await kept.value)
    await #expect(throws: PointWriteError.notFound) { try await absent.value }
    try await cluster.primary.stop(.immediate)
    try await cluster.standby.promote()

    for error in [errors.0.error, errors.1.error] {
      if case .store(.outcomeUnknown)? = error {} else { Issue.record("got \(String(describing: error))") }
    }
    #expect(finishedBefore == 0)
    #expect(repeated.id == id)
    #expect(unchanged.version == repeated.version)
    #expect(try await cluster.names(at: cluster.standby) == "one")
  }

  @Test func standbyWaitOutlastsTimeoutsAndReadsContinue() async throws {
    let cluster = try await Cluster { $0.statementTimeoutMilliseconds = 15_000 }
    let store = cluster.store
    try await cluster.standby.signal("STOP")

    let error = await #expect(throws: PointWriteError.self) { try await store.create(try .sample("one"), once: nil) }
    let waiting = try await cluster.database.run("SELECT count(*) \(Cluster.waiting)")
    let seen = try await store.names(PointQuery())
    try await cluster.standby.signal("CONT")
    while try await store.names(PointQuery()) != ["one"] {}
    _ = try await store.create(try .sample("two"), once: nil)

    if case .store(.outcomeUnknown)? = error {} else { Issue.record("got \(String(describing: error))") }
    #expect(waiting == "1")
    #expect(seen == [])
  }

  @Test(arguments: ["pg_cancel_backend", "pg_terminate_backend"])
  func importWhoseStandbyWaitIsCancelledHasAnUnknownOutcome(function: String) async throws {
    let cluster = try await Cluster()
    let store = cluster.store
    let row = try ImportRow.sample("one", 1, 1)
    try await cluster.standby.signal("STOP")

    let importing = Task { try await store.importRows([row]) }
    try await cluster.waitForCommits(1)
    try await cluster.database.run("SELECT \(function)(pid) \(Cluster.waiting)")
    let error = await #expect(throws: PointStoreError.self) { try await importing.value }
    let seen = try await store.names(PointQuery())
    try await cluster.standby.signal("CONT")

    #expect(error?.shortDescription == "outcome_unknown")
    #expect(seen == ["one"])
  }

  @Test func importWhoseCommitAwaitsTheStandbyTimesOutAndCommitsLater() async throws {
    let cluster = try await Cluster { $0.commitTimeoutMilliseconds = 500 }
    let store = cluster.store
    let row = try ImportRow.sample("one", 1, 1)
    try await cluster.standby.signal("STOP")

    let error = await #expect(throws: PointStoreError.self) { try await store.importRows([row]) }
    let waiting = try await cluster.database.run("SELECT count(*) \(Cluster.waiting)")
    let counted = await store.poolLoad().imports.connections
    try await cluster.standby.signal("CONT")
    while await store.poolLoad().imports.connections > 0 { try await Task.sleep(for: .milliseconds(10)) }

    #expect(error?.shortDescription == "outcome_unknown")
    #expect(waiting == "1")
    #expect(counted == 1)
    #expect(try await store.names(PointQuery()) == ["one"])
  }
}

extension Result where Failure == any Error {
  fileprivate var error: PointWriteError? {
    if case .failure(let error) = self { error as? PointWriteError } else { nil }
  }
}
