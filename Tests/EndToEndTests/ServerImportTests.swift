import Foundation
import PostgresTestSupport
import Testing

@Suite struct ServerImportTests {
  private let lines = """
    {"name":"A","lat":1,"long":1,"source":"t","sourceId":"a"}
    {"name":"","lat":91,"long":2}
    {"name":"B","lat":2,"long":2,"source":"t","sourceId":"b"}

    """

  @Test func filesAreSentToAServerAndTheirRowsCountedOverAll() async throws {
    let (server, url, store) = try await serving()
    let csv = try store.folder.write("name,lat,long,source,sourceId\nC,3,3,t,c\nD,400,3,t,d\n", to: "c.csv")
    let ndjson = try store.folder.write(lines, to: "a.ndjson")

    let rehearsed = try await WaymarkProcess.run(["import", "--url", url, "--dry-run", csv, ndjson])
    let first = try await WaymarkProcess.run(["import", "--url", url + "/", csv, ndjson])
    let second = try await WaymarkProcess.run(["import", "--url", url, csv, ndjson])

    #expect(rehearsed.status == 0 && first.status == 0)
    #expect(rehearsed.output.contains("(dry run: nothing was changed)"))
    #expect(
      first.output.hasPrefix("5 rows: 3 created, 0 updated, 0 unchanged, 2 rejected\nrow 2 (\(csv), line 3): /lat "))
    #expect(first.output.contains("\nrow 4 (\(ndjson), line 2): "))
    #expect(second.output.hasPrefix("5 rows: 0 created, 0 updated, 3 unchanged, 2 rejected\n"))
    withExtendedLifetime(server) {}
  }

  @Test func fileWhoseResponseIsLostIsRetriedAndImportedOnce() async throws {
    let (server, _, store) = try await serving()
    let proxy = try await CuttingProxy(to: try await server.port())
    let ndjson = try store.folder.write(lines, to: "a.ndjson")

    proxy.cut(afterAnswerBytes: 5)
    let sent = try await WaymarkProcess.run(["import", "--url", "http://127.0.0.1:\(proxy.port)", ndjson])
    let again = try await WaymarkProcess.run(["import", "--url", "http://127.0.0.1:\(proxy.port)", ndjson])

    #expect(proxy.hasCut)
    #expect(sent.output.hasPrefix("3 rows: 2 created, 0 updated, 0 unchanged, 1 rejected\nrow 2 (\(ndjson), line 2): "))
    #expect(again.output.hasPrefix("3 rows: 0 created, 0 updated, 2 unchanged, 1 rejected\n"))
    withExtendedLifetime(server) {}
  }

  @Test(arguments: StoreKind.allCases)
  func editsStayThroughImportsAndARestartUnlessTheSourceIsPreferred(kind: StoreKind) async throws {
    let store = try await EmptyStore(kind)
    var server = try await store.serve()
    var driver = ServerDriver(port: try await server.port())
    func load(_ name: String, _ arguments: [String] = []) async throws -> String {
      let file = try store.folder.write("source,sourceId,name,lat,long\nt,a,\(name),1,1\n", to: "a.csv")
      let target = kind == .memory ? ["--url", "http://127.0.0.1:\(driver.port)"] : []
      let outcome = try await WaymarkProcess.run(
        ["import"] + target + arguments + [file], environment: kind == .memory ? [:] : store.environment)
      #expect(outcome.status == 0, "\(outcome.log)")
      return outcome.output
    }
    _ = try await load("A")
    let id = try #require(try await driver.get("/locations?source=t").places.first?.id)
    let patched = try await driver.send(
      "PATCH", "/locations/\(id)", headers: ["Content-Type": "application/merge-patch+json"],
      body: Data(#"{"name":"edited"}"#.utf8))
    try #require(patched.status == 200)

    let kept = try await load("A")
    server.send(SIGTERM)
    try #require(try await server.outcome().status == 0)
    server = try await store.serve()
    driver = ServerDriver(port: try await server.port())
    let conflict = try await load("B")
    let conflicts = try await driver.get("/edits?source=t&conflict=true").places
    let taken = try await load("C", ["--conflicts", "source"])
    let names = try await driver.get("/locations?source=t").places.map(\.name)

    let unchanged = "1 rows: 0 created, 0 updated, 1 unchanged, 0 rejected\n"
    #expect(kept == unchanged + "edits: 1 place keeps them, 0 in a new conflict with the source\n")
    #expect(conflict == unchanged + "edits: 1 place keeps them, 1 in a new conflict with the source\n")
    #expect(conflicts.map(\.name) == ["edited"])
    #expect(taken == "1 rows: 0 created, 1 updated, 0 unchanged, 0 rejected\n" && names == ["C"])
    withExtendedLifetime(server) {}
  }

  @Test func standardInputIsStreamed() async throws {
    let (server, url, store) = try await serving()
    let input = try store.folder.write(lines, to: "a")

    let outcome = try await WaymarkProcess.run(["import", "--url", url, "--format", "ndjson", "-"], input: input)

    #expect(outcome.output.hasPrefix("3 rows: 2 created, 0 updated, 0 unchanged, 1 rejected\n"))
    withExtendedLifetime(server) {}
  }

  @Test func badDataExitsWith65AndLeavesNothing() async throws {
    let (server, url, store) = try await serving()
    let ndjson = try store.folder.write(lines, to: "a.ndjson")
    let noJSON = try store.folder.write("this is no GeoJSON", to: "b.geojson")

    let atomic = try await WaymarkProcess.run(["import", "--url", url, "--atomic", ndjson])
    let broken = try await WaymarkProcess.run(["import", "--url", url, noJSON])
    let missing = try await WaymarkProcess.run(["import", "--url", url, store.folder.path(of: "none.csv")])
    let partial = try await WaymarkProcess.run(["import", "--url", url, ndjson])

    #expect([atomic.status, broken.status, missing.status, partial.status] == [65, 65, 65, 0])
    #expect(atomic.log.contains("row 2 (\(ndjson), line 2): /lat") && atomic.log.contains("nothing was imported"))
    #expect(broken.log.contains("b.geojson: not valid JSON"))
    #expect(missing.log.contains("none.csv: No such file"))
    #expect(partial.output.contains("2 created"))
    withExtendedLifetime(server) {}
  }

  @Test func everyPathReportsRejectedRowsAndExitsAccordingly() async throws {
    let (server, url, store) = try await serving()
    let database = try await EmptyStore(.postgres)
    let bad = try store.folder.write("{}\n\n{\"name\":\"A\"}\n", to: "bad.ndjson")
    let mixed = try store.folder.write(lines, to: "mixed.ndjson")

    for (target, environment) in [(["--url", url], [:]), ([], database.environment)] {
      func run(_ arguments: [String]) async throws -> WaymarkProcess.Outcome {
        try await WaymarkProcess.run(["import"] + target + arguments, environment: environment)
      }
      let none = try await run([bad])
      let atomic = try await run(["--atomic", bad])
      let strict = try await run(["--strict", mixed])
      let partial = try await run([mixed])

      #expect([none.status, atomic.status, strict.status, partial.status] == [65, 65, 65, 0])
      #expect(none.output.contains("row 1 (\(bad), line 1): ") && none.output.contains("row 2 (\(bad), line 3): "))
      #expect(atomic.log.contains("2 rows are invalid; nothing was imported"))
      #expect(atomic.log.contains("row 1 (\(bad), line 1): ") && atomic.log.contains("row 2 (\(bad), line 3): "))
      #expect(strict.output.contains("2 created"))
    }
    withExtendedLifetime(server) {}
  }

  @Test func aSourceMakesRowsRepeatableOnEveryPath() async throws {
    let (server, url, store) = try await serving()
    let database = try await EmptyStore(.postgres)
    let csv = try store.folder.write("name,lat,long,stop_id\nA,1,2,7\n", to: "stops.csv")
    let key = ["--source", "a b&c", "--id-field", "stop_id"]

    for (target, environment) in [(["--url", url], [:]), ([], database.environment)] {
      let warned = try await WaymarkProcess.run(["import", "--dry-run"] + target + [csv], environment: environment)
      let first = try await WaymarkProcess.run(["import"] + target + key + [csv], environment: environment)
      let second = try await WaymarkProcess.run(["import"] + target + key + [csv], environment: environment)

      #expect(warned.log.contains("waymark: warning: ") && warned.log.contains("'stop_id' as the field of ids"))
      #expect(!first.log.contains("warning"))
      #expect(first.output.hasPrefix("1 rows: 1 created"))
      #expect(second.output.hasPrefix("1 rows: 0 created, 0 updated, 1 unchanged"))
    }
    withExtendedLifetime(server) {}
  }

  @Test func apiKeyIsSentAndARejectionEndsAnUploadEarly() async throws {
    let store = try await EmptyStore(.memory)
    let made = try await WaymarkProcess.run(["keys", "create", "ci", "--scope", "write"])
    let secret = String(try #require(made.log.firstMatch(of: /shown this once: (\S+)/)).1)
    let keys = try store.folder.write(made.output, to: "keys.txt")
    let (server, url, _) = try await serving(["API_KEYS_FILE": keys], on: store)
    let many = (0..<20_000).map {
      #"{"name":"A\#($0)","lat":1,"long":1,"source":"t","sourceId":"\#($0 % 7)"}"# + "\n"
    }
    let file = try store.folder.write(many.joined(), to: "a.ndjson")

    let rejected = try await WaymarkProcess.run(["import", "--url", url, file])
    let wrong = try await WaymarkProcess.run(["import", "--url", url, "--api-key", "wrong", file])
    let taken = try await WaymarkProcess.run(["import", "--url", url, file], environment: ["WAYMARK_API_KEY": secret])

    #expect((rejected.status, wrong.status, taken.status) == (1, 1, 0))
    #expect(rejected.log.contains("the server responded with 401: this call needs an API key"))
    #expect(
      taken.output.hasPrefix("20000 rows: 7 created, 0 updated, 0 unchanged, 19993 rejected\nrow 1 (\(file), line 1): ")
    )
    withExtendedLifetime(server) {}
  }

  @Test func unreachableServerExitsWith69() async throws {
    let folder = try TemporaryFolder()
    let file = try folder.write(lines, to: "a.ndjson")

    let gone = try await WaymarkProcess.run(["import", "--url", "http://127.0.0.1:1", file])

    #expect(gone.status == 69)
    #expect(gone.log.contains("can't be reached: Connection refused; nothing was imported"))
  }

  @Test(arguments: [
    ["--url", "ftp://host", "a.csv"], ["--url", "localhost:8080", "a.csv"], ["--url", "http://u:p@host", "a.csv"],
    ["--url", "http://host", "--api-key", "line\nbreak", "a.csv"], ["--api-key", "k", "a.csv"],
    ["--url", "http://host", "--atomic", "a.csv", "b.csv"],
    ["--id-field", "ref", "a.csv"], ["--source", "s", "--id-field", "lat", "a.csv"],
    ["--unknown-fields", "keep", "a.csv"],
    ["--url", "http://host", "--database-url", "postgresql://host", "a.csv"],
  ])
  func conflictingOptionsExitWith64(arguments: [String]) async throws {
    let outcome = try await WaymarkProcess.run(["import"] + arguments)

    #expect(outcome.status == 64)
    #expect(outcome.log.split(separator: "\n").count == 1)
  }

  private func serving(
    _ settings: [String: String] = [:], on given: EmptyStore? = nil
  ) async throws -> (server: WaymarkProcess, url: String, store: EmptyStore) {
    let store: EmptyStore
    if let given { store = given } else { store = try await EmptyStore(.memory) }
    let server = try await store.serve(settings)
    return (server, "http://127.0.0.1:\(try await server.port())", store)
  }
}
