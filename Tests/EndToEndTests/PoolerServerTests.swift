import Foundation
import PostgresTestSupport
import Testing

/// Servers that reach PostgreSQL through PgBouncer, configured as `docs/operations.md` says.
@Suite struct PoolerServerTests {
  /// The number of PgBouncer's connections to the server: two more than the imports and exports of both programs.
  private static let serverConnections = 6

  private let json = ["Content-Type": "application/json"]

  private func place(_ name: String, category: String = "mill") -> Data {
    Data(#"{"name":"\#(name)","lat":1,"long":2,"category":"\#(category)"}"#.utf8)
  }

  @Test(.timeLimit(.minutes(5)), arguments: ["strict", "bounded"])
  func instancesBehindATransactionPoolerReadWritesOfEachOther(_ consistency: String) async throws {
    let postgres = try await TemporaryServer.start()
    let database = try await postgres.makeDatabase()
    let pooler = try await TemporaryPooler.start(
      .transaction, to: postgres, serverConnections: Self.serverConnections, idleSeconds: 600)
    // Where reads are bounded, only a position brings the index up to a write: the poll comes after the bound.
    var environment = [
      "DATABASE_URL": pooler.url(of: database), "POINT_INDEX": "on", "READ_CONSISTENCY": consistency,
      "DATABASE_POOL_SIZE": "7",
    ]
    if consistency == "bounded" { environment["READ_MAX_STALENESS_MS"] = "3600000" }
    let migrated = try await WaymarkProcess.run(["migrate"], environment: environment)
    let writer = try await WaymarkProcess(["serve", "--http-port", "0"], environment: environment)
    let reader = try await WaymarkProcess(["serve", "--http-port", "0"], environment: environment)
    let writing = ServerDriver(port: try await writer.port())
    let reading = ServerDriver(port: try await reader.port())
    try await writing.waitForIndex()
    try await reading.waitForIndex()

    // Writes, and reads of the other instance after their positions.
    for count in 1...20 {
      let created = try await writing.send("POST", "/locations", headers: json, body: place("Mill \(count)"))
      #expect(created.status == 201)
      let position = ["Waymark-Min-Position": try #require(created.headers["waymark-position"])]
      #expect(try await reading.get("/locations?limit=1000", headers: position).places.count == count)
      let found = try await reading.get("/locations?q=Mill%20\(count)&limit=1", headers: position)
      #expect(try found.places.map(\.name) == ["Mill \(count)"])
      if count.isMultiple(of: 4) {
        let id = try created.place.id
        let tag = try #require(created.headers["etag"])
        let replaced = try await reading.send(
          "PUT", "/locations/\(id)", headers: json.merging(["If-Match": tag]) { $1 },
          body: place("Mill \(count)", category: "museum"))
        #expect(replaced.status == 200)
        #expect(
          try await writing.send("DELETE", "/locations/\(id)", headers: ["If-Match": tag]).status == 412)
      }
    }

    // An import of more changes than a round has, through a server; and one by the command.
    let rows = (1...1500).map { #"{"name":"Well \#($0)","lat":1,"long":2,"source":"s","sourceId":"\#($0)"}"# }
    let imported = try await writing.importing(
      Data(rows.joined(separator: "\n").utf8), as: "application/x-ndjson")
    #expect(imported.status == 200)
    let position = ["Waymark-Min-Position": try #require(imported.headers["waymark-position"])]
    let exported = try await reading.get("/locations/export?source=s", headers: position)
    #expect(exported.body.count { $0 == UInt8(ascii: "\n") } == 1500)
    let folder = try TemporaryFolder()
    let file = try folder.write(#"{"name":"Lighthouse","lat":1,"long":2}"#, to: "places.ndjson")
    let command = try await WaymarkProcess.run(["import", file], environment: environment)

    // A write by SQL, without a notification or a position, is found by the poll or by the next strict read.
    try await database.run("INSERT INTO points (id, lat, long, name) VALUES (gen_random_uuid(), 1, 2, 'Quarry')")
    for name in ["Lighthouse", "Quarry"] {
      var found = try await reading.get("/locations?q=\(name)&limit=1").places.map(\.name)
      if consistency == "strict" { #expect(found == [name]) }
      while found != [name] { found = try await reading.get("/locations?q=\(name)&limit=1").places.map(\.name) }
    }

    let clients = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    let connections = try await database.run("\(clients) AND backend_type = 'client backend'")
    let listening = try await database.run("\(clients) AND query LIKE 'LISTEN%'")
    writer.send(SIGTERM)
    reader.send(SIGTERM)
    let outcomes = (try await writer.outcome(), try await reader.outcome())

    #expect(migrated.status == 0 && command.status == 0, "\(command)")
    #expect(try #require(Int(connections)) <= Self.serverConnections)
    // No server connection is left listening for one client.
    #expect(listening == "0")
    #expect(outcomes.0.status == 0 && outcomes.1.status == 0)
  }
}
