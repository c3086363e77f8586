import Foundation
import PostgresTestSupport
import Testing

/// Tests of imports with mappings and of the replacement of sources, with the built program.
@Suite struct MappedImportTests {
  private static func overture(_ number: Int, name: String, status: String = "open") -> String {
    #"{"id":"g\#(number)","type":"Feature","geometry":{"type":"Point","coordinates":[13.4,52.5]},"properties":{"#
      + #""names":{"primary":"\#(name)","common":null,"rules":null},"basic_category":"coffee_shop","confidence":0.9,"#
      + #""operating_status":"\#(status)"}}"# + "\n"
  }

  @Test(arguments: StoreKind.allCases)
  func anImportWithoutRowsSucceedsAndOneWithoutAValidRowFails(kind: StoreKind) async throws {
    let store = try await EmptyStore(kind)
    let server = try await store.serve()
    let target = kind == .memory ? ["--url", "http://127.0.0.1:\(try await server.port())"] : []
    func run(_ file: String) async throws -> WaymarkProcess.Outcome {
      try await WaymarkProcess.run(
        ["import"] + target + [file], environment: kind == .memory ? [:] : store.environment)
    }

    let header = try await run(try store.folder.write("name,lat,long\n", to: "header.csv"))
    let none = try await run(try store.folder.write("[]", to: "none.json"))
    let invalid = try await run(try store.folder.write("name,lat,long\nA,91,2\n", to: "invalid.csv"))

    #expect(header.status == 0 && header.output.hasPrefix("0 rows: 0 created"), "\(header.log)")
    #expect(none.status == 0 && none.output.hasPrefix("0 rows: 0 created"), "\(none.log)")
    #expect(invalid.status == 65 && invalid.log.contains("no row could be used"), "\(invalid.log)")
    withExtendedLifetime(server) {}
  }

  @Test(arguments: StoreKind.allCases)
  func anOvertureFileIsImportedRefreshedAndAttributed(kind: StoreKind) async throws {
    let store = try await EmptyStore(kind)
    let server = try await store.serve()
    let driver = ServerDriver(port: try await server.port())
    let target = kind == .memory ? ["--url", "http://127.0.0.1:\(try await server.port())"] : []
    func run(_ arguments: [String]) async throws -> WaymarkProcess.Outcome {
      try await WaymarkProcess.run(
        ["import"] + target + arguments, environment: kind == .memory ? [:] : store.environment)
    }
    let first = try store.folder.write(
      Self.overture(1, name: "same") + Self.overture(2, name: "old") + Self.overture(3, name: "gone")
        + Self.overture(4, name: "closed", status: "permanently_closed"), to: "a.geojsonseq")
    let second = try store.folder.write(
      Self.overture(1, name: "same") + Self.overture(2, name: "new") + Self.overture(5, name: "added"),
      to: "b.geojsonseq")
    let refresh = ["--mapping", "overture", "--replace-source", "overture"]

    let imported = try await run(["--mapping", "overture", first])
    let before = try await driver.get("/locations?fields=*").places
    let dry = try await run(refresh + ["--dry-run", second])
    let replaced = try await run(refresh + [second])
    let again = try await run(refresh + [second])
    let after = try await driver.get("/locations?fields=*").places

    #expect(imported.output.hasPrefix("3 rows: 3 created, 0 updated, 0 unchanged, 0 rejected\n"), "\(imported.log)")
    #expect(imported.output.contains("categories: cafe 3\n") && imported.output.contains("skipped 1: closed 1\n"))
    #expect(dry.output.hasPrefix("3 rows: 1 created, 1 updated, 1 unchanged, 1 deleted, 0 rejected (dry run"))
    #expect(replaced.output.hasPrefix("3 rows: 1 created, 1 updated, 1 unchanged, 1 deleted, 0 rejected\n"))
    #expect(again.output.hasPrefix("3 rows: 0 created, 0 updated, 3 unchanged, 0 deleted, 0 rejected\n"))
    #expect(Set(after.map(\.name)) == ["same", "new", "added"])
    #expect(after.filter { $0.name == "same" }.map(\.version) == before.filter { $0.name == "same" }.map(\.version))

    let sources = try await driver.get("/sources")
    let attributed = try await driver.get("/locations?fields=name,attribution&limit=1")
    #expect(
      String(decoding: sources.body, as: UTF8.self).hasPrefix(
        """
        [{"name":"overture","licence":"CDLA-Permissive-2.0","attribution":"Overture Maps Foundation",\
        "url":"https://docs.overturemaps.org/attribution/"},
        """))
    #expect(String(decoding: attributed.body, as: UTF8.self).contains(#""attribution":"Overture Maps Foundation""#))
    if kind == .postgres {
      let listed = try await WaymarkProcess.run(["sources"], environment: store.environment)
      #expect(listed.output.hasPrefix("overture\tCDLA-Permissive-2.0\tOverture Maps Foundation\thttps://"))
    }
    withExtendedLifetime(server) {}
  }

  @Test(arguments: [[], ["--mapping", "columns"]])
  func aTableHasTheSameHeadersPlainlyAndByTheMapping(options: [String]) async throws {
    let store = try await EmptyStore(.memory)
    let csv = try store.folder.write(
      "Kennung;Telefon;Straße;Öffnungszeiten;stationName;SHAPE\n7;1;S;Mo-Fr;A;POINT (16 48)\n", to: "a.csv")
    let server = try await store.serve()
    let driver = ServerDriver(port: try await server.port())

    let imported = try await WaymarkProcess.run(
      ["import", "--url", "http://127.0.0.1:\(driver.port)", "--source", "s", "--id-field", "Kennung", csv] + options)
    let text = String(
      decoding: try await driver.get("/locations?fields=name,lat,long,tags,sourceId").body, as: UTF8.self)

    #expect(imported.status == 0, "\(imported.log)")
    #expect(text.contains(#""name":"A","lat":48,"long":16"#) && text.contains(#""sourceId":"7""#), "\(text)")
    for tag in [#""addr:street":"S""#, #""phone":"1""#, #""opening_hours":"Mo-Fr""#] {
      #expect(text.contains(tag), "\(text)")
    }
    withExtendedLifetime(server) {}
  }

  @Test func attributionOfAnImportIsKeptAcrossRestarts() async throws {
    let store = try await EmptyStore(.memory)
    let csv = try store.folder.write("id;name;lat;lng\n7;A;52,5;13,4\n", to: "stops.csv")
    let server = try await store.serve()
    let url = "http://127.0.0.1:\(try await server.port())"

    let imported = try await WaymarkProcess.run(
      ["import", "--url", url, "--source", "stops", "--licence", "CC0-1.0", "--attribution", "The town & you", csv])
    server.send(SIGTERM)
    _ = try await server.outcome()
    let restarted = try await store.serve()
    let driver = ServerDriver(port: try await restarted.port())
    let sources = try await driver.get("/sources")

    #expect(imported.output.hasPrefix("1 rows: 1 created"), "\(imported.log)")
    #expect(
      String(decoding: sources.body, as: UTF8.self)
        .hasPrefix(#"[{"name":"stops","licence":"CC0-1.0","attribution":"The town & you"},"#))
    withExtendedLifetime(restarted) {}
  }

  @Test(arguments: StoreKind.allCases) func replacedSourceHasTheLicenceOfTheOptions(kind: StoreKind) async throws {
    let store = try await EmptyStore(kind)
    let csv = try store.folder.write("source,sourceId,name,lat,lng\nstops,7,A,52.5,13.4\n", to: "stops.csv")
    let server = try await store.serve()
    let port = try await server.port()
    let target = kind == .memory ? ["--url", "http://127.0.0.1:\(port)"] : []

    let imported = try await WaymarkProcess.run(
      ["import", "--replace-source", "stops", "--licence", "CC0-1.0", csv] + target,
      environment: kind == .memory ? [:] : store.environment)
    let response = try await ServerDriver(port: port).get("/sources")
    let sources = String(decoding: response.body, as: UTF8.self)

    #expect(imported.status == 0, "\(imported.log)")
    #expect(sources.hasPrefix(#"[{"name":"stops","licence":"CC0-1.0"},"#), "\(sources)")
    withExtendedLifetime(server) {}
  }

  @Test(arguments: StoreKind.allCases) func changedAttributionIsNeverHiddenByAnEntityTag(kind: StoreKind) async throws {
    let store = try await EmptyStore(kind)
    let csv = try store.folder.write("id,name,lat,lng\n7,A,52.5,13.4\n", to: "stops.csv")
    let server = try await store.serve()
    let port = try await server.port()
    let driver = ServerDriver(port: port)
    func register(_ attribution: String) async throws {
      let arguments = [
        "import", "--url", "http://127.0.0.1:\(port)", "--source", "stops", "--attribution", attribution,
      ]
      let imported = try await WaymarkProcess.run(arguments + [csv])
      #expect(imported.status == 0, "\(imported.log)")
    }
    try await register("The town")
    let id = try #require(try await driver.get("/locations").places.first?.id)
    let targets = ["/locations?fields=name,attribution", "/locations/\(id)?fields=name,attribution"]
    var tags: [String] = []
    for target in targets { tags.append(try await driver.get(target).headers["etag"] ?? "\"none\"") }

    try await register("The county")

    for (target, tag) in zip(targets, tags) {
      let response = try await driver.send("GET", target, headers: ["If-None-Match": tag])
      #expect(response.status == 200)
      #expect(String(decoding: response.body, as: UTF8.self).contains("The county"))
    }
    withExtendedLifetime(server) {}
  }

  @Test func aReplacementWithoutARowOfTheSourceChangesNothing() async throws {
    let store = try await EmptyStore(.memory)
    let full = try store.folder.write("id,name,lat,long\n7,A,1,2\n", to: "full.csv")
    let empty = try store.folder.write("id,name,lat,long\n", to: "empty.csv")
    let server = try await store.serve()
    let target = ["import", "--url", "http://127.0.0.1:\(try await server.port())", "--source", "s"]

    _ = try await WaymarkProcess.run(target + [full])
    let refused = try await WaymarkProcess.run(target + ["--replace-source", "s", empty])
    let names = try await ServerDriver(port: try await server.port()).get("/locations").places.map(\.name)

    #expect(refused.status == 65)
    #expect(refused.log.contains("no valid row of the source 's'") && refused.log.contains("nothing was imported"))
    #expect(names == ["A"])
  }

  @Test(arguments: StoreKind.allCases)
  func aTruncatedFileDeletesNothingUnlessTheLimitAllowsIt(kind: StoreKind) async throws {
    let store = try await EmptyStore(kind)
    let lines = (1...40).map { "\($0),N\($0),1,2\n" }
    let full = try store.folder.write("id,name,lat,long\n" + lines.joined(), to: "full.csv")
    let cut = try store.folder.write("id,name,lat,long\n" + lines[..<10].joined(), to: "cut.csv")
    let server = try await store.serve()
    let driver = ServerDriver(port: try await server.port())
    func run(_ arguments: String...) async throws -> WaymarkProcess.Outcome {
      let target = kind == .memory ? ["--url", "http://127.0.0.1:\(try await server.port())"] : []
      return try await WaymarkProcess.run(
        ["import", "--source", "s"] + target + arguments, environment: kind == .memory ? [:] : store.environment)
    }
    func ids() async throws -> [String: String] {
      let places = try await driver.get("/locations?limit=100").places
      return Dictionary(uniqueKeysWithValues: places.map { ($0.name, $0.id) })
    }

    _ = try await run(full)
    let before = try await ids()
    let refused = try await run("--replace-source", "s", cut)
    let kept = try await ids()
    let dry = try await run("--replace-source", "s", "--dry-run", cut)
    let invalid = try await run("--replace-source", "s", "--max-deletions", "many", cut)
    let allowed = try await run("--replace-source", "s", "--max-deletions", "75%", cut)
    let restored = try await run("--replace-source", "s", full)
    let after = try await ids()

    #expect(refused.status == 65 && dry.status == 65)
    #expect(
      refused.log.contains(
        "30 of the 40 places of the source 's' would be deleted, and at most 10 may be "
          + "(0 created, 0 updated, 10 unchanged)"), "\(refused.log)")
    #expect(kept == before)
    #expect(invalid.status == 64 && invalid.log.contains("--max-deletions must be a number of places"))
    #expect(allowed.output.hasPrefix("10 rows: 0 created, 0 updated, 10 unchanged, 30 deleted"), "\(allowed.log)")
    #expect(restored.output.hasPrefix("40 rows: 30 created, 0 updated, 10 unchanged, 0 deleted"), "\(restored.log)")
    #expect(after == before)
  }

  @Test func aBuiltInMappingIsPrintedAndAChangedOneUsed() async throws {
    let folder = try TemporaryFolder()
    let printed = try await WaymarkProcess.run(["import", "--print-mapping", "overture"])
    let mapping = try folder.write(
      printed.output.replacing("coffee_shop: cafe", with: "coffee_shop: coffee"), to: "mine.yaml")
    let broken = try folder.write("name: a\nsorce: {}\n", to: "broken.yaml")
    let file = try folder.write(Self.overture(1, name: "A"), to: "a.geojsonseq")
    let store = try await EmptyStore(.memory)
    let server = try await store.serve()
    let target = ["import", "--url", "http://127.0.0.1:\(try await server.port())"]

    let imported = try await WaymarkProcess.run(target + ["--mapping", mapping, file])
    let rejected = try await WaymarkProcess.run(target + ["--mapping", broken, file])
    let unknown = try await WaymarkProcess.run(target + ["--mapping", "none", file])

    #expect(printed.status == 0 && printed.output.contains("attribution: Overture Maps Foundation"))
    #expect(imported.output.contains("categories: coffee 1\n"), "\(imported.output)\(imported.log)")
    #expect(rejected.status == 65 && rejected.log.contains("broken.yaml: line 1: 'sorce' is unknown"))
    #expect(unknown.status == 64 && unknown.log.contains("columns, geonames, osm, overture"))
    withExtendedLifetime(server) {}
  }

  @Test(arguments: [
    ["--min-confidence", "0.5", "a.csv"], ["--mapping", "overture", "--min-confidence", "2", "a.geojson"],
    ["--licence", "x", "a.csv"], ["--mapping", "columns", "--licence", "x", "a.csv"], ["--bbox", "1,2,3", "a.csv"],
    ["--bbox", "1,2,3", "a.osm"], ["a.osm", "a.csv"], ["a.osm", "a.osc"], ["--print-mapping", "none"], [],
    ["--mapping", "osm", "--keep", "=x", "a.osm"], ["--mapping", "osm", "--only", "=x", "a.osm"],
    ["--mapping", "columns", "--keep", "x", "a.csv"], ["--all", "a.csv"], ["--replace-source", "osm", "a.osc"],
    ["--max-deletions", "5", "a.csv"],
  ])
  func conflictingOptionsExitWith64(arguments: [String]) async throws {
    let outcome = try await WaymarkProcess.run(["import"] + arguments)

    #expect(outcome.status == 64, "\(outcome.log)")
  }
}
