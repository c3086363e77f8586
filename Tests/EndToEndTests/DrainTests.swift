import Foundation
import HTTPTestSupport
import TestSupport
import Testing

/// Tests of a graceful shutdown while clients keep connecting.
@Suite(.timeLimit(.minutes(10))) struct DrainTests {
  /// So long that clients see it on a busy machine, too.
  private static let delay = Duration.seconds(30)
  private static let clients = 16
  private static let connectionsBeforeTheSignal = 10_000

  /// The time for which the server keeps a connection without a request when it drains.
  private static let firstRequestTimeout = Duration.seconds(2)

  @Test(.enabled(if: SocketFilters.arePermitted, "the system does not let sockets be filtered"))
  func newConnectionsAreServedDuringTheDelayAndNoneIsResetAtItsEnd() async throws {
    let server = try await WaymarkProcess(
      ["serve"],
      environment: [
        "HTTP_PORT": "0", "DRAIN_DELAY_MS": "\(Self.delay.components.seconds * 1000)", "DRAIN_TIMEOUT_MS": "60000",
      ])
    let port = try await server.port()
    let (served, servedWhileDraining) = (Counter(), Counter())
    let (isDraining, isEnding) = (Counter(), Counter())
    let enough = Gate()

    let readyBefore = try await RawHTTPConnection.open(port: port).get("/health/ready").status
    let (start, probes) = try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<Self.clients {
        group.addTask {
          // Until nothing listens; each accepted connection must get a response.
          while true {
            let wasDraining = isDraining.value > 0
            let answer = try await Self.answer(to: "/", port)
            if answer == .refused { return }
            guard case .status(let status) = answer else { continue }
            #expect(status == 200)
            if served.add() == Self.connectionsBeforeTheSignal { enough.open() }
            guard wasDraining else { continue }
            servedWhileDraining.add()
            // Other tests need the processor, too: only the end of the delay has as many connections as possible.
            if isEnding.value == 0 { try await Task.sleep(for: .milliseconds(50)) }
          }
        }
      }
      await enough.pass()
      let start = ContinuousClock.now
      server.send(SIGTERM)
      _ = try await server.logLine(with: "draining")
      isDraining.add()
      var probes: [Int] = []
      while true {
        let answer = try await Self.answer(to: "/health/ready", port)
        if answer == .refused { break }
        if case .status(let status) = answer { probes.append(status) }
        let elapsed = ContinuousClock.now - start
        if elapsed > Self.delay - .seconds(5) { isEnding.add() }
        if elapsed < Self.delay { try await Task.sleep(for: .milliseconds(100)) }
      }
      // A reset connection would throw here.
      try await group.waitForAll()
      return (start, probes)
    }
    let ended = try await server.outcome()

    #expect(readyBefore == 200)
    #expect(!probes.isEmpty && probes.allSatisfy { $0 == 503 }, "\(Set(probes))")
    #expect(served.value >= Self.connectionsBeforeTheSignal)
    #expect(servedWhileDraining.value >= 1)
    #expect(ContinuousClock.now - start >= Self.delay)
    #expect(ended.status == 0 && ended.log.contains("\"stopped\""), "\(ended.log.suffix(500))")
  }

  private enum Answer: Equatable {
    case status(Int)
    case refused

    /// A busy machine sent the request so late that the server had closed the connection.
    case tooLate
  }

  /// Sends a request on a new connection. A connection that is reset is an error.
  private static func answer(to path: String, _ port: Int) async throws -> Answer {
    let start = ContinuousClock.now
    do {
      let connection = try await RawHTTPConnection.open(port: port)
      return .status(try await connection.get(path, headers: "Connection: close\r\n").status)
    } catch RawHTTPConnection.Failure.refused {
      return .refused
    } catch RawHTTPConnection.Failure.ended where ContinuousClock.now - start > firstRequestTimeout {
      return .tooLate
    }
  }
}
