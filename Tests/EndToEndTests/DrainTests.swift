import Foundation
import HTTPTestSupport
import Testing

/// Tests of the time between a signal to stop and the end of the listening socket.
@Suite(.timeLimit(.minutes(10))) struct DrainTests {
  /// So long that clients see it on a busy machine, too.
  private static let delay = Duration.seconds(30)

  @Test func newConnectionsAreServedDuringTheDelayWhileTheServerIsNotReady() async throws {
    let server = try await WaymarkProcess(
      ["serve"],
      environment: [
        "HTTP_PORT": "0", "DRAIN_DELAY_MS": "\(Self.delay.components.seconds * 1000)", "DRAIN_TIMEOUT_MS": "60000",
      ])
    let port = try await server.port()
    let readyBefore = try await Self.status(of: "/health/ready", port)
    let start = ContinuousClock.now
    server.send(SIGTERM)
    _ = try await server.logLine(with: "draining")

    var statuses: [[Int]] = []
    var failure: RawHTTPConnection.Failure?
    while failure == nil {
      do {
        statuses.append([try await Self.status(of: "/", port), try await Self.status(of: "/health/ready", port)])
        try await Task.sleep(for: .milliseconds(100))
      } catch let error as RawHTTPConnection.Failure {
        failure = error
      }
    }
    let duration = ContinuousClock.now - start
    let ended = try await server.outcome()

    #expect(readyBefore == 200)
    #expect(!statuses.isEmpty && statuses.allSatisfy { $0 == [200, 503] }, "\(Set(statuses))")
    #expect(duration >= Self.delay, "\(String(describing: failure)) before the end of the delay")
    #expect(ended.status == 0 && ended.log.contains("\"stopped\""), "\(ended.log.suffix(500))")
  }

  /// Returns the status of the response to a request on a new connection.
  private static func status(of path: String, _ port: Int) async throws -> Int {
    try await RawHTTPConnection.open(port: port).get(path, headers: "Connection: close\r\n").status
  }
}
