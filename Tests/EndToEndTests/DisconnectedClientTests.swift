import Foundation
import HTTPTestSupport
import NIOCore
import NIOSSL
import PostgresTestSupport
import Testing

/// Tests of statements whose client disconnects while the database executes them.
@Suite(.timeLimit(.minutes(5))) struct DisconnectedClientTests {
  /// The ways in which a client disconnects.
  enum Disconnection: CaseIterable {
    case reset
    /// A FIN, as the system sends for a process that is killed.
    case fin
    case tlsCloseNotify
    case streamReset
    case endOfHTTP2
  }

  @Test(arguments: Disconnection.allCases, ["GET", "POST"])
  func readIsCancelledAndWriteContinues(disconnection: Disconnection, method: String) async throws {
    let database = try await TemporaryDatabase.make()
    var environment = [
      // With an index the read would not wait for the database.
      "DATABASE_URL": database.url, "POINT_INDEX": "off", "HTTP_PORT": "0",
      // Only the disconnect may end the statement.
      "DATABASE_STATEMENT_TIMEOUT_MS": "3600000",
    ]
    _ = try await WaymarkProcess.run(["migrate"], environment: environment)
    let certificate = try TestCertificate()
    let files = try TestCertificateFiles(certificate)
    if disconnection == .tlsCloseNotify {
      environment["TLS_CERTIFICATE_FILE"] = files.certificate
      environment["TLS_PRIVATE_KEY_FILE"] = files.privateKey
    }
    let server = try await WaymarkProcess(["serve"], environment: environment)
    let port = try await server.port()
    let lock = Task { try await database.run("LOCK TABLE points; SELECT pg_sleep(3600)") }
    try await wait(for: "wait_event = 'PgSleep'", count: 1, in: database)

    let leave = try await ask(method, port: port, tls: certificate, disconnectingBy: disconnection)
    try await wait(for: "wait_event_type = 'Lock'", count: 1, in: database)
    await leave()
    if method == "GET" { try await wait(for: "wait_event_type = 'Lock'", count: 0, in: database) }

    try await database.run(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND \(Self.here)")
    _ = await lock.result
    // A write that was sent may already be in its commit, so it is never cancelled.
    let written = method == "POST" ? 1 : 0
    while try await database.run("SELECT count(*) FROM points") != String(written) {}
    #expect(try await database.run("SELECT count(*) FROM changes") == String(written))
    if disconnection != .tlsCloseNotify {
      #expect(try await ServerDriver(port: port).get("/locations").places.count == written)
    }
  }

  private static let here = "datname = current_database() AND pid <> pg_backend_pid()"

  /// Waits until the given number of the database's backends satisfy a condition.
  private func wait(for condition: String, count: Int, in database: TemporaryDatabase) async throws {
    let sql = "SELECT count(*) FROM pg_stat_activity WHERE \(condition) AND \(Self.here)"
    while try await database.run(sql) != String(count) { try await Task.sleep(for: .milliseconds(5)) }
  }

  /// Sends a request, and returns a function that disconnects the client.
  private func ask(
    _ method: String, port: Int, tls: TestCertificate, disconnectingBy disconnection: Disconnection
  ) async throws -> @Sendable () async -> Void {
    let body = method == "POST" ? #"{"name":"x","lat":1,"long":2}"# : ""
    let request = """
      \(method) /locations HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
      Content-Length: \(body.utf8.count)\r\n\r\n\(body)
      """
    switch disconnection {
    case .reset, .fin:
      let connection = try await RawHTTPConnection.open(port: port)
      try await connection.send(request)
      return { if disconnection == .reset { connection.reset() } else { connection.shutdownSending() } }
    case .tlsCloseNotify:
      let channel = try await SecureConnection.open(port: port, context: try tls.clientContext())
      try await channel.send(request)
      nonisolated(unsafe) let connection = channel  // It is passed on, not shared.
      return { connection.close() }
    case .streamReset, .endOfHTTP2:
      let client = try await HTTP2Client.open(port: port)
      let stream = try await client.start(
        method, "/locations", headers: [("content-type", "application/json")], endsStream: body.isEmpty)
      if !body.isEmpty { stream.write(Array(body.utf8), endsStream: true) }
      return {
        if disconnection == .streamReset { stream.cancel() } else { client.channel.close(mode: .output, promise: nil) }
      }
    }
  }
}
