import Foundation
import Synchronization
import SystemPackage

/// A PostgreSQL server of the tests' own, in a directory that is gone when the test process is, however that ends.
public final class TemporaryServer: Sendable {
  /// How a server is stopped.
  public enum StopMode: String, Sendable {
    /// At once, with a message to its clients.
    case fast
    /// At once, as after a crash.
    case immediate
  }

  /// The role that owns everything; it needs no password.
  public static let superuser = "postgres"

  private static let template = "waymark_template"

  /// Its TCP port on 127.0.0.1.
  public let port: Int

  /// Where it lives, its Unix socket included.
  public let directory: String

  let tools: PostgresTools
  private let maximumConnections: Int
  private let databasesMade = Mutex(0)
  /// The directory goes, and the server with it, when this is closed; the kernel does that when the process ends.
  private let lifeline: FileDescriptor

  /// The server that the tests of this process share. Its databases are their own.
  public static var shared: TemporaryServer {
    get async throws { try await SharedServer.instance.server() }
  }

  /// Starts a server of a test's own, to be stopped and started again.
  ///
  /// - Parameter maximumConnections: the maximum number of connections (`max_connections`).
  /// - Throws: ``TemporaryServerError``.
  public static func start(maximumConnections: Int = 200) async throws -> TemporaryServer {
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
    return server
  }

  /// Starts a streaming replica of this server, which follows it until it is promoted or ends.
  ///
  /// - Throws: ``TemporaryServerError``.
  public func startStandby() async throws -> TemporaryServer {
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

  /// Waits until a standby has all that this server has written.
  ///
  /// - Throws: ``TemporaryServerError``.
  public func waitUntilFollowed(by standby: TemporaryServer) async throws {
    let written = try await psql(database: "postgres", "SELECT pg_current_wal_insert_lsn()")
    let sql = "SELECT pg_last_wal_replay_lsn() >= '\(written)'"
    while try await standby.psql(database: "postgres", sql) != "t" { try await Task.sleep(for: .milliseconds(10)) }
  }

  /// Promotes a standby, and returns when it is the primary.
  ///
  /// - Throws: ``TemporaryServerError``.
  public func promote() async throws {
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

  /// Creates a database with PostGIS in it.
  ///
  /// - Throws: ``TemporaryServerError``.
  public func makeDatabase() async throws -> TemporaryDatabase {
    let number = databasesMade.withLock { count in
      count += 1
      return count
    }
    let database = TemporaryDatabase(server: self, name: "test_\(number)")
    try await psql(database: "postgres", "CREATE DATABASE \(database.name) TEMPLATE \(Self.template)")
    return database
  }

  // MARK: Its life

  /// Starts the server after it was stopped, on the same port.
  ///
  /// - Throws: ``TemporaryServerError``.
  public func start() async throws {
    let settings = [
      "listen_addresses=127.0.0.1", "port=\(port)", "unix_socket_directories=\(directory)",
      "max_connections=\(maximumConnections)", "fsync=off", "full_page_writes=off", "shared_buffers=128MB",
      "max_wal_size=2GB", "autovacuum=off",
    ]
    let options = settings.map { "-c \($0)" }.joined(separator: " ")
    try await tools.run(
      tools.path("pg_ctl"),
      ["-D", data, "-l", directory + "/log", "-o", options, "-w", "-s", "start"]
    )
  }

  /// Stops the server, and returns when it is gone.
  ///
  /// - Throws: ``TemporaryServerError``.
  public func stop(_ mode: StopMode) async throws {
    try await tools.run(tools.path("pg_ctl"), ["-D", data, "-m", mode.rawValue, "-w", "-s", "stop"])
  }

  /// Kills the server and everything it has started at once, as the kernel does, and returns when they are gone.
  ///
  /// - Throws: ``TemporaryServerError``.
  public func kill() async throws {
    let script =
      PostgresTools.childrenFunction + #"""
        pid=$(head -1 "$1/postmaster.pid")
        all="$pid $(children "$pid")"
        kill -KILL $all
        for pid in $all; do while kill -0 "$pid" 2> /dev/null; do sleep 0.05; done; done
        """#
    try await tools.run("/bin/sh", ["-c", script, "sh", data])
  }

  /// Kills one process that serves a client, as the kernel does: the server ends all others, recovers and goes on.
  ///
  /// - Throws: ``TemporaryServerError``.
  public func killOneProcess() async throws {
    // The client of that process is the one that asks for its number.
    let script = #"""
      kill -KILL "$("$1" -X -q -A -t -h "$2" -p "$3" -U "$4" -d postgres -c "
        SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' ORDER BY pid = pg_backend_pid() LIMIT 1")"
      """#
    try await tools.run(
      "/bin/bash", ["-c", script, "bash", tools.path("psql"), directory, String(port), Self.superuser])
  }

  /// Sends a signal, for example `STOP` or `CONT`, to the server and everything it has started.
  ///
  /// - Throws: ``TemporaryServerError``.
  public func signal(_ name: String) async throws {
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
  public func signal(_ name: String, processID: String) async throws {
    try await tools.run("/bin/sh", ["-c", #"kill -"$1" "$2""#, "sh", name, processID])
  }

  /// Has commits wait for a standby, and returns when that follows.
  ///
  /// - Throws: ``TemporaryServerError``.
  public func requireStandby() async throws {
    try await psql(database: "postgres", "ALTER SYSTEM SET synchronous_standby_names = '*'")
    try await psql(database: "postgres", "SELECT pg_reload_conf()")
    let sql = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"
    while try await psql(database: "postgres", sql) != "1" { try await Task.sleep(for: .milliseconds(10)) }
  }

  /// Runs SQL with `psql`, as one transaction where it is several statements.
  ///
  /// - Returns: the rows, one a line, the columns separated by `|`.
  /// - Throws: ``TemporaryServerError`` with what `psql` says.
  @discardableResult
  public func psql(database: String, _ sql: String) async throws -> String {
    try await tools.run(
      tools.path("psql"),
      [
        "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", directory, "-p", String(port), "-U", Self.superuser,
        "-d", database, "-c", sql,
      ]
    )
  }

  private static let portsGiven = Mutex<Set<UInt16>>([])

  /// A port of 127.0.0.1 that nobody listens on, and that this gives no one else.
  ///
  /// It is not one of those that the system gives to connections, or a server that is stopped could find it taken when it
  /// starts again.
  ///
  /// - Throws: ``TemporaryServerError``.
  static func freePort() throws -> Int {
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

/// Why there is no server for a test, or it didn't do what it was told.
public struct TemporaryServerError: Error, CustomStringConvertible {
  /// What went wrong, in the words of the tool that failed.
  public let description: String
}

/// Starts the shared server for whoever comes first.
private actor SharedServer {
  static let instance = SharedServer()

  private var starting: Task<TemporaryServer, any Error>?

  func server() async throws -> TemporaryServer {
    let task = starting ?? Task { try await TemporaryServer.start() }
    starting = task
    return try await task.value
  }
}
