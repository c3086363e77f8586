import Foundation
import SystemPackage

/// A PgBouncer in front of a temporary server, gone when the test process is.
public final class TemporaryPooler: Sendable {
  /// When PgBouncer gives a connection of the server to another client (its `pool_mode`).
  public enum Mode: String, CaseIterable, Sendable {
    /// When the client has gone.
    case session
    /// After each transaction.
    case transaction
    /// After each statement, so that transactions of several are refused.
    case statement
  }

  /// Its TCP port on 127.0.0.1.
  public let port: Int

  /// The server behind it.
  public let server: TemporaryServer
  /// PgBouncer ends when this is closed; the kernel does that when the process ends.
  private let lifeline: FileDescriptor

  /// Starts PgBouncer, and returns when it takes connections. It takes any user for the superuser.
  ///
  /// - Parameters:
  ///   - serverConnections: the maximum number of connections to each of the server's databases.
  ///   - idleSeconds: how long a connection to the server stays open without a client.
  /// - Throws: ``TemporaryServerError``.
  public static func start(
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

  /// The libpq URI of a database of the server, by way of the pooler.
  public func url(of database: TemporaryDatabase) -> String {
    "postgresql://\(TemporaryServer.superuser)@127.0.0.1:\(port)/\(database.name)"
  }

  /// Runs SQL on a database by way of the pooler with `psql`, as one transaction where it is several statements.
  ///
  /// - Returns: the rows, one a line, the columns separated by `|`.
  /// - Throws: ``TemporaryServerError`` with what `psql` says.
  @discardableResult
  public func psql(_ database: TemporaryDatabase, _ sql: String) async throws -> String {
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
