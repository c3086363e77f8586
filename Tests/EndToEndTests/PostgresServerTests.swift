import Foundation
import NIOCore
import NIOPosix
import PostgresTestSupport
import Synchronization
import Testing

@Suite struct PostgresServerTests {
  private let places = """
    {"name":"A","category":"cafe","lat":1,"long":1,"source":"t","sourceId":"a"}
    {"name":"B","lat":2,"long":2,"source":"t","sourceId":"b","tags":{"k":"\\u0001 \\"quoted\\" 日本"}}
    {"name":"","lat":91,"long":2}
    {"name":"C","lat":3,"long":3,"source":"t","sourceId":"c"}

    """

  @Test func placesAreImportedFromTheStandardInputAndServed() async throws {
    let environment = try await migrated()
    let folder = try TemporaryFolder()
    let input = try folder.write(places, to: "places.ndjson")

    let imported = try await WaymarkProcess.run(
      ["import", "--format", "ndjson", "-"], environment: environment, input: input)
    let server = try await WaymarkProcess(["serve", "--http-port", "0"], environment: environment)
    let found = try await ServerDriver(port: try await server.port()).get("/locations?lat=0&long=0").places

    #expect(imported.status == 0)
    #expect(
      imported.output.hasPrefix(
        "4 rows: 3 created, 0 updated, 0 unchanged, 1 rejected\nrow 3 (standard input, line 3): /lat "))
    #expect(found.map(\.name) == ["A", "B", "C"])
    #expect(found[1].tags == ["k": "\u{1} \"quoted\" 日本"])
    #expect(found[0].distance == 156_899.6)
  }

  @Test func placesOfASourceAreFoundAndDeleted() async throws {
    let environment = try await migrated()
    let folder = try TemporaryFolder()
    let rows = (1...600).map { number in
      #"{"name":"\#(number)","category":"c","lat":1,"long":\#(number % 90),"source":"osm","sourceId":"node/\#(number)"}"#
    }
    let file = try folder.write((rows + [places]).joined(separator: "\n"), to: "a.ndjson")
    _ = try await WaymarkProcess.run(["import", file], environment: environment)
    let server = try await WaymarkProcess(["serve", "--http-port", "0"], environment: environment)
    let driver = ServerDriver(port: try await server.port())

    let one = try await driver.get("/locations?source=osm&sourceId=node%2F7").places.map(\.name)
    let counted = try await driver.get("/categories?bbox=0.5,0,2.5,2").body
    let unconfirmed = try await driver.send("DELETE", "/locations?source=osm")
    let deleted = try await driver.send("DELETE", "/locations?source=osm&confirm=true")

    #expect(one == ["7"])
    #expect(String(decoding: counted, as: UTF8.self) == #"[{"category":"c","count":14},{"category":"cafe","count":1}]"#)
    #expect(unconfirmed.status == 400)
    #expect(deleted.status == 200)
    #expect(String(decoding: deleted.body, as: UTF8.self) == #"{"deleted":600}"#)
    #expect(try await driver.get("/locations").places.map(\.name).sorted() == ["A", "B", "C"])
  }

  @Test func sqlInTextsIsNotExecuted() async throws {
    let environment = try await migrated()
    let folder = try TemporaryFolder()
    let sql = "'); DROP TABLE points; SELECT pg_sleep(60) --"
    let row = #"{"name":"\#(sql)","category":"\#(sql)","lat":1,"long":1,"source":"\#(sql)","sourceId":"\#(sql)","#
    let file = try folder.write(row + #""tags":{"\#(sql)":"\#(sql)"}}"# + "\n", to: "a.ndjson")
    let encoded = try #require(sql.addingPercentEncoding(withAllowedCharacters: .alphanumerics))

    let imported = try await WaymarkProcess.run(["import", file], environment: environment)
    let server = try await WaymarkProcess(["serve", "--http-port", "0"], environment: environment)
    let driver = ServerDriver(port: try await server.port())

    #expect(imported.output.contains("1 created"))
    for name in ["lat", "long", "radius", "limit", "bbox", "cursor", "fields", "f", sql] {
      let status = try await driver.get("/locations?\(name == sql ? encoded : name)=\(encoded)").status
      #expect(status == 400, "\(name)")
    }
    for target in [
      "/locations?category=\(encoded)", "/locations?lat=1&long=1&radius=5&category=a,\(encoded)", "/locations",
    ] {
      let places = try await driver.get(target).places
      #expect(places.map(\.name) == [sql])
      #expect(places.first?.tags == [sql: sql])
    }
  }

  @Test func anAtomicImportWithABadRowImportsNothing() async throws {
    let environment = try await migrated()
    let folder = try TemporaryFolder()
    let file = try folder.write(places, to: "places.ndjson")

    let dry = try await WaymarkProcess.run(["import", "--dry-run", file], environment: environment)
    let atomic = try await WaymarkProcess.run(["import", "--atomic", file], environment: environment)
    let partial = try await WaymarkProcess.run(["import", file], environment: environment)

    #expect(dry.output.contains("3 created"))
    #expect(atomic.status == 65)
    #expect(atomic.log.contains("row 3"))
    #expect(partial.output.contains("3 created"))
  }

  @Test func listsBeforeAndAfterAChangeHaveDifferentEntityTags() async throws {
    let server = try await WaymarkProcess(["serve", "--http-port", "0"], environment: try await migrated())
    let driver = ServerDriver(port: try await server.port())
    // The first list reads the version.
    _ = try await driver.get("/locations")
    var bodies: [String: Data] = [:]

    for number in 0..<50 {
      let response = try await driver.get("/locations")
      if let tag = response.headers["etag"] {
        #expect(bodies[tag] == nil || bodies[tag] == response.body)
        bodies[tag] = response.body
      }
      let place = Data(#"{"name":"\#(number)","lat":1,"long":2}"#.utf8)
      let created = try await driver.send(
        "POST", "/locations", headers: ["Content-Type": "application/json"], body: place)
      #expect(created.status == 201)
    }

    #expect(bodies.count > 1)
  }

  @Test func fileOfAnotherFormatImportsNothing() async throws {
    let environment = try await migrated()
    let folder = try TemporaryFolder()
    let good = try folder.write("name,lat,long,source,sourceId\nA,1,1,t,a\n", to: "a.csv")
    let bad = try folder.write("this is no GeoJSON", to: "b.geojson")

    let broken = try await WaymarkProcess.run(["import", good, bad], environment: environment)
    let whole = try await WaymarkProcess.run(["import", good], environment: environment)

    #expect(broken.status == 65)
    #expect(broken.log.contains("b.geojson"))
    #expect(whole.output.contains("1 created"))
  }

  @Test(.timeLimit(.minutes(5))) func aServerStartedBeforeTheSchemaNamesTheCommandAndRecovers() async throws {
    let environment = ["DATABASE_URL": try await TemporaryDatabase.make().url]
    let server = try await WaymarkProcess(["serve", "--http-port", "0"], environment: environment)
    let driver = ServerDriver(port: try await server.port())

    let before = try await driver.get("/health/ready")
    // Warnings of work in the background name the command too.
    let line = try await server.logLine(with: "\"error\"")
    _ = try await WaymarkProcess.run(["migrate"], environment: environment)
    // The state may be a second old.
    var after = try await driver.get("/health/ready")
    while after.status != 200 {
      try await Task.sleep(for: .milliseconds(100))
      after = try await driver.get("/health/ready")
    }
    let listed = try await driver.get("/locations")

    #expect(before.status == 503)
    #expect(try before.problem.code == "store-unavailable")
    #expect(line.contains("waymark migrate"))
    #expect(after.status == 200)
    #expect(listed.status == 200)
  }

  @Test(.timeLimit(.minutes(5))) func aDatabaseThatGoesAndComesBackMeans503MeanwhileAndNoRestart() async throws {
    let postgres = try await TemporaryServer.start()
    let environment = ["DATABASE_URL": try await postgres.makeDatabase().url]
    _ = try await WaymarkProcess.run(["migrate"], environment: environment)
    let server = try await WaymarkProcess(["serve", "--http-port", "0"], environment: environment)
    let driver = ServerDriver(port: try await server.port())
    let statuses = Statuses()

    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask {
          while !statuses.isEnough {
            statuses.note(try await driver.get("/locations?lat=0&long=0").status)
            try await Task.sleep(for: .milliseconds(2))
          }
        }
      }
      try await statuses.wait(for: 200)
      try await postgres.stop(.immediate)
      try await statuses.wait(for: 503)
      try await postgres.start()
      try await statuses.wait(for: 200)
      statuses.stop()
      try await group.waitForAll()
    }
    server.send(SIGTERM)
    let outcome = try await server.outcome()

    #expect(statuses.seen == [200, 503])
    #expect(outcome.status == 0)
    #expect(outcome.log.contains("\"the store is unavailable\""))
    #expect(outcome.log.contains("\"the store is available again\""))
  }

  @Test func outageResponsesHaveRetryAfter() async throws {
    let server = try await WaymarkProcess(
      ["serve", "--http-port", "0"], environment: ["DATABASE_URL": "postgresql://u:secret@127.0.0.1:1/none"])
    let driver = ServerDriver(port: try await server.port())

    let response = try await driver.get("/locations")
    let live = try await driver.get("/health/live")
    server.send(SIGTERM)
    let outcome = try await server.outcome()

    #expect(response.status == 503)
    #expect(response.headers["retry-after"] != nil)
    #expect(live.status == 200)
    #expect(outcome.status == 0)
    #expect(!outcome.log.contains("secret"))
  }

  @Test func serverStoppedAsSoonAsItListensShutsDownCleanly() async throws {
    // It accepts connections and never responds, so that the first readiness check is still in progress.
    let silent = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .bind(host: "127.0.0.1", port: 0).get()
    let url = "postgresql://u@127.0.0.1:\(silent.localAddress?.port ?? 0)/none"
    let server = try await WaymarkProcess(["serve", "--http-port", "0"], environment: ["DATABASE_URL": url])
    _ = try await server.port()

    server.send(SIGTERM)
    let outcome = try await server.outcome()
    try await silent.close()

    #expect(outcome.status == 0)
    #expect(outcome.log.contains("\"stopped\""))
  }

  /// Sends NUL in each parameter of a path and of a query, and in each text of a body, that the description names.
  @Test(arguments: ["on", "off"]) func noParameterWithNULIsAnInternalError(index: String) async throws {
    var environment = try await migrated()
    environment["POINT_INDEX"] = index
    let folder = try TemporaryFolder()
    let file = try folder.write(places, to: "places.ndjson")
    _ = try await WaymarkProcess.run(["import", file], environment: environment)
    let server = try await WaymarkProcess(["serve", "--http-port", "0"], environment: environment)
    let driver = ServerDriver(port: try await server.port())
    if index == "on" { try await driver.waitForIndex() }
    let document = try await driver.get("/openapi.json").body
    let api = try #require(try JSONSerialization.jsonObject(with: document) as? [String: Any])
    let requests = try HostileRequests(api).withNUL

    #expect(requests.count > 200)
    for request in requests {
      let response = try await driver.send(
        request.method, request.target, headers: request.headers, body: request.body.map { Data($0.utf8) })
      // A feature that is not set up is 501 or 503.
      #expect(
        ![500, 502, 504].contains(response.status),
        "\(request): \(response.status) \(String(decoding: response.body.prefix(300), as: UTF8.self))")
    }
    let removal = try await driver.send("DELETE", "/sources/%00")
    #expect(try removal.status == 400 && removal.problem.errors?.first?.parameter == "name")
    let place = try await driver.get("/locations/a%00b")
    #expect(try place.status == 400 && place.problem.errors?.first?.parameter == "id")
  }

  private func migrated() async throws -> [String: String] {
    let environment = ["DATABASE_URL": try await TemporaryDatabase.make().url]
    try #require(try await WaymarkProcess.run(["migrate"], environment: environment).status == 0)
    return environment
  }
}

/// A recorder of the statuses of responses.
private final class Statuses: Sendable {
  private let state = Mutex((seen: Set<Int>(), last: 0, isEnough: false))

  /// A Boolean value that indicates whether clients may stop.
  var isEnough: Bool { state.withLock { $0.isEnough } }

  func stop() { state.withLock { $0.isEnough = true } }

  var seen: Set<Int> { state.withLock { $0.seen } }

  func note(_ status: Int) {
    state.withLock {
      $0.seen.insert(status)
      $0.last = status
    }
  }

  /// Waits until a client gets a status.
  func wait(for status: Int) async throws {
    while state.withLock({ $0.last }) != status {
      do {
        try await Task.sleep(for: .milliseconds(5))
      } catch {
        Issue.record("no response had the status \(status)")
        throw error
      }
    }
  }
}
