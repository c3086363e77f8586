import Points
import TestSupport
import Testing

@testable import PostgresStore

/// What becomes of calls when another server takes over.
@Suite struct FailoverTests {
  /// A primary with the schema, its standby, and a store that knows both and asks the one that takes writes.
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
      let configuration = try PostgresConfiguration(
        url: "postgresql://\(TemporaryServer.superuser)@\(hosts)/\(database.name)?target_session_attrs=read-write",
        poolSize: 4
      )
      store = try PostgresStore(configuration: configuration, migrations: [])
    }

    func create(_ name: String) async throws(PointWriteError) {
      guard let place = try? Place.sample(name) else { return }
      _ = try await store.create(place, once: nil)
    }

    func names(at server: TemporaryServer) async throws -> Set<String> {
      let names = try await server.psql(database: database.name, "SELECT name FROM points")
      return Set(names.split(separator: "\n").map(String.init))
    }
  }

  @Test(.timeLimit(.minutes(5))) func aStandbyThatIsPromotedTakesOver() async throws {
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

  @Test(.timeLimit(.minutes(5))) func writesGoOverToTheNewPrimaryWithoutAnErrorWhenTheOldOneTakesNoMore() async throws {
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
    // Each of these succeeds, whichever server it finds.
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

  @Test(.timeLimit(.minutes(5))) func aStandbyIsReadFromButTellsNoVersionsAndTakesNoWrites() async throws {
    let cluster = try await Cluster()
    try await cluster.create("there")
    try await cluster.primary.waitUntilFollowed(by: cluster.standby)
    let url = cluster.database.onStandby(cluster.standby).url
    let replica = try PostgresStore(configuration: try PostgresConfiguration(url: url), migrations: [])

    let names = try await replica.names(PointQuery())
    let version = try await replica.dataVersion()
    let refusal = await #expect(throws: PointWriteError.self) {
      try await replica.create(try .sample("refused"), once: nil)
    }

    #expect(names == ["there"])
    #expect(version == nil)
    #expect(replica.knownDataVersion() == nil)
    if case .store(.unavailable)? = refusal {} else { Issue.record("got \(String(describing: refusal))") }
  }
}
