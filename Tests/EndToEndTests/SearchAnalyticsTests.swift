import Foundation
import PostgresTestSupport
import Testing

@Suite struct SearchAnalyticsTests {
  private struct Report: Decodable {
    struct Cell: Decodable, Equatable {
      let lat: Double
      let long: Double
      let searches: Int
    }
    let searches: Int
    let foundNothing: Int
    let busiestCells: [Cell]
  }

  @Test func searchesAreRecordedAtShutdownAndReportedByTheNextServer() async throws {
    let database = try await TemporaryDatabase.make()
    let environment = ["DATABASE_URL": database.url, "ANALYTICS": "postgres"]
    _ = try await WaymarkProcess.run(["migrate"], environment: environment)
    let first = try await WaymarkProcess(["serve", "--http-port", "0"], environment: environment)
    let driver = ServerDriver(port: try await first.port())
    for _ in 0..<7 { _ = try await driver.get("/locations?lat=48.123456&long=16.654321") }
    _ = try await driver.get("/locations?limit=3")
    first.send(SIGTERM)
    let outcome = try await first.outcome()

    let second = try await WaymarkProcess(["serve", "--http-port", "0"], environment: environment)
    let response = try await ServerDriver(port: try await second.port()).get("/analytics/searches?since=PT1H")

    let report = try JSONDecoder().decode(Report.self, from: response.body)
    #expect(outcome.status == 0)
    #expect(report.searches == 8)
    #expect(report.foundNothing == 8)
    #expect(report.busiestCells == [.init(lat: 48.12, long: 16.65, searches: 7)])
  }

  @Test func missingDatabaseSettingStopsTheStartWithOneLine() async throws {
    let outcome = try await WaymarkProcess.run(["serve", "--http-port", "0"], environment: ["ANALYTICS": "postgres"])

    #expect(outcome.status == 64)
    #expect(outcome.log.split(separator: "\n").count == 1)
    #expect(outcome.log.contains("ANALYTICS must be off or log without POINT_STORE=postgres, got 'postgres'"))
  }

  @Test func reportWithoutRecordedSearchesSaysSo() async throws {
    let server = try await WaymarkProcess(["serve", "--http-port", "0"])

    let response = try await ServerDriver(port: try await server.port()).get("/analytics/searches")

    #expect(response.status == 404)
    #expect(String(decoding: response.body, as: UTF8.self).contains("ANALYTICS=postgres"))
  }
}
