import Foundation
import Synchronization
import SystemPackage

/// A PostgreSQL server for tests, in a directory that is removed when the test process ends, however it ends.
package final class TemporaryServer: Sendable {
  /// The way in which a server is stopped.
  package enum StopMode: String, Sendable {
    /// Immediately, with a message to its clients.
    case fast
    /// Immediately, as after a crash.
    case immediate
  }

  /// The role that owns everything and needs no password.
  package static let superuser = "postgres"

  private static let template = "waymark_template"

  /// The folder of PostgreSQL's programs.
  package static var programDirectory: String { get throws { try PostgresTools().directory } }

  /// The TCP port on 127.0.0.1.
  package let port: Int

  /// The directory of the server's data and Unix socket.
  package let directory: String

  let tools: PostgresTools
  private let maximumConnections: Int
  private let databasesMade = Mutex(0)
  /// A file whose closing stops the server and removes the directory; the kernel closes it when the process ends.
  private let lifeline: FileDescriptor

  /// The server that the tests of this process share. Each test has its own databases on it.
  package static var shared: TemporaryServer {
    get async throws { try await SharedServer.instance.server() }
  }

  /// Starts a server for one test, which may stop and restart it.
  ///
  /// - Parameter maximumConnections: the maximum number of connections (`max_connections`).
  /// - Throws: ``TemporaryServerError``.
  package static func start(maximumConnections: Int = 600) async throws -> TemporaryServer {
    let tools = try PostgresTools()
    let directory = try await tools.run("/bin/mktemp", ["-d", "/tmp/waymark-postgres.XXXXXX"])
    let server = TemporaryServer(
      tools: tools,
      directory: directory,
      port: try freePort(),
      maximumConnections: maximumConnections,
      lifeline: try await tools.guardServer(in: directory)
    )
    try await tools.run(
      tools.path("initdb"),
      ["-D", server.data, "-U", superuser, "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"]
    )
    try await server.start()
    try await server.psql(database: "postgres", "CREATE DATABASE \(template)")
    try await server.psql(database: template, "CREATE EXTENSION postgis")
    // The definitions of other reference systems are half of the bytes that each database of a test copies and keeps.
    try await server.psql(database: template, "DELETE FROM spatial_ref_sys WHERE srid <> 4326")
    try await server.psql(database: template, "VACUUM FULL spatial_ref_sys")
    return server
  }

  /// Starts a streaming replica of this server, which follows it until it is promoted or ends.
  ///
  /// - Throws: ``TemporaryServerError``.
  package func startStandby() async throws -> TemporaryServer {
    let directory = try await tools.run("/bin/mktemp", ["-d", "/tmp/waymark-postgres.XXXXXX"])
    let standby = TemporaryServer(
      tools: tools,
      directory: directory,
      port: try Self.freePort(),
      maximumConnections: maximumConnections,
      lifeline: try await tools.guardServer(in: directory)
    )
    try await tools.run(
      tools.path("pg_basebackup"),
      [
        "-D", standby.data, "-h", self.directory, "-p", String(port), "-U", Self.superuser, "-R", "-X", "stream", "-c",
        "fast", "--no-sync",
      ]
    )
    try await standby.start()
    return standby
  }

  /// Waits until a standby has replayed everything that this server has written.
  ///
  /// - Throws: ``TemporaryServerError``.
  package func waitUntilFollowed(by standby: TemporaryServer) async throws {
    let written = try await psql(database: "postgres", "SELECT pg_current_wal_insert_lsn()")
    let sql = "SELECT pg_last_wal_replay_lsn() >= '\(written)'"
    while try await standby.psql(database: "postgres", sql) != "t" { try await Task.sleep(for: .milliseconds(10)) }
  }

  /// Promotes a standby, and returns when it is the primary.
  ///
  /// - Throws: ``TemporaryServerError``.
  package func promote() async throws {
    try await tools.run(tools.path("pg_ctl"), ["-D", data, "-w", "-s", "promote"])
  }

  private init(
    tools: PostgresTools, directory: String, port: Int, maximumConnections: Int, lifeline: FileDescriptor
  ) {
    self.tools = tools
    self.directory = directory
    self.port = port
    self.maximumConnections = maximumConnections
    self.lifeline = lifeline
  }

  deinit {
    try? lifeline.close()
  }

  private var data: String { directory + "/data" }

  /// Creates a database with PostGIS.
  ///
  /// - Throws: ``TemporaryServerError``.
  package func makeDatabase() async throws -> TemporaryDatabase {
    let number = databasesMade.withLock { count in
      count += 1
      return count
    }
    let database = TemporaryDatabase(server: self, name: "test_\(number)")
    try await psql(database: "postgres", "CREATE DATABASE \(database.name) TEMPLATE \(Self.template)")
    return database
  }

  // MARK: Lifecycle

  /// Restarts the server on the same port after it was stopped.
  ///
  /// - Throws: ``TemporaryServerError``.
  package func start() async throws {
    let settings = [
      "listen_addresses=127.0.0.1", "port=\(port)", "unix_socket_directories=\(directory)",
      "max_connections=\(maximumConnections)", "max_prepared_transactions=10", "fsync=off", "full_page_writes=off",
      "shared_buffers=128MB", "max_wal_size=512MB", "autovacuum=off",
    ]
    let options = settings.map { "-c \($0)" }.joined(separator: " ")
    try await tools.run(
      tools.path("pg_ctl"),
      ["-D", data, "-l", directory + "/log", "-o", options, "-w", "-s", "start"]
    )
  }

  /// Stops the server, and returns when it has ended.
  ///
  /// - Throws: ``TemporaryServerError``.
  package func stop(_ mode: StopMode) async throws {
    try await tools.run(tools.path("pg_ctl"), ["-D", data, "-m", mode.rawValue, "-w", "-s", "stop"])
  }

  /// Kills the server and all its processes at once, and returns when they have ended.
  ///
  /// - Throws: ``TemporaryServerError``.
  package func kill() async throws {
    let script =
      PostgresTools.childrenFunction + #"""
        pid=$(head -1 "$1/postmaster.pid")
        all="$pid $(children "$pid")"
        kill -KILL $all
        for pid in $all; do while kill -0 "$pid" 2> /dev/null; do sleep 0.05; done; done
        """#
    try await tools.run("/bin/sh", ["-c", script, "sh", data])
  }

  /// Kills one backend: the server ends all others, recovers and continues.
  ///
  /// - Throws: ``TemporaryServerError``.
  package func killOneProcess() async throws {
    // The backend is the one that serves the query for its own identifier.
    let script = #"""
      kill -KILL "$("$1" -X -q -A -t -h "$2" -p "$3" -U "$4" -d postgres -c "
        SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' ORDER BY pid = pg_backend_pid() LIMIT 1")"
      """#
    try await tools.run(
      "/bin/bash", ["-c", script, "bash", tools.path("psql"), directory, String(port), Self.superuser])
  }

  /// Sends a signal, for example `STOP` or `CONT`, to the server and all its processes.
  ///
  /// - Throws: ``TemporaryServerError``.
  package func signal(_ name: String) async throws {
    let script =
      PostgresTools.childrenFunction + #"""
        pid=$(head -1 "$1/postmaster.pid")
        kill -"$2" "$pid" $(children "$pid")
        """#
    try await tools.run("/bin/sh", ["-c", script, "sh", data, name])
  }

  /// Sends a signal, for example `STOP` or `CONT`, to one of the server's processes.
  ///
  /// - Throws: ``TemporaryServerError``.
  package func signal(_ name: String, processID: String) async throws {
    try await tools.run("/bin/sh", ["-c", #"kill -"$1" "$2""#, "sh", name, processID])
  }

  /// Requires a synchronous standby for commits, and returns when one follows.
  ///
  /// - Throws: ``TemporaryServerError``.
  package func requireStandby() async throws {
    try await psql(database: "postgres", "ALTER SYSTEM SET synchronous_standby_names = '*'")
    try await psql(database: "postgres", "SELECT pg_reload_conf()")
    let sql = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"
    while try await psql(database: "postgres", sql) != "1" { try await Task.sleep(for: .milliseconds(10)) }
  }

  /// Runs SQL with `psql`; several statements are one transaction.
  ///
  /// - Returns: the rows, one on each line, with columns separated by `|`.
  /// - Throws: ``TemporaryServerError`` with the message of `psql`.
  @discardableResult
  package func psql(database: String, _ sql: String) async throws -> String {
    try await tools.run(
      tools.path("psql"),
      [
        "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", directory, "-p", String(port), "-U", Self.superuser,
        "-d", database, "-c", sql,
      ]
    )
  }

  private static let portsGiven = Mutex<Set<UInt16>>([])

  /// Returns a port of 127.0.0.1 on which nothing listens, and which this method returns only once.
  ///
  /// It is outside the range of ephemeral ports, so that it is still free when a stopped server restarts.
  ///
  /// - Throws: ``TemporaryServerError``.
  package static func freePort() throws -> Int {
    for _ in 0..<1_000 {
      let port = UInt16.random(in: 10_000..<32_768)
      guard portsGiven.withLock({ $0.insert(port).inserted }), isFree(port) else { continue }
      return Int(port)
    }
    throw TemporaryServerError(description: "there is no free port on 127.0.0.1")
  }

  private static func isFree(_ port: UInt16) -> Bool {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    address.sin_port = port.bigEndian
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(descriptor, address, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
  }
}

/// The error of a server for tests.
package struct TemporaryServerError: Error, CustomStringConvertible {
  /// The message of the tool that failed.
  package let description: String
}

/// The shared server, started on the first use.
private actor SharedServer {
  static let instance = SharedServer()

  private var starting: Task<TemporaryServer, any Error>?

  func server() async throws -> TemporaryServer {
    let task = starting ?? Task { try await TemporaryServer.start() }
    starting = task
    return try await task.value
  }
}
