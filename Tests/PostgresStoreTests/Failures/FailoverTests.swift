import Points
import PostgresClient
import PostgresTestSupport
import TestSupport
import Testing

@testable import PostgresStore

/// Tests of calls during a failover.
@Suite struct FailoverTests {
  /// A primary with the schema, its standby, and a store whose URL lists both and asks for the primary.
  private struct Cluster {
    let primary: TemporaryServer
    let standby: TemporaryServer
    let database: TemporaryDatabase
    let store: PostgresStore

    init() async throws {
      primary = try await TemporaryServer.start()
      database = try await primary.makeDatabase()
      await (try database.migratedStore()).shutDown()
      standby = try await primary.startStandby()
      let hosts = "127.0.0.1:\(primary.port),127.0.0.1:\(standby.port)"
      let configuration = try PostgresConfiguration.withLongTimeouts(
        url: "postgresql://\(TemporaryServer.superuser)@\(hosts)/\(database.name)?target_session_attrs=read-write")
      store = try PostgresStore(configuration: configuration, migrations: [])
    }

    func create(_ name: String) async throws(PointWriteError) {
      guard let place = try? PointDraft.sample(name) else { return }
      _ = try await store.create(place, once: nil)
    }

    func names(at server: TemporaryServer) async throws -> Set<String> {
      let names = try await server.psql(database: database.name, "SELECT name FROM points")
      return Set(names.split(separator: "\n").map(String.init))
    }
  }

  @Test(.timeLimit(.minutes(5))) func promotedStandbyServesWrites() async throws {
    let cluster = try await Cluster()
    try await cluster.create("before")
    let version = try #require(try await cluster.store.dataVersion())
    try await cluster.primary.waitUntilFollowed(by: cluster.standby)

    try await cluster.primary.stop(.immediate)
    let during = await #expect(throws: PointWriteError.self) { try await cluster.create("during") }
    try await cluster.standby.promote()
    var errors: Set<String> = []
    while true {
      do throws(PointWriteError) {
        try await cluster.create("after")
        break
      } catch {
        if case .store(let error) = error { errors.insert(error.shortDescription) }
        try await Task.sleep(for: .milliseconds(20))
      }
    }

    if case .store(.unavailable)? = during {} else { Issue.record("got \(String(describing: during))") }
    #expect(errors.isSubset(of: ["unavailable"]))
    #expect(try await cluster.names(at: cluster.standby) == ["before", "after"])
    #expect(try await cluster.store.names(PointQuery()).count == 2)
    #expect(try await cluster.store.dataVersion()?.source != version.source)
  }

  @Test(.timeLimit(.minutes(5))) func writesMoveToTheNewPrimaryWithoutErrors() async throws {
    let cluster = try await Cluster()
    try await withThrowingTaskGroup { group in
      for number in 0..<8 { group.addTask { try await cluster.create("before \(number)") } }
      try await group.waitForAll()
    }
    try await cluster.primary.waitUntilFollowed(by: cluster.standby)
    try await cluster.standby.promote()

    let setting = "ALTER SYSTEM SET default_transaction_read_only = on"
    try await cluster.primary.psql(database: "postgres", setting)
    try await cluster.primary.psql(database: "postgres", "SELECT pg_reload_conf()")
    // Each of these succeeds, whichever server it reaches.
    var number = 0
    repeat {
      number += 1
      try await cluster.create("after \(number)")
    } while try await !cluster.names(at: cluster.standby).contains("after \(number)")
    try await withThrowingTaskGroup { group in
      for other in 0..<8 { group.addTask { try await cluster.create("at last \(other)") } }
      try await group.waitForAll()
    }

    let found = try await cluster.names(at: cluster.standby)
    #expect((0..<8).allSatisfy { found.contains("at last \($0)") })
  }

  @Test(.timeLimit(.minutes(5))) func connectionsOfCancelledCallsRetireWithTheirServer() async throws {
    let cluster = try await Cluster()
    let (store, old) = (cluster.store, cluster.database)
    let conflicting = try await store.create(try .sample("conflicting"), once: nil)
    try await cluster.primary.waitUntilFollowed(by: cluster.standby)
    let blocker = try await old.session()
    try await blocker.run(script: "BEGIN; SELECT FROM points FOR UPDATE")
    let slow = Statement("slow", "SELECT 1::int8 FROM pg_sleep(3600)")
    let change = Task { try await store.put(try .sample("changed"), id: conflicting.id, if: .none).point }
    let read = Task { try await store.read(slow, Parameters()) }
    let active = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'waymark' AND state = 'active'"
    while try await old.run("\(active) AND pid <> pg_backend_pid()") != "2" {}

    try await cluster.standby.promote()
    try await cluster.primary.psql(
      database: "postgres", "ALTER SYSTEM SET default_transaction_read_only = on")
    try await cluster.primary.psql(database: "postgres", "SELECT pg_reload_conf()")
    var created: PointOfInterest
    repeat {
      created = try await store.create(try .sample("created"), once: nil)
    } while try await !cluster.names(at: cluster.standby).contains("created")
    change.cancel()
    read.cancel()
    _ = await (change.result, read.result)
    try await blocker.run(script: "ROLLBACK")
    await blocker.close()
    while try await old.run(active) != "0" {}
    let id = created.id
    let found = try await withThrowingTaskGroup { group in
      for _ in 0..<400 { group.addTask { try await store.point(id: id) } }
      return try await group.reduce(into: 0) { if $1 != nil { $0 += 1 } }
    }

    #expect(found == 400)
    while try await old.run("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'waymark'") != "0" {}
  }

  @Test(.timeLimit(.minutes(5))) func standbyServesReadsWithoutVersionsAndRejectsWrites() async throws {
    let cluster = try await Cluster()
    try await cluster.create("there")
    try await cluster.primary.waitUntilFollowed(by: cluster.standby)
    let url = cluster.database.onStandby(cluster.standby).url
    let store = try PostgresStore(configuration: try PostgresConfiguration.withLongTimeouts(url: url), migrations: [])

    let names = try await store.names(PointQuery())
    let version = try await store.dataVersion()
    let rejection = await #expect(throws: PointWriteError.self) {
      try await store.create(try .sample("rejected"), once: nil)
    }

    #expect(names == ["there"])
    #expect(version == nil)
    #expect(store.knownDataVersion() == nil)
    #expect(rejection == .store(.readOnly(reason: "the database is a standby")))
  }
}
