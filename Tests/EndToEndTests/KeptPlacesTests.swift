import Foundation
import Testing

@Suite struct KeptPlacesTests {
  @Test func placesAreLoadedOnceAndStay() async throws {
    let folder = try TemporaryFolder()
    let file = try folder.write("name,lat,long\nA,1,1\nB,2,2\n", to: "a.csv")
    let path = folder.path(of: "places.db")
    let first = try await WaymarkProcess([
      "serve", "--http-port", "0", "--data-file", file, "--memory-store-path", path,
    ])
    let before = try await ServerDriver(port: try await first.port()).get("/locations?fields=*").places.map(\.id)
    first.send(SIGKILL)
    _ = try await first.outcome()
    try FileManager.default.removeItem(atPath: file)

    let second = try await WaymarkProcess(["serve", "--http-port", "0", "--memory-store-path", path])
    let after = try await ServerDriver(port: try await second.port()).get("/locations?fields=*").places.map(\.id)

    #expect(before.count == 2)
    #expect(after == before)
    #expect(try await second.logLine(with: "places are in memory and kept").contains("\"places\":\"2\""))
  }

  @Test func twoServersDoNotShareAFile() async throws {
    let folder = try TemporaryFolder()
    let path = folder.path(of: "places.db")
    let first = try await WaymarkProcess(["serve", "--http-port", "0", "--memory-store-path", path])
    _ = try await first.port()

    let second = try await WaymarkProcess.run(["serve", "--http-port", "0", "--memory-store-path", path])

    #expect(second.status == 69)
    #expect(second.log == "waymark: \(path) is in use by another process\n")
    withExtendedLifetime(first) {}
  }

  @Test func withoutAFileTheStartSaysThatNothingIsKept() async throws {
    let server = try await WaymarkProcess(["serve", "--http-port", "0"])

    _ = try await server.logLine(with: "places are in memory alone")
  }
}
