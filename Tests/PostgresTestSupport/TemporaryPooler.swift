import Foundation
import SystemPackage

/// A PgBouncer in front of a temporary server, which ends with the test process.
package final class TemporaryPooler: Sendable {
  /// The pooling mode, which determines when a server connection is reassigned (`pool_mode`).
  package enum Mode: String, CaseIterable, Sendable {
    /// When the client disconnects.
    case session
    /// After each transaction.
    case transaction
    /// After each statement, so that transactions of several statements are rejected.
    case statement
  }

  /// The TCP port on 127.0.0.1.
  package let port: Int

  /// The server behind it.
  package let server: TemporaryServer
  /// A file whose closing ends PgBouncer; the kernel closes it when the process ends.
  private let lifeline: FileDescriptor

  /// Starts PgBouncer, and returns when it accepts connections. It maps any user to the superuser.
  ///
  /// - Parameters:
  ///   - serverConnections: the maximum number of connections to each of the server's databases.
  ///   - idleSeconds: the time for which a server connection stays open without a client.
  /// - Throws: ``TemporaryServerError``.
  package static func start(
    _ mode: Mode, to server: TemporaryServer, serverConnections: Int, idleSeconds: Double = 0.2
  ) async throws -> TemporaryPooler {
    let port = try TemporaryServer.freePort()
    let settings = """
      [databases]
      * = host=127.0.0.1 port=\(server.port) user=\(TemporaryServer.superuser)
      [pgbouncer]
      listen_addr = 127.0.0.1
      listen_port = \(port)
      unix_socket_dir =
      auth_type = any
      pool_mode = \(mode.rawValue)
      default_pool_size = \(serverConnections)
      max_client_conn = 1000
      server_idle_timeout = \(idleSeconds)
      server_login_retry = 0.1
      query_wait_timeout = 0
      logfile = \(server.directory)/pgbouncer-\(port).log
      """
    let file = "\(server.directory)/pgbouncer-\(port).ini"
    let script = #"printf '%s\n' "$1" > "$2""#
    try await server.tools.run("/bin/sh", ["-c", script, "sh", settings, file])
    let lifeline = try await server.tools.startGuarded(try program(), ["-q", file])
    let pooler = TemporaryPooler(port: port, server: server, lifeline: lifeline)
    try await pooler.waitUntilReady()
    return pooler
  }

  private init(port: Int, server: TemporaryServer, lifeline: FileDescriptor) {
    self.port = port
    self.server = server
    self.lifeline = lifeline
  }

  deinit {
    try? lifeline.close()
  }

  /// Returns the libpq URI of a database of the server, through the pooler.
  package func url(of database: TemporaryDatabase) -> String {
    "postgresql://\(TemporaryServer.superuser)@127.0.0.1:\(port)/\(database.name)"
  }

  /// Runs SQL on a database through the pooler with `psql`; several statements are one transaction.
  ///
  /// - Returns: the rows, one on each line, with columns separated by `|`.
  /// - Throws: ``TemporaryServerError`` with the message of `psql`.
  @discardableResult
  package func psql(_ database: TemporaryDatabase, _ sql: String) async throws -> String {
    try await server.tools.run(
      server.tools.path("psql"), ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", url(of: database), "-c", sql])
  }

  private func waitUntilReady() async throws {
    let database = TemporaryDatabase(server: server, name: "postgres")
    var tries = 0
    while true {
      do {
        try await psql(database, "SELECT 1")
        return
      } catch {
        tries += 1
        guard tries < 600 else { throw error }
        try await Task.sleep(for: .milliseconds(100))
      }
    }
  }

  private static func program() throws -> String {
    let searched = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map { "\($0)/pgbouncer" }
    let found = (["/usr/sbin/pgbouncer"] + searched).first { FileManager.default.isExecutableFile(atPath: $0) }
    guard let found else {
      throw TemporaryServerError(
        description: """
          these tests need PgBouncer, and there is no pgbouncer in /usr/sbin or PATH; on Debian: apt-get install pgbouncer
          """
      )
    }
    return found
  }
}
