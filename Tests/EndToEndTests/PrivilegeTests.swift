import Foundation
import PostgresTestSupport
import Testing

/// Tests of responses and logs where the database role lacks a privilege.
@Suite(.timeLimit(.minutes(5))) struct PrivilegeTests {
  /// A database with the schema and places, and a role that may only connect.
  private struct RestrictedRole {
    let database: TemporaryDatabase
    let name: String

    var environment: [String: String] {
      ["DATABASE_URL": "postgresql://\(name)@127.0.0.1:\(database.server.port)/\(database.name)"]
    }

    init() async throws {
      database = try await TemporaryDatabase.make()
      name = "limited_\(database.name)"
      let migrated = try await WaymarkProcess.run(["migrate"], environment: ["DATABASE_URL": database.url])
      try #require(migrated.status == 0, "\(migrated.log)")
      try await database.run(
        "CREATE ROLE \(name) LOGIN; REVOKE TEMPORARY ON DATABASE \(database.name) FROM PUBLIC")
    }

    func grant(_ privileges: String...) async throws {
      try await database.run(privileges.map { "GRANT \($0) TO \(name)" }.joined(separator: "; "))
    }

    func server() async throws -> (WaymarkProcess, ServerDriver) {
      let server = try await WaymarkProcess(["serve", "--http-port", "0"], environment: environment)
      return (server, ServerDriver(port: try await server.port()))
    }
  }

  private static let reading =
    "SELECT ON waymark_migrations, points, changes, changes_pruned, idempotency_keys, former_ids, index_anchors, change_anchors, "
    + "areas, area_state, records, edits"

  /// The privileges in the documentation's table.
  private static let serving = [
    "SELECT ON waymark_migrations", "SELECT, INSERT, UPDATE, DELETE ON points, edits, idempotency_keys",
    "SELECT, DELETE ON changes", "SELECT, UPDATE ON changes_pruned", "USAGE, UPDATE ON SEQUENCE point_versions",
    "SELECT, INSERT, UPDATE, DELETE ON sources",
    "SELECT, INSERT, UPDATE, DELETE ON source_imports", "SELECT ON former_ids",
    "SELECT, INSERT, DELETE ON index_anchors, change_anchors",
    "SELECT, INSERT, UPDATE, DELETE ON areas", "SELECT, UPDATE ON area_state",
    "SELECT, INSERT, UPDATE, DELETE ON records",
  ]

  private let json = ["Content-Type": "application/json"]
  private let place = Data(#"{"name":"A","lat":1,"long":2}"#.utf8)
  private let row = Data((#"{"name":"B","lat":1,"long":2,"source":"t","sourceId":"b"}"# + "\n").utf8)

  @Test func roleWithoutInsertGetsAProblemOnPOSTAndOneLogLine() async throws {
    let role = try await RestrictedRole()
    try await role.grant(Self.reading)
    let (server, driver) = try await role.server()

    for _ in 0..<3 {
      let created = try await driver.send("POST", "/locations", headers: json, body: place)
      let listed = try await driver.get("/locations")

      #expect(created.status == 503)
      #expect(try created.problem.code == "store-misconfigured")
      #expect(created.headers["retry-after"] != nil)
      #expect(listed.status == 200)
    }
    let ready = try await driver.get("/health/ready")
    server.send(SIGTERM)
    let log = try await server.outcome().log.split(separator: "\n")

    #expect(ready.status == 200)
    let lines = log.filter { $0.contains("denies an operation") }
    #expect(lines.count == 1, "\(log)")
    #expect(lines.first?.contains("create") == true)
    #expect(lines.first?.contains("\(role.name) has no INSERT") == true, "\(lines)")
    #expect(!log.contains { $0.contains("is unavailable") })
  }

  @Test func roleWithoutSelectGetsAProblemOnGET() async throws {
    let role = try await RestrictedRole()
    try await role.grant("SELECT ON waymark_migrations")
    let (server, driver) = try await role.server()

    for target in ["/locations", "/locations?lat=1&long=1", "/categories", "/locations/featured"] {
      let response = try await driver.get(target)

      #expect(response.status == 503, "\(target)")
      #expect(try response.problem.code == "store-misconfigured", "\(target)")
    }
    let export = try await driver.get("/locations/export")
    let line = try await server.logLine(with: "denies an operation")

    #expect(export.status == 503)
    #expect(line.contains("\(role.name) has no SELECT, INSERT, UPDATE, DELETE on points"), "\(line)")
  }

  @Test func importWithoutTemporaryGetsAProblemThatNamesItInTheLog() async throws {
    let role = try await RestrictedRole()
    for grant in Self.serving { try await role.grant(grant) }
    let (server, driver) = try await role.server()

    let denied = try await driver.importing(row, as: "application/x-ndjson")
    let line = try await server.logLine(with: "denies an operation")
    let folder = try TemporaryFolder()
    let command = try await WaymarkProcess.run(
      ["import", "--format", "ndjson", "-"], environment: role.environment,
      input: try folder.write(String(decoding: row, as: UTF8.self), to: "rows.ndjson"))

    #expect(denied.status == 503)
    #expect(try denied.problem.code == "store-misconfigured")
    #expect(line.contains("permission denied to create temporary tables in database"), "\(line)")
    #expect(command.status == 1)
    #expect(command.log.contains("temporary tables"), "\(command.log)")
  }

  @Test func documentedPrivilegesAreSufficient() async throws {
    let role = try await RestrictedRole()
    for grant in Self.serving { try await role.grant(grant) }
    try await role.grant("TEMPORARY ON DATABASE \(role.database.name)")
    let (server, driver) = try await role.server()

    let created = try await driver.send(
      "POST", "/locations", headers: json.merging(["Idempotency-Key": "one"]) { $1 }, body: place)
    let id = try #require(created.headers["location"]?.split(separator: "/").last)
    let location = "/locations/\(id)"
    let other = Data(#"{"name":"C","lat":1,"long":2}"#.utf8)
    let replaced = try await driver.send("PUT", location, headers: json, body: other)
    let deleted = try await driver.send("DELETE", location)
    let recreated = try await driver.send("PUT", location, headers: json, body: place)
    let imported = try await driver.importing(row, as: "application/x-ndjson")
    let listed = try await driver.get("/locations")
    let exported = try await driver.get("/locations/export")
    let check = try await WaymarkProcess.run(
      ["check", "--http-port", "0"], environment: role.environment)
    server.send(SIGTERM)
    let log = try await server.outcome().log

    #expect([created, replaced, deleted, recreated].map(\.status) == [201, 200, 204, 201])
    #expect(try imported.report.created == 1)
    #expect(listed.status == 200 && exported.status == 200)
    #expect(check.status == 0, "\(check.output)")
    #expect(!log.contains("denies"), "\(log)")
  }

  @Test func migratingWithoutCreateIsNotAnOutage() async throws {
    let database = try await TemporaryDatabase.make()
    let role = "migrator_\(database.name)"
    try await database.run("CREATE ROLE \(role) LOGIN; REVOKE CREATE ON SCHEMA public FROM PUBLIC")

    let outcome = try await WaymarkProcess.run(
      ["migrate"],
      environment: ["DATABASE_URL": "postgresql://\(role)@127.0.0.1:\(database.server.port)/\(database.name)"])

    #expect(outcome.status == 1)
    #expect(outcome.log.contains("permission denied for schema public"), "\(outcome.log)")
    #expect(outcome.log.contains("needs CREATE on the schema"))
    #expect(!outcome.log.contains("reached"))
  }
}
