import Foundation
import PostgresTestSupport
import Synchronization
import Testing

/// Servers whose reads come from an index of the places in PostgreSQL.
@Suite struct IndexServerTests {
  private static let everywhere = "/locations?limit=1000"

  private let json = ["Content-Type": "application/json"]
  private let place = Data(#"{"name":"A","lat":1,"long":2}"#.utf8)

  private func start(
    _ database: TemporaryDatabase, _ settings: [String: String] = [:]
  ) async throws -> (WaymarkProcess, ServerDriver) {
    let server = try await WaymarkProcess(
      ["serve", "--http-port", "0"],
      environment: settings.merging(["DATABASE_URL": database.url, "POINT_INDEX": "on"]) { $1 })
    let driver = ServerDriver(port: try await server.port())
    try await driver.waitForIndex()
    return (server, driver)
  }

  @Test(.timeLimit(.minutes(5))) func readWithAPositionContainsTheWriteOfAnotherInstance() async throws {
    let database = try await TemporaryDatabase.make()
    _ = try await WaymarkProcess.run(["migrate"], environment: ["DATABASE_URL": database.url])
    // A bound that no test waits for, so that only the position can bring the index up to the write.
    let bounded = ["READ_CONSISTENCY": "bounded", "READ_MAX_STALENESS_MS": "3600000"]
    let (writer, writing) = try await start(database, bounded)
    let (reader, reading) = try await start(database, bounded)

    for count in 1...20 {
      let created = try await writing.send("POST", "/locations", headers: json, body: place)
      let position = try #require(created.headers["waymark-position"])
      let listed = try await reading.get(Self.everywhere, headers: ["Waymark-Min-Position": position])
      #expect(try listed.places.count == count)
    }
    let invalid = try await reading.get(Self.everywhere, headers: ["Waymark-Min-Position": "1.2"])
    let metrics = String(decoding: try await reading.get("/metrics").body, as: UTF8.self)
    writer.send(SIGTERM)
    reader.send(SIGTERM)

    #expect(invalid.status == 400)
    #expect(try invalid.problem.code == "invalid-parameter")
    #expect(metrics.contains(#"point_index_reads_total{source="index"} 20"#), "\(metrics)")
    _ = try await (writer.outcome(), reader.outcome())
  }

  @Test(.timeLimit(.minutes(5))) func killedServerContinuesFromTheFilesOfItsIndex() async throws {
    let database = try await TemporaryDatabase.make()
    let folder = try TemporaryFolder()
    _ = try await WaymarkProcess.run(["migrate"], environment: ["DATABASE_URL": database.url])
    try await database.run("INSERT INTO points (id, lat, long, name) VALUES (gen_random_uuid(), 1, 2, 'A')")
    let settings = ["INDEX_PATH": folder.path(of: "index")]
    let (server, _) = try await start(database, settings)
    while !FileManager.default.fileExists(atPath: folder.path(of: "index/manifest")) {
      try await Task.sleep(for: .milliseconds(20))
    }
    server.send(SIGKILL)
    _ = try await server.outcome()
    try await database.run("INSERT INTO points (id, lat, long, name) VALUES (gen_random_uuid(), 1, 2, 'B')")

    let (next, driver) = try await start(database, settings)
    let (other, second) = try await start(database, settings)
    let found = try await driver.get("/locations?q=b")
    let listed = try await driver.get(Self.everywhere)
    let metrics = String(decoding: try await driver.get("/metrics").body, as: UTF8.self)
    let listedBesides = try await second.get(Self.everywhere)
    next.send(SIGTERM)
    other.send(SIGTERM)

    #expect(try found.places.count == 1 && listed.places.count == 2 && listedBesides.places.count == 2)
    #expect(metrics.contains("point_index_loads_total 1"), "\(metrics)")
    #expect(metrics.contains("point_index_builds_total 0"), "\(metrics)")
    #expect(try await next.outcome().log.contains("the index continues from its files"))
    #expect(try await other.outcome().log.contains("another process uses \(folder.path(of: "index"))"))
  }

  @Test(.timeLimit(.minutes(5))) func killedServerWithoutADatabaseContinuesFromTheFilesBesideItsPlaces() async throws {
    let store = try await EmptyStore(.memory)
    let server = try await store.serve()
    let driver = ServerDriver(port: try await server.port())
    while !FileManager.default.fileExists(atPath: store.folder.path(of: "places.db.index/manifest")) {
      try await Task.sleep(for: .milliseconds(20))
    }
    let created = try await driver.send("POST", "/locations", headers: json, body: place)
    server.send(SIGKILL)
    _ = try await server.outcome()

    let next = try await store.serve()
    let found = try await ServerDriver(port: try await next.port()).get("/locations?q=a")
    next.send(SIGTERM)
    let continued = try await next.outcome().log

    #expect(try found.places.map(\.id) == [created.place.id])
    #expect(continued.contains("the index continues from its files"), "\(continued)")
  }

  @Test(.timeLimit(.minutes(5))) func serverThatCannotWriteTheFilesOfItsIndexServesItsPlaces() async throws {
    let store = try await EmptyStore(.memory)
    let settings = ["INDEX_PATH": "/proc/waymark"]
    for count in 1...2 {
      let server = try await store.serve(settings)
      let driver = ServerDriver(port: try await server.port())
      let created = try await driver.send("POST", "/locations", headers: json, body: place)
      let listed = try await driver.get("/locations?q=a")
      server.send(SIGTERM)

      #expect(created.status == 201)
      #expect(try listed.places.count == count)
      #expect(try await server.outcome().log.contains("INDEX_PATH can't be used"))
    }
  }

  @Test(.timeLimit(.minutes(5))) func callsThatNeedTheIndexNameTheSettingThatTurnsItOff() async throws {
    let database = try await TemporaryDatabase.make()
    _ = try await WaymarkProcess.run(["migrate"], environment: ["DATABASE_URL": database.url])
    let server = try await WaymarkProcess(
      ["serve", "--http-port", "0"], environment: ["DATABASE_URL": database.url, "POINT_INDEX": "off"])
    let driver = ServerDriver(port: try await server.port())
    let area = "within=POLYGON((0%200,1%200,1%201,0%200))"
    let targets = [
      "/locations?\(area)", "/locations/export?\(area)", "/locations?route=LINESTRING(0%200,1%201)&radius=100",
      "/locations?filter=version%3E0", "/locations/export?filter=version%3E0",
      "/ogc/collections/places/items?filter=version%3E0", "/tiles/0/0/0.mvt",
    ]

    var responses: [ServerDriver.Response] = []
    for target in targets { responses.append(try await driver.get(target)) }
    let collection = try await driver.get("/ogc/collections/places")
    server.send(SIGTERM)
    _ = try await server.outcome()

    for (target, response) in zip(targets, responses) {
      #expect(response.status == 501, "\(target)")
      #expect(String(decoding: response.body, as: UTF8.self).contains("POINT_INDEX"), "\(target)")
    }
    #expect(String(decoding: collection.body, as: UTF8.self).contains("[-180,-90,180,90]"))
  }

  @Test(.timeLimit(.minutes(5))) func readsContinueWhileTheDatabaseIsAwayAndFollowItAfterwards() async throws {
    let postgres = try await TemporaryServer.start()
    let database = try await postgres.makeDatabase()
    _ = try await WaymarkProcess.run(["migrate"], environment: ["DATABASE_URL": database.url])
    let (server, driver) = try await start(database, ["READ_STALE_S": "3600"])
    let created = try await driver.send("POST", "/locations", headers: json, body: place)
    let before = try await driver.get(Self.everywhere)

    // Reads that only the index can answer, until it follows again.
    let isFollowing = Atomic(false)
    async let failures = {
      var failures: [String] = []
      repeat {
        for target in ["/locations?q=A", "/tiles/0/0/0.mvt"] {
          let response = try await driver.get(target)
          if response.status != 200 { failures.append("\(response.status) \(target)") }
        }
      } while !isFollowing.load(ordering: .relaxed)
      return failures
    }()
    try await postgres.stop(.immediate)
    let away = try await driver.get(Self.everywhere)
    let single = try await driver.get("/locations/\(try created.place.id)")
    let ready = try await driver.get("/health/ready")
    let rejected = try await driver.send("POST", "/locations", headers: json, body: place)
    // The state of the store is kept for a second.
    var body = ready.body
    while !String(decoding: body, as: UTF8.self).contains(#""reason":"the database is unavailable""#) {
      body = try await driver.get("/health/ready").body
    }
    try await postgres.start()
    try await database.run("INSERT INTO points (id, lat, long, name) VALUES (gen_random_uuid(), 1, 2, 'B')")
    // Until the server has connected again, responses have an age.
    var after = try await driver.get(Self.everywhere)
    while after.headers["age"] != nil { after = try await driver.get(Self.everywhere) }
    try await driver.waitForIndex()
    let followed = try await driver.get(Self.everywhere)
    isFollowing.store(true, ordering: .relaxed)
    let failed = try await failures
    server.send(SIGTERM)
    _ = try await server.outcome()

    #expect(before.headers["age"] == nil)
    #expect(away.status == 200 && single.status == 200 && ready.status == 200)
    #expect(away.body == before.body)
    #expect(away.headers["age"] != nil && single.headers["age"] != nil)
    #expect(rejected.status == 503)
    #expect(try after.places.count == 2 && followed.places.count == 2)
    #expect(failed == [])
  }

  @Test(.timeLimit(.minutes(5))) func serverIsReadyWhenItsFirstIndexIsComplete() async throws {
    let database = try await TemporaryDatabase.make()
    _ = try await WaymarkProcess.run(["migrate"], environment: ["DATABASE_URL": database.url])
    // A lock that keeps the index from being built.
    let lock = Task { try await database.run("BEGIN; LOCK TABLE points; SELECT pg_sleep(600)") }
    let isLocked = """
      SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = database
      WHERE mode = 'AccessExclusiveLock' AND relation = 'points'::regclass AND datname = current_database()
      """
    while try await database.run(isLocked) == "0" {}
    let settings = ["DATABASE_URL": database.url, "POINT_INDEX": "on"]
    let server = try await WaymarkProcess(["serve", "--http-port", "0"], environment: settings)
    let impatient = try await WaymarkProcess(
      ["serve", "--http-port", "0"], environment: settings.merging(["READY_INDEX_WAIT_S": "0"]) { $1 })
    let driver = ServerDriver(port: try await server.port())
    let second = ServerDriver(port: try await impatient.port())

    let waiting = try await driver.get("/health/ready")
    let notWaiting = try await second.get("/health/ready")
    try await database.run(isLocked.replacing("count(*)", with: "pg_terminate_backend(pid)"))
    var ready = try await driver.get("/health/ready")
    while ready.status != 200 { ready = try await driver.get("/health/ready") }
    let tile = try await driver.get("/tiles/0/0/0.mvt")
    server.send(SIGTERM)
    impatient.send(SIGTERM)
    _ = try await (server.outcome(), impatient.outcome())
    _ = try? await lock.value

    #expect(waiting.status == 503)
    #expect(try waiting.problem.code == "index-not-ready")
    #expect(String(decoding: waiting.body, as: UTF8.self).contains("its phase is building"))
    #expect(notWaiting.status == 200)
    #expect(String(decoding: notWaiting.body, as: UTF8.self).contains(#""phase":"building""#))
    #expect(tile.status == 200)
  }

  @Test(.timeLimit(.minutes(5))) func revalidationSeesEveryWriteOfAnotherInstance() async throws {
    let database = try await TemporaryDatabase.make()
    _ = try await WaymarkProcess.run(["migrate"], environment: ["DATABASE_URL": database.url])
    let (first, writing) = try await start(database)
    let (second, reading) = try await start(database)

    for _ in 0..<20 {
      let listed = try await reading.get(Self.everywhere)
      let tag = try #require(listed.headers["etag"])
      let same = try await reading.get(Self.everywhere, headers: ["If-None-Match": tag])
      let created = try await writing.send("POST", "/locations", headers: json, body: place)
      let changed = try await reading.get(Self.everywhere, headers: ["If-None-Match": tag])

      #expect(same.status == 304)
      #expect(created.status == 201)
      #expect(changed.status == 200)
      #expect(try changed.places.count == listed.places.count + 1)
    }
    first.send(SIGTERM)
    second.send(SIGTERM)
    _ = try await (first.outcome(), second.outcome())
  }
}
