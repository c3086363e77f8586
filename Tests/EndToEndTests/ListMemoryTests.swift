import Foundation
import PostgresTestSupport
import Testing

/// Tests of the memory that lists of long places need.
@Suite(.timeLimit(.minutes(10))) struct ListMemoryTests {
  @Test func listsOfLongPlacesTakeLittleMemoryHoweverManyPlacesMatch() async throws {
    // The test doesn't depend on the machine's speed.
    let environment = [
      "DATABASE_URL": try await TemporaryDatabase.make().url, "POINT_INDEX": "off",
      "DATABASE_STATEMENT_TIMEOUT_MS": "60000", "REQUEST_DEADLINE_MS": "60000",
    ]
    _ = try await WaymarkProcess.run(["migrate"], environment: environment)
    let folder = try TemporaryFolder()
    let value = String(repeating: "x", count: 1990)
    let tags = (0..<500).map { #""key \#($0)":"\#(value)""# }.joined(separator: ",")
    let rows = (0..<40).map {
      #"{"name":"Place \#($0)","lat":1,"long":\#($0),"category":"a","tags":{\#(tags)}}"# + "\n"
    }
    let file = try folder.write(rows.joined(), to: "places.ndjson")
    _ = try await WaymarkProcess.run(["import", file], environment: environment)
    let server = try await WaymarkProcess(["serve", "--http-port", "0"], environment: environment)
    let driver = ServerDriver(port: try await server.port())

    try await withThrowingTaskGroup { group in
      for number in 0..<12 {
        group.addTask {
          let target = [
            "/locations?lat=1&long=0&limit=1000", "/locations?limit=1000", "/locations?category=a&limit=1000",
          ]
          for turn in 0..<3 {
            let response = try await driver.get(target[(number + turn) % 3], headers: ["Accept-Encoding": "identity"])
            #expect(response.status == 200)
            #expect(response.body.count > 4_000_000)
            #expect(response.next != nil)
          }
        }
      }
      try await group.waitForAll()
    }

    // Each of the 12 requests has a page of 4 MB as rows and as the response. All matches of 12 requests are 480 MB.
    let peak = try #require(server.peakResidentBytes)
    #expect(peak < 200_000_000, "\(peak)")
  }
}
