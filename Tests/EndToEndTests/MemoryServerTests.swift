import Foundation
import Synchronization
import Testing

@Suite struct MemoryServerTests {
  @Test func sampleIsServedWithoutConfiguration() async throws {
    let server = try await WaymarkProcess(["serve", "--http-port", "0"])
    let driver = ServerDriver(port: try await server.port())

    let response = try await driver.get("/locations?lat=37.3293&long=-121.8893&limit=5")

    let places = try response.places
    #expect(response.status == 200)
    #expect(places.count == 5)
    #expect(places.compactMap(\.distance) == places.compactMap(\.distance).sorted())
    #expect(try #require(places.first?.distance) < 20_000)
  }

  @Test func severalFilesOfSeveralFormatsAreServed() async throws {
    let folder = try TemporaryFolder()
    let csv = try folder.write("name,lat,long,colour\nA,1,1,red\n", to: "a.csv")
    let lines = try folder.write(#"{"name":"B","lat":2,"long":2}"# + "\n", to: "b.ndjson")
    let server = try await WaymarkProcess(["serve", "--http-port", "0", "--data-file", "\(csv),\(lines)"])
    let driver = ServerDriver(port: try await server.port())

    let places = try await driver.get("/locations?lat=0&long=0").places

    #expect(places.map(\.name) == ["A", "B"])
    #expect(places[0].tags == ["colour": "red"])
  }

  @Test func twoStartsGiveTheSamePlacesTheSameIDs() async throws {
    func ids() async throws -> [String] {
      let server = try await WaymarkProcess(["serve", "--http-port", "0"])
      return try await ServerDriver(port: try await server.port()).get("/locations?limit=1000").places.map(\.id)
    }

    let first = try await ids()
    let second = try await ids()

    #expect(first.count >= 200)
    #expect(first == second)
  }

  @Test func requestIDIsKeptOrAssigned() async throws {
    let server = try await WaymarkProcess(["serve", "--http-port", "0"])
    let driver = ServerDriver(port: try await server.port())

    let kept = try await driver.get("/", headers: ["X-Request-Id": "my-request.1"])
    let made = try await driver.get("/")

    #expect(kept.headers["x-request-id"] == "my-request.1")
    #expect(try #require(made.headers["x-request-id"]).count >= 12)
  }

  @Test func aStopUnderLoadLosesNoRequestThatWasAccepted() async throws {
    let server = try await WaymarkProcess(["serve", "--http-port", "0"])
    let driver = ServerDriver(port: try await server.port())
    let responses = Counter()

    let outcome = try await withThrowingTaskGroup(of: Void.self) { group in
      for client in 0..<8 {
        group.addTask {
          for request in 0... {
            do {
              let response = try await driver.get("/locations?lat=\(client)&long=\(request % 180)")
              #expect(response.status == 200)
              responses.increment()
            } catch {
              // The connection was refused, or closed before it was accepted, which is normal for idle connections at
              // shutdown.
              return
            }
          }
        }
      }
      while responses.value < 200 { try await Task.sleep(for: .milliseconds(5)) }
      server.send(SIGTERM)
      try await group.waitForAll()
      return try await server.outcome()
    }

    #expect(outcome.status == 0)
    #expect(outcome.log.contains("\"stopped\""))
  }
}

/// A thread-safe counter.
private final class Counter: Sendable {
  private let count = Mutex(0)
  var value: Int { count.withLock { $0 } }
  func increment() { count.withLock { $0 += 1 } }
}
