import Foundation
import PostgresTestSupport
import Testing

@Suite struct ReplicaServerTests {
  @Test(.timeLimit(.minutes(5)), arguments: ["on", "off"])
  func readsSurviveTheLossOfEitherServerAndWritesThatOfTheReplica(index: String) async throws {
    let primary = try await TemporaryServer.start()
    let database = try await primary.makeDatabase()
    _ = try await WaymarkProcess.run(["migrate"], environment: ["DATABASE_URL": database.url])
    let standby = try await primary.startStandby()
    let replica = database.onStandby(standby)
    let server = try await WaymarkProcess(
      ["serve", "--http-port", "0"],
      environment: ["DATABASE_URL": database.url, "DATABASE_REPLICA_URL": replica.url, "POINT_INDEX": index])
    let driver = ServerDriver(port: try await server.port())
    let body = Data(#"{"name":"A","lat":1,"long":1}"#.utf8)
    func create() async throws -> ServerDriver.Response {
      try await driver.send("POST", "/locations", headers: ["Content-Type": "application/json"], body: body)
    }

    let created = try await create()
    try await primary.waitUntilFollowed(by: standby)
    if index == "on" { try await driver.waitForIndex() }
    let both = try await driver.get("/locations")
    try await standby.stop(.fast)
    let primaryAlone = try await driver.get("/locations")
    let written = try await create()
    try await standby.start()
    try await primary.waitUntilFollowed(by: standby)
    try await primary.stop(.immediate)
    let rejected = try await create()
    // The service reconnects to the replica after some time.
    var replicaAlone = try await driver.get("/locations")
    while replicaAlone.status == 503 { replicaAlone = try await driver.get("/locations") }
    let single = try await driver.get("/locations/\(try created.place.id)")
    let ready = try await driver.get("/health/ready")
    server.send(SIGTERM)
    let outcome = try await server.outcome()

    #expect(created.status == 201)
    #expect(written.status == 201)
    #expect(try both.places.count == 1)
    // The index reads the replica only while the primary is unavailable.
    #expect((both.headers["etag"] == nil) == (index == "off"))
    #expect(try primaryAlone.places.count == 1)
    #expect(rejected.status == 503)
    #expect(rejected.headers["retry-after"] != nil)
    #expect(try rejected.problem.code == "store-unavailable")
    #expect(try replicaAlone.places.count == 2)
    #expect(single.status == 200)
    #expect(ready.status == 200)
    #expect(outcome.log.contains("the replica is unavailable") == (index == "off"))
    #expect(outcome.log.contains("the store is unavailable"))
  }
}
