import Foundation
import PostgresTestSupport
import Testing

/// The server without features.
@Suite struct FeaturelessServerTests {
  private func start(_ settings: [String: String] = [:]) async throws -> (WaymarkProcess, ServerDriver) {
    let server = try await WaymarkProcess(
      [], environment: settings.merging(["HTTP_PORT": "0"]) { $1 },
      executable: WaymarkProcess.executableWithoutFeatures)
    return (server, ServerDriver(port: try await server.port()))
  }

  @Test func placesInMemoryAreServedAndCallsOfFeaturesAreNot() async throws {
    let (server, driver) = try await start()

    let found = try await driver.get("/locations?lat=37.3293&long=-121.8893&limit=5")

    #expect(found.status == 200)
    #expect(try found.places.count == 5)
    for path in ["/changes", "/areas", "/duplicates", "/edits", "/webhooks", "/suggestions"] {
      #expect(try await driver.get(path).status == 404, "\(path)")
    }
    server.send(SIGTERM)
    #expect(try await server.outcome().status == 0)
  }

  @Test func placesInPostgreSQLAreServed() async throws {
    let database = try await TemporaryDatabase.make()
    _ = try await WaymarkProcess.run(["migrate"], environment: ["DATABASE_URL": database.url])
    try await database.run("INSERT INTO points (id, lat, long, name) VALUES (gen_random_uuid(), 1, 2, 'A')")
    let (server, driver) = try await start(["DATABASE_URL": database.url])

    #expect(try await driver.get("/locations?lat=1&long=2").places.map(\.name) == ["A"])
    #expect(try await driver.get("/webhooks").status == 404)
    server.send(SIGTERM)
    #expect(try await server.outcome().status == 0)
  }

  @Test func settingOfAFeatureThatIsNotHostedIsIgnored() async throws {
    let (server, driver) = try await start(["CHANGES_MAX_STREAMS": "many"])

    #expect(try await driver.get("/locations?limit=1").status == 200)
    _ = server
  }

  @Test func invalidSettingEndsTheProgramWithOneLine() async throws {
    let server = try await WaymarkProcess(
      [], environment: ["HTTP_PORT": "none"], executable: WaymarkProcess.executableWithoutFeatures)

    let outcome = try await server.outcome()

    #expect(outcome.status == 64)
    #expect(outcome.log == "waymark-core: HTTP_PORT must be an integer from 0 to 65535, got 'none'\n")
  }
}
