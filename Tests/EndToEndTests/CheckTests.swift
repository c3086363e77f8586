import Foundation
import HTTPTestSupport
import PostgresTestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct CheckTests {
  @Test func checkReportsProblemsOfTheDatabase() async throws {
    let database = try await TemporaryDatabase.make()
    let owner = ["DATABASE_URL": database.url, "HTTP_PORT": "0"]
    let role = "clerk_\(database.name)"
    try await database.run("CREATE ROLE \(role) LOGIN; REVOKE ALL ON SCHEMA public FROM PUBLIC")
    let clerk = [
      "DATABASE_URL": "postgresql://\(role)@127.0.0.1:\(database.server.port)/\(database.name)", "HTTP_PORT": "0",
    ]

    let empty = try await WaymarkProcess.run(["check"], environment: owner)
    try await database.run("GRANT USAGE ON SCHEMA public TO \(role)")
    let plan = try await WaymarkProcess.run(["migrate", "--dry-run"], environment: clerk)
    let migrated = try await WaymarkProcess.run(["migrate"], environment: owner)
    let well = try await WaymarkProcess.run(["check"], environment: owner)
    try await database.run(
      """
      GRANT SELECT ON waymark_migrations, points, changes, changes_pruned, idempotency_keys, sources, source_imports,
        former_ids, index_anchors, change_anchors, areas, area_state, records, edits
      TO \(role)
      """)
    let reader = try await WaymarkProcess.run(["check"], environment: clerk)

    #expect(empty.status == 1)
    #expect(empty.output.contains("problem  the database has no tables of this program: run `waymark migrate`"))
    #expect(plan.status == 1)
    #expect(plan.output.contains("would run 0001_schema"))
    #expect(plan.log.contains("GRANT CREATE ON SCHEMA public TO \(role)"), "\(plan.log)")
    #expect(migrated.status == 0 && well.status == 0, "\(well.output)")
    #expect(well.output.contains("ok       the schema is current"))
    #expect(well.output.contains("ok       each connection has a session of its own"))
    #expect(reader.status == 1)
    #expect(reader.output.contains("has no INSERT on the table points: GRANT INSERT ON points TO \(role)"))
    #expect(!reader.output.contains("has no SELECT"), "\(reader.output)")
  }

  @Test func schemaOfAnUnreleasedVersionIsRejectedByEachCommand() async throws {
    let url = try await TemporaryDatabase.make().url
    let folder = try TemporaryFolder()
    _ = try folder.write("CREATE TABLE points ()", to: "0001_points.sql")
    _ = try folder.write("-- oldest-program: 0001\nCREATE TABLE searches ()", to: "0002_searches.sql")
    let former = try await WaymarkProcess.run(
      ["migrate"], environment: ["DATABASE_URL": url, "MIGRATIONS_PATH": folder.path(of: "")])
    try #require(former.status == 0, "\(former.log)")
    let environment = ["DATABASE_URL": url, "HTTP_PORT": "0", "READY_INDEX_WAIT_S": "0"]

    let migrated = try await WaymarkProcess.run(["migrate"], environment: environment)
    let checked = try await WaymarkProcess.run(["check"], environment: environment)
    let server = try await WaymarkProcess(["serve"], environment: environment)
    let ready = try await ServerDriver(port: try await server.port()).get("/health/ready")

    let reason = """
      this database has run 0001_points.sql, which this program does not know: the schema is of an unreleased version, or \
      of another program; use an empty database
      """
    #expect(migrated.status == 1)
    #expect(migrated.log == "waymark: \(reason)\n")
    #expect(checked.status == 1)
    #expect(checked.output.contains("problem  \(reason)\n"), "\(checked.output)")
    #expect(ready.status == 503)
    #expect(String(decoding: ready.body, as: UTF8.self).contains(reason))
  }

  @Test func aDatabaseBehindATransactionPoolerIsMigratedExaminedFilledAndExported() async throws {
    let server = try await TemporaryServer.start()
    let database = try await server.makeDatabase()
    let pooler = try await TemporaryPooler.start(.transaction, to: server, serverConnections: 4, idleSeconds: 600)
    let environment = ["DATABASE_URL": pooler.url(of: database), "DATABASE_POOL_SIZE": "8", "HTTP_PORT": "0"]
    let folder = try TemporaryFolder()
    let file = try folder.write("name,lat,long,source,sourceId\nA place,1,2,s,1\n", to: "places.csv")

    let migrated = try await WaymarkProcess.run(["migrate"], environment: environment)
    let checked = try await WaymarkProcess.run(["check"], environment: environment)
    let prepared = try await WaymarkProcess.run(
      ["check", "--database-prepared-statements", "on"], environment: environment)
    let imported = try await WaymarkProcess.run(["import", file], environment: environment)
    // The export needs no migrations.
    let exported = try await WaymarkProcess.run(
      ["export", "--format", "csv"], environment: environment.merging(["MIGRATIONS_PATH": "/no/such/folder"]) { $1 })

    #expect(migrated.status == 0, "\(migrated.log)")
    #expect(checked.status == 0, "\(checked.output)")
    #expect(checked.output.contains("warning  a pooler shares connections between transactions"), "\(checked.output)")
    #expect(prepared.status == 0 && prepared.output.contains("max_prepared_statements"), "\(prepared.output)")
    #expect(imported.status == 0, "\(imported.log)")
    #expect(exported.status == 0 && exported.output.contains("A place"), "\(exported.log)")
  }

  @Test func aDatabaseThatIsNotThereExitsWith69AndABadSettingWith1() async throws {
    let away = try await WaymarkProcess.run(
      ["check"], environment: ["DATABASE_URL": "postgresql://u:secret@127.0.0.1:1/none", "HTTP_PORT": "0"])
    let setting = try await WaymarkProcess.run(["check"], environment: ["CACHE_CONTROL": "max-age=abc"])

    #expect(away.status == 69)
    #expect(away.output.contains("problem  the database can't be reached: "))
    #expect(!away.output.contains("secret"))
    #expect(setting.status == 1 && setting.output.contains("problem  CACHE_CONTROL must be directives"))
    #expect(setting.output.contains("got 'max-age=abc'"))
  }

  @Test func checkExaminesFilesAndTheAddress() async throws {
    let server = try await WaymarkProcess(["serve", "--http-port", "0"])
    let port = try await server.port()
    let files = try TestCertificateFiles(try TestCertificate())
    let folder = try TemporaryFolder()
    let keys = try folder.write("nonsense", to: "keys.txt")

    let fine = try await WaymarkProcess.run(
      ["check", "--http-port", "0", "--memory-store-path", folder.path(of: "places.db")],
      environment: ["TLS_CERTIFICATE_FILE": files.certificate, "TLS_PRIVATE_KEY_FILE": files.privateKey])
    let other = try await WaymarkProcess.run(["check", "--http-port", "0", "--memory-store-path", keys])
    let broken = try await WaymarkProcess.run([
      "check", "--http-port", "\(port)", "--api-keys-file", keys, "--data-file", folder.path(of: "none.csv"),
      "--memory-store-path", "/nowhere/places.db",
    ])

    #expect(fine.status == 0, "\(fine.output)")
    #expect(fine.output.contains("warning  the certificate \(files.certificate) expires in 1 day, on 20"))
    #expect(other.status == 1)
    #expect(other.output.contains("problem  \(keys) is a file of another kind"), "\(other.output)")
    #expect(broken.status == 1)
    for text in ["another program listens on this port", "API_KEYS_FILE", "none.csv", "/nowhere"] {
      #expect(broken.output.contains(text), "\(broken.output)")
    }
    withExtendedLifetime(server) {}
  }
}
