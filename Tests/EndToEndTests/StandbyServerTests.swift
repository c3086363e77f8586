import Foundation
import PostgresTestSupport
import Testing

/// Tests of a server whose database is a standby.
@Suite struct StandbyServerTests {
  private static let refusal = #""writes":{"status":"refused","reason":"the database is a standby"}"#

  @Test(.timeLimit(.minutes(5)), arguments: ["on", "off"])
  func standbyServesBasicReadsAndAfterItsPromotionEverything(index: String) async throws {
    let primary = try await TemporaryServer.start()
    let database = try await primary.makeDatabase()
    _ = try await WaymarkProcess.run(["migrate"], environment: ["DATABASE_URL": database.url])
    let (writer, writing) = try await start(database, index: index)
    let created = try await create(writing)
    let standby = try await primary.startStandby()
    try await primary.waitUntilFollowed(by: standby)
    let (server, driver) = try await start(database.onStandby(standby), index: index)

    try await wait(driver, for: Self.refusal)
    let ready = try await driver.get("/health/ready")
    if index == "on" { try await wait(driver, for: #""phase":"standby""#) }
    let single = try await driver.get("/locations/\(try created.place.id)")
    let listed = try await [
      "", "?lat=1&long=1", "?lat=1&long=1&radius=1000", "?bbox=0,0,2,2", "?category=museum", "?source=x",
    ].asyncMap { try await driver.get("/locations" + $0) }
    let others = try await ["/ogc/collections/places/items", "/categories", "/locations/export"].asyncMap {
      try await driver.get($0)
    }
    let needIndex = try await ["/locations?filter=version%3E0", "/locations?q=a", "/tiles/0/0/0.mvt"].asyncMap {
      try await driver.get($0)
    }
    // One client writes, and no read of another fails meanwhile.
    async let refused = createMany(driver)
    var reads: [Int] = []
    for _ in 0..<200 { reads.append(try await driver.get("/locations").status) }
    let refusals = try await refused
    let readyAgain = try await driver.get("/health/ready")
    try await primary.stop(.fast)
    try await standby.promote()
    if index == "on" { try await driver.waitForIndex() }
    let written = try await create(driver)
    if index == "on" { try await wait(driver, for: #""phase":"following""#) }
    let after = try await driver.get("/locations?filter=version%3E0")
    var readyAfter = try await driver.get("/health/ready")
    while readyAfter.text.contains("refused") { readyAfter = try await driver.get("/health/ready") }
    var tagged = try await driver.get("/locations")
    while tagged.headers["etag"] == nil { tagged = try await driver.get("/locations") }
    for process in [writer, server] { process.send(SIGTERM) }
    _ = try await writer.outcome()
    let outcome = try await server.outcome()
    let standbyLog = try String(contentsOfFile: standby.directory + "/log", encoding: .utf8)

    #expect(ready.status == 200)
    #expect(ready.text.contains(Self.refusal))
    #expect(readyAgain.text.contains(Self.refusal))
    #expect(single.status == 200)
    #expect(listed.map(\.status) == Array(repeating: 200, count: listed.count))
    #expect(try listed.prefix(4).map { try $0.places.count } == [1, 1, 1, 1])
    #expect(others.map(\.status) == [200, 200, 200])
    for response in needIndex {
      #expect(response.status == 501)
      #expect(try response.problem.code == "not-implemented")
      #expect(response.text.contains("the database is a standby"))
    }
    #expect(refusals.allSatisfy { $0.status == 503 && $0.headers["retry-after"] != nil })
    #expect(refusals.allSatisfy { $0.text.contains("the database is a standby") })
    #expect(Set(reads) == [200])
    #expect(written.status == 201)
    #expect(after.status == (index == "on" ? 200 : 501))
    #expect(readyAfter.status == 200)
    #expect(outcome.log.ranges(of: "the store refuses writes").count == 1)
    #expect(outcome.log.ranges(of: "the store accepts writes again").count == 1)
    #expect(!outcome.log.contains("the store is unavailable"))
    #expect(!standbyLog.contains("LISTEN"))
  }

  private func start(_ database: TemporaryDatabase, index: String) async throws -> (WaymarkProcess, ServerDriver) {
    let server = try await WaymarkProcess(
      ["serve", "--http-port", "0"], environment: ["DATABASE_URL": database.url, "POINT_INDEX": index])
    return (server, ServerDriver(port: try await server.port()))
  }

  private func create(_ driver: ServerDriver) async throws -> ServerDriver.Response {
    let body = Data(#"{"name":"A","lat":1,"long":1,"category":"museum"}"#.utf8)
    return try await driver.send("POST", "/locations", headers: ["Content-Type": "application/json"], body: body)
  }

  private func createMany(_ driver: ServerDriver) async throws -> [ServerDriver.Response] {
    try await (0..<200).asyncMap { _ in try await create(driver) }
  }

  private func wait(_ driver: ServerDriver, for text: String) async throws {
    while try await !driver.get("/health/ready").text.contains(text) { try await Task.sleep(for: .milliseconds(20)) }
  }
}

extension ServerDriver.Response {
  fileprivate var text: String { String(decoding: body, as: UTF8.self) }
}

extension Collection {
  fileprivate func asyncMap<Value>(_ transform: (Element) async throws -> Value) async throws -> [Value] {
    var values: [Value] = []
    for element in self { values.append(try await transform(element)) }
    return values
  }
}
