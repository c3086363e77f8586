import Foundation
import HTTPTestSupport
import PostgresTestSupport
import Testing

/// Tests that the program returns memory to the system after a load peak.
@Suite(.timeLimit(.minutes(5))) struct ResidentMemoryTests {
  @Test func memoryOfSlowReadersIsReturned() async throws {
    let database = try await TemporaryDatabase.make()
    // However slow the machine, the clients disconnect when the test says so.
    let environment = ["DATABASE_URL": database.url, "POINT_INDEX": "off", "HTTP_WRITE_TIMEOUT_MS": "300000"]
    _ = try await WaymarkProcess.run(["migrate"], environment: environment)
    let folder = try TemporaryFolder()
    let rows = (0..<1000).map { "Place \($0) of a thousand with a name that is not short,\($0 % 90),\($0 % 180)\n" }
    let file = try folder.write("name,lat,long\n" + rows.joined(), to: "places.csv")
    _ = try await WaymarkProcess.run(["import", file], environment: environment)
    let server = try await WaymarkProcess(["serve", "--http-port", "0"], environment: environment)
    let port = try await server.port()
    let driver = ServerDriver(port: port)
    _ = try await driver.get("/locations?limit=1000&fields=*")

    // Less than the load peak occupies, and less than what remains of it without memory trimming.
    let bound = try await residentBytes(driver) + 10e6
    let clients = try await connectSlowReaders(port: port)
    try await waitUntil(driver) { now, before in now > bound && now == before }
    for client in clients { client.reset() }
    try await waitUntil(driver) { now, _ in now < bound }
  }

  /// Connects many clients that request a thousand places twenty times each and read nothing.
  private func connectSlowReaders(port: Int) async throws -> [RawHTTPConnection] {
    let request = "GET /locations?limit=1000&fields=* HTTP/1.1\r\nHost: localhost\r\n\r\n"
    var clients: [RawHTTPConnection] = []
    for _ in 0..<50 {
      let client = try await RawHTTPConnection.open(port: port, receiveBufferBytes: 4096)
      try await client.send(String(repeating: request, count: 20))
      clients.append(client)
    }
    return clients
  }

  /// Waits until a condition holds for the resident bytes now and a moment before.
  private func waitUntil(_ driver: ServerDriver, _ holds: (_ now: Double, _ before: Double) -> Bool) async throws {
    var before = 0.0
    while true {
      // Behind other requests this one may time out in its client; the suite's time limit applies.
      if let now = try? await residentBytes(driver) {
        if holds(now, before) { return }
        before = now
      }
      try await Task.sleep(for: .milliseconds(200))
    }
  }

  private func residentBytes(_ driver: ServerDriver) async throws -> Double {
    let metrics = String(decoding: try await driver.get("/metrics").body, as: UTF8.self)
    return try #require(
      metrics.firstMatch(of: /\nprocess_resident_memory_bytes (\S+)/).flatMap { Double($0.output.1) })
  }
}
