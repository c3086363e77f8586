import Foundation
import HTTPTestSupport
import Testing

/// Tests of the memory that clients that read nothing can occupy in total.
@Suite(.serialized, .timeLimit(.minutes(10))) struct MemoryBudgetTests {
  /// The memory limit of the container in deploy/kubernetes.
  private static let containerBytes = 512 << 20

  @Test func silentClientsOfAllKindsTogetherStayBelowTheContainersLimit() async throws {
    let folder = try TemporaryFolder()
    let file = try folder.write(Self.places, to: "places.ndjson")
    // The value that the server would detect in that container.
    let server = try await WaymarkProcess(
      ["serve", "--http-port", "0", "--data-file", file],
      environment: ["HTTP_MAX_BUFFERED_BYTES": "\(Self.containerBytes / 4)"])
    let port = try await server.port()
    let driver = ServerDriver(port: port)

    // Without a limit these occupy more than a gigabyte: pages of 410 kB, exports, and pages of places of a megabyte.
    var clients: [RawHTTPConnection] = []
    let attacks = [
      ("/locations?bbox=0,0,20,20&limit=1000", 1200), ("/locations/export", 300),
      ("/locations?bbox=100,0,120,20&limit=40&f=geojson", 8), ("/locations?bbox=100,0,120,20&limit=40", 8),
    ]
    for (target, count) in attacks {
      for _ in 0..<count {
        let client = try await RawHTTPConnection.open(port: port, receiveBufferBytes: 4096)
        try await client.send("GET \(target) HTTP/1.1\r\nHost: localhost\r\n\r\n")
        clients.append(client)
      }
    }
    for _ in 0..<100 {
      let response = try await driver.get("/locations?lat=1&long=1&limit=3")
      #expect(response.status == 200)
      try await Task.sleep(for: .milliseconds(50))
    }

    let peak = try #require(server.peakResidentBytes)
    #expect(peak < Self.containerBytes, "\(peak >> 20) MiB")
    for client in clients { client.reset() }
    server.send(SIGTERM)
  }

  /// A thousand places whose page has 410 kB, and forty of a megabyte each.
  private static var places: String {
    var lines = ""
    for index in 0..<1000 {
      let (lat, long) = (Double(index % 40) / 4, Double(index / 40) / 4)
      lines += #"{"name":"Place \#(index)","lat":\#(lat),"long":\#(long),"tags":{"note":"\#(filler(280))"}}"# + "\n"
    }
    let tags = (0..<500).map { #""key \#($0)":"\#(filler(1990))""# }.joined(separator: ",")
    for index in 0..<40 {
      lines += #"{"name":"Long \#(index)","lat":\#(index % 10),"long":\#(105 + index / 10),"tags":{\#(tags)}}"# + "\n"
    }
    return lines
  }

  private static func filler(_ count: Int) -> String { String(repeating: "x", count: count) }
}
