import Foundation
import PostgresTestSupport
import TestSupport
import Testing

/// Tests with two programs on one database, an older and a newer one: the same executable with two folders of
/// migrations, which are all that a program knows of the schema.
@Suite struct RollingUpgradeTests {
  private let folder: TemporaryFolder
  private let older: [String: String]
  private let newer: [String: String]
  private let newest: [String: String]

  init() async throws {
    folder = try TemporaryFolder()
    let url = try await TemporaryDatabase.make().url
    let known = try Self.projectMigrations()
    let last = try #require(known.keys.max()).prefix(4)
    let expanding = """
      -- Adds a column that older programs leave alone.
      -- oldest-program: \(last)
      ALTER TABLE points ADD COLUMN colour text;

      """
    let contracting = """
      -- Needs the column that the migration before added.
      -- oldest-program: 9001
      ALTER TABLE points ALTER COLUMN colour SET DEFAULT 'none';

      """
    let expanded = known.merging(["9001_expanding.sql": expanding]) { $1 }
    let contracted = expanded.merging(["9002_contracting.sql": contracting]) { $1 }
    older = ["DATABASE_URL": url, "MIGRATIONS_PATH": try folder.write(known, toFolder: "older")]
    newer = ["DATABASE_URL": url, "MIGRATIONS_PATH": try folder.write(expanded, toFolder: "newer")]
    newest = ["DATABASE_URL": url, "MIGRATIONS_PATH": try folder.write(contracted, toFolder: "newest")]
  }

  @Test func anOlderServerServesOnAfterAnAdditiveMigration() async throws {
    try await migrate(older)
    let running = try await serve(older)
    #expect(try await running.get("/health/ready").status == 200)

    try await migrate(newer)

    // The older one continues, and so does one that is started again; then the newer one joins.
    let restarted = try await serve(older)
    let upgraded = try await serve(newer)
    for server in [running.driver, restarted.driver, upgraded.driver] {
      #expect(try await server.get("/health/ready").status == 200)
      let created = try await server.send(
        "POST", "/locations", headers: ["Content-Type": "application/json"],
        body: Data(#"{"name":"A","lat":1,"long":2}"#.utf8))
      #expect(created.status == 201)
    }
    #expect(try await upgraded.get("/locations").places.count == 3)
  }

  @Test func anOlderMigrateLeavesANewerSchemaThatAllowsItAlone() async throws {
    try await migrate(newer)

    let outcome = try await WaymarkProcess.run(["migrate"], environment: older)
    let rehearsed = try await WaymarkProcess.run(["migrate", "--dry-run"], environment: older)

    for outcome in [outcome, rehearsed] {
      #expect(outcome.status == 0)
      #expect(
        outcome.output == "The schema is newer than this program, which works with it: 9001_expanding.\n")
    }
  }

  @Test func contractingMigrationMakesOnlyIncompatibleProgramsUnready() async throws {
    try await migrate(newer)
    let older = try await serve(older)
    let newer = try await serve(newer)

    try await migrate(newest)

    let rejected = try await older.get("/health/ready")
    #expect(rejected.status == 503)
    #expect(String(decoding: rejected.body, as: UTF8.self).contains("9002_contracting.sql"))
    #expect(try await newer.get("/health/ready").status == 200)
    let outcome = try await WaymarkProcess.run(["migrate"], environment: self.older)
    #expect(outcome.status == 1)
    #expect(outcome.log.contains("9002_contracting.sql"))
  }

  /// A server with a client.
  private struct Server {
    let process: WaymarkProcess
    let driver: ServerDriver

    func get(_ target: String) async throws -> ServerDriver.Response { try await driver.get(target) }
  }

  private func serve(_ environment: [String: String]) async throws -> Server {
    // Not ready because of the schema alone.
    let settings = environment.merging(["READY_INDEX_WAIT_S": "0"]) { $1 }
    let process = try await WaymarkProcess(["serve", "--http-port", "0"], environment: settings)
    return Server(process: process, driver: ServerDriver(port: try await process.port()))
  }

  private func migrate(_ environment: [String: String]) async throws {
    let outcome = try await WaymarkProcess.run(["migrate"], environment: environment)
    try #require(outcome.status == 0, "\(outcome.log)")
  }

  /// Returns the names and contents of the project's migrations.
  private static func projectMigrations() throws -> [String: String] {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Migrations").standardized
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".sql") }
    return try Dictionary(
      uniqueKeysWithValues: names.map { ($0, try String(contentsOf: folder.appending(path: $0), encoding: .utf8)) })
  }
}

extension TemporaryFolder {
  /// Writes files into a subfolder, and returns its path.
  fileprivate func write(_ files: [String: String], toFolder name: String) throws -> String {
    try FileManager.default.createDirectory(atPath: path(of: name), withIntermediateDirectories: true)
    for (file, text) in files { _ = try write(text, to: "\(name)/\(file)") }
    return path(of: name)
  }
}
