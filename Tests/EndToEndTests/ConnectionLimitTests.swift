import Foundation
import HTTPTestSupport
import PostgresTestSupport
import TestSupport
import Testing

/// Tests with clients that hold database connections: exports that nobody reads, and uploads that send nothing.
@Suite(.serialized) struct ConnectionLimitTests {
  private static let poolSize = 6

  @Test(.timeLimit(.minutes(10))) func unreadExportsAndIdleImportsLeaveConnectionsForRequests() async throws {
    let place = try await LoadedServers()
    // No connection is cut before its response is looked at, however long that takes.
    let settings = [
      "DATABASE_POOL_SIZE": "\(Self.poolSize)", "HTTP_WRITE_TIMEOUT_MS": "3600000",
      // No request waits longer than this for a connection that the others hold.
      "REQUEST_DEADLINE_MS": "15000",
    ]
    let attacked = try await place.serve("attacked", settings)
    let other = try await place.serve("other", settings)
    let watch = place.watch("attacked")

    let exports = try await place.unreadExports(130, port: attacked.port)
    let uploads = try await place.idleUploads(50, port: attacked.port)
    let shut = try await HTTP2Client.open(port: attacked.port, windowBytes: 0)
    var streams: [HTTP2ClientStream] = []
    for _ in 0..<100 { streams.append(try await shut.start("GET", "/locations/export")) }
    var failures: [Int] = []
    for _ in 0..<50 {
      for server in [attacked, other] {
        let status = try await server.driver.get("/locations?lat=1&long=1&limit=3").status
        if status != 200 { failures.append(status) }
      }
    }
    let imported = try await attacked.driver.importing(
      Data(#"{"name":"imported","lat":1,"long":1}"#.utf8), as: "application/x-ndjson")
    let elsewhere = try await other.driver.get("/locations/export?bbox=0,0,0.001,0.001").status
    let migrated = try await WaymarkProcess.run(["migrate"], environment: ["DATABASE_URL": place.database.url])
    // Each response begins only once it is known whether the request is served.
    var statuses: [String: Int] = [:]
    for export in exports { statuses[try await place.status(of: export), default: 0] += 1 }
    let maximum = try await watch.end()

    #expect((2...Self.poolSize).contains(maximum))
    #expect(failures == [])
    #expect((imported.status, elsewhere, migrated.status) == (200, 200, 0))
    #expect(Set(statuses.keys) == ["200", "503"])
    withExtendedLifetime((exports, uploads, streams, shut)) {}
  }

  @Test(.timeLimit(.minutes(10))) func interruptedExportReleasesItsConnection() async throws {
    let place = try await LoadedServers()
    let server = try await place.serve(
      "cut",
      ["DATABASE_POOL_SIZE": "\(Self.poolSize)", "HTTP_WRITE_TIMEOUT_MS": "10000", "REQUEST_DEADLINE_MS": "15000"])
    let connections = #"database_bulk_connections{kind="export"}"#
    let shut = try await HTTP2Client.open(port: server.port, windowBytes: 0)
    var streams: [HTTP2ClientStream] = []
    for _ in 0..<100 { streams.append(try await shut.start("GET", "/locations/export")) }
    let unread = try await place.unreadExports(20, port: server.port)

    // The clients stay connected; none of them reads or closes anything. At least one export has begun and was cut.
    let begun = #"http_requests_total{method="GET",route="/locations/export",status="200"}"#
    while try await server.metric(begun) == 0 { try await Task.sleep(for: .milliseconds(100)) }
    while try await server.metric(connections) > 0 { try await Task.sleep(for: .milliseconds(100)) }
    let export = try await server.driver.get("/locations/export?bbox=0,0,0.001,0.001").status

    #expect(export == 200)
    #expect(try await server.metric(#"database_bulk_connections_limit{kind="export"}"#) == 1)
    #expect(try await server.metric("database_pool_connections_limit") == Double(Self.poolSize))
    try await shut.ping()
    withExtendedLifetime((streams, unread)) {}
  }
}

/// A database with much to export, and the servers on it.
private struct LoadedServers {
  struct Server {
    let process: WaymarkProcess
    let port: Int
    let driver: ServerDriver

    /// Returns the value of a metric; 0 where there is none.
    func metric(_ name: String) async throws -> Double {
      let text = String(decoding: try await driver.get("/metrics").body, as: UTF8.self)
      let line = text.split(separator: "\n").first { $0.hasPrefix(name + " ") }
      return line?.split(separator: " ").last.flatMap { Double($0) } ?? 0
    }
  }

  let server: TemporaryServer
  let database: TemporaryDatabase

  init() async throws {
    server = try await TemporaryServer.start()
    database = try await server.makeDatabase()
    try #require(try await WaymarkProcess.run(["migrate"], environment: ["DATABASE_URL": database.url]).status == 0)
    // Fifty megabytes, far more than socket buffers hold.
    try await database.run(
      """
      INSERT INTO points (id, lat, long, name, tags)
      SELECT gen_random_uuid(), 10 + number / 1e4, 20, 'place ' || number, json_build_object('t', repeat('x', 2000))
      FROM generate_series(1, 25000) AS number
      """)
  }

  func serve(_ name: String, _ settings: [String: String]) async throws -> Server {
    // Exports are read from the database: a complete index would serve them without a connection.
    let environment = settings.merging(
      ["DATABASE_URL": database.url + "?application_name=\(name)", "POINT_INDEX": "off"]) { $1 }
    let process = try await WaymarkProcess(["serve", "--http-port", "0"], environment: environment)
    let port = try await process.port()
    return Server(process: process, port: port, driver: ServerDriver(port: port))
  }

  func unreadExports(_ count: Int, port: Int) async throws -> [RawHTTPConnection] {
    var connections: [RawHTTPConnection] = []
    for _ in 0..<count {
      let connection = try await RawHTTPConnection.open(port: port, receiveBufferBytes: 4096)
      try await connection.send("GET /locations/export HTTP/1.1\r\nHost: test\r\n\r\n")
      connections.append(connection)
    }
    return connections
  }

  func idleUploads(_ count: Int, port: Int) async throws -> [RawHTTPConnection] {
    var connections: [RawHTTPConnection] = []
    for _ in 0..<count {
      let connection = try await RawHTTPConnection.open(port: port)
      try await connection.send(
        """
        POST /locations/import HTTP/1.1\r\nHost: test\r\nContent-Type: application/x-ndjson\r
        Transfer-Encoding: chunked\r\n\r\n
        """)
      connections.append(connection)
    }
    return connections
  }

  /// Returns the status code of the response.
  func status(of connection: RawHTTPConnection) async throws -> String {
    String(decoding: try await connection.some(atMost: 12).suffix(3), as: UTF8.self)
  }

  /// Counts the connections of a server repeatedly. A connection counts if it is still there a second later, because
  /// PostgreSQL lists one that was closed until its process has ended.
  func watch(_ name: String) -> Watch { Watch(database: database, name: name) }

  struct Watch {
    private let isOver = Counter()
    private let task: Task<Int, any Error>

    init(database: TemporaryDatabase, name: String) {
      task = Task { [isOver] in
        var (maximum, former): (Int, Set<Substring>) = (0, [])
        let sql = "SELECT string_agg(pid::text, ' ') FROM pg_stat_activity WHERE application_name = '\(name)'"
        while isOver.value == 0 {
          let present = Set(try await database.run(sql).split(separator: " "))
          maximum = max(maximum, former.intersection(present).count)
          former = present
          try await Task.sleep(for: .seconds(1))
        }
        return maximum
      }
    }

    /// Stops counting, and returns the maximum.
    func end() async throws -> Int {
      isOver.add()
      return try await task.value
    }
  }
}
