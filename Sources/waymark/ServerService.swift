import HTTPServer
import ServiceLifecycle

/// Runs the server until the process is told to stop, and drains it then.
struct ServerService: Service {
  let server: HTTPServer
  let drainTimeout: Duration

  func run() async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await server.run() }
      group.addTask {
        try await gracefulShutdown()
        await server.shutdown(gracePeriod: drainTimeout)
      }
      try await group.next()
      try await group.next()
    }
  }
}
