import Dispatch
import HTTPServer
import HTTPTestSupport
import NIOCore
import TestSupport
import Testing

/// The graceful shutdown of a server.
@Suite(.timeLimit(.minutes(5))) struct ShutdownTests {
  @Test func requestInFlightCompletesAndItsConnectionCloses() async throws {
    let gate = Gate()
    let arrived = Gate()
    let responder = ClosureResponder { _ in
      arrived.open()
      await gate.pass()
      return .text("done")
    }
    try await withServer(responder) { server in
      let connection = try await RawHTTPConnection.open(port: server.port)
      try await connection.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n")
      await arrived.pass()
      async let ended: Void = server.shutdown(gracePeriod: .seconds(600))
      await Self.untilRefused(port: server.port)
      gate.open()
      let response = try await connection.response()
      let rest = try await connection.rest()
      connection.shutdownSending()
      await ended

      #expect(response.text == "done")
      #expect(response["connection"] == "close")
      #expect(rest.isEmpty)
    }
  }

  @Test func idleConnectionsAreClosed() async throws {
    try await withServer(ClosureResponder.path) { server in
      let connections = try await [
        RawHTTPConnection.open(port: server.port), RawHTTPConnection.open(port: server.port),
      ]
      _ = try await connections[0].get("/")
      while server.openConnections < 2 { await Task.yield() }
      await server.shutdown(gracePeriod: .seconds(600))

      for connection in connections {
        let rest = try await connection.rest()
        #expect(rest.isEmpty)
      }
    }
  }

  @Test func drainUnderLoadLosesNoRequest() async throws {
    let responder = ClosureResponder { request in
      await Task.yield()
      return .text(String(request.path))
    }
    let configure = { (configuration: inout HTTPServerConfiguration) in
      configuration.threads = 2
      // A client may be kept from sending its next request for as long as the machine is busy with other things.
      configuration.timeouts.lastRequest = .seconds(300)
    }
    try await withServer(responder, configure: configure) { server in
      let answered = Counter()
      let enough = Gate()
      try await withThrowingTaskGroup(of: Void.self) { group in
        for client in 0..<16 {
          group.addTask {
            let connection = try await RawHTTPConnection.open(port: server.port)
            var index = 0
            while true {
              let response = try await connection.get("/\(client)/\(index)")
              #expect(response.text == "/\(client)/\(index)")
              if answered.add() == 500 {
                enough.open()
              }
              index += 1
              if response["connection"] == "close" { return }
            }
          }
        }
        await enough.pass()
        await server.shutdown(gracePeriod: .seconds(600))
        // A request that found its connection closed would throw here.
        try await group.waitForAll()
      }

      #expect(answered.value >= 500)
    }
  }

  /// The system resets what waits in the queue of a listening socket that is closed.
  @Test func connectionsInTheAcceptQueueAreServed() async throws {
    let isBlocked = Gate()
    let release = DispatchSemaphore(value: 0)
    let block = { @Sendable in release.wait() }
    let responder = ClosureResponder { request in
      if request.path == "/first" {
        isBlocked.open()
        // On the only event loop, which accepts nothing meanwhile.
        block()
      }
      return .text(String(request.path))
    }
    // A client may be kept from sending its request for as long as the machine is busy with other things.
    try await withServer(responder, configure: { $0.timeouts.firstRequest = .seconds(300) }) { server in
      defer { release.signal() }
      let first = try await RawHTTPConnection.open(port: server.port)
      try await first.send("GET /first HTTP/1.1\r\nHost: test\r\n\r\n")
      await isBlocked.pass()
      var queued: [RawHTTPConnection] = []
      for _ in 0..<20 { queued.append(try await RawHTTPConnection.open(port: server.port)) }
      // The part of the shutdown before its first wait runs at once.
      let ended = Task.immediate { await server.shutdown(gracePeriod: .seconds(600)) }
      release.signal()

      #expect(try await first.response().text == "/first")
      for connection in queued { #expect(try await connection.get("/queued").text == "/queued") }
      await ended.value
      await #expect(throws: RawHTTPConnection.Failure.refused) { try await RawHTTPConnection.open(port: server.port) }
    }
  }

  @Test func acceptQueueThatIsNeverEmptyDoesNotPreventTheDrain() async throws {
    try await withServer(ClosureResponder.path, acceptQueueLength: { _ in 1 }) { server in
      let connection = try await RawHTTPConnection.open(port: server.port)
      _ = try await connection.get("/")
      // Longer than the time limit of this suite.
      await server.shutdown(gracePeriod: .seconds(600))

      #expect(try await connection.rest().isEmpty)
      await #expect(throws: RawHTTPConnection.Failure.refused) { try await RawHTTPConnection.open(port: server.port) }
    }
  }

  @Test(arguments: [false, true])
  func shutdownWaitsForTheSocketsUnsentBytes(asksForClose: Bool) async throws {
    let text = String(repeating: "0123456789", count: 20_000)
    let configure = { (configuration: inout HTTPServerConfiguration) in
      configuration.timeouts.linger = .milliseconds(100)
    }
    try await withServer(ClosureResponder { _ in .text(text) }, configure: configure) { server in
      let connection = try await RawHTTPConnection.open(port: server.port, receiveBufferBytes: 4096)
      try await connection.send(
        "GET / HTTP/1.1\r\nHost: test\r\n\(asksForClose ? "Connection: close\r\n" : "")\r\n")
      // Longer than the server waits for a client that reads nothing and does not close.
      let received = try await bytes(readLateFrom: connection, after: .seconds(1), asItShutsDown: server)

      #expect(received.suffix(text.utf8.count).elementsEqual(text.utf8))
    }
  }

  @Test(arguments: [0, 1]) func connectionsAreCutAfterTheGracePeriod(acceptQueueLength: Int) async throws {
    let responder = ClosureResponder { _ in
      try? await Task.sleep(for: .seconds(600))
      return .text("never")
    }
    try await withServer(responder, acceptQueueLength: { _ in acceptQueueLength }) { server in
      let connection = try await RawHTTPConnection.open(port: server.port)
      try await connection.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n")
      while server.requestsInFlight == 0 { await Task.yield() }
      await server.shutdown(gracePeriod: .milliseconds(50))

      await #expect(throws: RawHTTPConnection.Failure.self) { try await connection.response() }
      await #expect(throws: RawHTTPConnection.Failure.refused) { try await RawHTTPConnection.open(port: server.port) }
    }
  }

  @Test func runReturnsWhenTheServerIsShutDown() async throws {
    try await withServer(ClosureResponder.path) { server in
      async let run: Void = server.run()
      await server.shutdown()

      await run
    }
  }

  @Test func cancellingRunShutsTheServerDown() async throws {
    try await withServer(ClosureResponder.path) { server in
      let run = Task { await server.run() }
      run.cancel()
      await run.value

      await #expect(throws: RawHTTPConnection.Failure.refused) { try await RawHTTPConnection.open(port: server.port) }
    }
  }

  @Test func secondShutdownShortensTheFirst() async throws {
    let arrived = Gate()
    let responder = ClosureResponder { _ in
      arrived.open()
      try? await Task.sleep(for: .seconds(600))
      return .text("never")
    }
    try await withServer(responder) { server in
      let connection = try await RawHTTPConnection.open(port: server.port)
      try await connection.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n")
      await arrived.pass()
      async let first: Void = server.shutdown(gracePeriod: .seconds(600))
      await Self.untilRefused(port: server.port)
      await server.shutdown(gracePeriod: .zero)

      await first
    }
  }

  @Test func bindingAPortInUseFails() async throws {
    try await withServer(ClosureResponder.path) { server in
      await #expect(throws: (any Error).self) {
        try await withServer(ClosureResponder.path, configure: { $0.port = server.port }) { _ in }
      }
    }
  }

  private static func untilRefused(port: Int) async {
    while (try? await RawHTTPConnection.open(port: port)) != nil { await Task.yield() }
  }
}
