import Foundation
import Testing

@Suite(.timeLimit(.minutes(5))) struct BackupTests {
  @Test func aRunningServerIsBackedUpAndTheCopyIsServedAsTheSame() async throws {
    let store = try await EmptyStore(.memory)
    let made = try await WaymarkProcess.run(["keys", "create", "ops", "--scope", "admin"])
    let secret = String(try #require(made.log.firstMatch(of: /shown this once: (\S+)/)).1)
    let keys = try store.folder.write(made.output, to: "keys.txt")
    let first = try await store.serve(["API_KEYS_FILE": keys])
    let port = try await first.port()
    let driver = ServerDriver(port: port)
    let key = ["Authorization": "Bearer \(secret)", "Content-Type": "application/json"]
    let body = Data(#"{"name":"A","lat":1,"long":2}"#.utf8)
    let created = try await driver.send(
      "POST", "/locations", headers: key.merging(["Idempotency-Key": "once"]) { $1 }, body: body)
    let id = try created.place.id
    _ = try await driver.send(
      "PUT", "/locations/\(id)", headers: key, body: Data(#"{"name":"B","lat":1,"long":2}"#.utf8))
    let before = try await driver.get("/locations?fields=*")
    let copy = store.folder.path(of: "copy.db")
    // The backup replaces this link, whose own mode is 0777.
    let older = try store.folder.write("", to: "monday.db")
    try #require(chmod(older, 0o600) == 0)
    try FileManager.default.createSymbolicLink(atPath: copy, withDestinationPath: older)

    let rejected = try await WaymarkProcess.run(["backup", "--url", "http://127.0.0.1:\(port)", copy])
    let backup = try await WaymarkProcess.run(
      ["backup", copy], environment: ["HTTP_PORT": "\(port)", "WAYMARK_API_KEY": secret])
    let left = try FileManager.default.contentsOfDirectory(
      atPath: URL(filePath: copy).deletingLastPathComponent().path)
    let mode = try FileManager.default.attributesOfItem(atPath: copy)[.posixPermissions] as? Int
    let second = try await WaymarkProcess(
      ["serve", "--http-port", "0"], environment: ["MEMORY_STORE_PATH": copy, "API_KEYS_FILE": keys])
    let restored = ServerDriver(port: try await second.port())
    let after = try await restored.get("/locations?fields=*")
    let repeated = try await restored.send(
      "POST", "/locations", headers: key.merging(["Idempotency-Key": "once"]) { $1 }, body: body)

    #expect(rejected.status == 1 && rejected.log.contains("the server responded with 401"))
    #expect(backup.status == 0, "\(backup.log)")
    #expect(mode == 0o600)
    #expect(left.filter { $0.hasPrefix("copy.db") || $0.hasPrefix("places.db.backup") } == ["copy.db"])
    #expect(after.body == before.body)
    #expect(try repeated.place.id == id)
    withExtendedLifetime((first, second)) {}
  }

  @Test func copyThatAKilledServerHasLeftIsRemovedAtTheStart() async throws {
    let store = try await EmptyStore(.memory)
    let left = ["", "-journal", "-wal", "-shm"].map { "places.db.backup.partial" + $0 }
    let own = ["places.db.backup", "places.db.backup.partial.old", "other.db.backup.partial"]
    for name in left + own { _ = try store.folder.write("copy", to: name) }

    let server = try await store.serve()
    _ = try await server.port()

    let files = try FileManager.default.contentsOfDirectory(
      atPath: URL(filePath: store.folder.path(of: "places.db")).deletingLastPathComponent().path)
    #expect(Set(files).intersection(left + own) == Set(own))
    withExtendedLifetime(server) {}
  }

  @Test func backupOfAServerWithoutAFileFails() async throws {
    let server = try await WaymarkProcess(["serve", "--http-port", "0"])
    let folder = try TemporaryFolder()

    let outcome = try await WaymarkProcess.run(
      ["backup", folder.path(of: "a.db"), "--url", "http://127.0.0.1:\(try await server.port())"])

    #expect(outcome.status == 1)
    #expect(outcome.log.contains("MEMORY_STORE_PATH"))
    #expect(!FileManager.default.fileExists(atPath: folder.path(of: "a.db.partial")))
  }

  @Test func aServerIsExportedAndImportedAgain() async throws {
    let server = try await WaymarkProcess(["serve", "--http-port", "0"])
    let url = "http://127.0.0.1:\(try await server.port())"
    let folder = try TemporaryFolder()
    let file = folder.path(of: "places.csv")

    let export = try await WaymarkProcess.run(["export", "--url", url, file])
    let again = try await WaymarkProcess.run(["import", "--url", url, file])
    let missing = try await WaymarkProcess.run(["export", "--url", "http://127.0.0.1:1", folder.path(of: "none.csv")])

    #expect(export.status == 0, "\(export.log)")
    #expect(again.output.contains("0 created, 0 updated") && again.output.contains(" 0 rejected"))
    #expect(missing.status == 69 && missing.log.contains("Connection refused; nothing was exported"))
    withExtendedLifetime(server) {}
  }
}
